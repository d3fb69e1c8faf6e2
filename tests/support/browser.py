"""Pages in a real browser: Debian's Chromium without a window and without a network, watched while it reads them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# The lowest contrast of any text with the colour behind it, where large text may have 3 : 4.5 less.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const linear = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (let place = node; place; place = place.parentElement) {
      const colour = parse(getComputedStyle(place).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest("script, svg, select")) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(parse(style.color)), light(behind(node))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.7 && style.fontWeight >= 700);
    const ratio = ((a + 0.05) / (b + 0.05)) * (large ? 1.5 : 1);
    if (ratio < worst[0]) worst = [ratio, `${node.className} ${walker.currentNode.data.trim().slice(0, 40)}`];
  }
  return worst;
}"""
_WATCH = """
  window.__violations = [];
  addEventListener("securitypolicyviolation", (event) => window.__violations.push(event.violatedDirective));
"""


@dataclass
class Visit:
    """One opened page, with everything that should not happen on it."""

    page: Page
    trouble: list[str] = field(default_factory=list)

    def watch(self, address: str, *, site: bool = False) -> None:
        """Note errors, dialogs, and requests of anything but the page itself, or the site whose address this is."""
        page, note = self.page, self.trouble.append

        def own(url: str) -> bool:
            return url.startswith(f"{address}/") if site else url == address

        page.on("console", lambda message: note(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: note(f"error: {error}"))
        page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: None if own(request.url) else note(f"request: {request.url}"))
        page.on("popup", lambda other: note(f"popup: {other.url}"))

    def until(self, expression: str) -> None:
        """Wait until an expression holds; the page's own policy forbids the tool to evaluate one inside of it."""
        for _ in range(500):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(20)
        pytest.fail(f"after ten seconds this is still false: {expression}")

    def harmless(self) -> None:
        """Assert that nothing of it happened, and that no text became a script."""
        assert self.trouble == []
        assert self.page.evaluate("window.__violations") == []
        assert self.page.evaluate("window.__pwned === undefined")


@contextlib.contextmanager
def started() -> Iterator[Browser]:
    """Start the browser."""
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.fail(f"{CHROMIUM} is missing: install Debian's chromium, as CI does (apt-get install chromium).")
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=str(CHROMIUM), args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def visiting(browser: Browser, html: str, folder: Path, *, anchor: str = "", **context: Any) -> Iterator[Visit]:
    """Open a page from a file; see `Browser.new_context` for what can be set."""
    place = folder / "report.html"
    place.write_text(html, encoding="utf-8")
    opened = browser.new_context(**{"viewport": DESKTOP} | context)
    try:
        page = opened.new_page()
        visit = Visit(page)
        visit.watch(place.as_uri())
        page.add_init_script(_WATCH)
        page.goto(place.as_uri() + anchor)
        yield visit
    finally:
        opened.close()


@contextlib.contextmanager
def visiting_site(browser: Browser, address: str, **context: Any) -> Iterator[Visit]:
    """Open a page of a server, watched on every page of it; see `Browser.new_context` for what can be set."""
    opened = browser.new_context(**{"viewport": DESKTOP} | context)
    try:
        visit = Visit(opened.new_page())
        parts = urlsplit(address)
        visit.watch(f"{parts.scheme}://{parts.netloc}", site=True)
        visit.page.add_init_script(_WATCH)
        visit.page.goto(address)
        yield visit
    finally:
        opened.close()
