// Keys, and pages without a reload. Everything works without this file, by links and forms.
import { follow, refresh, send, showView } from "./paging.js";
import { pressed } from "./keys.js";

document.documentElement.classList.add("scripted");
showView();

// Links and forms of this page, but not those somebody opens elsewhere on purpose.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (event.target.closest("#help-open")) return document.getElementById("help").showModal();
  if (event.target.closest("#fold")) return foldAll();
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  follow(link.href);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method === "dialog") return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  if (form.method === "post") return send(form.action, fields);
  const address = new URL(form.action);
  address.search = new URLSearchParams([...fields].filter(([, value]) => value !== ""));
  follow(address.href);
});

document.addEventListener("change", (event) => {
  if (event.target.closest(".filters")) event.target.form.requestSubmit();
});

// Both sides of a round open and fold together.
document.addEventListener("toggle", (event) => {
  const turn = event.target;
  if (!turn.matches?.("details.turn")) return;
  for (const other of document.querySelectorAll(`details.turn[data-round="${turn.dataset.round}"]`)) other.open = turn.open;
}, true);

function foldAll() {
  const turns = [...document.querySelectorAll("details.turn")];
  const open = turns.some((turn) => !turn.open);
  for (const turn of turns) turn.open = open;
}

document.addEventListener("keydown", pressed);
addEventListener("popstate", () => follow(location.href, { keep: true }));
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
addEventListener("focus", refresh);
