"""`judgeharness calibrate`: asking a judge, and measuring an existing log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.cli import calibrate_log as _calibration_output
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.verdictlog import VerdictRow, write_log

LLMBAR = Path(__file__).parent.parent / "data" / "llmbar.csv.gz"
Command = Callable[..., Any]


def test_a_judge_is_asked_and_the_card_printed(command: Command, configure: Command, folder: Path) -> None:
    saved = folder / "cal.json"
    path = configure("good", "first")
    ran = command(
        "calibrate",
        "--source",
        "human",
        path,
        "--labels",
        folder / "cases.csv",
        "--out",
        saved,
        "--judge",
        "first",
        "--name",
        "people",
    )
    assert ran.code == 0
    assert "calibrated on people (labels: human" in ran.out
    assert re.search(r"coverage +0\.000", ran.out)
    assert f"saved to {saved}" in ran.out
    report = CalibrationReport.load(saved)
    assert (report.judge, report.name, (report.parts or {})["model"]) == ("first", "people", None)


def test_source_and_positive(command: Command, configure: Command, folder: Path) -> None:
    saved = folder / "cal.json"
    ran = command(
        *("calibrate", configure("good"), "--labels", folder / "cases.csv", "--out", saved),
        *("--source", "model:other", "--positive", "A", "--yes"),
    )
    assert "agreement with other" in ran.out
    assert CalibrationReport.load(saved).criteria["verdict"].positive == "A"


def test_cases_without_verdict_give_exit_code_3(command: Command, configure: Command, folder: Path) -> None:
    ran = command(
        "calibrate",
        "--source",
        "human",
        configure("broken_on_second"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "c.json",
    )
    assert ran.code == 3
    assert "1 of 3 cases ended not_graded" in ran.err
    assert ran.err.splitlines()[-1] == "broken_on_second: 2 samples: error, ValueError: nobody home"


def test_max_calls(command: Command, configure: Command, folder: Path) -> None:
    asked = (
        "calibrate",
        "--source",
        "human",
        configure("good"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "c.json",
    )
    ran = command(*asked, "--max-calls", 5)
    assert ran.code == 2
    assert "more than max_calls=5" in ran.err
    assert command(*asked, "--max-calls", 6).code == 0


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        (".", "is a folder: give the path of a file as --out."),
        ("cases.csv/cal.json", "cannot be written (Not a directory): give another --out; nothing was asked."),
        ("/proc/no/cal.json", "cannot be written"),
    ],
)
def test_a_bad_out_is_refused_before_anything_is_asked(
    command: Command, configure: Command, monkeypatch: pytest.MonkeyPatch, out: str, sentence: str
) -> None:
    config = configure("good")
    folder = config.parent
    monkeypatch.setattr(JudgeHarness, "calibrate", lambda *_: pytest.fail("the judge was asked"))
    ran = command("calibrate", "--source", "human", config, "--labels", folder / "cases.csv", "--out", folder / out)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    ran = command(
        "calibrate",
        "--source",
        "human",
        "--log",
        LLMBAR,
        "--rule",
        "majority",
        "--judge",
        "GPT-4/CoT",
        "--out",
        folder / out,
    )
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err


def test_checking_out_leaves_nothing_behind_and_changes_nothing(
    command: Command, configure: Command, folder: Path
) -> None:
    saved = folder / "cal.json"
    saved.write_text("mine")
    before = sorted(folder.iterdir())
    for out in (saved, folder / "new" / "cal.json"):
        ran = command(
            *(
                "calibrate",
                "--source",
                "human",
                configure("good"),
                "--labels",
                folder / "cases.csv",
                "--out",
                out,
                "--max-calls",
                1,
            )
        )
        assert "more than max_calls=1" in ran.err
    assert [path for path in sorted(folder.iterdir()) if path.name not in ("run.json", "__pycache__")] == before
    assert saved.read_text() == "mine"


def test_a_device_takes_a_calibration(command: Command, configure: Command, folder: Path) -> None:
    ran = command(
        "calibrate", "--source", "human", configure("good"), "--labels", folder / "cases.csv", "--out", "/dev/null"
    )
    assert (ran.code, "saved to /dev/null" in ran.out) == (0, True)


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_what_cannot_be_saved_after_all_was_printed(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, as_json: tuple[str, ...]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CalibrationReport, "save", full)
    asked = (
        "calibrate",
        "--source",
        "human",
        configure("good"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "c.json",
    )
    ran = command(*asked, *as_json)
    assert ran.code == 2
    assert "was not saved, it is printed as JSON" in ran.err
    assert "No space left on device" in ran.err
    assert ("calibrated on cases" in ran.out) == (not as_json)
    assert CalibrationReport.from_dict(json.loads(ran.out[ran.out.index("{\n") :])).criteria["verdict"].n == 3


def test_what_cannot_be_printed_was_saved(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> None:
        raise ConfigError("nobody reads this.")

    monkeypatch.setattr(_calibration_output, "calibration_section", closed)
    saved = folder / "cal.json"
    ran = command("calibrate", "--source", "human", configure("good"), "--labels", folder / "cases.csv", "--out", saved)
    assert "nobody reads this" in ran.err
    assert CalibrationReport.load(saved).criteria["verdict"].n == 3


def test_advice_is_about_options_calibrate_has(command: Command, configure: Command, folder: Path) -> None:
    scores = write_log([VerdictRow(case_id="c", verdict=3, gold=3)], folder / "scores.csv")
    ran = command("calibrate", "--source", "human", "--log", scores, "--rule", "majority")
    assert "use median, mean, trimmed_mean or mode." in ran.err
    (folder / "mixed.csv").write_text("case_id,verdict\nx,A\ny,3\n")
    ran = command("calibrate", "--source", "human", "--log", folder / "mixed.csv", "--rule", "majority")
    assert "use one kind." in ran.err
    (folder / "golds.jsonl").write_text('{"case_id": "c", "output": "two words", "gold": {"tone": 3, "facts": 5}}\n')
    harness = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    ran = command(
        "calibrate",
        "--source",
        "human",
        configure("score", harness=harness),
        "--labels",
        folder / "golds.jsonl",
        "--out",
        folder / "c",
    )
    assert ran.code == 2
    assert "use median, mean, trimmed_mean or mode." in ran.err
    assert "--labels" not in ran.err


@pytest.mark.slow
def test_a_log_is_measured_against_its_gold(command: Command, tmp_path: Path) -> None:
    saved = tmp_path / "cal.json"
    ran = command(
        "calibrate",
        "--source",
        "human",
        "--log",
        LLMBAR,
        "--rule",
        "swap_consensus",
        "--judge",
        "GPT-4/CoT",
        "--candidates",
        "1",
        "--ledger",
        tmp_path / "candidates.jsonl",
        "--out",
        saved,
    )
    assert ran.code == 0
    assert "rule chosen after the samples: exploratory" in ran.out
    assert re.search(r"precision +0\.850 +\[0\.811, 0\.883\] +318 of 374\n", ran.out)
    report = CalibrationReport.load(saved)
    assert (report.parts, report.name, report.judge) == (None, "llmbar", "GPT-4/CoT")


@pytest.mark.slow
def test_a_log_is_measured_against_a_file_of_labels(command: Command, tmp_path: Path) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS" if n % 3 else "FAIL") for n in range(30)]
    log, gold, saved = write_log(rows, tmp_path / "log.csv"), tmp_path / "gold.csv", tmp_path / "cal.json"
    lines = [f"c{n},{'PASS' if n % 2 else 'FAIL'},2" for n in range(20)]
    gold.write_text("\n".join(["case_id,gold,label_count", *lines, "c20,,2", "c21,,1", "other,PASS,1"]) + "\n")
    for option in ("--labels", "--gold"):
        ran = command(
            "calibrate", "--source", "human", "--log", log, "--rule", "majority", option, gold, "--out", saved
        )
        assert (ran.code, ran.err) == (0, "")
    assert "calibrated on gold (labels: human, consensus majority, 1 tie left out)\n" in ran.out
    assert "candidates measured on these labels: 1\n\nverdict, 20 labelled cases\n" in ran.out
    assert f"labels of {gold}: 20 of 30 cases of the log are labelled\n" in ran.out
    assert "count for nothing: 1 (other)\n" in ran.out
    report = CalibrationReport.load(saved)
    assert (report.excluded_ties, report.criteria["verdict"].n, len(report.items)) == (1, 20, 20)
    assert report.design == {"rule": "majority", "perturbations": ["none"], "repetitions": 1}
    asked = ("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--labels", gold, "--json")
    ran = command(*asked, "--out", saved, "--plot", tmp_path / "plots")
    assert list((tmp_path / "plots").iterdir())
    assert (ran.json["excluded_ties"], "20 of 30 cases" in ran.err) == (1, True)


@pytest.mark.parametrize("name", ["log.csv", "gold.csv"])
def test_a_calibration_is_not_saved_over_what_it_is_measured_on(command: Command, tmp_path: Path, name: str) -> None:
    log = write_log([VerdictRow(case_id="c", verdict="PASS", gold="PASS")], tmp_path / "log.csv")
    (tmp_path / "gold.csv").write_text("case_id,gold\nc,PASS\n")
    before = (tmp_path / name).read_bytes()
    asked = ("calibrate", "--source", "human", "--log", log, "--rule", "majority", "--labels", tmp_path / "gold.csv")
    ran = command(*asked, "--out", tmp_path / name)
    assert (ran.code, "which is read: give another --out." in ran.err) == (2, True)
    assert (tmp_path / name).read_bytes() == before


def test_a_log_as_json(command: Command, tmp_path: Path) -> None:
    rows = [
        VerdictRow(case_id="x", verdict="PASS", gold="PASS", criterion="tone"),
        VerdictRow(case_id="y", verdict="FAIL", gold="PASS", criterion="tone"),
        VerdictRow(case_id="y", verdict="FAIL", criterion="unlabelled"),
    ]
    log = write_log(rows, tmp_path / "log.jsonl")
    ran = command(
        *("calibrate", "--log", log, "--rule", "majority", "--json", "--name", "n", "--source", "executable"),
        *("--positive", "PASS"),
    )
    assert list(ran.json["criteria"]) == ["tone"]
    assert ran.json["criteria"]["tone"]["recall"]["successes"] == 1
    assert (ran.json["source"], ran.json["fingerprint"]) == ("executable", None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give CONFIG with --labels FILE and --out FILE, or --log LOG with --rule RULE."),
        (("{config}", "--labels", "{folder}/cases.csv"), "give CONFIG with --labels FILE and --out FILE"),
        (("{config}", "--labels", "{folder}/cases.csv", "--out", "x", "--rule", "majority"), "--rule goes with --log"),
        (("{config}", "--labels", "{folder}/cases.csv", "--out", "x"), "has 2 judges: choose one with --judge"),
        (("{config}", "--labels", "{folder}/cases.csv", "--out", "x", "--judge", "goo"), "did you mean 'good'?"),
        (("{config}", "--labels", "{folder}/bare.csv", "--out", "x", "--judge", "good"), "holds no labelled examples"),
        (("--log", "{log}"), "--log needs --rule"),
        (("--log", "{log}", "--rule", "majority", "--max-calls", "3"), "leave out --max-calls"),
        (("{config}", "--log", "{log}", "--rule", "majority"), "give --rule or CONFIG, not both"),
        (("--log", "{log}", "--rule", "majority"), "holds 2 judges: choose one with --judge"),
        (("--log", "{log}", "--rule", "majority", "--judge", "bare"), "no row carries a gold label"),
        (("--log", "{log}", "--rule", "majority", "--judge", "gold", "--source", "me"), "the source of a label set is"),
        (("--log", "{log}", "--rule", "majority", "--judge", "gold", "--positive", "C"), "positive label 'C' occurs"),
    ],
)
def test_wrong_calls(
    command: Command, configure: Command, folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    log = folder / "log.csv"
    rows = [
        VerdictRow(case_id="c", verdict="A", judge="gold", gold="A"),
        VerdictRow(case_id="c", verdict="A", judge="bare"),
    ]
    write_log(rows, log)
    (folder / "bare.csv").write_text("case_id,output\nc1,text\n")
    config = configure("good", "first")
    ran = command(
        "calibrate", "--source", "human", *(one.format(config=config, folder=folder, log=log) for one in arguments)
    )
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_one_run_of_a_log(command: Command, configure: Command, folder: Path) -> None:
    """Runs that ask other things stand in one log: a rule for labels does not fit the scores of another run."""
    labelled = [VerdictRow(case_id=f"c{n}", verdict="A", gold="A", run="pairs") for n in range(3)]
    scored = [VerdictRow(case_id=f"c{n}", verdict=n, criterion="score", gold=1, run="scores") for n in range(3)]
    write_log([*labelled, *scored], folder / "log.jsonl")
    asked = ("calibrate", "--source", "human", "--log", folder / "log.jsonl", "--rule", "majority")
    assert command(*asked).code == 2
    ran = command(*asked, "--run", "pairs")
    assert ran.code == 0
    assert " 3 of 3\n" in ran.out
    assert "score" not in ran.out
    assert "did you mean 'pairs'?" in command(*asked, "--run", "pair").err
    refused = command(
        "calibrate",
        "--source",
        "human",
        configure("good"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "c.json",
        "--run",
        "pairs",
    )
    assert (refused.code, refused.err) == (2, "error: --run goes with --log: with CONFIG the judge is asked now.\n")
