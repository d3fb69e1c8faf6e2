// The table of cases: rows are made once; filtering and sorting choose which of them stand in it.
const STEP = 200;
const body = document.getElementById("rows");
const total = Number(body?.dataset.total ?? 0);
// Rows beyond the first stand in <noscript>, which costs nothing to read past; they are made when there is time.
const waiting = [...document.querySelectorAll("noscript.rows")];
const form = document.querySelector("form.filters");
const rows = [];
const details = new Map();
let ordered = [];
let matching = [];
let limit = STEP;

function take(part) {
  const holder = document.createElement("template");
  holder.innerHTML = part.textContent; // markup of this page, escaped like all of it
  rows.push(...holder.content.querySelectorAll("tr"));
  part.remove();
}

function complete() {
  while (waiting.length) take(waiting.shift());
}

const whenIdle = window.requestIdleCallback ?? ((call) => setTimeout(call, 30));

function prepare() {
  if (!waiting.length) return;
  take(waiting.shift());
  whenIdle(prepare);
}

function haystack(row, deep) {
  row.plain ??= row.textContent.toLowerCase();
  if (!deep) return row.plain;
  row.deep ??= row.plain + dataOf(row).toLowerCase();
  return row.deep;
}

function chosen() {
  const flags = [...form.querySelectorAll("input.flag:checked")].map((input) => input.value);
  const picks = ["s", "v", "j", "c"]
    .map((name) => [name, document.getElementById(`filter-${name}`)?.value ?? ""])
    .filter(([, value]) => value !== "");
  const words = document.getElementById("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const deep = document.getElementById("filter-deep").checked;
  return (row) =>
    flags.every((flag) => row.dataset.f.includes(flag)) &&
    picks.every(([name, value]) => row.dataset[name] === value) &&
    (!words.length || ((text) => words.every((word) => text.includes(word)))(haystack(row, deep)));
}

function count(number) {
  return number.toLocaleString("en");
}

function show() {
  const listed = matching.slice(0, limit);
  body.replaceChildren(...listed.flatMap((row) => (details.has(row) ? [row, details.get(row)] : [row])));
  const found = matching === rows ? total : matching.length;
  const rest = found - listed.length;
  document.getElementById("shown").textContent =
    `${count(found)} of ${count(total)} ${total === 1 ? "row" : "rows"} shown` + (rest ? `, the first ${count(listed.length)} listed` : "");
  const [more, every] = ["more", "every"].map((id) => document.getElementById(id));
  more.hidden = every.hidden = !rest;
  more.textContent = `List ${count(Math.min(STEP, rest))} more`;
  every.textContent = `List all ${count(found)}`;
}

function filter() {
  complete();
  limit = STEP;
  matching = ordered.filter(chosen());
  show();
}

function list(most) {
  complete();
  limit = most;
  show();
}

function clear() {
  form.reset();
  filter();
}

function orderOf(row, by) {
  const cell = row.querySelector(`td.${by}`);
  if (cell.dataset.o === undefined) return cell.textContent.trim();
  return cell.dataset.o === "" ? null : Number(cell.dataset.o);
}

const collator = new Intl.Collator("en", { numeric: true });

function sort(by, direction) {
  complete();
  const keyed = rows.map((row) => [orderOf(row, by), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null); // what was not measured stands last
    return direction * (typeof a === "number" ? a - b : collator.compare(a, b));
  });
  ordered = keyed.map(([, row]) => row);
  filter();
}

function toggle(row, open = !details.has(row)) {
  const button = row.querySelector("button.open");
  if (open && !details.has(row)) {
    const detail = opened(row);
    details.set(row, detail);
    row.after(detail);
  } else if (!open && details.has(row)) {
    details.get(row).remove();
    details.delete(row);
  }
  row.classList.toggle("is-open", open);
  button.setAttribute("aria-expanded", String(open));
}

function address(row) {
  try {
    history.replaceState(null, "", `#${row.id}`);
  } catch { /* a page that was not opened from an address has none to change */ }
}

// A link to a case opens it, also when the filters hide it, or when the report now tells more rows apart.
function follow() {
  const name = location.hash.slice(1);
  if (!name.startsWith("case-")) return;
  complete();
  const whole = rows.find((row) => row.id === name);
  const row = whole ?? rows.find((other) => other.id.startsWith(`${name}/`) || name.startsWith(`${other.id}/`));
  if (!row) return;
  if (!matching.includes(row)) clear();
  const place = matching.indexOf(row);
  if (place >= limit) (limit = place + 1), show();
  toggle(row, true);
  row.scrollIntoView({ block: "start" });
  row.querySelector("button.open").focus({ preventScroll: true });
}

function startSorting() {
  for (const head of document.querySelectorAll("table.cases th[data-by]")) {
    const button = el("button", { type: "button", class: "sort" }, head.textContent);
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of document.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(head.dataset.by, up ? 1 : -1);
    });
  }
}

function startTable() {
  rows.push(...body.children);
  ordered = matching = rows;
  form.hidden = false;
  startSorting();
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("clear").addEventListener("click", clear);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-n]");
    if (!row || (String(getSelection()) && !event.target.closest("button"))) return;
    toggle(row);
    if (details.has(row)) address(row);
  });
  document.getElementById("more").addEventListener("click", () => list(limit + STEP));
  document.getElementById("every").addEventListener("click", () => list(Infinity));
  show();
  addEventListener("hashchange", follow);
  addEventListener("load", follow); // the browser itself looks for the address until then
  whenIdle(prepare);
}
