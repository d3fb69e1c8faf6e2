"""Every page on a desk, on a phone, in both themes and on paper: one frame, and nothing is cut off."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest
from support import report_scenes
from support.browser import CONTRAST, DESKTOP, PHONE, visiting
from support.checklogs import first, logged
from support.comparisons import documented_comparisons
from support.ranked_study import board

from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.analysis.ranking.survey import survey
from judgeharness_integrations.cli.demo import recorded_verdicts
from judgeharness_integrations.reporting.checkpage import check_page
from judgeharness_integrations.reporting.ranking import rank_section
from judgeharness_integrations.reporting.rankpage import rank_finding, rank_page
from judgeharness_integrations.reporting.survey import survey_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

PAPER: Final = {"width": 703, "height": 1000}  # A4 between its margins
MEDIA: Final[Mapping[str, dict[str, Any]]] = {
    "desk": {"viewport": DESKTOP, "color_scheme": "light"},
    "desk in the dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
    "phone in the dark": {"viewport": PHONE, "color_scheme": "dark"},
    "paper": {"viewport": PAPER, "color_scheme": "dark"},
}
# What is wider than the place it is shown in, so that a part of it is out of view.
CUT = """() => [...document.querySelectorAll(".scroll, main table")]
  .filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1)
  .map((node) => `${node.className} ${node.innerText.slice(0, 60)}: ${node.scrollWidth} of ${node.clientWidth}`)"""


def _check() -> str:
    answers = {"none": "AAA", "position_swap": first(30, "BBB", "AAA"), "format_change": "AAA"}
    return check_page([check_rows(logged(60, answers))])


def _rank() -> str:
    report = board()
    return rank_page(rank_section(report), rank_finding(report), pictures={}, files=["a.csv"], priced=False)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "report": lambda: report_scenes.several_judges().to_html(gates=report_scenes.gates()),
    "report of annotators": lambda: report_scenes.hostile_annotators().to_html(),
    "comparison": lambda: documented_comparisons()[0].to_html(),  # noqa: PLW0108 - made when it is asked for
    "check": _check,
    "survey": lambda: survey_page(survey(recorded_verdicts(), separator="/"), source="LLMBar"),
    "rank": _rank,
}


@cache
def page_of(name: str) -> str:
    return PAGES[name]()


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_and_nothing_of_it_is_cut_off(
    chromium: Browser, tmp_path: Path, name: str, medium: str
) -> None:
    with visiting(chromium, page_of(name), tmp_path, **MEDIA[medium]) as visit:
        page = visit.page
        assert page.is_visible("nav.sections #theme")
        if medium == "paper":
            page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")  # what is folded is looked at, too
        assert page.locator("details:not([open])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if not medium.startswith("desk"):
            assert page.evaluate(CUT) == []
        ratio, where = page.evaluate(CONTRAST)
        assert ratio >= 4.5, where
        if medium == "paper":
            assert page.is_hidden("nav.sections")
            assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        visit.harmless()
