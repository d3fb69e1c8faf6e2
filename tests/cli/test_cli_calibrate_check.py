"""`judgeharness calibrate --check`: has the judge drifted?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.cli import calibrate as _calibrate
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]

JUDGES = """
def grade(case):
    return "PASS" if "good" in case.output else "FAIL"

def lenient(case):
    return "PASS"

nameless = lambda case: grade(case)

def slipping(case):
    return "PASS" if case.case_id in ("c0", "c2") else grade(case)

def broken_twice(case):
    if case.case_id in ("c1", "c2"):
        raise ValueError("nobody home")
    return grade(case)

class Busy(ConnectionError):
    headers = {"retry-after": "0"}

def busy(case):
    raise Busy("try again")

def broken(case):
    raise ValueError("nobody home")

def half_broken(case):
    if int(case.case_id[1:]) % 2:
        raise ValueError("nobody home")
    return grade(case)

def criteria(case):
    return {"tone": grade(case), "facts": "PASS"}

def no_facts(case):
    return {"tone": grade(case)}
"""


@pytest.fixture(autouse=True)
def drift_judges(tmp_path: Path) -> Any:
    (tmp_path / "drift_judges.py").write_text(JUDGES)
    yield
    sys.modules.pop("drift_judges", None)


def labels(folder: Path, count: int = 60, *, name: str = "labels.csv", **golds: str) -> Path:
    lines = ["case_id,input,output,gold"]
    for n in range(count):
        gold = golds.get(f"c{n}", "PASS" if n % 2 else "FAIL")
        lines.append(f"c{n},q,{'good' if n % 2 else 'poor'} {n},{gold}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def config(folder: Path, *judges: str, **changes: Any) -> Path:
    path = folder / f"{'-'.join(judges)}.json"
    document: dict[str, Any] = {
        "judges": [{"name": "grader", "callable": f"drift_judges:{judges[0]}", "model": judges[0]}],
        "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"},
    }
    document["judges"] += [{"name": judge, "callable": f"drift_judges:{judge}"} for judge in judges[1:]]
    path.write_text(json.dumps(document | changes))
    return path


@pytest.fixture(scope="module")
def calibrated() -> dict[str, bytes]:
    """What `old` made the first time: the same files serve every test."""
    return {}


@pytest.fixture
def old(command: Command, tmp_path: Path, calibrated: dict[str, bytes]) -> Path:
    """The calibration of a judge that is always right."""
    saved = tmp_path / "old.json"
    if not calibrated:
        before = set(tmp_path.iterdir())
        ran = command(
            "calibrate",
            "--source",
            "human",
            config(tmp_path, "grade"),
            "--labels",
            labels(tmp_path),
            "--out",
            saved,
            "--yes",
        )
        assert ran.code == 0, ran.err
        calibrated.update({path.name: path.read_bytes() for path in set(tmp_path.iterdir()) - before if path.is_file()})
    for name, content in calibrated.items():
        (tmp_path / name).write_bytes(content)
    return saved


def check(command: Command, old: Path, judge: str = "grade", *options: object, **changes: Any) -> Any:
    folder = old.parent
    return command(
        *(
            "calibrate",
            "--source",
            "human",
            config(folder, judge, **changes),
            "--labels",
            folder / "labels.csv",
            "--check",
            old,
            *options,
        )
    )


@pytest.mark.slow
def test_an_unchanged_judge_is_stable_and_a_changed_one_has_drifted(command: Command, old: Path) -> None:
    ran = check(command, old)
    assert ran.code == 0
    assert "drift: stable\n" in ran.out
    assert "50 judge calls for 50 cases" in ran.out
    assert "fingerprint: unchanged\n" in ran.out
    assert "anchors: 50\n" in ran.out
    assert "50/50 correct before, 50/50 now: difference +0.000, 95 % interval [-0.071, +0.071]" in ran.out
    assert "smallest net change the test finds at n=50 with 80 % power: 0.176 of anchors" in ran.out
    ran = check(command, old, "lenient")
    assert ran.code == 1
    assert "drift: drifted\n" in ran.out
    assert "fingerprint: model, prompt changed\n" in ran.out
    assert "25 of 50 verdicts changed: 25 for the worse, 0 for the better" in ran.out
    history = (old.parent / "old.history.jsonl").read_text().splitlines()
    assert [json.loads(line)["answer"] for line in history] == ["stable", "drifted"]
    assert "history: 2 checks in" in ran.out
    assert "evidence of change over 2 checks: " in ran.out
    assert "however often one looks" in ran.out
    assert ran.out.splitlines()[-1].endswith("drifted  verdict -0.500 (n=50)  model, prompt changed")
    assert CalibrationReport.load(old).items  # it is not written to


@pytest.mark.slow
def test_the_same_decisions_again_add_no_evidence(command: Command, old: Path) -> None:
    assert "evidence" not in check(command, old).out
    ran = check(command, old)
    assert ran.code == 0
    assert "the same decisions in all 2 checks: asking again about the same anchors adds no evidence" in ran.out


@pytest.mark.slow
def test_few_anchors_are_inconclusive_which_fails_a_strict_gate_only(command: Command, old: Path) -> None:
    ran = check(command, old, "slipping", "--anchors", 12)
    assert ran.code == 0
    assert "drift: inconclusive" in ran.out
    assert "12 judge calls" in ran.out
    assert "anchors are needed to tell a change of 0.1 from none" in ran.out
    assert check(command, old, "slipping", "--anchors", 12, "--strict").code == 1
    ran = check(command, old, "grade", "--anchors", 3)
    assert "3 anchors are too few for the test to find any change" in ran.out
    assert check(command, old, "grade", "--margin", 0.3, "--anchors", 20, "--strict").code == 0
    assert "more than 100,000 anchors" in check(command, old, "slipping", "--margin", 0.00001, "--anchors", 20).out


def test_json_is_the_report_and_nothing_else(command: Command, old: Path) -> None:
    history = old.parent / "deep" / "h.jsonl"
    ran = check(command, old, "lenient", "--json", "--history", history, "--alpha", 0.01)
    assert ran.code == 1
    document = ran.json
    assert (document["schema"], document["answer"], document["changes"]) == (
        "judgeharness.drift/1",
        "drifted",
        ["model", "prompt"],
    )
    assert (document["alpha"], document["judge_now"], document["history"]) == (0.01, "grader", str(history))
    assert "plan" in ran.err
    assert len(history.read_text().splitlines()) == 1


def test_the_same_anchors_are_asked_whatever_the_order_of_the_labels(command: Command, old: Path) -> None:
    labelled = old.parent / "labels.csv"
    header, *lines = labelled.read_text().splitlines()
    options = ("--anchors", 15, "--json", "--history")
    before = check(command, old, "lenient", *options, old.parent / "one.jsonl").json
    labelled.write_text("\n".join([header, *reversed(lines)]) + "\n")
    after = check(command, old, "lenient", *options, old.parent / "other.jsonl").json
    assert after["criteria"] == before["criteria"]


def test_anchors_that_are_missing_or_relabelled_are_said_and_not_asked(command: Command, old: Path) -> None:
    labels(old.parent, 30, c0="PASS")
    ran = check(command, old, "grade", "--anchors", 60)
    assert "29 judge calls" in ran.out
    assert "; not found: 30 (" in ran.out
    assert ", ...); gold label changed: 1 (c0)" in ran.out
    labels(old.parent, 10, **{f"c{n}": "UNSURE" for n in range(10)})
    ran = check(command, old, "grade", "--anchors", 60)
    assert (ran.code, ran.out) == (2, "")
    assert "none of 60 anchors can be compared: 50 are missing, 10 have another gold label" in ran.err


def test_a_judge_that_cannot_be_asked_is_no_drift(command: Command, old: Path) -> None:
    ran = check(command, old, "broken")
    assert ran.code == 3
    assert "grader: 50 samples: error, ValueError: nobody home" in ran.err
    assert "no anchor could be judged, so nothing can be said about drift" in ran.err
    assert not (old.parent / "old.history.jsonl").exists()
    ran = check(command, old, "half_broken")
    assert ran.code == 1
    assert "; not graded 0 before, 25 now" in ran.out


def test_single_cases_without_a_verdict_give_exit_code_3(command: Command, old: Path) -> None:
    ran = check(command, old, "broken_twice", "--anchors", 60)
    assert ran.code == 3
    assert "drift: inconclusive" in ran.out
    assert "not graded 0 before, 2 now" in ran.out
    assert "2 samples: error" in ran.err


@pytest.mark.slow
def test_every_criterion_is_compared(command: Command, tmp_path: Path) -> None:
    path = labels(tmp_path, 40)
    rows = path.read_text().replace(",PASS\n", ',"{""tone"": ""PASS"", ""facts"": ""PASS""}"\n')
    path.write_text(rows.replace(",FAIL\n", ',"{""tone"": ""FAIL"", ""facts"": ""PASS""}"\n'))
    saved = tmp_path / "old.json"
    assert (
        command("calibrate", "--source", "human", config(tmp_path, "criteria"), "--labels", path, "--out", saved).code
        == 0
    )
    assert {one.criterion for one in CalibrationReport.load(saved).items} == {"tone", "facts"}
    ran = check(command, saved, "criteria")
    assert "tone: stable" in ran.out
    assert "facts: stable" in ran.out
    ran = check(command, saved, "no_facts")
    assert "facts: drifted" in ran.out
    assert "(Holm " in ran.out
    assert "tone: stable" in ran.out
    labels(tmp_path, 40)  # labels without a criterion are those of a judge's only one
    assert "none of 80 anchors" not in check(command, saved, "criteria").err


def test_a_log_holds_the_new_answers(command: Command, old: Path) -> None:
    log = old.parent / "now.csv"
    verdicts = ["PASS" if n % 2 or n < 20 else "FAIL" for n in range(60)]
    write_log([VerdictRow(case_id=f"c{n}", judge="other", verdict=v) for n, v in enumerate(verdicts)], log)
    ran = command("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--check", old, "--anchors", 60)
    assert ran.code == 1
    assert "judge: other (calibrated: grader)" in ran.out
    assert "nothing was asked\nrule: majority\n" in ran.out
    assert "what is asked is not" not in ran.out
    assert "fingerprint: cannot be compared: the new decisions were made from a log" in ran.out
    assert "10 for the worse" in ran.out
    sentence = "--log needs --rule: which rule's decisions are to be compared?"
    assert sentence in command("calibrate", "--source", "human", "--log", log, "--check", old).err
    write_log([VerdictRow(case_id="c1", verdict="PASS", run=run) for run in ("r1", "r2")], log)
    ran = command("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--check", old, "--anchors", 60)
    assert "holds two decisions about 'verdict' of case 'c1': keep one run" in ran.err


def test_another_rule_is_no_drift(command: Command, old: Path) -> None:
    log = write_log([VerdictRow(case_id=f"c{n}", verdict="PASS") for n in range(60)], old.parent / "now.csv")
    ran = command("calibrate", "--source", "human", "--log", log, "--rule", "abstain_on_disagreement", "--check", old)
    assert (ran.code, ran.out) == (2, "")
    assert "was measured with rule majority: give --rule 'majority'" in ran.err
    assert not (old.parent / "old.history.jsonl").exists()


def test_an_old_calibration_that_does_not_say_its_rule_says_so(command: Command, old: Path) -> None:
    saved = json.loads(old.read_text())
    old.write_text(
        json.dumps({name: None if name == "parts" else value for name, value in saved.items() if name != "design"})
    )
    log = write_log([VerdictRow(case_id=f"c{n}", verdict="PASS") for n in range(60)], old.parent / "now.csv")
    ran = command("calibrate", "--source", "human", "--log", log, "--rule", "abstain_on_disagreement", "--check", old)
    assert "the calibration does not say its rule: it may be another\n" in ran.out


def test_a_judge_without_identity_is_told_what_gives_one_and_its_other_design(command: Command, old: Path) -> None:
    nameless = [{"name": "grader", "callable": "drift_judges:nameless"}]
    harness = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "supermajority(2/3)"}
    ran = check(command, old, "grade", judges=nameless, harness=harness)
    assert (
        "drift: stable\nwhat is asked is not what was calibrated: rule majority before, supermajority(2/3) now\n"
        in ran.out
    )
    assert "what is asked is not what was calibrated: repetitions 1 before, 3 now\n" in ran.out
    assert "cannot be compared: the new decisions were made from a log, or by a judge without identity" in ran.out
    assert "in a configuration `model` gives one to a `callable`" in ran.out
    [line] = (old.parent / "old.history.jsonl").read_text().splitlines()
    assert json.loads(line)["design_changes"][1] == "repetitions 1 before, 3 now"


@pytest.mark.parametrize("name", ["old.json", "labels.csv", "grade.json", "notes.jsonl"])
def test_the_history_is_no_other_file(command: Command, old: Path, name: str) -> None:
    path = old.parent / name
    (old.parent / "notes.jsonl").write_text("mine\n")
    config(old.parent, "grade")
    before = path.read_bytes()
    ran = check(command, old, "grade", "--history", path)
    assert (ran.code, ran.out) == (2, "")
    assert "give another --history." in ran.err
    assert path.read_bytes() == before


def test_verdicts_that_changed_neither_way_are_counted(command: Command, tmp_path: Path) -> None:
    def log(name: str, wrong: str) -> Path:
        rows = [VerdictRow(case_id=f"c{n}", verdict="good" if n > 6 else wrong, gold="good") for n in range(40)]
        return write_log(rows, tmp_path / name)

    saved = tmp_path / "cal.json"
    command("calibrate", "--source", "human", "--log", log("before.csv", "poor"), "--rule", "majority", "--out", saved)
    ran = command(
        "calibrate", "--source", "human", "--log", log("now.csv", "odd"), "--rule", "majority", "--check", saved
    )
    assert "7 of 40 verdicts changed: 0 for the worse, 0 for the better, 7 neither" in ran.out


def test_a_history_line_that_is_no_number_is_not_shown_as_one(command: Command, old: Path) -> None:
    history = old.parent / "old.history.jsonl"
    lines = ('{"criterion": "a", "difference": NaN}', '{"criterion": "b", "difference": 1e400}')
    history.write_text(
        "".join(f'{{"schema": "judgeharness.drift_history/1", "criteria": [{line}]}}\n' for line in lines)
    )
    ran = check(command, old)
    assert ran.code == 0
    assert "nan" not in ran.out
    assert "inf" not in ran.out


def test_a_log_can_be_calibrated_and_checked_with_scores(command: Command, tmp_path: Path) -> None:
    def log(name: str, shift: float) -> Path:
        path = tmp_path / name
        rows = [VerdictRow(case_id=f"c{n}", verdict=n % 10 + shift, gold=n % 10) for n in range(60)]
        write_log(rows, path)
        return path

    saved = tmp_path / "cal.json"
    before = log("before.csv", 0.25)
    assert command("calibrate", "--source", "human", "--log", before, "--rule", "median", "--out", saved).code == 0
    ran = command("calibrate", "--source", "human", "--log", before, "--rule", "median", "--check", saved)
    assert (ran.code, "drift: stable" in ran.out) == (0, True)
    ran = command("calibrate", "--source", "human", "--log", log("now.csv", 1.5), "--rule", "median", "--check", saved)
    assert ran.code == 1
    assert "mean distance from gold +1.250, 95 % interval" in ran.out
    write_log([VerdictRow(case_id=f"c{n}", verdict=None, outcome="error") for n in range(60)], tmp_path / "gone.csv")
    ran = command(
        "calibrate", "--source", "human", "--log", tmp_path / "gone.csv", "--rule", "median", "--check", saved
    )
    assert "mean distance from gold not measured, no interval" in ran.out


@pytest.mark.slow
def test_the_calibrated_judge_is_chosen_where_there_are_several(command: Command, old: Path) -> None:
    folder = old.parent
    both = config(folder, "grade", "lenient")
    asked = ("calibrate", "--source", "human", both, "--labels", folder / "labels.csv", "--check", old)
    assert "judge: grader\n" in command(*asked).out
    ran = command(*asked, "--judge", "lenient")
    assert (ran.code, "judge: lenient (calibrated: grader)" in ran.out) == (1, True)
    assert "fingerprint: judge, model, prompt, source changed" in " ".join(ran.out.split())
    saved = CalibrationReport.load(old).to_dict() | {"judge": "gone"}
    old.write_text(json.dumps(saved))
    assert "choose one with --judge" in command(*asked).err


def test_damaged_history_lines_are_kept_and_said(command: Command, old: Path) -> None:
    history = old.parent / "old.history.jsonl"
    odd = {"schema": "judgeharness.drift_history/1", "answer": "\x1b[31mred", "criteria": [7, {}, {"difference": 0.5}]}
    history.write_text("not json\n" + json.dumps(odd))
    ran = check(command, old)
    assert "lines that cannot be read, and are kept: 1" in ran.out
    assert "\x1b" not in ran.out
    assert "None +0.500 (n=None)" in ran.out
    assert history.read_text().startswith("not json\n")
    assert len(history.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--out", "x.json"), "--check compares with a calibration and saves none: leave out --out."),
        (("--positive", "A", "--name", "n"), "leave out --name, --positive."),
        (("--anchors", "0"), "anchors must be a whole number of at least 1, not 0."),
        (("--margin", "0"), "margin must lie between 0 and 1, not 0."),
        (("--alpha", "1"), "alpha must lie between 0 and 1, not 1."),
        (("--rule", "majority"), "--rule goes with --log"),
        (("--history", "."), "is a folder: give the path of a file as --history."),
        (("--judge", "nobody"), "unknown judge 'nobody'"),
        (("--max-calls", "49"), "the plan is 50 calls, more than max_calls=49: nothing was asked."),
    ],
)
def test_what_cannot_be_checked_is_refused_before_anything_is_asked(
    command: Command, old: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.setattr(JudgeHarness, "evaluate_many", lambda *_: pytest.fail("the judge was asked"))
    ran = check(command, old, "grade", *options)
    assert ran.code == 2
    assert sentence in ran.err
    assert not (old.parent / "old.history.jsonl").exists()


@pytest.mark.slow
def test_incomplete_requests_are_refused(command: Command, old: Path) -> None:
    configured = config(old.parent, "grade")
    sentence = "give CONFIG with --labels FILE and --check OLD.json, or --log LOG with --rule RULE."
    assert sentence in command("calibrate", "--source", "human", configured, "--check", old).err
    assert sentence in command("calibrate", "--source", "human", "--check", old).err
    ran = command("calibrate", "--source", "human", configured, "--anchors", 5, "--strict")
    assert "--anchors, --strict goes with --check OLD.json, the calibration to compare with." in ran.err
    assert (
        "leave out CONFIG"
        in command("calibrate", "--source", "human", configured, "--log", "l.csv", "--check", old).err
    )
    assert (
        "cannot be read"
        in command("calibrate", "--source", "human", configured, "--check", old.parent / "none.json").err
    )
    before = {name: value for name, value in json.loads(old.read_text()).items() if name != "items"}
    old.write_text(json.dumps(before))
    assert "holds no items to check again, as an earlier version saved it: calibrate anew." in check(command, old).err


def test_calls_that_run_out_leave_no_answer(command: Command, old: Path) -> None:
    execution = {"max_calls": 6, "max_attempts": 20, "max_concurrency": 1}
    ran = check(command, old, "busy", "--anchors", 6, execution=execution)  # a call that fails is tried again
    assert ran.code == 2
    assert "the calls allowed ended before all anchors were judged: raise max_calls." in ran.err


def test_an_interrupted_check_ends_as_such(command: Command, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(JudgeHarness, "evaluate_many", interrupted)
    assert check(command, old).code == 130


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_what_cannot_be_added_to_the_history_was_told(
    command: Command, old: Path, monkeypatch: pytest.MonkeyPatch, as_json: tuple[str, ...]
) -> None:
    def refuse(*_: object) -> None:
        raise ConfigError("history h.jsonl cannot be written (No space left on device): give another --history.")

    monkeypatch.setattr(_calibrate, "append_history", refuse)
    ran = check(command, old, "grade", *as_json)
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert "stable" in ran.out


@pytest.mark.skipif(not Path("/dev/null").exists() or os.name == "nt", reason="needs a device")
def test_a_device_takes_a_history(command: Command, old: Path) -> None:
    ran = check(command, old, "grade", "--history", "/dev/null")
    assert (ran.code, "history: 0 checks in /dev/null" in ran.out) == (0, True)
