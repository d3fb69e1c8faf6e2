"""A certificate in use is told wherever it decides: by `compare`, by a log named instead of its folder, by strata."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from judgeharness_integrations.analysis.calibration.saved import DEFAULT_MAX_AGE
from judgeharness_integrations.analysis.certifying import Certificate
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import read_log, write_log

Command = Callable[..., Any]
JUDGES = """
from collections import Counter

ASKED = Counter()

def grade(case):
    ASKED[case.case_id] += 1
    right, wrong = ("PASS", "FAIL") if "good" in case.output else ("FAIL", "PASS")
    return wrong if "split" in case.output and ASKED[case.case_id] % 4 == 0 else right
"""
HARNESS = {"perturbations": ["none"], "repetitions": 4, "aggregation_rule": "majority"}


@pytest.fixture
def configured(folder: Path) -> Callable[..., Path]:
    """60 sure cases that are right and 20 split ones, of which half are wrong; writes configurations."""
    (folder / "cli_judges.py").write_text(JUDGES)
    sure = [f"s{n},q{n},{'good' if n % 2 else 'bad'},{'PASS' if n % 2 else 'FAIL'},old" for n in range(60)]
    split = [f"m{n},q{n},split good,{'PASS' if n % 2 else 'FAIL'},old" for n in range(20)]
    (folder / "cases.csv").write_text("\n".join(["case_id,input,output,gold,kind", *sure, *split]))

    def write(name: str = "run", **changes: Any) -> Path:
        config: dict[str, Any] = {
            "judges": [{"name": "grade", "callable": "cli_judges:grade", "model": "gpt-4o"}],
            "cases": "cases.csv",
            "harness": HARNESS,
        }
        (folder / f"{name}.json").write_text(json.dumps(config | changes))
        return folder / f"{name}.json"

    return write


@pytest.fixture
def held(command: Command, folder: Path, configured: Callable[..., Path]) -> Path:
    """The folder of a run under a certificate, beside that of `plain`, which has none."""
    plain = configured()
    assert command("run", plain, "--out", folder / "plain", "--yes").code == 0
    asked = ("--config", plain, "--source", "human", "--name", "people", "--out", folder / "certificate.json")
    assert command("certify", folder / "plain" / "verdicts.jsonl", *asked).code == 0
    ran = command("run", configured("held", certificate="certificate.json"), "--out", folder / "held", "--yes")
    assert ran.code == 0, ran.err
    return folder / "held"


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_compare_sees_decisions_as_the_certificate_leaves_them(command: Command, folder: Path, held: Path) -> None:
    pages = (folder / "page.html", folder / "page.md")
    asked = ("compare", held, folder / "plain")
    ran = command(*asked, "--json", "--html", pages[0], "--markdown", pages[1])
    assert list(Draft202012Validator(schema("comparison-1")).iter_errors(ran.json)) == []
    [found] = ran.json["criteria"]
    assert (len(found["flips"]), found["noise"]["observed"], found["noise"]["expected"]) == (20, 20, 20)
    assert {flip["before"]["verdict"] for flip in found["flips"]} == {"ABSTAIN"}
    [changed] = [one for one in ran.json["configuration"] if one["part"] == "certificate"]
    assert changed["before"].startswith("people (valid): verdict from consistency 1.0 on; 90 % agreement, of ")
    assert changed["after"] == "none"
    assert "the designs differ (certificate)" in found["reason"]
    line = "before, grade: certificate: people: decided cases agree with people at least 90 % of the time"
    shown = [ran.json["certificates"][0], command(*asked).out, *(page.read_text("utf-8") for page in pages)]
    assert [line in words(html.unescape(text)) for text in shown] == [True] * 4
    terms = "people (valid): verdict from consistency 1.0 on"
    assert [terms in words(html.unescape(text)) for text in shown[1:]] == [True] * 3


@pytest.mark.slow
def test_the_log_of_a_run_named_instead_of_its_folder_is_that_run(command: Command, folder: Path, held: Path) -> None:
    for name in ("verdicts.sqlite", "verdicts.jsonl"):
        log = held / name
        same = command("compare", held, log, "--rule", "majority", "--json").json
        assert (same["criteria"][0]["flips"], len(same["certificates"])) == ([], 2)
        assert "certificate" not in {one["part"] for one in same["configuration"]}
        [reported] = command("report", log, "--rule", "majority", "--json").json["judges"]
        assert reported["certificates"][0]["status"] == "valid"
        assert (reported["criteria"][0]["decided"], reported["criteria"][0]["abstained"]) == (60, 20)
        replayed = command("replay", log, "--rule", "majority", "--json").json
        assert replayed["certificates"][0]["status"] == "valid"
        assert replayed["judges"][0]["abstained"] == 20
        gate = command("report", log, "--rule", "majority", "--fail-under", "coverage>=0.8", "--no-step-summary")
        assert gate.code == 1


def test_rows_apart_from_their_run_are_said_to_know_no_certificate(command: Command, folder: Path, held: Path) -> None:
    apart = shutil.copy(held / "verdicts.jsonl", folder / "apart.jsonl")
    told = command("compare", held, apart, "--rule", "majority", "--json").json
    run = told["before"]["run"]
    assert len(told["criteria"][0]["flips"]) == told["criteria"][0]["noise"]["observed"] == 20
    assert told["certificates"][1] == (
        f"after, grade: rows of run {run}, whose certificate {apart} does not know: give the folder of the run, or its "
        "log there"
    )
    assert len(command("compare", apart, folder / "plain", "--rule", "majority", "--json").json["certificates"]) == 0


@pytest.mark.slow
def test_a_log_of_several_runs_names_the_one_with_a_certificate(command: Command, folder: Path, held: Path) -> None:
    assert command("run", folder / "held.json", "--out", held, "--yes", "--new-run").code == 0
    log, run = held / "verdicts.sqlite", json.loads((held / "run.json").read_text())["run"]
    chosen = command("replay", log, "--rule", "majority", "--run", run, "--json").json
    assert (chosen["judges"][0]["abstained"], len(chosen["certificates"])) == (20, 1)
    [older] = {row.run for row in read_log(log)} - {run}
    left_out = f"run {older} decided under a certificate, which its log does not hold"
    assert left_out in command("replay", log, "--rule", "majority", "--run", older).err
    report = command("report", log, "--rule", "majority", "--run", older, "--json").json["judges"][0]
    assert left_out in report["warnings"][0]
    apart = shutil.copy(log, folder / "apart.sqlite")
    assert left_out in command("replay", apart, "--rule", "majority", "--run", older).err
    beside = command("compare", apart, folder / "plain", "--rule", "majority", "--run-a", older, "--json").json
    assert [note.startswith(f"before, grade: {left_out}") for note in beside["certificates"]] == [True]
    plain = folder / "plain" / "verdicts.sqlite"
    assert command("replay", plain, "--rule", "majority").err == ""


@pytest.mark.slow
def test_runs_that_share_no_answers_are_not_decided_under_the_certificate_of_one(
    command: Command, folder: Path, held: Path
) -> None:
    log = folder / "held" / "verdicts.jsonl"
    rows = [row for folder_ in ("held", "plain") for row in read_log(folder / folder_ / "verdicts.jsonl")]
    write_log(rows, log)
    ran = command("replay", log, "--rule", "majority")
    assert (ran.code, "stand under a certificate: choose one with --run." in words(ran.err)) == (2, True), ran.err


@pytest.mark.slow
def test_a_run_names_the_strata_in_which_nothing_is_certified(
    command: Command, folder: Path, held: Path, configured: Callable[..., Path]
) -> None:
    text = (folder / "cases.csv").read_text()
    kinds = "\n".join(line.replace(",old", ",odd") if line.startswith("m") else line for line in text.splitlines())
    (folder / "cases.csv").write_text(kinds)
    assert command("run", configured("kinds"), "--out", folder / "kinds", "--yes").code == 0
    asked = ("--config", folder / "kinds.json", "--source", "human", "--name", "people", "--by", "kind")
    out = folder / "by_kind.json"
    made = command("certify", folder / "kinds" / "verdicts.jsonl", *asked, "--out", out)
    assert (made.code, out.exists()) == (1, True), made.out + made.err  # the odd ones are refused
    new = "".join(f"\nn{n},q,good,PASS,new" for n in range(5))
    (folder / "cases.csv").write_text(kinds + new + "\nx1,q,good,PASS,")
    config = configured("strata", certificate=str(out))
    ran = command("run", config, "--out", folder / "strata", "--yes")
    told = [
        "verdict: no decision is certified where kind is odd: the certificate on people was refused there (20 cases)",
        "verdict: no decision is certified where kind is new: the certificate on people has no labels there (5 cases)",
        "verdict: no decision is certified where kind is None: the certificate on people has no labels there (1 case)",
    ]
    assert [line in words(ran.out) for line in told] == [True] * 3, ran.out
    assert "with 90 % confidence, in each certified kind at once, if cases are like the labelled ones" in words(ran.out)
    summary = json.loads((folder / "strata" / "summary.json").read_text())["judges"][0]
    assert sorted(line for line in summary["warnings"] if "no decision is" in line) == sorted(told)
    report = command("report", folder / "strata", "--json").json["judges"][0]
    assert sorted(line for line in report["warnings"] if "no decision is" in line) == sorted(told)
    same = command("compare", folder / "strata", folder / "strata" / "verdicts.sqlite", "--rule", "majority", "--json")
    assert same.json["criteria"][0]["flips"] == []
    plain = command("compare", folder / "strata", folder / "kinds", "--json").json["criteria"][0]
    assert len(plain["flips"]) == plain["noise"]["observed"] == 20
    assert summary["criteria"][0]["decided"] == 60


@pytest.mark.slow
def test_on_the_day_it_expires_every_command_says_so(
    command: Command, folder: Path, held: Path, configured: Callable[..., Path]
) -> None:
    saved = Certificate.load(folder / "certificate.json")
    then = datetime.now(UTC) - DEFAULT_MAX_AGE
    old = replace(saved, measured_at=(then - timedelta(hours=1)).isoformat()).save(folder / "old.json")
    young = replace(saved, measured_at=(then + timedelta(hours=1)).isoformat()).save(folder / "young.json")
    late = configured("late", certificate=str(old))
    before = (
        "grade: the certificate on people is expired: 30 days old, allowed 30 days: every decision it is about will"
    )
    ran = command("run", late, "--out", folder / "late", "--yes")
    line = "certificate: people: expired: 30 days old, allowed 30 days"
    warning = "warning: the certificate on people is expired: 30 days old, allowed 30 days: its decisions abstain"
    assert [part in words(ran.out) for part in (before, line, warning)] == [True] * 3, ran.out
    assert before not in words(command("run", folder / "held.json", "--out", held, "--yes").out)
    for asked in (
        ("report", folder / "late"),
        ("replay", folder / "late", "--rule", "majority"),
        ("replay", folder / "plain", "--rule", "majority", "--certificate", old),
        ("compare", folder / "late", folder / "plain"),
    ):
        assert line in words(command(*asked).out), asked
    given = command("replay", folder / "plain", "--rule", "majority", "--certificate", young, "--json").json
    assert (given["certificates"][0]["status"], given["judges"][0]["abstained"]) == ("valid", 20)


@pytest.mark.slow
@pytest.mark.parametrize("calibrated", [True, False])
def test_a_run_of_other_cases_than_the_labelled_ones_promises_nothing(
    command: Command, folder: Path, held: Path, configured: Callable[..., Path], *, calibrated: bool
) -> None:
    shutil.copy(folder / "cases.csv", folder / "labels.csv")
    asked = ("--labels", folder / "labels.csv", "--source", "human", "--out", folder / "cal.json", "--yes")
    assert command("calibrate", folder / "run.json", *asked).code == 0
    (folder / "cases.csv").write_text(
        "\n".join(["case_id,input,output,gold,kind", *(f"f{n},q{n},bad,FAIL,old" for n in range(80))])
    )
    beside = {"calibration": {"file": "cal.json"}} if calibrated else {}
    config = configured("shifted", certificate="certificate.json", **beside)
    gate = ("--require-calibration", "--no-step-summary")
    ran = command("run", config, "--out", folder / "shifted", "--yes", "--require-calibration")
    line = "certificate: people: shifted: this run's cases are not like the labelled ones in"
    promise = "decided cases agree with people"
    told = {
        "run": ran,
        "report": command("report", folder / "shifted", *gate),
        "replay": command("replay", folder / "shifted", "--rule", "majority"),
        "compare": command("compare", folder / "shifted", folder / "shifted"),
    }
    assert {name: (line in words(one.out), promise in words(one.out)) for name, one in told.items()} == dict.fromkeys(
        told, (True, False)
    )
    assert (ran.code, told["report"].code) == (1, 1)
    assert "decisions stand, without its promise" in words(ran.out)
    judge = json.loads((folder / "shifted" / "summary.json").read_text())["judges"][0]
    report = command("report", folder / "shifted", "--json").json["judges"][0]
    replayed = command("replay", folder / "shifted", "--rule", "majority", "--json").json
    states = [judge["certificate"], *report["certificates"], *replayed["certificates"]]
    assert [one["status"] for one in states] == ["shifted"] * 3
    assert (judge["criteria"][0]["decided"], replayed["judges"][0]["decided"]) == (80, 80)
    page = folder / "page.html"
    assert command("report", folder / "shifted", "--html", page).code == 0
    shown = words(html.unescape(page.read_text("utf-8")))
    assert [part in shown for part in (line.removeprefix("certificate: "), promise)] == [True, False]
