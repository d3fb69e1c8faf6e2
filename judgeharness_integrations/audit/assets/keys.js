// One key, one thing: the element that carries the key is what is pressed.
import { isBusy } from "./paging.js";

const WRITING = "textarea, select, input:not([type=checkbox])";

export function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const writing = event.target.closest?.(WRITING);
  if (writing) return event.key === "Escape" ? writing.blur() : undefined;
  if (document.querySelector("dialog[open]")) return;
  const key = event.key === " " ? "Space" : event.key;
  // a control that has the focus takes these itself
  if (["Enter", "Space"].includes(key) && event.target.closest("button, summary, input")) return;
  if (key === "Enter" && event.target.closest("a")) return;
  if (["j", "k"].includes(key) && document.querySelector("[data-row]")) {
    event.preventDefault();
    return step(key === "j" ? 1 : -1);
  }
  const found = held(key);
  if (found) {
    event.preventDefault();
    // a key that is held down labels one item and not the next ones as well
    if (!event.repeat && !isBusy(found.matches("button[name]"))) press(found);
    return;
  }
  const digits = document.querySelector("[data-digits]");
  if (digits && /^[-0-9.]$/.test(key)) digits.select();
}

function held(key) {
  const name = CSS.escape(key.length === 1 ? key.toLowerCase() : key);
  return document.querySelector(`[data-keys~="${name}"], [data-key="${name}"]`);
}

function press(found) {
  if (found.matches("textarea, input:not([type=checkbox])")) found.focus();
  else found.click();
  if (found.matches("summary")) found.scrollIntoView({ block: "center" });
}

function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const place = rows.indexOf(document.activeElement);
  const next = rows[place < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, place + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}
