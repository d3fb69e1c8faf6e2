"""Ten thousand calls to a server that fails one in five in every way there is: nothing lost, every outcome counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from support.fault_judge import FaultJudge
from support.fault_server import FAULTS, FaultServer, FaultServerProcess, twenty_percent

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations.judging.execution.limiter import limiter_for
from judgeharness_integrations.judging.execution.observing import Span

_CALLS_A_CASE = 5


class Marking:
    """Observes the run and marks, once, that the limiter has had its time to adapt."""

    def __init__(self, server: FaultServer | FaultServerProcess, after: int) -> None:
        self._server, self._left = server, after

    def begin(self, span: Span) -> None:
        pass

    def end(self, span: Span) -> None:
        self._left -= span.kind == "call"
        if self._left == 0:
            self._left = -1
            self._server.mark()


async def judged(judge: FaultJudge, cases: int, **options: object) -> list[HarnessResult]:
    harness = JudgeHarness(perturbations=["none"], repetitions=_CALLS_A_CASE, aggregation_rule="majority", **options)
    texts = [AnswerCase(case_id=f"case-{number}", output="yes") for number in range(cases)]
    try:
        return [result async for result in harness.aevaluate_many(judge, texts)]
    finally:
        await judge.aclose()


def check(results: list[HarnessResult], cases: int, judge: FaultJudge, counts: dict[str, Any]) -> None:
    """Every case has a result, every probe a row, and the rows tell what the server did."""
    kinds = Counter(counts["kinds"])
    late = judge.given_up - kinds["timeout"]  # calls that a busy machine did not bring to their end in time
    assert len({result.case_id for result in results}) == len(results) == cases
    rows = [row for result in results for row in result.rows]
    assert Counter(row.case_id for row in rows) == {f"case-{n}": _CALLS_A_CASE for n in range(cases)}
    assert all(result.state == "complete" for result in results)
    assert 0 <= sum(row.attempts or 0 for row in rows) - counts["requests"] <= late
    outcomes = Counter(row.outcome for row in rows)
    for outcome, kind in (("ok", "ok"), ("refused", "refusal"), ("unparsed", "truncated")):
        assert kinds[kind] - late <= outcomes[outcome] <= kinds[kind]
    assert outcomes["error"] == len(rows) - outcomes["ok"] - outcomes["refused"] - outcomes["unparsed"]
    assert all((row.error is None) == (row.outcome != "error") for row in rows)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_calls_with_a_fifth_of_them_failing() -> None:
    cases, room = 2_000, 64
    with FaultServerProcess(faults=0.2, room=room, latency_s=0.04, retry_after_s=0.02, seed=7) as server:
        judge = FaultJudge(server.url, model="ten-thousand")
        options = {"max_concurrency": 128, "timeout_s": 1.0, "observers": [Marking(server, 1_000)]}
        results = asyncio.run(judged(judge, cases, **options))
        counts = server.counts()
    check(results, cases, judge, counts)
    assert set(counts["kinds"]) == {"ok", *FAULTS}
    assert counts["over_room"] > 0
    assert counts["over_room_after_mark"] == 0
    assert counts["peak"] == room
    assert 0.6 * room <= limiter_for("ten-thousand")._aimd._ceiling <= room
    failed = sum(row.outcome == "error" for result in results for row in result.rows)
    assert failed < 60 + judge.given_up - counts["kinds"]["timeout"]  # 7 are due; one kind not retried would be 200


@pytest.mark.slow
def test_a_server_in_a_thread_fails_in_the_same_ways() -> None:
    options: dict[str, object] = {"max_concurrency": 32, "timeout_s": 0.5, "observers": ()}
    with FaultServer(faults=twenty_percent(0.4), latency_s=0.002, seed=1) as server:
        judge = FaultJudge(server.url, model="in-a-thread")
        results = asyncio.run(judged(judge, 60, **options))
        counts = server.counts()
    check(results, 60, judge, counts)
    assert set(counts["kinds"]) == {"ok", *FAULTS}


@pytest.mark.slow
def test_a_servers_own_rate_is_waited_out_by_everybody() -> None:
    with FaultServer(per_window=40, window_s=0.4, latency_s=0.001) as server:
        judge = FaultJudge(server.url, model="own-rate")
        results = asyncio.run(judged(judge, 40, max_concurrency=16, max_attempts=20, observers=()))
        counts = server.counts()
    check(results, 40, judge, counts)
    assert {row.outcome for result in results for row in result.rows} == {"ok"}
    assert (
        4 <= counts["over_rate"] <= 48
    )  # four times the window was full, for some of those in flight; 64 and more if only they waited
