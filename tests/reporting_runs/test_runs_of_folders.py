"""Folders of runs, read back as reports."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.runs import RunReport, read_report
from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow
from judgeharness_integrations.verdictlog.runfolder import log_of, read_mark

JUDGES = """
import json, pathlib

def good(case):
    here = pathlib.Path(__file__).with_name("asked")
    here.write_text((here.read_text() if here.exists() else "") + "x")
    return {"tone": "PASS", "facts": "PASS" if "good" in case.output else "FAIL"}

def plain(case):
    return "PASS" if "good" in case.output else "FAIL"

def first_row(rows):
    return rows[0].verdict
"""
CASES = "case_id,input,output,gold\nc1,q,good,PASS\nc2,q,bad,FAIL\nc3,q,good one,FAIL\n"
HARNESS = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}


def first_row(rows: Sequence[VerdictRow]) -> Verdict | None:
    return rows[0].verdict


def run_here(folder: Path, *options: str, code: int = 0, **changes: Any) -> Path:
    """A run of the real command in a folder, with what it wrote in `folder/out`."""
    (folder / "folder_judges.py").write_text(JUDGES)
    (folder / "cases.csv").write_text(CASES)
    judges = [{"name": name, "callable": f"folder_judges:{name}", "model": "m"} for name in ("good", "plain")]
    config = {"judges": judges, "cases": "cases.csv", "harness": HARNESS} | changes
    (folder / "config.json").write_text(json.dumps(config))
    try:
        assert main(["run", str(folder / "config.json"), "--out", str(folder / "out"), "--yes", *options]) == code
    finally:
        sys.modules.pop("folder_judges", None)
    return folder / "out"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_here(tmp_path_factory.mktemp("ran"))


@pytest.fixture
def out(ran: Path, tmp_path: Path) -> Path:
    return shutil.copytree(ran, tmp_path / "out")


def facts(report: RunReport) -> list[tuple[str, str, int, dict[Any, int]]]:
    return [(s.judge, s.criterion, s.cases, dict(s.verdicts)) for s in report.summaries]


MEASURED = [
    ("good", "tone", 3, {"PASS": 3}),
    ("good", "facts", 3, {"PASS": 2, "FAIL": 1}),
    ("plain", "verdict", 3, {"PASS": 2, "FAIL": 1}),
]


@pytest.mark.slow
def test_a_finished_run_is_what_its_results_say(ran: Path) -> None:
    report = read_report(ran, case_texts={"c1": {"output": "good"}})
    assert facts(report) == MEASURED
    assert (report.state, report.source, report.cases, report.informal) == ("complete", str(ran), 3, False)
    assert report.run == read_mark(ran / "run.json")["run"]
    assert report.case_texts == {"c1": {"output": "good"}}
    good, plain = report.judges
    assert (good.usage.calls, plain.usage.calls, good.cost, good.calibrated) == (6, 6, None, False)
    assert (good.models, good.not_asked) == (("m",), 0)
    accuracy = report.summaries[2].accuracy
    assert accuracy is not None
    assert (accuracy.successes, accuracy.trials) == (2, 3)
    assert all(len(result.rows) == (4 if result.judge == "good" else 2) for result in report.results)


def test_judges_can_be_chosen(ran: Path) -> None:
    report = read_report(ran, judges=["plain"], case_texts={"c1": {"output": "good"}})
    assert facts(report) == MEASURED[2:]
    whole = read_report(ran)
    assert (report.run, report.state, report.source) == (whole.run, whole.state, whole.source)
    assert report.case_texts == {"c1": {"output": "good"}}
    with pytest.raises(UnknownNameError, match="unknown judge 'plan': did you mean 'plain'"):
        read_report(ran, judges=["plan"])


def test_a_run_without_a_summary_is_unfinished(out: Path) -> None:
    (out / "summary.json").unlink()
    report = read_report(out)
    assert facts(report) == MEASURED
    assert (report.state, report.judges[0].cost, report.judges[0].calibration) == ("unfinished", None, None)


@pytest.mark.parametrize(("text", "state"), [("[]", "unfinished"), ("{", None)])
def test_a_summary_that_is_none(text: str, state: str | None, out: Path) -> None:
    (out / "summary.json").write_text(text)
    if state is None:
        with pytest.raises(ConfigError, match=r"cannot be read .*: delete it, the report is made without it"):
            read_report(out)
    else:
        assert read_report(out).state == state


def test_the_run_is_named_by_its_summary_where_the_mark_is_gone(out: Path) -> None:
    run = read_mark(out / "run.json")["run"]
    (out / "run.json").unlink()
    assert read_report(out).run == run
    (out / "summary.json").unlink()
    report = read_report(out)
    assert (report.run, facts(report)) == (None, MEASURED)


def test_a_last_line_that_was_cut_off_is_left_out(out: Path) -> None:
    results = out / "results.jsonl"
    lines = results.read_text().splitlines()
    results.write_text("\n".join([*lines[:-1], lines[-1][:50]]))
    report = read_report(out)
    cut = json.loads(lines[-1])["judge"]
    section = next(one for one in report.judges if one.judge == cut)
    assert (section.cases, section.not_asked) == (2, 1)
    assert {summary.cases for summary in section.criteria} == {3}
    assert {summary.replay.not_graded for summary in section.criteria} == {1}


@pytest.mark.parametrize(("line", "problem"), [("{", "line 1 is damaged"), ("[1]", "line 1 holds no JSON object")])
def test_a_damaged_line_is_named(line: str, problem: str, out: Path) -> None:
    results = out / "results.jsonl"
    results.write_text(line + "\n\n" + results.read_text())
    with pytest.raises(ConfigError, match=problem):
        read_report(out)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_folder_without_results_is_none_of_a_run(content: bytes | None, out: Path) -> None:
    (out / "results.jsonl").unlink()
    if content is not None:
        (out / "results.jsonl").write_bytes(content)
    with pytest.raises(ConfigError, match="holds no results of a run"):
        read_report(out)


def test_without_its_log_the_exported_rows_are_read(out: Path) -> None:
    (out / "verdicts.sqlite").unlink()
    assert facts(read_report(out)) == MEASURED
    (out / "verdicts.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"verdicts.sqlite does not exist"):
        read_report(out)


@pytest.mark.slow
def test_a_log_that_stands_elsewhere_is_read_there(tmp_path: Path) -> None:
    out = run_here(tmp_path, log="elsewhere.sqlite")
    (out / "verdicts.jsonl").unlink()
    assert not (out / "verdicts.sqlite").exists()
    assert Path(log_of(out)).resolve() == (tmp_path / "elsewhere.sqlite").resolve()
    assert facts(read_report(out)) == MEASURED


def test_a_password_is_not_kept_so_the_exported_rows_are_read(out: Path) -> None:
    mark = read_mark(out / "run.json") | {"log": "postgresql+psycopg://me:[redacted]@host/db"}
    (out / "run.json").write_text(json.dumps(mark))
    assert facts(read_report(out)) == MEASURED
    (out / "verdicts.jsonl").unlink()
    with pytest.raises(UsageError, match="give its URL, whose password is not kept here"):
        read_report(out)


def test_the_log_of_a_folder(tmp_path: Path) -> None:
    assert log_of(tmp_path) == tmp_path / "verdicts.sqlite"
    mark = tmp_path / "run.json"
    mark.write_text('{"log": "postgresql+psycopg://me@host/db"}')
    assert log_of(tmp_path) == "postgresql+psycopg://me@host/db"
    mark.write_text("[]")
    assert read_mark(mark) == {}
    mark.write_text("{")
    with pytest.raises(ConfigError, match=r"run.json cannot be read .*: delete it, or give another --out"):
        log_of(tmp_path)


@pytest.mark.slow
def test_an_interrupted_run_counts_cases_never_asked_as_not_graded(tmp_path: Path) -> None:
    out = run_here(tmp_path, "--budget-calls", "5", code=3)
    report = read_report(out)
    assert report.state == "budget_exhausted"
    assert {summary.cases for summary in report.summaries} == {3}
    total = sum(section.cases + section.not_asked for section in report.judges)
    assert total == 6
    plain = next(summary for summary in report.summaries if summary.judge == "plain")
    assert plain.replay.not_graded == 3
    assert plain.coverage is not None
    assert (plain.coverage.successes, plain.coverage.trials) == (0, 3)


@pytest.mark.slow
def test_a_rule_of_the_caller_s_own_is_given_again(tmp_path: Path) -> None:
    out = run_here(tmp_path, harness=HARNESS | {"aggregation_rule": "folder_judges:first_row"})
    with pytest.raises(ConfigError, match="is a function of the caller's own"):
        read_report(out)
    report = read_report(out, first_row)
    assert facts(report) == MEASURED
    assert report.summaries[0].design.rule.name == "folder_judges:first_row"


@pytest.mark.slow
@pytest.mark.parametrize(("source", "calibrated"), [("human", True), ("model:gpt-4o", False)])
def test_calibrations_are_those_of_the_run(source: str, calibrated: bool, tmp_path: Path) -> None:  # noqa: FBT001
    (tmp_path / "labels.csv").write_text("case_id,input,output,gold\nl1,q,good,PASS\nl2,q,bad,FAIL\n")
    judges = [{"name": "plain", "callable": "folder_judges:plain", "model": "m"}]
    calibration = {"labels": "labels.csv", "name": "people", "source": source}
    out = run_here(tmp_path, judges=judges, calibration=calibration)
    [section] = read_report(out).judges
    assert section.calibration is not None
    assert section.calibration_state is not None
    assert (section.calibration.name, section.calibration_state.valid) == ("people", True)
    assert section.calibrated is calibrated
    summary = json.loads((out / "summary.json").read_text())
    summary["judges"][0].pop("calibration_report")  # as an older version wrote it
    (out / "summary.json").write_text(json.dumps(summary))
    [section] = read_report(out).judges
    assert (section.calibration, section.calibration_state, section.calibrated) == (None, None, False)


def test_what_does_not_exist_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist: give the folder of a run"):
        read_report(tmp_path / "nowhere", "majority")
