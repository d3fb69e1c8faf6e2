"""The README: short, and its numbers are computed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson
from judgeharness_integrations.cli.app import app

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")
MOST_BYTES = 9000


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= MOST_BYTES


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#\s]+)", TEXT)
    assert len(links) > 20
    assert [link for link in links if "://" not in link and not (README.parent / link).exists()] == []


def test_code_of_the_readme_fits_80_columns() -> None:
    blocks = re.findall(r"^```(?:python|text)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", sorted(set(re.findall(r"\bjudgeharness ([a-z-]+)", TEXT))))
def test_a_command_of_the_readme_exists(command: str) -> None:
    assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


@pytest.mark.parametrize(
    ("preset", "calls"), re.findall(r"^\| `JudgeHarness\.(\w+)\(shape\)` \|[^|]*\| ([^|]+) \|$", TEXT, re.MULTILINE)
)
def test_a_preset_makes_as_many_calls_as_the_readme_says(preset: str, calls: str) -> None:
    cases = {
        "pairwise": PairwiseCase(case_id="pair", output="**Yes**, it is.", output_b="No,  it is not."),
        "labels": AnswerCase(case_id="one", output="**Yes**, it is."),
        "scores": AnswerCase(case_id="one", output="**Yes**, it is."),
    }
    for shape, case in cases.items():
        plan = getattr(JudgeHarness, preset)(shape).plan(lambda _: "A", [case])
        most = int(calls.rpartition(" ")[2])
        assert plan.calls == most or (preset == "thorough" and plan.calls < most)


def test_nineteen_of_twenty_do_not_show_four_fifths() -> None:
    assert "19 of 20 does not show 0.8" in TEXT
    interval = clopper_pearson(19, 20)
    assert interval[0] < 0.8
