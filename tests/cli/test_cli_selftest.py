"""`judgeharness selftest`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from judgeharness_integrations.cli import selftest as _selftest
from judgeharness_integrations.cli.selftest import COMMANDS
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.testing.selftest import (
    AlarmCheck,
    FailureCheck,
    IntervalCheck,
    PowerCheck,
    PromiseCheck,
)
from judgeharness_integrations.testing.selftest import (
    report as registry,
)

Command = Callable[..., Any]


def narrow(point: Any, replicates: int, generator: np.random.Generator) -> Any:
    means = generator.normal(size=replicates)
    means[:40] = np.nan
    return means - 1, means + 1, 0.0


@pytest.fixture(autouse=True)
def _no_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks of the commands take seconds each, and the tests here plant their own."""
    monkeypatch.setattr(_selftest, "COMMANDS", ())


NARROW = IntervalCheck(name="a planted wrong interval", points=({"n": 1},), simulate=narrow, fast=1, note="beside")


def share(power: float) -> Any:
    return lambda replicates: np.arange(replicates) < power * replicates


def named(point: Any, replicates: int, _: np.random.Generator) -> Any:
    return share(point["strength"])(replicates), share(0.02)(replicates)


FAULT = PowerCheck(name="a planted fault", points=({"strength": 0.5}, {"strength": 0.9}), simulate=named, note="aside")
CLEAN = AlarmCheck(
    name="a clean judge", points=({"noise": 0.3},), simulate=lambda _, replicates, __: share(0.0)(replicates)
)


def delivered(point: Any, studies: int, _: np.random.Generator) -> Any:
    return np.where(np.arange(studies) < 40, np.nan, share(point["rate"])(studies))


WORKFLOW = PromiseCheck(
    name="a workflow",
    promise="it is as narrow as planned",
    share=0.8,
    at_least=True,
    points=({"rate": 0.9}, {"rate": 0.79}),
    simulate=delivered,
    note="alone",
)
PROMISE = FailureCheck(name="a promise", points=({"rule": "mine", "n": 2},), sequences=lambda _: (9, []), fast=1)


def tables_of(lines: list[str]) -> list[str]:
    """Return the lines of tables, which are not broken where nobody watches, unlike sentences."""
    return [line for line in lines if "  " in line or line.startswith("─")]


@pytest.mark.slow
def test_a_table_is_printed_and_the_exit_code_is_0(command: Command) -> None:
    ran = command("selftest", "--only", "exact sign test", "--only", "rates: wilson")
    assert ran.code == 0
    assert "self-test, fast version: at most 400 replicates a point, seed 0" in ran.out
    assert "coverage of nominal 95 % intervals" in ran.out
    assert "rejections of true hypotheses at nominal 5 %" in ran.out
    assert "exact, so it rejects less often than its level" in " ".join(ran.out.split())
    assert ran.out.splitlines()[0].endswith(" checks, 0 of them miss")
    assert ran.err == ""


def test_a_wrong_interval_is_found_and_the_exit_code_is_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CHECKS", (NARROW,))
    ran = command("selftest")
    assert ran.code == 1
    assert "a planted wrong interval: mean coverage 0." in ran.out
    assert "; beside; 40 of 400 replicates gave none" in " ".join(ran.out.split())
    assert ran.out.startswith("1 check, 1 of them miss\n")
    ran = command("selftest", "--full", "--json")
    assert (ran.code, ran.json["passed"], ran.json["full"]) == (1, False, True)
    assert ran.json["replicates"] == 4000


def test_the_table_is_80_wide_no_word_is_broken_and_what_is_ok_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = command("selftest", "--only", "sign test", "--only", "corrected rate: rogan-gladen, delta")
    lines = ran.out.splitlines()
    assert max(map(len, tables_of(lines))) <= 80
    assert {"(McNemar)", "specificity=0.9", "Rogan-Gladen,", "discordant=0.6"} <= set(ran.out.split())
    assert "ok: mean 93.5 to 97 %, no point below 91 %" in lines
    assert "ok: no point above 6.5 %" in lines


def test_faults_judges_without_one_and_promises_have_tables_of_their_own(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(registry, "CHECKS", (FAULT, CLEAN, PROMISE))
    ran = command("selftest", "--full")
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert lines[1] == "self-test, full version: 400 reports on a judge, seed 0"
    assert max(map(len, tables_of(ran.out.splitlines()))) <= 80
    for line in ("a planted fault ok", "strength=0.5 50.0 2.0 100", "strength=0.9 * 90.0 2.0 100"):
        assert line in lines
    assert {"a clean judge ok", "noise=0.3 0.0 400", "a promise ok 1 9 0.0", "- a planted fault: aside"} <= {*lines}
    assert "ok: no judge failed by more than 5 % of reports" in lines
    assert "ok: no sequence breaks the promise" in lines
    assert any(line.startswith("ok: named by 80 % of reports where marked *, not less often") for line in lines)


def test_what_is_enumerated_is_not_drawn(command: Command) -> None:
    ran = command("selftest", "--only", "never turns A into B")
    assert ran.out.splitlines()[1] == "self-test, fast version: every sequence, seed 0"


def test_a_fault_that_is_not_named_gives_exit_code_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = PowerCheck(name="unseen", points=({"strength": 0.0},), simulate=named)
    monkeypatch.setattr(registry, "CHECKS", (blind, CLEAN, PROMISE))
    ran = command("selftest", "--json")
    assert (ran.code, ran.json["passed"]) == (1, False)
    assert [check["kind"] for check in ran.json["checks"]] == ["power", "false_alarms", "failures"]
    jsonschema.validate(ran.json, schema(ran.json["schema"]))


def test_what_is_unclear_is_counted_and_no_failure(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(point: Any, replicates: int, generator: np.random.Generator) -> Any:
        means = generator.normal(size=replicates)
        return means - 1.8, means + 1.8, 0.0

    monkeypatch.setattr(
        registry, "CHECKS", (IntervalCheck(name="nearly", points=({"n": 1},), simulate=nearly, fast=1),)
    )
    ran = command("selftest")
    assert ran.code == 0
    assert "1 unclear: beyond what is ok by less than three standard errors\n" in ran.out
    assert "cannot tell: see --full" in ran.out
    assert command("selftest", "--full").code == 1


def test_json(command: Command) -> None:
    ran = command("selftest", "--only", "exact sign test", "--json", "--seed", 7)
    assert (ran.json["schema"], ran.json["seed"], ran.json["passed"]) == ("judgeharness.selftest/1", 7, True)
    [check] = ran.json["checks"]
    assert (check["kind"], len(check["points"])) == ("size", 9)


@pytest.mark.slow
def test_full_says_how_many_replicates(command: Command) -> None:
    ran = command("selftest", "--only", "exact sign test", "--full")
    assert "self-test, full version: 4000 replicates a point" in ran.out


def test_progress_is_shown_on_a_terminal_only(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert command("selftest", "--only", "exact sign test").code == 0
    assert "\rdrift, position bias" in terminal.getvalue().replace("\x1b[2K", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(("--only", "zzz"), "unknown check 'zzz'"), (("--seed", "-1"), "a seed is a whole number of at least 0, not -1.")],
)
def test_wrong_calls(command: Command, arguments: tuple[str, ...], sentence: str) -> None:
    ran = command("selftest", *arguments)
    assert ran.code == 2
    assert sentence in ran.err


def test_the_names_stand_before_the_error_each_in_a_line(command: Command) -> None:
    lines = command("selftest", "--only", "zzz").err.splitlines()
    assert lines[:-1] == [check.name for check in registry.CHECKS]
    assert lines[-1] == "error: unknown check 'zzz': give a part of a name above."


def test_checks_of_the_commands_are_among_them(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_selftest, "COMMANDS", COMMANDS)
    lines = command("selftest", "--only", "no such check").err.splitlines()
    assert lines[:-1] == [check.name for check in (*registry.CHECKS, *COMMANDS)]


def test_workflows_have_a_table_of_what_is_promised_and_delivered(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(registry, "CHECKS", (WORKFLOW,))
    ran = command("selftest")
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert lines[1] == "self-test, fast version: at most 400 studies of a workflow, seed 0"
    assert max(map(len, tables_of(ran.out.splitlines()))) <= 80
    assert "rate=0.9 kept >= 80.0 88.9 [85.2, 91.9] 360" in lines
    assert "rate=0.79 not told >= 80.0 76.7 [71.9, 80.9] 360" in lines
    told = " ".join(lines)
    assert "a workflow: it is as" in told
    assert (
        "a workflow: not told: 0.7667 [0.7195, 0.8094] of 360 studies at rate=0.79, promised at least 0.8; alone; "
        "80 of 800 studies promised nothing"
    ) in told
    assert (lines[0], lines[-1]) == ("1 check, 0 of them miss", "1 not told at this number of studies: see --full")


def test_a_broken_promise_gives_exit_code_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CHECKS", (replace(WORKFLOW, points=({"rate": 0.7},)), PROMISE))
    ran = command("selftest")
    assert ran.code == 1
    assert "a workflow: broken: 0.6667 [" in " ".join(ran.out.split())
    assert "1 not told" not in ran.out
    assert ran.out.startswith("2 checks, 1 of them miss\n")
    document = command("selftest", "--json").json
    assert (document["passed"], [check["verdict"] for check in document["checks"]]) == (False, ["broken", "ok"])
    jsonschema.validate(document, schema(document["schema"]))
