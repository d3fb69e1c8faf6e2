"""A calibration and runs whose cases are like the labelled ones, or are not: what every command says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.verdictlog import write_log

Command = Callable[..., Any]
JUDGES = """
def reading(case):
    return case.output.split()[0]
"""

HUMAN = ("--source", "human")


def cases(name: str, folder: Path, *, shares: dict[str, float], words: int, passing: float, n: int = 120) -> None:
    """A case file: so many words an answer, so many of them passing, strata in these shares."""
    strata = [stratum for stratum, share in shares.items() for _ in range(round(share * n))]
    lines = ["case_id,input,output,gold,subset"]
    for place, stratum in enumerate(strata):
        gold = "PASS" if place * 37 % n < passing * n else "FAIL"
        said = gold if stratum == "easy" or place % 3 else "PASS"
        case_id = f"{'l' if name == 'labelled' else 'c'}{place}"
        lines.append(f"{case_id},question {place},{said} {'word ' * (words + place % 7)},{gold},{stratum}")
    (folder / f"{name}.csv").write_text("\n".join([*lines, ""]))


LABELLED = {"shares": {"easy": 0.5, "hard": 0.5}, "words": 40, "passing": 0.6}
RUNS: dict[str, dict[str, Any]] = {
    "same": LABELLED,
    "longer": LABELLED | {"words": 90},
    "failing": LABELLED | {"passing": 0.1},
    "harder": LABELLED | {"shares": {"easy": 0.1, "new": 0.9}},
    "few": LABELLED | {"shares": {"easy": 0.1, "new": 0.9}, "n": 19},
}


@pytest.fixture
def study(command: Command, folder: Path) -> Callable[..., Any]:
    """Calibrate by subset, run on cases of a name, and return what the run printed as JSON."""
    return calibrated(command, folder, "--by", "subset")


def calibrated(command: Command, folder: Path, *options: str) -> Callable[..., Any]:
    (folder / "cli_judges.py").write_text(JUDGES)
    cases("labelled", folder, **LABELLED)

    def config(name: str) -> Path:
        path = folder / f"{name}.json"
        judge = {"name": "reading", "callable": "cli_judges:reading", "model": "toy-1"}
        harness = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
        calibrated = {} if name == "labelled" else {"calibration": "cal.json"}
        content = {"judges": [judge], "cases": f"{name}.csv", "harness": harness, "out": f"out_{name}", **calibrated}
        path.write_text(json.dumps(content))
        return path

    labelled = folder / "labelled.csv"
    made = command(
        "calibrate",
        config("labelled"),
        "--labels",
        labelled,
        "--source",
        "human",
        "--out",
        folder / "cal.json",
        *options,
        "--yes",
    )
    assert made.code == 0, made.err

    def run(name: str, *options: str) -> Any:
        cases(name, folder, **RUNS[name])
        return command("run", config(name), "--yes", "--json", *options)

    return run


@pytest.mark.slow
def test_a_stratum_that_nobody_named_is_seen(command: Command, folder: Path) -> None:
    """The judge is right on easy cases alone, of which the run has few; decisions and lengths are as they were."""
    ran = calibrated(command, folder)("harder", "--require-calibration")
    assert ran.code == 1
    apart = "new: 0 % of 120 labelled cases, 90 % of 120 here, p <.001"
    why = f"this run's cases are not like the labelled ones in strata of subset ({apart})"
    assert why in ran.json["gates"]["checks"][0]["reason"]
    out, saved = folder / "out_harder", json.loads((folder / "cal.json").read_text())
    assert saved["population"]["columns"] == {"subset": {"easy": 60, "hard": 60}}
    [strata] = saved["criteria"]["verdict"]["columns"]
    assert [(one["stratum"], one["n"]) for one in strata["listed"]] == [("easy", 60), ("hard", 60)]
    assert command("report", out, "--no-step-summary", "--require-calibration").code == 1
    for name in ("report", "replay"):
        options = ("--rule", "majority") if name == "replay" else ()
        place = out / "verdicts.jsonl" if name == "replay" else out
        known = ("--calibration", folder / "cal.json") if name == "replay" else ()
        told = command(name, place, *options, *known, "--fail-under", "precision>=0.5")
        assert (told.code, why in " ".join(told.out.split())) == (1, True)
    assert "is shifted" in command("compare", out, out).out


@pytest.mark.slow
def test_a_run_like_the_labelled_cases_is_calibrated(command: Command, folder: Path, study: Callable[..., Any]) -> None:
    ran = study("same", "--require-calibration")
    assert ran.code == 0
    assert ran.json["judges"][0]["calibration"]["status"] == "valid"
    told = command("report", folder / "out_same", "--no-step-summary", "--require-calibration", "--all")
    assert told.code == 0
    assert "calibrated on labelled" in told.out
    assert "no difference was found between this run's cases and the labelled ones in " in told.out
    page = folder / "page.html"
    assert command("report", folder / "out_same", "--html", page, "--no-step-summary").code == 0
    assert "No difference was found between this run&#39;s cases and the labelled ones in" in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "what"), [("longer", "lengths in"), ("failing", "decisions of"), ("harder", "strata")]
)
def test_a_shifted_run_is_calibrated_nowhere(
    command: Command, folder: Path, study: Callable[..., Any], name: str, what: str
) -> None:
    ran = study(name, "--require-calibration")
    assert ran.code == 1
    assert ran.json["judges"][0]["calibration"]["status"] == "shifted"
    assert ran.json["judges"][0]["calibration"]["criteria"]["verdict"]["precision"] is None
    assert "is shifted: this run's cases are not like the labelled ones in" in ran.json["gates"]["checks"][0]["reason"]
    out = folder / f"out_{name}"
    report = command("report", out, "--json", "--results", "--no-step-summary", "--require-calibration")
    assert report.code == 1
    anchor = report.json["judges"][0]["calibration"]
    assert anchor["status"] == "shifted"
    assert anchor["shift"]["shifted"] is True
    assert what in anchor["reason"]
    assert anchor["reason"].endswith("label cases of this run and measure again on them")
    assert {one["calibration"]["status"] for one in report.json["results"]} == {"shifted"}
    assert report.json["judges"][0]["calibrated"] is False
    written = {kind: folder / f"report.{kind}" for kind in ("html", "markdown", "junit", "csv")}
    options = [option for kind, path in written.items() for option in (f"--{kind}", path)]
    told = command("report", out, *options, "--no-step-summary")
    assert "uncalibrated: the calibration on labelled is shifted: " in told.out
    for path in written.values():
        assert "shifted" in path.read_text()


@pytest.mark.slow
def test_gates_on_precision_do_not_pass_in_a_shifted_run(
    command: Command, folder: Path, study: Callable[..., Any]
) -> None:
    study("failing")
    gated = command("report", folder / "out_failing", "--fail-under", "precision>=0.5", "--no-step-summary", "--json")
    assert gated.code == 1
    assert gated.json["gates"]["checks"][0]["status"] == "not_measured"
    assert "is shifted" in gated.json["gates"]["checks"][0]["reason"]


@pytest.mark.slow
def test_gates_say_that_the_cases_were_not_compared(command: Command, folder: Path, study: Callable[..., Any]) -> None:
    ran = study("few", "--require-calibration", "--fail-under", "precision>=0.1")
    assert ran.code == 0
    not_measured = "whether this run's cases are like the labelled ones was not measured: the run's cases are too few"
    assert all(not_measured in one["reason"] for one in ran.json["gates"]["checks"])
    told = command("report", folder / "out_few", "--no-step-summary", "--require-calibration", "--json")
    assert not_measured in told.json["gates"]["checks"][0]["reason"]


@pytest.mark.slow
def test_a_run_until_and_its_report_compare_alike(command: Command, folder: Path, study: Callable[..., Any]) -> None:
    ran = study("failing", "--until", "coverage>=0.5", "--require-calibration")
    told = command(
        "report",
        folder / "out_failing",
        "--sequential",
        "--fail-under",
        "coverage>=0.5",
        "--require-calibration",
        "--no-step-summary",
        "--json",
    )
    assert ran.code in (0, 1), ran.err
    assert ran.json["gates"]["checks"][-1]["reason"] == told.json["gates"]["checks"][-1]["reason"]
    assert (ran.code, told.code) == (0, 0)


@pytest.mark.slow
def test_a_run_says_without_gates_that_its_cases_were_not_compared(
    command: Command, folder: Path, study: Callable[..., Any]
) -> None:
    said = "whether this run's cases are like the labelled ones was not measured: "
    few = study("few").json["judges"][0]
    assert few["not_measured"] == [f"{said}the run's cases are too few: 19 cases, 20 are needed"]
    assert few["calibration"]["status"] == "valid"
    told = command("run", folder / "few.json", "--yes")
    assert f"reading: not measured: {said}the run's cases are too few" in " ".join(told.out.split())
    assert study("same").json["judges"][0]["not_measured"] == []
    (stopped,) = study("failing", "--until", "coverage>=0.5").json["judges"][0]["not_measured"]
    assert stopped.startswith(f"{said}the run was asked until its own gate is settled")
    saved = json.loads((folder / "cal.json").read_text())
    (folder / "cal.json").write_text(json.dumps(saved | {"population": None}))
    (old,) = study("longer").json["judges"][0]["not_measured"]
    assert old.startswith(said)


@pytest.mark.slow
def test_comparisons_name_the_shifted_run(command: Command, folder: Path, study: Callable[..., Any]) -> None:
    for name in ("same", "failing"):
        study(name)
    compared = command("compare", folder / "out_same", folder / "out_failing", "--json")
    assert len(compared.json["shifted"]) == 1
    assert compared.json["shifted"][0].startswith("after, reading: the calibration on labelled is shifted: ")
    told = command("compare", folder / "out_same", folder / "out_failing")
    assert "after, reading: the calibration on labelled is shifted" in " ".join(told.out.split())


@pytest.mark.slow
def test_replays_hold_a_calibration_against_their_log(
    command: Command, folder: Path, study: Callable[..., Any]
) -> None:
    study("failing")
    study("same")
    for where in (folder / "out_failing", folder / "out_failing" / "verdicts.jsonl"):
        given = () if where.is_dir() else ("--calibration", folder / "cal.json")
        told = command("replay", where, "--rule", "majority", *given)
        assert told.code == 0
        assert "reading: the calibration on labelled is shifted: this run's cases are not like" in told.out
        gated = command("replay", where, "--rule", "majority", *given, "--require-calibration", "--json")
        assert gated.code == 1
        assert "is shifted" in gated.json["gates"]["checks"][0]["reason"]
        assert gated.json["calibrations"][0]["shift"]["shifted"] is True
    held = command("replay", folder / "out_same", "--rule", "majority", "--require-calibration")
    assert held.code == 0
    assert "reading: the calibration on labelled is valid" in held.out
    assert "reading: no difference was found between this run's cases and the labelled ones in " in held.out
    log = folder / "out_same" / "verdicts.jsonl"
    unknown = command("replay", log, "--rule", "majority", "--calibration", folder / "cal.json")
    assert "is unverifiable: a log does not say which configuration answered" in unknown.out
    other = command("replay", folder / "out_same", "--rule", "strict_majority", "--require-calibration")
    assert other.code == 1
    assert "is expired: rule majority before, strict_majority now" in other.out


def test_a_calibration_of_another_judge_is_refused(command: Command, folder: Path) -> None:
    for judge in ("one", "other"):
        golds = ["PASS", "FAIL"] * 15
        rows = [row for n, gold in enumerate(golds) for row in sampled([gold], case_id=f"c{n}", gold=gold, judge=judge)]
        write_log(rows, folder / f"{judge}.jsonl")
    made = command(
        "calibrate",
        "--source",
        "human",
        "--log",
        folder / "one.jsonl",
        "--rule",
        "majority",
        "--out",
        folder / "cal.json",
    )
    assert made.code == 0
    refused = command("replay", folder / "other.jsonl", "--rule", "majority", "--calibration", folder / "cal.json")
    assert refused.code == 2
    assert "is of judge 'one', the log of other: calibrate that judge" in " ".join(refused.err.split())


def test_strata_are_printed_tested_and_kept(command: Command, folder: Path) -> None:
    rows = []
    for n in range(120):
        gold, easy = ("PASS", "FAIL")[n % 2], n < 60
        verdict = gold if easy or n % 3 else ("FAIL", "PASS")[n % 2]
        column = {"subset": "easy" if easy else "hard"} if n else {}
        rows += sampled([verdict], case_id=f"c{n}", gold=gold, attributes=column)
    log = write_log(rows, folder / "log.jsonl")
    out = folder / "cal.json"
    ran = command("calibrate", *HUMAN, "--log", log, "--rule", "majority", "--by", "subset", "--out", out)
    assert ran.code == 0
    assert "subset easy: n=59, precision 1.000 [0.883, 1.000] (29/29), recall 1.000" in ran.out
    assert "subset hard: n=60, precision 0.667" in ran.out
    assert "1 labelled cases say nothing in subset" in ran.out
    assert "the pooled numbers do not hold for every subset: precision from 0.667 (hard) to 1.000 (easy) (p " in ran.out
    kept = json.loads(out.read_text())
    assert [one["stratum"] for one in kept["criteria"]["verdict"]["strata"]["listed"]] == ["hard", "easy"]
    assert kept["population"]["strata"] == {"easy": 59, "hard": 60}
    unknown = command("calibrate", *HUMAN, "--log", log, "--rule", "majority", "--by", "subst", "--out", out)
    assert unknown.code == 2
    assert "subset" in unknown.err
    beside = command("calibrate", "--check", out, "--log", log, "--rule", "majority", "--by", "subset")
    assert beside.code == 2
    assert "leave out --by" in beside.err


def test_an_unknown_column_is_refused_before_anybody_is_asked(command: Command, folder: Path) -> None:
    (folder / "cli_judges.py").write_text(JUDGES)
    cases("labelled", folder, **LABELLED)
    judge = {"name": "reading", "callable": "cli_judges:reading", "model": "toy-1"}
    config = folder / "config.json"
    harness = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    config.write_text(json.dumps({"judges": [judge], "cases": "labelled.csv", "harness": harness}))
    labels, out = folder / "labelled.csv", folder / "cal.json"
    refused = command("calibrate", config, *HUMAN, "--labels", labels, "--out", out, "--by", "colour", "--yes")
    assert refused.code == 2
    assert "colour" in refused.err
    assert not out.exists()
