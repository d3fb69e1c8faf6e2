"""A run that its gates stopped: no command prints an interval over a fixed number of cases beside its accuracy."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gated import case as judged_case

from judgeharness_integrations.analysis.gates.report import STOPPED, GateCheck, GateReport
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.analysis.runs.stopped import replay_at_stop

Command = Callable[..., Any]
JUDGE = """
def judge(case):
    return "PASS" if int(case.case_id[1:]) % 10 else "FAIL"
"""


@pytest.fixture
def stopped(command: Command, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Runs a judge that is right nine times in ten until a gate is settled; a cluster column where it is asked for."""
    (tmp_path / "stopping.py").write_text(JUDGE)

    def run(*gates: str, cluster: bool = False) -> Any:
        lines = [f"c{n},q{n},a{n},PASS{f',k{n // 3}' if cluster else ''}" for n in range(300)]
        columns = "case_id,input,output,gold" + (",cluster" if cluster else "")
        (tmp_path / "cases.csv").write_text("\n".join([columns, *lines]))
        harness = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
        config = {"judges": [{"name": "j", "callable": "stopping:judge"}], "cases": "cases.csv", "harness": harness}
        (tmp_path / "run.json").write_text(json.dumps(config))
        until = [part for gate in gates for part in ("--until", gate)]
        return command("run", tmp_path / "run.json", "--out", tmp_path / "out", "--yes", *until, "--json")

    yield run
    sys.modules.pop("stopping", None)


def words(text: str) -> str:
    return " ".join(text.split())


def test_accuracy_of_a_stopped_run_has_the_interval_of_its_gate_everywhere(
    command: Command, stopped: Callable[..., Any], tmp_path: Path
) -> None:
    ran = stopped("accuracy>=0.5")
    (check,), (entry,) = ran.json["gates"]["checks"], ran.json["judges"][0]["criteria"]
    assert entry["accuracy_95"] == [check["low"], check["high"]]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["judges"][0]["criteria"] == [entry]
    told = f"[{100 * check['low']:.1f}, {100 * check['high']:.1f}]"
    own = command("replay", tmp_path / "out", "--rule", "majority").out
    assert told in own
    assert "with gold by an interval over a fixed" not in own
    assert "more right by an interval over a fixed number of cases" in words(own)
    other = command("replay", tmp_path / "out", "--rule", "strict_majority").out
    assert (told in other, "no interval" in other, STOPPED in words(other)) == (False, True, True)


def test_without_a_gate_on_it_accuracy_of_a_stopped_run_has_no_interval(
    command: Command, stopped: Callable[..., Any], tmp_path: Path
) -> None:
    ran = stopped("coverage>=0.5")
    assert ran.json["judges"][0]["criteria"][0]["accuracy_95"] is None
    assert "no interval" in command("replay", tmp_path / "out", "--rule", "majority").out
    shown = words(
        command("run", tmp_path / "run.json", "--out", tmp_path / "out", "--yes", "--until", "coverage>=0.5").out
    )
    assert "no interval" in shown
    assert f"the run {STOPPED}" in shown


def test_another_rule_is_told_why_no_sequence_is_there(
    command: Command, stopped: Callable[..., Any], tmp_path: Path
) -> None:
    stopped("pass_rate>=0.5", cluster=True)
    told = command("report", tmp_path / "out" / "verdicts.jsonl", "--rule", "strict_majority", "--no-step-summary").out
    assert "verdict: pass_rate was not measured: which cases the clusters hold that were not asked" in words(told)


def test_a_whole_run_keeps_its_intervals(stopped: Callable[..., Any]) -> None:
    low, high = stopped().json["judges"][0]["criteria"][0]["accuracy_95"]
    assert 0.8 < low < 0.9 < high < 1


def test_gates_that_checked_nothing_leave_numbers_of_another_rule_as_they_are() -> None:
    cases = [remeasure(judged_case(f"c{n}", ["PASS"]), "strict_majority") for n in range(5)]
    none = GateReport(checks=(), sequential="suite", stopped=True)
    section = run_report(cases, gates=none).judges[0]
    assert section.criteria == run_report(cases).judges[0].criteria
    rows = [row for one in cases for row in one.rows]
    blind = GateCheck(
        gate="accuracy>=0.5",
        judge="judge",
        criterion="verdict",
        status="not_measured",
        value=None,
        low=None,
        high=None,
        n=0,
        reason="",
    )
    for gates in (none, GateReport(checks=(blind,), stopped=True)):
        (entry,) = replay_at_stop(replay(rows, "majority").judges, gates, own_rule=True)
        assert (entry.stopped, entry.accuracy_interval) == (True, None)
