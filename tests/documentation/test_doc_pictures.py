"""Pictures say what they show, take the colours of the page, and are readable at the width of a phone."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.doc_pages import ROOT, pages
from support.doc_screenshots import MARKED, MOST

ASSETS = ROOT / "docs" / "assets"
PICTURES = sorted(path for path in ASSETS.glob("*.svg") if path.stem != "favicon")
STYLES = (ASSETS / "pictures.css").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
PHONE = 328  # pixels that are left for a picture at 360
SMALLEST = 10  # pixels of a text that can be read


def rules(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip().startswith(".jh-")}


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_described_and_has_no_colours_of_its_own(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314 - our own file
    assert root.get("role") == "img"
    described = [root.find(f"{SVG}{tag}") for tag in ("title", "desc")]
    assert root.get("aria-labelledby") == " ".join(str(one.get("id")) for one in described if one is not None)
    assert all(one is not None and len(one.text or "") > 10 for one in described)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_by_itself_looks_as_it_does_on_a_page(path: Path) -> None:
    [style] = re.findall(r"<style>(.*?)</style>", path.read_text(encoding="utf-8"), re.DOTALL)
    assert rules(style) == rules(STYLES)
    variables = [set(re.findall(r"--jh-[\w-]+: ?#\w+", text.replace(": ", ":"))) for text in (style, STYLES)]
    assert variables[0] == variables[1]


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_texts_are_readable_on_a_phone_and_stay_inside(path: Path) -> None:
    root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    sizes = {name: int(size) for name, size in re.findall(r"\.jh-(\w+) \{[^}]*font-size: (\d+)px", STYLES)}
    for text in root.iter(f"{SVG}text"):
        size = sizes[str(text.get("class")).removeprefix("jh-")]
        assert size * PHONE / width >= SMALLEST, text.text
        assert size <= float(str(text.get("y"))) <= height, text.text


def test_every_picture_is_on_a_page_with_words_for_it() -> None:
    shown = [
        found
        for page in pages()
        for found in re.findall(r"!\[([^\]]+)\]\([./]*assets/([\w-]+)\.svg\)", page.read_text())
    ]
    assert {name for _, name in shown} == {path.stem for path in PICTURES}
    assert all(len(words) > 10 for words, _ in shown)


@pytest.mark.parametrize("name", MARKED)
def test_a_screenshot_is_small_and_every_number_on_it_is_explained(name: str) -> None:
    page = (ROOT / "docs" / "understand" / "reading-a-report.md").read_text(encoding="utf-8")
    explained = re.search(rf"assets/{name}\.png\)\n\n((?:\d+\. .*\n(?:   .*\n)*)+)", page)
    assert explained is not None
    numbers = re.findall(r"^(\d+)\. ", explained[1], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(MARKED[name]) + 1)]
    assert (ASSETS / f"{name}.png").stat().st_size <= MOST
