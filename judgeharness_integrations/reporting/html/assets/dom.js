// Elements from texts: whatever a text holds, it stays a text.
const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null && child !== ""));
  return made;
}

// A text that cannot reorder what stands around it.
const iso = (text) => el("bdi", null, String(text));

function picture(counts, height) {
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const svg = document.createElementNS(SVG, "svg");
  const words = counts.map(([label, count]) => `${count}× ${label}`).join(", ") || "none";
  for (const [name, value] of [["class", "bar"], ["role", "img"], ["aria-label", words], ["width", "100%"], ["height", height]]) {
    svg.setAttribute(name, value);
  }
  let before = 0;
  for (const [, count, tone] of counts) {
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", `tone-${tone}`);
    rect.setAttribute("x", `${(100 * before) / total}%`);
    rect.setAttribute("width", `${(100 * count) / total}%`);
    rect.setAttribute("height", "100%");
    svg.append(rect);
    before += count;
  }
  return svg;
}

function legend(counts) {
  return el("ul", { class: "legend" }, ...counts.map(([label, count, tone]) =>
    el("li", null, el("span", { class: `dot tone-${tone}` }), iso(label), " ", el("b", null, String(count)))));
}

// A text as it is, folded when it is long.
const LONG = 600;
const SHORT = 240;

function prose(text, limit = LONG) {
  const shown = el("p", { class: "prose" }, iso(text));
  if (text.length <= limit) return [shown];
  shown.classList.add("folded");
  const whole = `Show all ${text.length.toLocaleString("en")} characters`;
  const button = el("button", { type: "button", class: "unfold", "aria-expanded": "false" }, whole);
  button.addEventListener("click", () => {
    const folded = shown.classList.toggle("folded");
    button.textContent = folded ? whole : "Show less";
    button.setAttribute("aria-expanded", String(!folded));
  });
  return [shown, button];
}

const named = (title, ...nodes) => el("section", null, el("h3", null, title), ...nodes);
