// What every page does once it is read: the theme, what is folded, and which words of two texts differ.
function startTheme() {
  const button = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  let place = 0;
  button.hidden = false;
  button.addEventListener("click", () => {
    place = (place + 1) % themes.length;
    if (place) document.documentElement.dataset.theme = themes[place];
    else delete document.documentElement.dataset.theme;
    button.textContent = `Theme: ${themes[place]}`;
  });
}

// A link to something folded unfolds it; on paper nothing is folded.
function startFolds() {
  const folds = [...document.querySelectorAll("details")];
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
    closed = folds.filter((fold) => !fold.open);
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
