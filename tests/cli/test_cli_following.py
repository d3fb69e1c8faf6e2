"""What `calibrate` and `certify` open with: the answer, and the command that comes next, which runs as printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.certifying import Certificate
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]


def rows(kinds: int = 1) -> list[VerdictRow]:
    """60 unanimous cases, half of them A, that are right; of the second kind 40 that are wrong in half."""
    sure = [row for n in range(60) for row in sampled("AB"[n % 2] * 4, case_id=f"s{n}", gold="AB"[n % 2])]
    wrong = [row for n in range(40) for row in sampled("AB"[n % 2] * 4, case_id=f"w{n}", gold="AABB"[n % 4])]
    told = [(row, "easy") for row in sure] + [(row, "hard") for row in wrong][: 160 * (kinds - 1)]
    return [replace(row, attributes={"kind": kind}) for row, kind in told]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my log.csv"
    write_log(rows(), path)
    return path


def next_of(ran: Any) -> list[str]:
    """Return the words of the command that is named, which stands before everything but the answer and its reasons."""
    lines = ran.out.splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith("next: "))
    assert all(line.startswith("- ") for line in lines[1:place])
    first, *words = shlex.split(lines[place].removeprefix("next: "))
    assert first == "judgeharness"
    return words


def test_a_calibration_of_a_log_is_kept_and_replayed(command: Command, log: Path) -> None:
    asked = ("calibrate", "--log", log, "--rule", "majority", "--source", "human", "--by", "kind", "--json")
    ran = command(*asked[:-1])
    assert ran.out.splitlines()[0] == "judge: right in 100.0 % of 60 decided labelled cases (95 % [94.0, 100.0])"
    keeps = next_of(ran)
    assert keeps == [
        *("calibrate", "--log", str(log), "--rule", "majority", "--out", "calibration.json", "--source", "human"),
        *("--by", "kind"),
    ]
    kept = command(*keeps)
    assert CalibrationReport.load("calibration.json").judge == "judge"
    replays = next_of(kept)
    assert replays == ["replay", str(log), "--rule", "majority", "--calibration", "calibration.json"]
    assert command(*replays).code == 0
    assert "next: " not in command(*asked).out


def test_of_labels_that_are_held_back_the_choice_is_measured_once(command: Command, log: Path) -> None:
    ran = command("calibrate", "--log", log, "--rule", "majority", "--source", "human", "--holdout", "0.5")
    assert "- these cases are to choose on; --final measures the chosen candidate on the others, once\n" in ran.out
    chosen = next_of(ran)
    assert chosen[-1] == "--final"
    final = command(*chosen)
    assert "next: judgeharness replay " in final.out
    again = command(
        *("calibrate", "--log", log, "--rule", "majority", "--source", "human", "--holdout", "0.5", "--final")
    )
    assert "next: " not in again.out


def test_what_a_configuration_stands_on_is_named_until_it_says_so(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    labels = ("--labels", folder / "cases.csv", "--source", "human", "--yes")
    (folder / "kept").mkdir()
    out = folder / "kept" / "mine.json"
    put = f"put `calibration: {Path('kept') / 'mine.json'}` into run.json: later runs stand on it"
    configure("good")
    ran = command("calibrate", "run.json", *labels, "--out", out)
    assert f"- {put}\n" in ran.out
    assert next_of(ran) == ["run", "run.json"]
    configure("good", calibration="kept/mine.json")
    ran = command("calibrate", "run.json", *labels, "--out", out)
    assert put not in ran.out
    assert command(*next_of(ran), "--yes").code == 0


def test_a_certificate_is_kept_and_replayed(command: Command, log: Path) -> None:
    ran = command("certify", log, "--source", "human")
    promise = "agree with people at least 90 % of the time, with 90 % confidence"
    assert ran.out.splitlines()[0] == f"judge: 60 of 60 decisions need no second look: they {promise}"
    kept = command(*next_of(ran))
    assert Certificate.load("certificate.json").granted
    replays = next_of(kept)
    assert replays == ["replay", str(log), "--rule", "majority | median", "--certificate", "certificate.json"]
    assert command(*replays).code == 0


def test_what_is_refused_in_part_is_counted_first(command: Command, log: Path) -> None:
    write_log(rows(kinds=2), log)
    ran = command("certify", log, "--source", "human", "--by", "kind")
    assert ran.code == 1
    first, refused, following, *_ = ran.out.splitlines()
    assert first.startswith("judge: 60 of 100 decisions need no second look: they agree with people ")
    assert refused == "- refused for 1 of 2 strata"
    assert following.startswith("next: judgeharness certify ")
    alike = [row for n in range(60) for row in sampled("AAAA", case_id=f"s{n}", gold="A")]
    write_log(alike, log)
    told = command("certify", log, "--source", "human").out.splitlines()
    assert told[1] == "- agreement is no sign here that the judge tells anything: see the warning"


def test_after_a_refusal_further_cases_of_a_run_are_labelled(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert command("run", configure("good"), "--out", "my run", "--yes").code == 0
    asked = ("certify", "my run", "--source", "human", "--labels")
    (folder / "gold.csv").write_text("case_id,gold\nc1,A\nc2,B\n")
    ran = command(*asked, "gold.csv")
    assert (ran.code, next_of(ran)) == (1, ["audit", "my run"])
    assert ran.out.startswith("good: nothing is certified: it is not shown that its decisions agree with people ")
    assert "next: " not in command(*asked, "cases.csv").out  # every case has a label: only other cases would help
    assert "next: " not in command("certify", folder / "my run" / "results.jsonl", "--source", "human").out
