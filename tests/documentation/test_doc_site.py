"""The site builds without a warning, loads nothing from elsewhere, and its reference is complete."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import pkgutil
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from support.doc_pages import ROOT, blocks

import judgeharness_integrations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.untraced,
    pytest.mark.timeout(300),
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
    """Identifiers, links and what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
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


def test_every_page_is_built_and_found_in_the_navigation(site: Path, pages: dict[Path, Links]) -> None:
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {page.relative_to(site) for page in pages}
    assert sources | {Path("reference/cli.html"), Path("changelog.html")} <= built
    navigation = {
        (site / unquote(urlsplit(link).path)).resolve().relative_to(site.resolve())
        for link in pages[site / "index.html"].links
        if link and not urlsplit(link).scheme
    }
    assert {page for page in sources if page.name != "index.html"} <= navigation


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
    told = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
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
    described = set().union(*(found.ids for page, found in pages.items() if page.parent.name == "reference"))
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
