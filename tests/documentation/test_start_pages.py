"""The README and the pages to start with: short, and the numbers they give of recorded judges are the demo's."""

from __future__ import annotations

import re

import pytest
from support.doc_pages import ROOT

from judgeharness_integrations.cli.demo import JudgeShown, run_demo
from judgeharness_integrations.verdictlog.encoding import percent

MOST_WORDS = {"index.md": 700, "do-you-need-a-harness.md": 1050, "first-judge.md": 900}


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def judges() -> dict[str, JudgeShown]:
    """The judges of the demo by their model."""
    return {judge.judge.partition("/")[0]: judge for judge in run_demo().judges}


@pytest.mark.parametrize(("page", "most"), MOST_WORDS.items())
def test_a_page_is_short(page: str, most: int) -> None:
    assert len(text(f"docs/{page}").split()) <= most


@pytest.mark.parametrize("page", MOST_WORDS)
def test_code_fits_80_columns(page: str) -> None:
    blocks = re.findall(r"^```(?:python|bash|yaml)\n(.*?)^```", text(f"docs/{page}"), re.DOTALL | re.MULTILINE)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 80] == []


@pytest.mark.slow
@pytest.mark.untraced
def test_the_table_of_the_readme_is_what_the_demo_computes(judges: dict[str, JudgeShown]) -> None:
    rows = re.findall(
        r"^\| (\S+) \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|$", text("README.md"), re.MULTILINE
    )
    assert len(rows) == 4
    for model, *shown in rows:
        judge = judges[model]
        rule = judge.rules["swap_consensus"]
        assert shown == [*map(percent, (judge.flips / judge.pairs, judge.single_call, rule.coverage, rule.accuracy))]
    assert f"judge on {judges['GPT-4'].pairs} pairs" in text("README.md")


@pytest.mark.slow
@pytest.mark.untraced
def test_the_first_paragraph_of_the_documentation_is_what_the_demo_computes(judges: dict[str, JudgeShown]) -> None:
    told = " ".join(text("docs/index.md").split())
    shares = {model: percent(judge.flips / judge.pairs) for model, judge in judges.items()}
    assert (
        f"{judges['GPT-4'].pairs} pairs of answers, GPT-4 changes its verdict in {shares['GPT-4']} % when the two "
        f"answers change places, PaLM2 in {shares['PaLM2']} % and Falcon in {shares['Falcon']} %" in told
    )
