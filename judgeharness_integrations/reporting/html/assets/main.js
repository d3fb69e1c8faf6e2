// What the page does once it is read.
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

// A link to a folded judge unfolds it; on paper nothing of the summary is folded.
function startFolds() {
  const folds = [...document.querySelectorAll("details")];
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
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

startTheme();
startFolds();
if (form) startTable();
