// Pages are fetched and put in place of this one; what the server says is the only truth.
let under = null; // the request that is under way
let sending = false; // ... and it is a label
let shown = location.href; // where this page is from: after a page that did not come the address is another
const drafts = new Map(); // id -> the note that was begun and not kept, of items that were left since

// A label waits until the page is the one it is meant for; where to go next may be changed at any time.
export const isBusy = (labels) => (labels ? under !== null : sending);

export async function follow(address, { keep = false } = {}) {
  if (!sending) await load(address, {}, keep);
}

export async function send(address, fields) {
  if (under) return;
  sending = true;
  await load(address, { method: "POST", body: new URLSearchParams(fields) }, false, idOf(address));
  sending = false;
}

async function load(address, options, keep, labelled) {
  under?.abort();
  const mine = under = new AbortController();
  try {
    const [page, answer] = await read(address, { ...options, signal: mine.signal });
    if (answer.ok) show(page, answer.url, keep, labelled);
    else tell(page.querySelector(".sentence")?.textContent ?? page.body.textContent);
  } catch {
    if (!mine.signal.aborted) tell("The server does not answer: start judgeharness audit again. What was labelled before is kept.");
  } finally {
    if (under === mine) under = null;
  }
}

async function read(address, options) {
  const answer = await fetch(address, { credentials: "same-origin", ...options });
  return [new DOMParser().parseFromString(await answer.text(), "text/html"), answer];
}

function show(page, address, keep, labelled) {
  putAside(labelled);
  document.body.replaceWith(page.body);
  shown = address;
  takeUp();
  document.title = page.title;
  document.dispatchEvent(new Event("shown"));
  if (!keep) history.pushState(null, "", address);
  scrollTo(0, 0);
  document.getElementById("main").focus({ preventScroll: true });
  showView();
}

const idOf = (address) => new URL(address, shown).searchParams.get("id");

// Who looks at another view, or at another item, finds the note they had begun when they are back.
function putAside(labelled) {
  const note = document.querySelector("#dock textarea");
  if (!note || note.value === note.defaultValue) return;
  const id = idOf(note.form.action);
  if (id !== labelled) drafts.set(id, note.value);
}

function takeUp() {
  const note = document.querySelector("#dock textarea");
  const id = note && idOf(note.form.action);
  if (!drafts.has(id)) return;
  note.value = drafts.get(id);
  drafts.delete(id);
}

// On a narrow screen the name of the view may stand beyond the edge.
export function showView() {
  document.querySelector(".views [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
}

const isBegun = () => [...document.querySelectorAll("#dock textarea, #dock input")].some(
  (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked);

// What another tab labelled: the parts that tell it are taken anew, a note that is being written stays.
export async function refresh() {
  const from = shown;
  if (under || isBegun()) return;
  const [page, answer] = await read(from, {}).catch(() => [null, { ok: false }]);
  // meanwhile another item may be shown, whose label must not be taken for this one's
  if (!answer.ok || under || shown !== from || isBegun()) return;
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live="${part.dataset.live}"]`);
    if (fresh && fresh.outerHTML !== part.outerHTML && !part.contains(document.activeElement)) part.replaceWith(fresh);
  }
}

let told = 0;
function tell(sentence) {
  const trouble = document.getElementById("trouble");
  trouble.textContent = sentence.trim();
  trouble.hidden = false;
  clearTimeout(told);
  told = setTimeout(() => { trouble.hidden = true; }, 12000);
}
