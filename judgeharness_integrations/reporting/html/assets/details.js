// An opened case: its data is read when it is opened, and not before.
const embedded = (id) => document.getElementById(id).textContent;
const dataOf = (row) => embedded(`data-${row.dataset.n}`);
const textsOf = (row) => (row.dataset.t === undefined ? [] : JSON.parse(embedded(`texts-${row.dataset.t}`)));

function facts(list) {
  return el("dl", { class: "facts" }, ...list.map(([name, value]) =>
    el("div", null, el("dt", null, iso(name)), el("dd", null, iso(value)))));
}

function parts(list) {
  const head = ["Perturbation", "Valid", "Verdicts", "Flip rate"];
  const body = list.map(([name, swapped, asked, valid, counts, flip]) =>
    el("tr", null,
      el("th", { scope: "row" }, iso(name), swapped ? el("span", { class: "of" }, "shown in swapped order") : null),
      el("td", { class: "num" }, `${valid} of ${asked}`),
      el("td", null, picture(counts, 8), el("span", { class: "of" }, iso(counts.map(([l, n]) => `${n}× ${l}`).join(", ") || "none"))),
      el("td", { class: "num" }, flip || "–")));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "By perturbation" },
    el("table", null,
      el("thead", null, el("tr", null, ...head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", null, ...body)));
}

function heading([perturbation, repetition, swapped]) {
  return [iso(perturbation), ` · sample ${repetition}`, swapped ? " · shown in swapped order" : ""];
}

// The first reasons of a verdict and the strongest dissent stand as they are, the others are folded.
function sample([perturbation, repetition, swapped, strongest, text, why], place) {
  return el("li", { class: `sample${strongest ? " strongest" : ""}${text ? "" : " bare"}` },
    el("p", { class: "of" }, ...heading([perturbation, repetition, swapped]),
      strongest ? el("span", { class: "badge warn" }, "strongest dissent") : null,
      why ? ` · ${why}` : ""),
    ...(text ? prose(text, strongest || place === 0 ? undefined : SHORT) : []));
}

// Samples without reasons are one line a verdict; what is to be read stands in the order of the rows.
function reasons(groups) {
  return groups.filter((group) => group.samples.length).map((group) => {
    const told = group.samples.filter(([, , , , text]) => text);
    const bare = group.samples.filter(([, , , , text]) => !text);
    const why = [...new Set(bare.map(([, , , , , word]) => word))].join(", ");
    return el("div", { class: "reasons" },
      el("h4", null, el("span", { class: `dot tone-${group.tone}` }), iso(group.verdict),
        ` · ${group.samples.length} sample${group.samples.length === 1 ? "" : "s"}`,
        group.decided ? el("span", { class: "badge" }, "the decision") : null),
      told.length ? el("ul", { class: "samples" }, ...told.map(sample)) : null,
      bare.length ? el("p", { class: "of" }, `${told.length ? `${bare.length} more: ` : ""}${why}`) : null);
  });
}

// The texts of a case under the words people use; two answers stand side by side, their words compared.
const FIELDS = { input: "Input", output: "Answer", output_b: "Answer B", reference: "Reference", context: "Context" };

function answer(name, text, marked) {
  const [shown, ...more] = prose(text);
  shown.firstChild.replaceChildren(...marked);
  return el("div", null, el("h4", null, name), shown, ...more);
}

function judgedTexts(list) {
  const texts = new Map(list);
  const pair = texts.has("output") && texts.has("output_b");
  const alone = [...texts].filter(([name]) => !pair || !["output", "output_b"].includes(name));
  const shown = alone.map(([name, text]) => [name, el("div", null, el("h4", null, iso(FIELDS[name] ?? name)), ...prose(text))]);
  if (pair) {
    const [first, second] = [texts.get("output"), texts.get("output_b")];
    const marked = diffed(first, second);
    const both = el("div", { class: "pair" }, answer("Answer A", first, marked[0]), answer("Answer B", second, marked[1]));
    shown.splice(shown.findIndex(([name]) => name === "input") + 1, 0, ["pair", both]);
  }
  return shown.map(([, node]) => node);
}

function failures(list) {
  return el("ul", { class: "samples" }, ...list.map(([perturbation, repetition, swapped, outcome, error, raw]) =>
    el("li", { class: "sample" },
      el("p", { class: "of" }, ...heading([perturbation, repetition, swapped]), el("span", { class: "badge bad" }, outcome)),
      ...(error ? prose(error) : []), ...(raw ? prose(raw) : []))));
}

const notes = (list) => el("ul", { class: "notes" }, ...list.map((text) => el("li", null, iso(text))));

function opened(row) {
  const data = JSON.parse(dataOf(row));
  const judged = textsOf(row);
  const left = el("div", null,
    data.reasons.length ? named("Reasons", ...reasons(data.reasons)) : null,
    data.failures.length ? named("Samples without a verdict", failures(data.failures)) : null,
    data.warnings.length ? named("Warnings", notes(data.warnings)) : null);
  const right = el("div", null,
    named("Measurement", picture(data.bar, 14), legend(data.bar), facts(data.facts)),
    data.parts.length ? named("By perturbation", parts(data.parts)) : null,
    data.limits.length ? named("Not measured, of this case", notes(data.limits)) : null);
  const link = el("p", { class: "of" }, el("a", { href: `#${row.id}` }, "link to this case"));
  const cell = el("td", { role: "cell", class: "detail" },
    judged.length ? named("What was judged", ...judgedTexts(judged)) : null,
    el("div", { class: "columns two" }, left, right), link);
  return el("tr", { role: "row", class: "opened" }, cell);
}
