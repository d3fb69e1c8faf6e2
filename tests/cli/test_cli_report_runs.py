"""`judgeharness report` on folders of runs: the bill, what was planned, the gates, the calibration."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.measured import first
from support.rows import sampled

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.judging.recording import recording, to_file
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog import SqlLog, write_log

JUDGES = """
from judgeharness_integrations.judging.judge import Answer, Judgment

def paid(case):
    answers = (Answer(verdict="PASS" if "good" in case.output else "FAIL"),)
    return Judgment(answers=answers, model="gpt-4o-2024-08-06", input_tokens=1000, output_tokens=1000)
"""
PRICES = {"gpt-4o": {"input": 2.5, "output": 10}}  # 0.0125 a call
CASES = "case_id,input,output,gold\n" + "".join(f"c{n},q{n},{'good' if n % 2 else 'bad'},PASS\n" for n in range(6))
LABELS = "case_id,input,output,gold\nl1,q,good,PASS\nl2,q,bad,FAIL\nl3,q,good,PASS\n"

Command = Callable[..., Any]


@pytest.fixture
def ran(command: Command, tmp_path: Path) -> Callable[..., Path]:
    """Run a judge that is paid for every call, and return the folder of the run."""
    (tmp_path / "report_judges.py").write_text(JUDGES)
    (tmp_path / "cases.csv").write_text(CASES)
    (tmp_path / "labels.csv").write_text(LABELS)

    def run(*options: object, code: int = 0, names: tuple[str, ...] = ("paid",), **changes: Any) -> Path:
        config = {
            "judges": [{"name": name, "callable": "report_judges:paid", "model": "gpt-4o"} for name in names],
            "cases": "cases.csv",
            "harness": {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"},
            "execution": {"prices": PRICES, "max_concurrency": 1},
        }
        (tmp_path / "run.json").write_text(json.dumps(config | changes))
        found = command("run", tmp_path / "run.json", "--out", tmp_path / "out", "--yes", *options)
        sys.modules.pop("report_judges", None)
        assert found.code == code, found.err
        return tmp_path / "out"

    return run


def people(source: str = "human") -> dict[str, Any]:
    return {"calibration": {"labels": "labels.csv", "name": "people_v1", "source": source}}


@pytest.mark.slow
def test_calls_and_cost_belong_together_with_and_without_labelled_cases(command: Command, ran: Any) -> None:
    out = ran(**people())
    shown = command("report", out).out
    assert "- usage: 12 calls, tokens 12000 + 12000, cost 0.1500 by the prices given" in shown
    assert "- calibrating it, beside that: 6 calls, tokens 6000 + 6000, cost 0.0750 by the prices given" in shown
    summary = json.loads((out / "summary.json").read_text())
    (judge,) = summary["judges"]
    assert (judge["usage"]["calls"], judge["calibration_usage"]["calls"]) == (18, 6)
    assert (judge["usage"]["cost"], judge["calibration_usage"]["cost"]) == pytest.approx((0.225, 0.075))
    assert [error.message for error in Draft202012Validator(schema("run-1")).iter_errors(summary)] == []
    document = command("report", out, "--json").json
    assert [error.message for error in Draft202012Validator(schema("report-1")).iter_errors(document)] == []
    (judge,) = document["judges"]
    assert (judge["usage"]["calls"], judge["cost"]) == (12, pytest.approx(0.15))
    assert (judge["calibration_usage"]["calls"], judge["calibration_cost"]) == (6, pytest.approx(0.075))
    markdown = read_report(out).to_markdown()
    assert "usage: 12 calls, " in markdown.replace("\u200b", "")
    assert "calibrating it, beside that: 6 calls, " in markdown.replace("\u200b", "")
    assert "Cost of calibrating it, beside that" in read_report(out).to_html()


def test_without_labelled_cases_there_is_one_bill(command: Command, ran: Any) -> None:
    out = ran()
    assert "calibrating" not in command("report", out).out
    (judge,) = json.loads((out / "summary.json").read_text())["judges"]
    assert judge["calibration_usage"] is None
    (section,) = read_report(out).judges
    assert (section.calibration_usage, section.cost) == (None, pytest.approx(0.15))


@pytest.mark.parametrize(("changes", "cost"), [({}, 0.15), (people(), None)])
def test_a_summary_that_does_not_tell_labelled_cases_apart_has_their_cost_for_no_others(
    ran: Any, changes: dict[str, Any], cost: float | None
) -> None:
    out = ran(**changes)
    summary = json.loads((out / "summary.json").read_text())
    summary["judges"][0].pop("calibration_usage")
    (out / "summary.json").write_text(json.dumps(summary))
    (section,) = read_report(out).judges
    assert (section.usage.calls, section.cost) == (12, None if cost is None else pytest.approx(cost))


def cut_off(out: Path, *, planned: bool = True) -> None:
    """Leave a folder as a kill does after four results."""
    (out / "summary.json").unlink()
    results = (out / "results.jsonl").read_text().splitlines(keepends=True)
    (out / "results.jsonl").write_text("".join(results[:4]))
    if not planned:
        mark = json.loads((out / "run.json").read_text())
        mark.pop("planned_cases")
        (out / "run.json").write_text(json.dumps(mark))


@pytest.mark.slow
def test_a_run_that_was_killed_knows_what_was_planned(command: Command, ran: Any) -> None:
    out = ran(names=("first", "second"))
    cut_off(out)
    report = read_report(out)
    assert [(one.judge, one.cases, one.not_asked) for one in report.judges] == [("first", 4, 2), ("second", 0, 6)]
    shown = command("report", out, "--fail-under", "coverage>=0.1")
    assert ": 2 of 6 cases were never asked" in shown.out
    assert ": 6 of 6 cases were never asked" in shown.out
    assert "second): was not measured: no case was measured" in " ".join(shown.out.split())
    assert shown.code == 3
    [summary] = read_report(out, judges=["first"]).summaries
    assert (summary.cases, summary.replay.not_graded) == (6, 2)


@pytest.mark.slow
def test_of_an_older_folder_it_is_said_that_nobody_knows_what_was_planned(command: Command, ran: Any) -> None:
    out = ran()
    cut_off(out, planned=False)
    shown = command("report", out)
    assert "warning: how many cases were planned is not known: the run was cut off" in shown.out
    assert "is not known" in read_report(out).to_html()
    assert "is not known" in read_report(out, judges=["paid"]).to_markdown()


@pytest.mark.slow
def test_a_report_shows_the_gates_of_its_run_and_says_whose_they_are(command: Command, ran: Any) -> None:
    out = ran("--fail-under", "pass_rate>=0.9", "--fail-under", "coverage>=0.3", code=1)
    shown = command("report", out)
    assert shown.code == 0
    assert "gates of the run, as they were at its end: 1 of 2 gate checks did not pass" in " ".join(shown.out.split())
    document = command("report", out, "--json").json
    assert [error.message for error in Draft202012Validator(schema("report-1")).iter_errors(document)] == []
    assert (document["gates"]["passed"], document["gates_of"]) == (False, "run")
    report = read_report(out)
    assert "Gates of the run" in report.to_html()
    assert "### gates of the run, as they were at its end: 1 of 2 gate checks did not pass" in report.to_markdown()
    assert 'name="gates of the run"' in report.to_junit()
    own = command("report", out, "--json", "--fail-under", "coverage>=0.4")
    assert (own.code, own.json["gates_of"]) == (0, "report")
    assert "gates of the run" not in command("report", out, "--fail-under", "coverage>=0.4").out


@pytest.mark.slow
def test_gates_of_a_run_are_those_of_the_judges_that_are_shown(ran: Any) -> None:
    out = ran("--fail-under", "coverage>=0.3", names=("first", "second"))
    report = read_report(out, judges=["second"])
    assert report.gates is not None
    assert [check.judge for check in report.gates.checks] == ["second"]
    summary = json.loads((out / "summary.json").read_text())
    summary["gates"]["checks"] = summary["gates"]["checks"][:1]
    (out / "summary.json").write_text(json.dumps(summary))
    assert read_report(out, judges=["second"]).gates is None


@pytest.mark.slow
def test_labels_of_a_model_are_never_called_a_valid_calibration(command: Command, ran: Any) -> None:
    out = ran(**people("model:gpt-9"))
    words = "uncalibrated: agreement with gpt-9 on people_v1, whose labels are a model's, not people's"
    assert f"- {words}" in command("report", out).out
    report = read_report(out)
    assert "uncalibrated: agreement with gpt-9" in report.to_markdown()
    assert "| valid |" not in report.to_markdown()
    assert 'name="calibration" value="agreement with gpt-9"' in report.to_junit()
    assert set(report.to_pandas()["calibration"]) == {"agreement with gpt-9"}
    assert {line["calibration"] for line in csv.DictReader(report.to_csv().splitlines())} == {"agreement with gpt-9"}


@pytest.mark.slow
def test_a_folder_with_what_only_a_log_takes_is_refused(command: Command, ran: Any, tmp_path: Path) -> None:
    out, recorded = ran(), tmp_path / "recorded.jsonl"
    with recording(to_file(recorded)):
        JudgeHarness.single("labels").evaluate(ScriptedJudge(["PASS"]), AnswerCase(case_id="a", output="x"))
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(recorded.read_bytes()))
    options = ("--run", "x", "--labels", "--min-valid", 3, "--tolerance", 2)
    for source in (out, recorded, packed):
        assert command("report", source).code == 0
        refused = command("report", source, *options)
        assert refused.code == 2
        assert "--run and --labels and --min-valid and --tolerance go with a log" in refused.err
        assert "leave out --rule" in command("report", source, "--rule", "majority").err
    packed.write_bytes(packed.read_bytes()[:-20])  # cut off
    assert command("report", packed, "--rule", "majority").code == 2
    packed.write_bytes(gzip.compress(recorded.read_bytes() * 50)[:-20])
    assert command("report", packed).code == 2


def test_numbers_of_a_database_may_be_labels(command: Command, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.sqlite'}"
    with SqlLog(url) as database:
        database.append(row for n in range(3) for row in sampled([4, 4, 2], case_id=f"c{n}", run="r"))
    assert "mean 4.000" in command("report", url, "--rule", "median").out
    as_labels = command("report", url, "--rule", "majority", "--labels")
    assert "4 100.0 of 3" in as_labels.out
    near = command("report", url, "--rule", "median", "--tolerance", 2, "--json").json
    assert near["judges"][0]["criteria"][0]["consistency_rate"] == 1.0


def test_the_command_of_a_report_reads_the_same_again(command: Command, tmp_path: Path) -> None:
    rows = [row for n in range(3) for row in sampled([4, 4, 2], case_id=f"c{n}", run="r", judge="j k")]
    log = write_log(rows, tmp_path / "log.csv")
    report = read_report(log, "median", run="r", judges=["j k"], min_valid=2, tolerance=2.0)
    assert report.arguments == (
        *(str(log), "--rule", "median", "--judge", "j k", "--run", "r", "--min-valid", "2", "--tolerance", "2"),
    )
    again = command("report", *report.arguments, "--json").json["judges"]
    assert again[0]["criteria"][0]["mean_score"]["value"] == 4.0
    labels = read_report(log, "majority", labels=True)
    assert labels.arguments == (str(log), "--rule", "majority", "--labels")
    assert read_report(log, first).arguments == ()
    with SqlLog(f"sqlite:///{tmp_path / 'log.sqlite'}") as database:
        database.append(rows)
    page = command("report", f"sqlite:///{tmp_path / 'log.sqlite'}", "--rule", "median", "--html", "-").out
    assert "judgeharness report" not in page


def test_a_database_that_cannot_be_reached_is_not_about_a_run_to_start(command: Command) -> None:
    pytest.importorskip("psycopg")
    failed = command("report", "postgresql+psycopg://127.0.0.1:1/none", "--rule", "majority")
    assert failed.code == 2
    assert "the server cannot be reached" in failed.err
    assert "try the same again later" in failed.err
    assert "start the run" not in failed.err


@pytest.mark.slow
def test_a_run_shows_the_texts_of_its_cases_unless_they_are_left_out(
    command: Command, ran: Any, tmp_path: Path
) -> None:
    out, page = ran(), tmp_path / "page.html"

    def texts(*options: object) -> bool:
        found = command("report", out, "--html", page, *options)
        assert found.code == 0, found.err
        return '"texts-0"' in page.read_text()

    assert (texts(), texts("--no-texts"), texts("--cases", tmp_path / "cases.csv")) == (True, False, True)
    both = command("report", out, "--no-texts", "--cases", tmp_path / "cases.csv")
    assert (both.code, both.err.count("\n")) == (2, 1)
    assert "--cases shows texts, --no-texts leaves them out" in both.err
    compared = command("compare", out, out, "--html", tmp_path / "same.html")
    assert (compared.code, compared.out.splitlines()[0]) == (0, "Both sides are the same run: nothing can differ")
    (tmp_path / "cases.csv").write_text(CASES.replace("q3", "another question"))
    gone = command("report", out, "--html", page)
    assert (gone.code, '"texts-0"' in page.read_text()) == (0, False)
    told = "cases.csv is not what it was then: give them as --cases FILE."
    assert "texts of the cases are not shown: " in gone.out
    assert told in gone.out
    assert told in page.read_text()
    assert "not shown" not in command("report", out).out


@pytest.mark.slow
def test_of_a_run_that_keeps_hashes_no_text_is_looked_for(command: Command, ran: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = command("report", ran(keep="hash"), "--html", page)
    assert "the run keeps hashes of texts alone: give --cases FILE to show its cases" in found.out
    assert '"texts-0"' not in page.read_text()
