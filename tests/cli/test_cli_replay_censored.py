"""`judgeharness replay` of a log whose cases were stopped early, or whose runs share answers, says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_stopped_cases_are_named_and_decided_where_settled(command: Command, tmp_path: Path, name: str) -> None:
    rows = [
        VerdictRow(case_id=case, verdict="PASS", repetition=n, attributes={"planned_samples": 3})
        for case, samples in {"whole": 3, "early": 2, "cut": 1}.items()
        for n in range(samples)
    ]
    path = write_log(rows, tmp_path / name)
    shown = command("replay", path, "--rule", "majority")
    assert shown.code == 0
    assert "2 of 3 cases hold fewer samples than were planned for them" in " ".join(shown.out.split())
    (entry,) = command("replay", path, "--rule", "majority", "--json").json["judges"]
    assert (entry["censored"], entry["decided"], entry["not_graded"]) == (2, 2, 1)


def test_nothing_is_said_where_nothing_was_stopped(command: Command, tmp_path: Path) -> None:
    path = write_log([VerdictRow(case_id="c", verdict="PASS")], tmp_path / "log.csv")
    assert "fewer samples" not in command("replay", path, "--rule", "majority").out


def test_the_command_says_so_and_shows_no_column_of_it(command: Command, tmp_path: Path) -> None:
    rows = [
        *both_orders("AAA", "A", judge="stopping", gold="A", attributes={"planned_samples": 6}),
        *both_orders("ABA", "BAB", judge="whole", gold="A"),
    ]
    stopped = command("replay", write_log(rows[:4], tmp_path / "stopped.jsonl"), "--rule", "majority").out
    said = "with early stopping, later samples are asked only about cases that earlier ones left open"
    assert said in " ".join(stopped.split())
    assert "right %" not in stopped
    assert "position:" not in stopped
    assert "variance of single samples" not in stopped
    both = command("replay", write_log(rows, tmp_path / "both.jsonl"), "--rule", "majority").out
    assert said in " ".join(both.split())
    table = both[both.index("variance of single samples") :]
    assert "whole" in table
    assert "stopping" not in table
    whole = command("replay", write_log(rows[4:], tmp_path / "whole.jsonl"), "--rule", "majority").out
    assert "early stopping" not in " ".join(whole.split())
    assert all(words in whole for words in ("right %", "position:", "variance of single samples"))


def rows_of_runs(second: str, payer: str | None = "mon") -> list[VerdictRow]:
    first = sampled(["PASS", "PASS"], run="mon")
    copied = {} if payer is None else {"attributes": {"reused_from": payer}}
    return [*first, *sampled(["PASS", "FAIL"], run=second, **copied)]


def test_runs_that_share_answers_are_replayed_one_at_a_time(command: Command, tmp_path: Path) -> None:
    path = write_log(rows_of_runs("tue"), tmp_path / "log.jsonl")
    refused = command("replay", path, "--rule", "majority")
    assert refused.code == 2
    assert "runs 'mon', 'tue' share answers, which would count twice: choose one with --run" in refused.err
    for run, abstained in (("mon", 0), ("tue", 1)):
        (entry,) = command("replay", path, "--rule", "majority", "--run", run, "--json").json["judges"]
        assert (entry["cases"], entry["abstained"]) == (1, abstained)
    unknown = command("replay", path, "--rule", "majority", "--run", "tues")
    assert (unknown.code, "did you mean 'tue'" in unknown.err) == (2, True)


@pytest.mark.parametrize("payer", [None, "a run that is not in the log"])
def test_runs_that_share_nothing_are_replayed_together(command: Command, tmp_path: Path, payer: str | None) -> None:
    path = write_log(rows_of_runs("tue", payer), tmp_path / "log.jsonl")
    (entry,) = command("replay", path, "--rule", "majority", "--json").json["judges"]
    assert entry["cases"] == 2
