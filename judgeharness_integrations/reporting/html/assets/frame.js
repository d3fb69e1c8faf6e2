// What every page does once it is read: the theme, what is folded, and which words of two texts differ.
const THEMES = ["auto", "light", "dark"];

function showTheme() {
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  button.textContent = `Theme: ${document.documentElement.dataset.theme ?? THEMES[0]}`;
}

function startTheme() {
  const root = document.documentElement;
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("#theme")) return;
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? THEMES[0]) + 1) % THEMES.length];
    if (next === THEMES[0]) delete root.dataset.theme;
    else root.dataset.theme = next;
    showTheme();
  });
  document.addEventListener("shown", showTheme); // of pages that are put in place of this one
  showTheme();
}

// A link to something folded unfolds it; on paper nothing is folded.
function startFolds() {
  const unfold = () => {
    const name = location.hash.slice(1);
    const target = name && (document.getElementById(name) ?? document.getElementById(decodeURIComponent(name)));
    for (let place = target; place; place = place.parentElement?.closest("details")) {
      if (place instanceof HTMLDetailsElement) place.open = true;
    }
  };
  let closed = [];
  addEventListener("hashchange", unfold);
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }));
  unfold();
}

function startPairs() {
  for (const pair of document.querySelectorAll(".pair[data-diff]")) {
    const shown = [...pair.querySelectorAll(".prose > bdi")];
    if (shown.length !== 2) continue;
    const marked = diffed(...shown.map((text) => text.textContent));
    shown.forEach((text, side) => text.replaceChildren(...marked[side]));
  }
}

startTheme();
startPairs();
startFolds();
