"""`judgeharness calibrate CONFIG --log`: a run that is over calibrates the judge it was run with; nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.calibration.saved import last_asked
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]
JUDGE = """
from collections import Counter

ASKED = Counter()

def grade(case):
    ASKED[case.case_id] += 1
    if "silent" in case.output and ASKED[case.case_id] > 1:
        raise ValueError("nobody home")
    return "PASS" if "good" in case.output else "FAIL"
"""


@pytest.fixture
def configured(folder: Path) -> Callable[..., Path]:
    """Forty labelled cases, of which the judge gets ten wrong and answers ten once alone; writes configurations."""
    (folder / "calibrated_judge.py").write_text(JUDGE)
    said = ["good", "bad", "good silent", "bad"]
    golds = ["PASS", "FAIL", "PASS", "PASS"]
    lines = [f"c{n},question {n},{said[n % 4]} {n},{golds[n % 4]}" for n in range(40)]
    (folder / "cases.csv").write_text("\n".join(["case_id,input,output,gold", *lines]))

    def write(name: str, **changes: Any) -> Path:
        harness = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority", "min_valid": 2}
        config: dict[str, Any] = {
            "judges": [{"name": "grade", "callable": "calibrated_judge:grade", "model": "toy-1"}],
            "cases": "cases.csv",
            "harness": harness | changes.pop("harness", {}),
        }
        (folder / f"{name}.json").write_text(json.dumps(config | changes))
        return folder / f"{name}.json"

    return write


@pytest.fixture
def log(command: Command, folder: Path, configured: Callable[..., Path]) -> Path:
    """What a run of all cases left."""
    assert command("run", configured("run"), "--out", folder / "over", "--yes").code == 3  # ten are not graded
    return folder / "over"


@pytest.mark.slow
def test_it_is_what_asking_would_have_saved(command: Command, folder: Path, log: Path) -> None:
    labels = ("--labels", folder / "cases.csv", "--source", "human")
    command("calibrate", folder / "run.json", *labels, "--out", folder / "asked.json", "--yes")
    ran = command("calibrate", folder / "run.json", "--log", log, *labels, "--out", folder / "read.json")
    assert (ran.code, ran.err) == (0, "")
    assert "exploratory" not in ran.out
    asked, read = (CalibrationReport.load(folder / f"{name}.json") for name in ("asked", "read"))
    coverage = asked.criteria["verdict"].coverage
    assert coverage is not None
    assert (coverage.successes, coverage.trials) == (30, 40)  # by the quorum of the configuration
    assert asked.candidates == read.candidates == 1  # one and the same candidate
    assert (read.fingerprint, read.parts, read.criteria) == (asked.fingerprint, asked.parts, asked.criteria)
    assert {one.case_id: one for one in read.items} == {one.case_id: one for one in asked.items}
    assert read.measured_at == last_asked(read_log(log / "verdicts.jsonl"))


@pytest.mark.slow
def test_a_later_run_can_use_it(command: Command, folder: Path, log: Path, configured: Callable[..., Path]) -> None:
    command("calibrate", folder / "run.json", "--log", log, "--source", "human", "--out", folder / "read.json")
    again = configured("again", calibration={"file": "read.json"})
    assert "calibration on over is valid" in command("run", again, "--out", folder / "again", "--yes").out
    once = configured("once", calibration={"file": "read.json"}, harness={"repetitions": 3})
    told = " ".join(command("run", once, "--out", folder / "once", "--yes").out.split())
    assert "grade: calibration on over is expired: repetitions changed" in told


@pytest.mark.slow
def test_another_configuration_than_the_log_was_run_with_is_refused(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    asked = ("--log", log, "--source", "human", "--out", folder / "read.json")
    for changes, sentence in (
        ({"harness": {"repetitions": 3}}, "repetitions"),
        ({"harness": {"aggregation_rule": "supermajority(0.9)"}}, "the judge's fingerprint was"),
        ({"judges": [{"name": "grade", "callable": "calibrated_judge:grade", "model": "toy-2"}]}, "fingerprint was"),
    ):
        ran = command("calibrate", configured("other", **changes), *asked)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "error: the log was not run with " in ran.err
        assert sentence in ran.err
    assert not (folder / "read.json").exists()
    ran = command("calibrate", folder / "run.json", *asked, "--rule", "majority")
    assert (ran.code, "give --rule or CONFIG, not both" in ran.err) == (2, True)
    ran = command("calibrate", folder / "run.json", *asked[:-1], folder / "run.json")
    assert (ran.code, "which is read: give another --out" in ran.err) == (2, True)


@pytest.mark.slow
def test_the_prompt_of_a_log_apart_from_its_folder_is_not_known(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    apart = folder / "apart.jsonl"
    apart.write_text((log / "verdicts.jsonl").read_text())
    without_cases = configured("without", cases=None)
    for asked in (("calibrate", without_cases, "--log"), ("certify", "--config", without_cases)):
        told, known = (" ".join(command(*asked, one, "--source", "human").out.split()) for one in (apart, log))
        assert (
            "a log apart from its run's folder does not say which prompt was asked: that the log was run with" in told
        )
        assert "a log apart" not in known


def told_apart(command: Command, folder: Path, log: Path, config: Path) -> str:
    """What calibrating a log without its folder says."""
    (folder / "apart.jsonl").write_text((log / "verdicts.jsonl").read_text())
    return " ".join(command("calibrate", config, "--log", folder / "apart.jsonl", "--source", "human").out.split())


def test_one_case_that_is_asked_as_it_was_tells_the_prompt_of_a_log(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    cases = (folder / "cases.csv").read_text().splitlines()
    edited = [
        f"{line},new" for line in (cases[0], "other,q,good,PASS", cases[1].replace("question", "edited"), cases[2])
    ]
    (folder / "some.csv").write_text("\n".join(edited))  # with one more column, which says nothing of what was asked
    assert "is taken on your word" not in told_apart(command, folder, log, configured("some", cases="some.csv"))


def test_a_configuration_that_asks_otherwise_is_refused_for_a_log_apart(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    (folder / "apart.jsonl").write_text((log / "verdicts.jsonl").read_text())
    (folder / "other.csv").write_text((folder / "cases.csv").read_text().replace("question", "another question"))
    other = configured("other", cases="other.csv")
    for asked in (("calibrate", other, "--log"), ("certify", "--config", other)):
        ran = command(*asked, folder / "apart.jsonl", "--source", "human", "--out", folder / "saved.json")
        assert (ran.code, ran.err.count("\n"), ran.out) == (2, 1, "")
        assert (
            "which asks none of its cases as they were asked (the prompt, the model's name, the seed, texts" in ran.err
        )
        assert "give the configuration as it was then, or --rule instead of it" in ran.err
    assert not (folder / "saved.json").exists()
    assert not (folder / "candidates.jsonl").exists()


@pytest.mark.slow
def test_a_seed_makes_no_other_judge_of_a_log_apart(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    told = told_apart(command, folder, log, configured("seeded", harness={"seed": 7}))
    assert "labels: " in told
    assert "taken on your word" not in told


@pytest.mark.slow
def test_cases_of_another_file_do_not_tell_the_prompt_of_a_log(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    (folder / "others.csv").write_text("case_id,input,output\nother,q,good")
    told = told_apart(command, folder, log, configured("others", cases="others.csv"))
    assert "a log apart from its run's folder does not say which prompt was asked" in told


@pytest.mark.slow
def test_a_refused_configuration_is_no_candidate(
    command: Command, folder: Path, log: Path, configured: Callable[..., Path]
) -> None:
    other = configured("other", harness={"repetitions": 3})
    for asked in (("calibrate", other, "--log"), ("certify", "--config", other)):
        assert command(*asked, log, "--source", "human").code == 2
    assert not (folder / "candidates.jsonl").exists()


@pytest.mark.slow
def test_certifying_and_calibrating_a_configuration_is_one_candidate(command: Command, folder: Path, log: Path) -> None:
    certified = command("certify", log, "--config", folder / "run.json", "--source", "human", "--json").json
    calibrated = command("calibrate", folder / "run.json", "--log", log, "--source", "human", "--json").json
    assert (certified["candidates"], calibrated["candidates"]) == (1, 1)


@pytest.mark.slow
def test_a_run_and_the_log_in_its_folder_have_one_ledger(command: Command, folder: Path, log: Path) -> None:
    for n, (one, rule) in enumerate(((log, "majority"), (log / "verdicts.jsonl", "supermajority(0.9)")), start=1):
        ran = command("calibrate", "--log", one, "--rule", rule, "--source", "human", "--json")
        assert ran.json["candidates"] == n
    assert len((folder / "candidates.jsonl").read_text().splitlines()) == 2


def test_the_last_answer_says_how_old_it_is(tmp_path: Path, command: Command) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS", gold=("PASS", "FAIL")[n % 2]) for n in range(8)]
    times = ["2026-01-02T10:00:00+00:00", "2026-01-02T13:00:00+02:00", "yesterday", "2026-01-02T12:00:00", None]
    assert last_asked(replace(rows[0], asked_at=one) for one in times) == "2026-01-02T13:00:00+02:00"
    assert last_asked(rows) is None
    log = write_log([replace(row, asked_at=times[0]) for row in rows], tmp_path / "log.jsonl")
    asked = ("--source", "human", "--json")
    assert command("calibrate", "--log", log, "--rule", "majority", *asked).json["measured_at"] == times[0]
    assert command("certify", log, *asked).json["measured_at"] == times[0]


def test_later_answers_about_cases_without_a_label_make_it_no_younger(tmp_path: Path, command: Command) -> None:
    times = ("2026-01-02T10:00:00+00:00", "2026-03-02T10:00:00+00:00")
    rows = [
        VerdictRow(case_id=f"c{n}", verdict="PASS", gold=("PASS", "FAIL")[n % 2], asked_at=times[0]) for n in range(8)
    ]
    later = [VerdictRow(case_id=f"d{n}", verdict="PASS", asked_at=times[1]) for n in range(8)]
    log = write_log([*rows, *later], tmp_path / "log.jsonl")
    asked = ("--source", "human", "--json")
    assert command("calibrate", "--log", log, "--rule", "majority", *asked).json["measured_at"] == times[0]
    assert command("certify", log, *asked).json["measured_at"] == times[0]
