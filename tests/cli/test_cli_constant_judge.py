"""A judge that always answers the same, from its configuration to the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
JUDGES = """
def constant(case):
    return SAYS

def reading(case):
    return type(SAYS)(case.output.split()[0])
"""


def study(folder: Path, says: Any, golds: list[Any], *, pairwise: bool = False, rule: str = "majority") -> Path:
    """A configuration with both judges, calibrated on cases whose first word is the answer."""
    (folder / "cli_judges.py").write_text(f"SAYS = {says!r}\n{JUDGES}")
    header = "case_id,input,output,gold" + (",output_b" if pairwise else "")
    lines = [
        f"c{n},question {n},{gold} it is,{gold}" + (",another" if pairwise else "") for n, gold in enumerate(golds)
    ]
    (folder / "cases.csv").write_text("\n".join([header, *lines, ""]))
    config = {
        "judges": [
            {"name": name, "callable": f"cli_judges:{name}", "model": "toy-1"} for name in ("constant", "reading")
        ],
        "cases": "cases.csv",
        "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": rule},
        "calibration": {"labels": "cases.csv", "name": "people", "source": "human"},
        "out": "results",
    }
    path = folder / "run.json"
    path.write_text(json.dumps(config))
    return path


STUDIES = {
    "grades": ("PASS", ["FAIL"] * 10 + ["PASS"] * 50, {}),
    "pairs": ("A", ["A"] * 30 + ["B"] * 20, {"pairwise": True}),
    "scores": (3, [1, 2, 3, 4, 5] * 6, {"rule": "median"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_constant_judge_does_not_pass_and_one_that_reads_does(command: Command, folder: Path, name: str) -> None:
    says, golds, facts = STUDIES[name]
    path = study(folder, says, golds, **facts)
    gates = () if name == "scores" else ("--fail-under", "recall>=0.4", "--fail-under", "precision>=0.4")
    ran = command("run", path, "--yes", "--json", "--require-calibration", *gates)
    assert ran.code == 1
    required = {one["judge"]: one for one in ran.json["gates"]["checks"] if one["gate"] == "require_calibration"}
    assert (required["constant"]["status"], required["reading"]["status"]) == ("failed", "passed")
    assert required["constant"]["reason"].startswith("the labels cannot tell this judge from a constant one: ")
    told = command("run", path, "--yes", "--new-run", "--overwrite")
    assert "constant: the labels cannot tell this judge from a constant one" in " ".join(told.out.split())
    report = " ".join(command("report", folder / "results", "--no-step-summary", "--all").out.split())
    assert "not better than a judge that always answers " in report
    assert "- better than a judge that always answers " in report
    assert ": calibrated on people; the labels cannot tell this judge from a constant one" in report


def test_a_card_says_what_its_labels_cannot_show(command: Command, folder: Path) -> None:
    golds = ["PASS"] * 40
    rows = [row for n, gold in enumerate(golds) for row in sampled(["PASS"], case_id=f"c{n}", gold=gold)]
    log = write_log(rows, folder / "log.jsonl")
    ran = command("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--out", folder / "cal.json")
    assert ran.code == 0
    assert "controls, right on the same 40 decided cases: always PASS 1.000, a coin 0.500" in ran.out
    assert "not better than a judge that always answers PASS: +0.000 [-0.088, +0.088]" in ran.out
    assert "the labels cannot tell this judge from a constant one: every label is 'PASS', and of other" in ran.out


def test_a_judge_that_prefers_the_longer_answer_is_known_on_a_log(command: Command, folder: Path) -> None:
    golds = [("A", "B")[n % 2] for n in range(40)]
    rows = [
        VerdictRow(case_id=f"c{n}", verdict=gold, gold=gold, attributes={"length_a": 5 - n % 2, "length_b": 4 + n % 2})
        for n, gold in enumerate(golds)
    ]
    log = write_log(rows, folder / "log.jsonl")
    ran = command("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--out", folder / "cal.json")
    assert ran.code == 0
    assert "the longer answer 1.000" in ran.out
    assert "not better than a judge that always prefers the longer answer: +0.000" in ran.out


WORDY = """
def wordy(case):
    return "A" if len(case.output) > len(case.output_b) else "B"
"""
BESIDE = "better than a judge that always prefers the longer answer: +0.000"


@pytest.fixture
def wordy(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A run of a judge that prefers the longer answer, on pairs of which nine in ten have the better one longer."""
    (folder / "wordy_judges.py").write_text(WORDY)
    sides = [("short", "a longer one", "B"), ("a longer one", "short", "A")]
    lines = [",".join((f"c{n}", "q", *sides[n % 2][:2], sides[(n + (n % 20 < 2)) % 2][2])) for n in range(200)]
    (folder / "pairs.csv").write_text("\n".join(["case_id,input,output,output_b,gold", *lines, ""]))
    config = {
        "judges": [{"name": "wordy", "callable": "wordy_judges:wordy", "model": "toy-1"}],
        "cases": "pairs.csv",
        "harness": {"perturbations": ["none", "position_swap"], "repetitions": 1, "aggregation_rule": "majority"},
        "out": "results",
    }
    (folder / "wordy.json").write_text(json.dumps(config))
    monkeypatch.chdir(folder)
    yield folder / "wordy.json"
    sys.modules.pop("wordy_judges", None)


@pytest.mark.slow
def test_every_reader_of_a_run_knows_that_its_judge_prefers_the_longer_answer(
    command: Command, folder: Path, wordy: Path
) -> None:
    gate = ("--fail-under", "accuracy>=0.8")
    ran = command("run", wordy, "--yes", *gate)
    log, results = folder / "results" / "verdicts.sqlite", folder / "results"
    told = {
        "run": ran.out,
        "replay": command("replay", results, "--rule", "majority", *gate).out,
        "report": command("report", results, "--no-step-summary", *gate).out,
        "report of a log": command("report", log, "--rule", "majority", "--no-step-summary", *gate).out,
        "compare": command("compare", results, results, "--all").out,
        "rank": command("rank", results).out,
        "calibrate": command(
            *("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--out", folder / "cal.json")
        ).out,
    }
    assert {name for name, text in told.items() if BESIDE not in " ".join(text.split())} == set()
    assert {name for name, text in told.items() if "longest answer not measured" in " ".join(text.split())} == set()


@pytest.mark.slow
def test_a_gate_that_is_watched_knows_it_as_well(command: Command, wordy: Path) -> None:
    ran = command("run", wordy, "--yes", "--json", "--until", "accuracy>=0.7")
    (check,) = ran.json["gates"]["checks"]
    assert BESIDE in check["reason"]


def test_controls_stand_once_in_a_replay_and_at_the_end_of_a_run(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "constant.csv"
    log.write_text(
        "\n".join(["case_id,verdict,gold", *(f"c{n},PASS,{'FAIL' if n % 4 else 'PASS'}" for n in range(40))])
    )
    [line] = [one for one in command("replay", log, "--rule", "majority").out.splitlines() if "controls, " in one]
    assert line.startswith("judge: controls, right on the same 40 decided cases: always FAIL 0.750, a coin 0.500")
    assert (line.count("40 decided cases"), "; worse than a judge that always answers FAIL: -0.5" in line) == (1, True)


AS_GOOD = "passed, but not better than a judge that always answers PASS (94 %)"


def test_the_last_line_of_each_command_says_that_a_constant_judge_passed(command: Command, folder: Path) -> None:
    path = study(folder, "PASS", ["FAIL" if n % 50 < 3 else "PASS" for n in range(400)])
    document = json.loads(path.read_text())
    del document["calibration"], document["judges"][1]
    path.write_text(json.dumps(document))
    gate = ("--fail-under", "accuracy>=0.9")
    run = command("run", path, "--yes", *gate)
    told = [
        run,
        command("report", folder / "results", "--no-step-summary", *gate),
        command("report", folder / "results", "--no-step-summary"),
        command("replay", folder / "results", "--rule", "majority", *gate),
    ]
    assert [one.code for one in told] == [0, 0, 0, 0]
    assert [one.out.strip().splitlines()[-1] for one in told] == [f"gates: {AS_GOOD}"] * 4
