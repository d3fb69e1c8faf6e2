"""The screenshots of docs/understand/reading-a-report.md: `cd tests && python -m support.doc_screenshots` takes them.

They show the pages of the gallery (docs/gallery.py), with a number beside each thing the page explains.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.browser import started
from support.doc_pages import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["ASSETS", "MARKED", "MOST", "gallery", "main", "marked"]

ASSETS = ROOT / "docs" / "assets"
MOST = 150_000  # bytes of a picture
# page -> what the numbers 1, 2, ... stand beside: a heading, or the first text on the page that begins so
MARKED: Mapping[str, tuple[str, ...]] = {
    "report": (
        "h1",
        "no position bias",
        "judgeharness audit",
        ", chosen",
        "Decided",
        "Consistency",
        "Right against gold",
    ),
    "check": ("h1", "careful fails none", "steady", "inconclusive", "42 of 42 attacked", "marked"),
}
MARK = """(texts) => texts.filter((text, place) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let found = text === "h1" ? document.querySelector("h1") : null;
  while (!found && walker.nextNode()) {
    const node = walker.currentNode, shown = node.parentElement.checkVisibility();
    if (shown && node.data.trim().startsWith(text) && !node.parentElement.closest("nav, script, style")) found = node;
  }
  if (!found) return true;
  const range = document.createRange();
  range.selectNodeContents(found);
  const box = range.getBoundingClientRect(), badge = document.createElement("b");
  badge.textContent = place + 1;
  Object.assign(badge.style, {
    position: "absolute", left: `${box.right + scrollX + 5}px`, top: `${box.top + scrollY + box.height / 2 - 11}px`,
    width: "22px", height: "22px", borderRadius: "11px", background: "#b3261e", color: "#fff",
    font: "700 13px/22px sans-serif", textAlign: "center", zIndex: 9,
  });
  document.body.append(badge);
  return false;
})"""


def gallery() -> dict[str, bytes]:
    """Return the files of the gallery."""
    spec = importlib.util.spec_from_file_location("documentation_gallery", ROOT / "docs" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, bytes] = module.gallery()
    return found


def marked(browser: Browser, place: Path) -> tuple[bytes, list[str]]:
    """Return the picture of a page of the gallery with its numbers, and which of these have no place on it."""
    page = browser.new_context(viewport={"width": 1100, "height": 840}, color_scheme="light").new_page()
    page.goto(place.as_uri())
    missing = [str(text) for text in page.evaluate(MARK, list(MARKED[place.stem]))]
    return page.screenshot(), missing


def main() -> int:
    """Take every screenshot; return 1 where something that the page explains is not there any more."""
    pages, missing = gallery(), []
    with tempfile.TemporaryDirectory() as folder, started() as browser:
        for name in MARKED:
            place = Path(folder) / f"{name}.html"
            place.write_bytes(pages[place.name])
            picture, lost = marked(browser, place)
            missing += [f"{name}: nothing begins with {text!r}" for text in lost]
            (ASSETS / f"{name}.png").write_bytes(picture)
    sys.stdout.writelines(f"{line}\n" for line in missing)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
