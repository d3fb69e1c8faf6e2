"""A process that measures cases with a loopback judge and a log in a database, without any framework.

python -m support.slim_worker ORDER      measures, then prints the modules it imported
python -m support.slim_worker            forks a child for every order that comes on standard input (see `zygote`)
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import traceback
import zlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import psycopg  # noqa: F401 - so that children need not import it
import sqlalchemy.dialects.postgresql.psycopg
import sqlalchemy.dialects.sqlite  # noqa: F401

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.judging.tiers import TieredJudge
from judgeharness_integrations.verdictlog import SqlLog
from support.loopback_cases import pairs

__all__ = ["LoopbackJudge", "harness", "judge_at_half", "serve"]

Measure: TypeAlias = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]


class LoopbackJudge:
    """Asks a `CountingServer` over connections that are kept."""

    name = "loopback"
    identity = JudgeIdentity(name="loopback", model="loopback-1")
    criteria = None

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def judge(self, probe: Probe) -> Judgment:
        """Return the server's verdict."""
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        path = f"/{probe.case_id}/{probe.perturbation.name}/{probe.repetition}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: loopback\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.rpartition(b"Content-Length: ")[2])
        verdict = (await reader.readexactly(length)).decode()
        self._idle.append((reader, writer))
        return Judgment(answers=(Answer(verdict=verdict),), input_tokens=10, output_tokens=1)


class _NoRoom(Exception):  # noqa: N818 - as a provider's client raises it
    status_code = 429


class _AtHalf(LoopbackJudge):
    """The same at a tier that has no room for a quarter of the probes."""

    async def judge(self, probe: Probe) -> Judgment:
        """Refuse, or return the server's verdict."""
        if not zlib.crc32(f"{probe.case_id}/{probe.perturbation.name}/{probe.repetition}".encode()) % 4:
            raise _NoRoom
        return await super().judge(probe)


def judge_at_half(port: int) -> TieredJudge:
    """Return the judge of the kill tests, which is asked at half the price first."""
    return TieredJudge(tier="flex", cheaper=_AtHalf(port), standard=LoopbackJudge(port))


def harness(log: Any, run: str, **options: Any) -> JudgeHarness:
    """Return the design of the kill tests: both orders, three times each."""
    return JudgeHarness.standard("pairwise", log=log, run=run, observers=(), **options)


async def _measure(order: dict[str, Any]) -> None:
    judge = judge_at_half(order["port"])
    with SqlLog(order["log"]) as log, log.claim(order["run"]):
        one = harness(log, order["run"], max_concurrency=order["concurrency"])
        async for _ in one.aevaluate_many(judge, pairs(order["cases"], order["count"])):
            pass


def _child(order: dict[str, Any], measure: Measure) -> None:
    """Measure and end the process, leaving the parent's pipes alone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        asyncio.run(measure(order))
    except BaseException:  # noqa: BLE001 - the test shows it
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def serve(measure: Measure) -> None:
    """Answer orders: `start` gives the pid of a child, `wait` its wait status, `threads` their number here."""
    children: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "start":
            if not (pid := os.fork()):
                _child(order, measure)
            children.add(pid)
            reply: Any = pid
        elif order["do"] == "wait":
            reply = os.waitpid(order["pid"], 0)[1]
            children.discard(order["pid"])
        else:
            reply = threading.active_count()
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    for pid in children:  # the test is gone
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_measure(json.loads(sys.argv[1])))
        sys.stdout.write(json.dumps(sorted(sys.modules)) + "\n")
    else:
        serve(_measure)
