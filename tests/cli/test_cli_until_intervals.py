"""A run that its gates stopped: no command prints an interval over a fixed number of cases beside its accuracy."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gated import case as judged_case

from judgeharness_integrations.analysis.gates.gate import STOPPED, GateCheck, GateReport
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.analysis.runs.building import replay_at_stop

Command = Callable[..., Any]
JUDGE = """
import asyncio

async def judge(case):
    await asyncio.sleep(0.001 * (int(case.case_id[1:]) % 7))
    return "PASS" if int(case.case_id[1:]) % 10 else "FAIL"
"""


FAILING = """
import asyncio

async def judge(case):
    number = int(case.case_id[1:])
    await asyncio.sleep(0.001 * (number % 7))
    if number % 11 == 3:
        raise RuntimeError("down")
    return "PASS" if number % 10 else "FAIL"
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
    assert "in the share right by an interval over a fixed number of cases" in words(own)
    other = command("replay", tmp_path / "out", "--rule", "strict_majority").out
    assert (told in other, STOPPED in words(other)) == (
        True,
        True,
    )  # its own sequence, over decisions that are the same


def test_accuracy_of_a_stopped_run_is_one_number_and_answers_in_flight_do_not_count(
    command: Command, stopped: Callable[..., Any], tmp_path: Path
) -> None:
    ran = stopped("accuracy>=0.7")
    (check,), (entry,) = ran.json["gates"]["checks"], ran.json["judges"][0]["criteria"]
    asked, out = ran.json["judged_cases"], tmp_path / "out"
    assert check["n"] < asked
    assert (entry["accuracy"], entry["decided_with_gold"]) == (check["value"], check["n"])
    (criterion,) = command("report", out, "--json", "--no-step-summary").json["judges"][0]["criteria"]
    assert (criterion["accuracy"]["value"], criterion["accuracy"]["n"]) == (check["value"], check["n"])
    for rule in ("majority", "strict_majority"):
        assert command("replay", out, "--rule", rule, "--json").json["judges"][0]["accuracy"] == check["value"]
    told = (
        f"accuracy is of the {check['n']} cases its gate looked at ({asked - check['n']} more, in flight when it was "
        "settled, answered before, or copies, do not count)"
    )
    assert ran.json["judges"][0]["alerts"] == [told]
    assert f"j: {told}" in command("replay", out, "--rule", "majority").out.splitlines()
    assert told in words(command("report", out, "--no-step-summary").out)


@pytest.mark.slow
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
        (measured,) = replay(rows, "majority").judges
        entry, told = replay_at_stop(measured, gates)
        assert (entry.stopped, entry.accuracy_interval, told) == (True, None, "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("gate", ["abstention<=0.3", "rate(FAIL)<=0.4", "coverage>=0.5", "pass_rate>=0.4"])
def test_every_gated_number_of_a_stopped_run_has_the_sequence_of_its_gate(
    command: Command, tmp_path: Path, stopped: Callable[..., Any], gate: str
) -> None:
    (tmp_path / "stopping.py").write_text(FAILING)
    ran = stopped(gate)
    (check,) = ran.json["gates"]["checks"]
    assert check["status"] == "passed"
    name = re.split("[<>]", gate, maxsplit=1)[0]
    shown = f"{name} {check['value']:.3f} [{check['low']:.3f}, {check['high']:.3f}] is of the {check['n']} cases its"
    (alert,) = [one for one in ran.json["judges"][0]["alerts"] if "its gate looked at" in one]
    assert alert.startswith(shown)
    assert ran.json["judges"][0]["criteria"][0]["accuracy_95"] is None
    assert shown in words(command("report", tmp_path / "out", "--no-step-summary").out)
    assert shown in words(command("replay", tmp_path / "out", "--rule", "majority").out)
