"""What the benchmarks of durable runs share: cases from a generator, a judge that can be known again, logs to fill."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from judgeharness_integrations import HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations.judging.judge import FunctionJudge, JudgeIdentity
from judgeharness_integrations.verdictlog import SqlLog, VerdictLog

CALLS_A_CASE = 6
POSTGRES = os.environ.get("JUDGEHARNESS_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/test")
RUN = "measured"
_CONCURRENCY = 64
_SCHEMA = "judgeharness_benchmark"
_TEXT = "The quick brown fox jumps over the lazy dog. " * 4


def pairs(samples: int) -> Iterator[PairwiseCase]:
    """Yield as many cases as need at least so many samples, each with a text of its own."""
    for number in range(-(-samples // CALLS_A_CASE)):
        yield PairwiseCase(case_id=f"case-{number}", input="Which?", output=_TEXT + str(number), output_b=_TEXT + "!")


def judge(latency_s: float = 0.0) -> FunctionJudge:
    """Return a judge with an identity, so that its answers can be found again, that answers after `latency_s`."""

    async def preferring(case: object) -> str:
        del case
        await asyncio.sleep(latency_s)
        return "A"

    return FunctionJudge(function=preferring, name="judge", identity=JudgeIdentity(name="judge", model="m-1"))


def results(
    samples: int, log: VerdictLog | None, *, latency_s: float = 0.0, run: str = RUN
) -> AsyncGenerator[HarnessResult, None]:
    """Measure the cases, which are planned one by one."""
    harness = JudgeHarness.standard("pairwise", max_concurrency=_CONCURRENCY, observers=(), log=log, run=run)
    return harness.aevaluate_many(judge(latency_s), pairs(samples))


async def ask(samples: int, log: VerdictLog | None, *, latency_s: float = 0.0, run: str = RUN) -> None:
    """Measure the cases, drop the results, and return once the log is closed."""
    asked = 0
    async for result in results(samples, log, latency_s=latency_s, run=run):
        asked += result.only.valid
    if asked < samples:
        raise RuntimeError(f"asked {asked} times only")
    if isinstance(log, SqlLog):
        log.close()


@contextmanager
def sqlite_log() -> Iterator[str]:
    """Give the place of a new SQLite log."""
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "log.sqlite")


@contextmanager
def postgres_log() -> Iterator[str]:
    """Give the place of a new log in a schema of its own."""
    import psycopg

    server = POSTGRES.replace("+psycopg", "")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE")
        connection.execute(f"CREATE SCHEMA {_SCHEMA}")
        try:
            yield f"{POSTGRES}{'&' if '?' in POSTGRES else '?'}options=-csearch_path%3D{_SCHEMA}"
        finally:
            connection.execute(f"DROP SCHEMA {_SCHEMA} CASCADE")


@contextmanager
def no_log() -> Iterator[None]:
    """Give no place: results stay in memory until they are dropped."""
    yield None


PLACES: dict[str, Callable[[], AbstractContextManager[str | None]]] = {
    "memory": no_log,
    "sqlite": sqlite_log,
    "postgresql": postgres_log,
}


def reachable() -> list[str]:
    """Return the kinds of log that can be measured here, in memory first."""
    try:
        with postgres_log():
            return list(PLACES)
    except Exception:  # noqa: BLE001 - no driver, no server, no right: it is left out
        return [kind for kind in PLACES if kind != "postgresql"]
