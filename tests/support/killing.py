"""A run that is killed again and again: what must hold after every kill, and at its end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog, VerdictRow
from support.loopback_cases import canonical_verdict, pairs, shown_verdict
from support.slim_worker import LoopbackJudge, harness

if TYPE_CHECKING:
    from support.counting_server import CountingServer
    from support.killed_databases import KilledDatabase
    from support.loopback_cases import Slot
    from support.zygote import Child, Zygote

__all__ = ["Kill", "KilledRun", "Moment"]

_SAMPLES = 6  # of a case
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Moment:
    """When to kill: after so many further requests, then so many further rows, then some seconds."""

    requests: int = 0
    rows: int = 0
    delay_s: float = 0.0


@dataclass(frozen=True)
class Kill:
    """What a kill met: rows before the process began and after its end, and calls whose rows were not committed."""

    moment: Moment
    before: int
    after: int
    in_flight: int
    planned: int

    @property
    def phase(self) -> str:
        """How far the run was."""
        if self.after == 0:
            return "nothing committed"
        if self.after == self.planned:
            return "all committed"
        return "looking up" if self.after == self.before and not self.in_flight else "under way"


@dataclass
class KilledRun:
    """One run in a database, measured by processes that are killed; `cases` names what is judged."""

    run: str
    database: KilledDatabase
    server: CountingServer
    zygote: Zygote
    cases: str = ""
    count: int = 120
    concurrency: int = 12
    rows: list[VerdictRow] = field(default_factory=list)
    in_flight: int = 0  # at all kills together
    _requests: Counter[Slot] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.cases = self.cases or self.run
        self._requests = self._mine()

    @property
    def planned(self) -> int:
        """How many probes it has."""
        return self.count * _SAMPLES

    @property
    def left(self) -> int:
        """How many probes have no row."""
        return self.planned - len(self.rows)

    def start(self) -> Child:
        """Start or continue it in a process of its own."""
        return self.zygote.start(
            run=self.run,
            log=self.database.url,
            port=self.server.port,
            cases=self.cases,
            count=self.count,
            concurrency=self.concurrency,
        )

    def kill(self, moment: Moment, *, answers: int | None = None) -> Kill | None:
        """Continue it up to a moment and check what is left of it; None: it had finished first.

        With `answers`, no more calls than that are answered before the kill.
        """
        before, asked = len(self.rows), self.server.total
        if answers is not None:
            self.server.hold_after(asked + answers)
        child = self.start()
        if moment.requests:
            self.server.await_requests(asked + moment.requests)
        end = time.monotonic() + _PATIENCE_S
        while moment.rows and self.database.count(self.run) < before + moment.rows:
            assert time.monotonic() < end, self.zygote.errors()
            time.sleep(0.001)
        time.sleep(moment.delay_s)
        killed = child.kill()
        self.server.hold_after(None)
        in_flight = self.check()
        assert killed or not self.left
        return Kill(moment, before, len(self.rows), in_flight, self.planned) if killed else None

    def check(self) -> int:
        """Check rows and requests after the end of a process; return how many calls it left without a row."""
        self.server.await_idle()
        before, self.rows = self.rows, self.database.rows(self.run)
        assert self.rows[: len(before)] == before
        assert len({row.key for row in self.rows}) == len(self.rows)
        assert [row.verdict for row in self.rows] == [canonical_verdict(_slot(row)) for row in self.rows]
        asked_before, self._requests = self._requests, self._mine()
        assert all(self._requests[_slot(row)] == asked_before[_slot(row)] for row in before), (
            "a known row was paid again"
        )
        paid = [row for row in self.rows[len(before) :] if "reused_from" not in row.attributes]
        in_flight = self._requests.total() - asked_before.total() - len(paid)
        assert 0 <= in_flight <= self.concurrency
        self.in_flight += in_flight
        return in_flight

    def finish(self) -> set[tuple[str, Any]]:
        """Continue it to its end, compare it with one that nothing interrupted, and return its kinds of decision."""
        assert not self.start().wait()
        assert self.check() == 0
        assert not self.left
        twice = sum(count - 1 for count in self._requests.values() if count)
        assert twice <= self.in_flight
        memory, judge = MemoryLog(), _Knowing()
        decisions = _decisions(memory, self.run, self.cases, self.count, judge)
        assert {row.key: row.verdict for row in self.rows} == {row.key: row.verdict for row in memory.rows()}
        with SqlLog(self.database.url, create=False) as log:
            assert _decisions(log, self.run, self.cases, self.count, judge) == decisions
        assert judge.calls == self.planned  # those of the uninterrupted run
        return set(decisions.values())

    def _mine(self) -> Counter[Slot]:
        mine = f"{self.cases}."
        return Counter({slot: count for slot, count in self.server.counts().items() if slot[0].startswith(mine)})


class _Knowing(LoopbackJudge):
    """The same judge without the server between."""

    def __init__(self) -> None:
        super().__init__(0)
        self.calls = 0

    async def judge(self, probe: Probe) -> Judgment:
        self.calls += 1
        verdict = shown_verdict((probe.case_id, probe.perturbation.name, probe.repetition))
        return Judgment(answers=(Answer(verdict=verdict),), input_tokens=10, output_tokens=1)


def _decisions(log: Any, run: str, cases: str, count: int, judge: LoopbackJudge) -> dict[str, tuple[str, Any]]:
    results = harness(log, run).evaluate_many(judge, pairs(cases, count))
    return {result.case_id: (result.status, result.verdict) for result in results}


def _slot(row: VerdictRow) -> Slot:
    return row.case_id, row.perturbation, row.repetition
