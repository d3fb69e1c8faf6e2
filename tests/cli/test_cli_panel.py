"""`replay --panel` and `run` with the key `panel`: judges vote as one, with their errors and their cost beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.judges_in_turn import CHEAP, STRONG, case_file, configured, labelled, rows_of

from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog import VerdictRow, write_log

THIRD = replace(STRONG, name="third", easy=0.8, hard=0.8)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weak = replace(CHEAP, easy=0.8)
    rows = rows_of((weak, replace(STRONG, easy=0.8, hard=0.8), THIRD))
    return write_log(rows, tmp_path_factory.mktemp("panel") / "log.jsonl")


def panel_of(log: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["replay", str(log), "--rule", "majority", "--panel", "majority", *more, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)["panel"]
    return document


def test_the_judges_of_a_log_vote_as_one(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    panel = panel_of(log, capsys)
    assert (panel["panel"], panel["member_rule"], panel["rule"]) == (
        "panel(cheap+strong+third)",
        "majority",
        "majority",
    )
    [decided] = panel["decisions"]
    assert decided["measured"]["cases"] == 300
    assert decided["measured"]["accuracy"] > 0.9
    assert decided["accuracy_95"][0] < decided["measured"]["accuracy"] < decided["accuracy_95"][1]


def test_how_alike_members_err_and_what_they_cost_stand_beside_it(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    panel = panel_of(log, capsys)
    [errors] = panel["errors"]
    assert 1.5 < errors["measured"]["effective"] <= 3.5
    assert "errors correlate at" in errors["sentence"]
    assert [(one["judge"], one["calls"], one["input_tokens"]) for one in panel["usage"]] == [
        (name, 1800, 180_000) for name in ("cheap", "strong", "third")
    ]


@pytest.mark.slow
def test_members_are_the_judges_that_are_named(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert panel_of(log, capsys, "--judge", "third", "--judge", "strong")["members"] == ["strong", "third"]


@pytest.mark.slow
def test_a_panel_without_labels_says_that_its_errors_are_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [replace(row, gold=None) for row in rows_of()]
    panel = panel_of(write_log(rows, tmp_path / "log.jsonl"), capsys)
    assert panel["errors"] == [
        {
            "criterion": "verdict",
            "measured": None,
            "sentence": "no decision about 'verdict' has a gold label: how alike members err is not known",
        }
    ]


def test_a_panel_is_shown_with_its_members(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(log), "--rule", "majority", "--panel", "majority"]) == 0
    told = capsys.readouterr().out
    assert "panel of cheap, strong, third" in told
    assert "rule: majority over members, each of them by majority" in told
    assert "errors correlate at" in told
    assert "what members cost" in told


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--judge", "cheap"], "a panel has two members or more, each of them once"),
        (["--panel", "loudest"], "unknown rule 'loudest'"),
        (["--panel", "swap_consensus"], "swap_consensus compares the two orders"),
    ],
)
def test_a_panel_that_cannot_vote_is_one_sentence(
    log: Path, more: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(log), "--rule", "majority", "--panel", "majority", *more]) == 2
    assert problem in capsys.readouterr().err


def run(folder: Path, **changes: Any) -> int:
    keys: dict[str, Any] = {"cases": case_file(labelled(40), folder / "cases.jsonl"), "panel": ["cheap", "strong"]}
    return main(["run", str(configured(folder, "panel", **(keys | changes))), "--out", str(folder / "out"), "--yes"])


def test_a_run_keeps_what_its_panel_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, panel_rule="strict_majority") == 0
    panel = json.loads((tmp_path / "out" / "summary.json").read_text())["panel"]
    assert (panel["members"], panel["rule"]) == (["cheap", "strong"], "strict_majority")
    cheap, strong = panel["usage"]
    assert strong["cost"] == pytest.approx(20 * cheap["cost"])
    assert "panel of cheap, strong" in capsys.readouterr().out


def test_a_replay_of_a_run_says_of_its_panel_what_the_run_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "supermajority(1)"  # by which members abstain
    design = {"preset": "standard", "shape": "labels", "aggregation_rule": rule}
    assert run(tmp_path, panel_rule="strict_majority", harness=design) == 0
    told = json.loads((tmp_path / "out" / "summary.json").read_text())["panel"]["decisions"]
    assert told[0]["measured"]["abstained"] > 0
    capsys.readouterr()
    assert main(["replay", str(tmp_path / "out"), "--rule", rule, "--panel", "strict_majority", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["panel"]["decisions"] == told


@pytest.mark.parametrize(("more", "graded"), [([], 0), (["--min-valid", "1"], 1)])
def test_the_quorum_of_samples_is_that_of_members(
    tmp_path: Path, more: list[str], graded: int, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = {"verdict": None, "outcome": "error"}
    rows = [
        VerdictRow(case_id="c", judge=judge, repetition=place, **(failed if place else {"verdict": "PASS"}))
        for judge in "ab"
        for place in range(3)
    ]
    log = write_log(rows, tmp_path / "few.jsonl")
    main(["replay", str(log), "--rule", "majority", "--panel", "majority", *more, "--json"])
    [decided] = json.loads(capsys.readouterr().out)["panel"]["decisions"]
    assert decided["measured"]["decided"] == graded


def test_the_report_of_a_run_shows_its_panel_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == 0
    capsys.readouterr()
    pages = [tmp_path / "page.html", tmp_path / "page.md"]
    assert main(["report", str(tmp_path / "out"), "--html", str(pages[0]), "--markdown", str(pages[1])]) == 0
    shown = [capsys.readouterr().out, *(page.read_text() for page in pages)]
    assert [("what members cost" in one, "panel of" in one) for one in shown] == [(True, True)] * 3


@pytest.mark.slow
def test_the_report_of_one_member_shows_no_panel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0
    capsys.readouterr()
    assert main(["report", str(tmp_path / "out"), "--judge", "cheap", "--json"]) == 0
    assert "panel" not in json.loads(capsys.readouterr().out)


def test_a_panel_of_which_nobody_asked_a_member_is_not_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = {"execution": {"budget": {"calls": 30}, "max_concurrency": 1}}
    assert run(tmp_path, **budget) == 3
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["panel"] is None
    assert "the judges are not summed up together: asking ended before 'strong' was asked." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"panel": []}, "panel names two judges or more, each of them once"),
        ({"panel": ["cheap", "cheap"]}, "panel names two judges or more, each of them once"),
        ({"panel": ["cheap", "stranger"]}, "panel names 'stranger', and the judges are cheap, strong"),
        ({"panel_rule": "loudest"}, "panel_rule: unknown rule 'loudest'"),
        ({"panel_rule": "swap_consensus"}, "panel_rule: swap_consensus compares two orders, and a member has one vote"),
    ],
)
def test_a_panel_that_cannot_be_asked_is_one_sentence(
    tmp_path: Path, changes: dict[str, Any], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, **changes) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
