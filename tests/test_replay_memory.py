"""Folding many cases holds no more objects at any time than folding a few."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence

import pytest

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.replay import replay_cases
from judgeharness_integrations.cli.summary import JudgeSums, planned_rows
from judgeharness_integrations.verdictlog.row import VerdictRow

FEW, MANY = 2_304, 6_912  # planned cases are read 256 at a time, and up to two such groups are held
LOOK_EVERY = 50
MOST = 380  # more memory blocks: less than one for every twelve further cases


class Log:
    """Makes rows as they are read, and remembers how many memory blocks were in use at most."""

    def __init__(self, *, labels: bool = False) -> None:
        self.peak, self.labels = 0, labels

    def rows_of(self, number: int) -> list[VerdictRow]:
        if number % LOOK_EVERY == 0:
            self.peak = max(self.peak, sys.getallocatedblocks())
        failed = number % 7 == 0
        return [
            VerdictRow(
                case_id=f"{number}",
                run="r",
                judge="j",
                verdict=None if failed and n == 1 else self.answer(number, n),
                outcome="error" if failed and n == 1 else "ok",
                error=f"TimeoutError: request req_{number:08d} took 1.5s" if failed and n == 1 else None,
                gold="FAIL" if self.labels else number % 10,
                repetition=n,
                call_id=f"{number}-{n}",
                input_tokens=100,
                attributes={"subset": "x"},
            )
            for n in range(4)
        ]

    def answer(self, number: int, n: int) -> str | float:
        return ("PASS", "FAIL")[number % 2] if self.labels else (number * 7919 % 101) / 101 + n

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> Mapping[str, Sequence[VerdictRow]]:
        assert (run, judge) == ("r", "j")
        return {case_id: self.rows_of(int(case_id)) for case_id in case_ids}


def replayed(log: Log, cases: int) -> int:
    rule = "majority" if log.labels else "median"
    return replay_cases((log.rows_of(n) for n in range(cases)), rule).judges[0].decided


def summed(log: Log, cases: int) -> tuple[int, int, int]:
    sums = JudgeSums(judge="j", rule=rule("mean"), criteria=(), min_valid=None, tolerance=1.0, tolerances={})
    for planned, rows in planned_rows(log, lambda: ((str(n), 4) for n in range(cases)), run="r", judge="j"):
        sums.add(rows, planned=planned)
    (entry,) = sums.criteria()
    calls = sum(one.made_calls for one in sums.usage.usages)
    return entry["decided"], calls, sum(kind["count"] for kind in sums.failures.to_list({}))


@pytest.mark.slow
@pytest.mark.untraced
def test_many_cases_hold_no_more_objects_than_a_few() -> None:
    peaks: dict[str, list[int]] = {"replay": [], "labels": [], "summary": []}
    for cases, expected in ((FEW, (2_304, 9_216, 330)), (FEW, (2_304, 9_216, 330)), (MANY, (6_912, 27_648, 988))):
        for name, found in peaks.items():
            gc.collect()
            before, log = sys.getallocatedblocks(), Log(labels=name == "labels")
            if name != "summary":
                assert replayed(log, cases) == expected[0]
            else:
                assert summed(log, cases) == expected
            found.append(log.peak - before)
    for _, few, many in peaks.values():  # the first filled caches
        assert many - few <= MOST, peaks
