"""`judgeharness selftest`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from judgeharness_integrations.testing.selftest import IntervalCheck, registry

Command = Callable[..., Any]


def narrow(point: Any, replicates: int, generator: np.random.Generator) -> Any:
    means = generator.normal(size=replicates)
    means[:40] = np.nan
    return means - 1, means + 1, 0.0


NARROW = IntervalCheck(name="a planted wrong interval", points=({"n": 1},), simulate=narrow, fast=1, note="beside")


def test_a_table_is_printed_and_the_exit_code_is_0(command: Command) -> None:
    ran = command("selftest", "--only", "exact sign test", "--only", "rates: wilson")
    assert ran.code == 0
    assert "self-test, fast version: at most 400 replicates a point, seed 0" in ran.out
    assert "coverage of nominal 95 % intervals" in ran.out
    assert "rejections of true hypotheses at nominal 5 %" in ran.out
    assert "exact, so it rejects less often than its level" in ran.out
    assert ran.out.endswith("0 of them miss\n")
    assert ran.err == ""


def test_a_wrong_interval_is_found_and_the_exit_code_is_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CHECKS", (NARROW,))
    ran = command("selftest")
    assert ran.code == 1
    assert "a planted wrong interval: mean coverage 0." in ran.out
    assert "; beside; 40 of 400 replicates gave none" in ran.out
    assert ran.out.endswith("1 checks, 1 of them miss\n")
    ran = command("selftest", "--full", "--json")
    assert (ran.code, ran.json["passed"], ran.json["full"]) == (1, False, True)
    assert ran.json["replicates"] == 4000


def test_json(command: Command) -> None:
    ran = command("selftest", "--only", "exact sign test", "--json", "--seed", 7)
    assert (ran.json["schema"], ran.json["seed"], ran.json["passed"]) == ("judgeharness.selftest/1", 7, True)
    [check] = ran.json["checks"]
    assert (check["kind"], len(check["points"])) == ("size", 9)


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
