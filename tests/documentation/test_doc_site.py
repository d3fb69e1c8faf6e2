"""The site builds without a warning, loads nothing from elsewhere, its search finds, and its reference is complete."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import pkgutil
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from support.browser import started
from support.doc_pages import ROOT, blocks
from support.doc_screenshots import MARKED, marked

import judgeharness_integrations
from judgeharness_integrations.reporting.schemas import schema_names

pytestmark = [
    pytest.mark.slow,
    pytest.mark.untraced,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),  # of the tools
]
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
NOT_REFERENCED = {  # packages and modules without a page: what they are for is told where it is used
    "cli": "reference/cli.md has every command",
    "migration": "`judgeharness scan` and `judgeharness migrate`",
}
IMPORTED = re.compile(r"^from (judgeharness_[\w.]+) import (?:\(([^)]*)\)|([^\n(]+))", re.MULTILINE)


class Links(HTMLParser):
    """Identifiers, links, those of the navigation among them, and what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.navigated: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            if "md-nav__link" in given.get("class", "") and not given["href"].startswith("#"):
                self.navigated.append(given["href"])
        if tag == "link" and given.get("rel") not in {"canonical", "alternate"}:
            self.loaded.append(given.get("href", ""))
        if tag in LOADED and given.get(LOADED[tag]):
            self.loaded.append(given[LOADED[tag]])


def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("documentation_hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Recorded(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning of mkdocs or one of its plugins fails every test about it."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder, log, recorded = tmp_path_factory.mktemp("site"), logging.getLogger("mkdocs"), Recorded()
    log.addHandler(recorded)
    before = sys.path[:]
    try:
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=False))
    finally:
        log.removeHandler(recorded)
        sys.path[:] = before
    assert recorded.messages == []
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    found = {}
    for page in site.rglob("*.html"):
        found[page] = Links()
        found[page].feed(page.read_text(encoding="utf-8"))
    return found


def test_every_page_is_built_and_decisions_and_changes_alone_are_not_in_the_navigation(
    site: Path, pages: dict[Path, Links]
) -> None:
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {page.relative_to(site) for page in pages}
    assert sources | {Path("reference/cli.html"), Path("changelog.html")} <= built
    navigation = {
        (site / unquote(urlsplit(link).path)).resolve().relative_to(site.resolve())
        for link in pages[site / "index.html"].navigated
    }
    decisions = {page for page in sources if page.parts[0] == "decisions"}
    assert sources - navigation - {Path("index.html")} == decisions
    assert not navigation & (decisions | {Path("changelog.html")})


def test_there_are_at_most_thirty_pages_to_read() -> None:
    """Decisions, the changelog and the API reference are looked up, not read."""
    apart = ("decisions", "reference/api")
    read = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    read = ["reference/cli.md", *(path for path in read if not path.startswith(apart))]
    assert len(read) <= 30, sorted(read)


def test_every_old_address_leads_to_a_page_and_a_heading_of_it(site: Path, pages: dict[Path, Links]) -> None:
    redirects = hooks().known()["redirects"]
    assert len(redirects) > 70
    lost = []
    for old, new in redirects.items():
        assert (site / old).read_text(encoding="utf-8") == hooks().stub(old, new)
        page, _, heading = new.partition("#")
        found = pages.get(site / page)
        if (ROOT / "docs" / old).with_suffix(".md").exists():
            lost.append(f"{old} is a page")
        if found is None or (heading and heading not in found.ids):
            lost.append(f"{old} -> {new}")
    assert lost == []


def test_decisions_and_the_changelog_are_not_searched_and_guides_count_more_than_the_api(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"].partition("#")[0]: entry.get("boost", 1) for entry in entries}
    assert not [place for place in places if place.startswith(("decisions/", "changelog"))]
    guides = [boost for place, boost in places.items() if place.startswith(("use/", "answers/"))]
    api = [boost for place, boost in places.items() if place.startswith("reference/api/")]
    assert len(api) > 15
    assert min(guides) > 1 > max(api)


def test_words_belong_to_pages(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    tagged = {entry["location"]: entry["tags"] for entry in entries if "tags" in entry}
    words = {page.replace(".md", ".html"): found for page, found in hooks().known()["words"].items()}
    assert tagged == words


SEARCHED = {  # what people type -> the page that should come first
    "flaky judge": "answers/check.html",
    "temperature 0": "understand/how-it-works.html",
    "promptfoo": "use/migrating.html",
    "position bias": "answers/check.html",
    "cost": "do-you-need-a-harness.html",
    "install": "first-judge.html",
    "rate limit": "answers/scale.html",
    "langsmith": "use/langsmith.html",
    "how many labels": "answers/how-many.html",
    "human labels": "answers/right.html",
}


@pytest.fixture(scope="module")
def opened(site: Path) -> Iterator[Any]:
    """The first page of the site, opened from its folder in a browser that has no network."""
    with started() as browser:
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto((site / "index.html").as_uri())
        yield page


@pytest.mark.parametrize("typed", SEARCHED)
def test_what_people_type_leads_to_the_right_page_in_a_site_that_was_opened_from_a_folder(
    typed: str, opened: Any
) -> None:
    opened.goto(opened.url.partition("?")[0].partition("#")[0])
    opened.fill("input.md-search__input", typed)
    opened.wait_for_selector(".md-search-result__link", state="attached")
    opened.wait_for_timeout(500)  # results come in parts
    first = opened.locator(".md-search-result__link").first.get_attribute("href")
    assert urlsplit(first).path.endswith(f"/{SEARCHED[typed]}")


def test_printed_output_has_a_rule_and_no_copy_button(site: Path, opened: Any) -> None:
    opened.goto((site / "understand" / "how-it-works.html").as_uri())
    code, printed = opened.locator(".language-python").first, opened.locator(".language-text").first
    code.scroll_into_view_if_needed()  # buttons come as blocks are shown
    code.locator(".md-code__button").first.wait_for(state="visible")
    printed.scroll_into_view_if_needed()
    opened.wait_for_timeout(500)
    assert not printed.locator(".md-code__button").first.is_visible()
    rule = "node => parseFloat(getComputedStyle(node).borderLeftWidth)"
    assert printed.locator("pre > code").evaluate(rule) > 2


@pytest.mark.parametrize("name", MARKED)
def test_what_the_numbers_of_a_screenshot_stand_beside_is_on_the_page(name: str, site: Path, opened: Any) -> None:
    _, missing = marked(opened.context.browser, site / "gallery" / f"{name}.html")
    assert missing == [], "mend MARKED and the page, then: cd tests && python -m support.doc_screenshots"


def test_every_schema_is_listed_with_a_link(site: Path, pages: dict[Path, Links]) -> None:
    linked = set(pages[site / "reference" / "files.html"].links)
    assert {f"../schemas/{name}.json" for name in schema_names()} <= linked
    assert len(schema_names()) > 40


def test_the_gallery_holds_every_kind_of_page(site: Path, pages: dict[Path, Links]) -> None:
    linked = pages[site / "understand" / "reading-a-report.html"].links
    for name in ("report", "check", "compare", "ranking/index", "audit"):
        assert f"../gallery/{name}.html" in linked
        assert "<h1" in (site / "gallery" / f"{name}.html").read_text(encoding="utf-8")


def test_every_internal_link_and_anchor_resolves(site: Path, pages: dict[Path, Links]) -> None:
    broken = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or page.name == "404.html" or link == ".":
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = pages[target].ids if target in pages else {parts.fragment}
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in known):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Links]) -> None:
    elsewhere = [
        f"{page.name}: {what}" for page, found in pages.items() for what in found.loaded if urlsplit(what).netloc
    ]
    assert elsewhere == []
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"@import\s|url\(\s*['\"]?(?:https?:)?//", text), style


def test_pictures_stand_in_the_page_with_a_title(site: Path) -> None:
    pictures = [path.stem for path in (ROOT / "docs" / "assets").glob("*.svg") if path.stem != "favicon"]
    shown = "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    for name in pictures:
        assert f'aria-labelledby="{name}-title {name}-desc"' in shown, name
    assert len(pictures) >= 7


def test_every_public_package_has_a_page_of_reference() -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference" / "api").glob("*.md"))
    described = set(re.findall(r"^::: ([\w.]+)$", told, re.MULTILINE))
    packages = {
        f"judgeharness_integrations.{module.name}"
        for module in pkgutil.iter_modules(judgeharness_integrations.__path__)
        if module.ispkg and module.name not in NOT_REFERENCED and not module.name.startswith("_")
    }
    adapters = {path.name for path in (ROOT / "adapters").iterdir() if (path / "__init__.py").is_file()}
    assert packages | adapters | {"judgeharness_integrations"} <= described
    assert all(importlib.util.find_spec(name) for name in described)


def test_every_name_that_pages_import_is_in_the_reference(site: Path, pages: dict[Path, Links]) -> None:
    described = set().union(*(found.ids for page, found in pages.items() if page.parent.name == "api"))
    missing = set()
    for block in blocks("python"):
        for module, many, one in IMPORTED.findall(block.text):
            for name in re.findall(r"\w+", many or one):
                if f"{module}.{name}" not in described:
                    missing.add(f"{module}.{name} ({block.name})")
    assert missing == set()


def test_every_command_is_on_the_page_of_the_command(site: Path) -> None:
    from judgeharness_integrations.cli.app import app

    page = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    told = [name for name, _ in hooks().commands()]
    assert {f"judgeharness {command.name}" for command in app.registered_commands} <= set(told)
    assert {"judgeharness log import", "judgeharness agreement kappa"} <= set(told)
    for name in told:
        assert f'id="{name.replace(" ", "-")}"' in page
        assert f"Usage: {name} " in page
