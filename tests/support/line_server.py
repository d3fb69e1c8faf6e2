"""A loopback judge that counts: which probes it was asked, by which processes, how many at once.

    with LineServer(latency_s=0.02) as server:
        harness.evaluate_many(LineJudge(server.port), cases)
    assert server.calls == len(cases)

`LineJudge` can be pickled, so that it can be sent to other processes. A case whose output is `poison` kills the process
that judges it, before the server is asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment

if TYPE_CHECKING:
    from types import TracebackType

    from judgeharness_integrations.judging.cases import Criterion
    from judgeharness_integrations.judging.judge import Probe

__all__ = ["LineJudge", "LineServer", "ServerError"]


class ServerError(Exception):
    """What a client raises for a bad status."""

    def __init__(self, status: int, retry_after_s: float | None) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}


@dataclass(frozen=True)
class LineJudge:
    """Asks the server over a connection a call."""

    port: int
    name: str = "line"
    model: str = "line-model"
    criteria: tuple[Criterion, ...] | None = None

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity(name=self.name, model=self.model)

    async def judge(self, probe: Probe) -> Judgment:
        if probe.case.output == "poison":
            os.kill(os.getpid(), signal.SIGKILL)
        key = [probe.case_id, probe.perturbation.name, probe.repetition]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            question = {"key": key, "pid": os.getpid(), "text": probe.case.output}
            writer.write(json.dumps(question).encode() + b"\n")
            reply = json.loads(await reader.readline())
        finally:
            writer.close()
        if reply["status"] != 200:
            raise ServerError(reply["status"], reply["retry_after_s"])
        answer = Answer(verdict=reply["verdict"])
        return Judgment(answers=(answer,), raw=reply["verdict"], input_tokens=3, output_tokens=1)


class LineServer:
    """Answers PASS or FAIL by the text; more than `room` in flight are refused, and so are the first `refusing`.

    A refusal is a 429 that asks for `retry_after_s` seconds. A text `hang` is never answered.
    """

    def __init__(
        self, *, latency_s: float = 0.0, room: int = 10_000, refusing: int = 0, retry_after_s: float = 0.0
    ) -> None:
        self.latency_s, self.room, self.refusing, self.retry_after_s = latency_s, room, refusing, retry_after_s
        self.asked: Counter[tuple[str, str, int]] = Counter()
        self.in_flight: defaultdict[int, int] = defaultdict(int)  # by process
        self.asked_at: list[float] = []
        self.most = self.refused = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def calls(self) -> int:
        return sum(self.asked.values())

    @property
    def pids(self) -> list[int]:
        return list(self.in_flight)

    def _verdict(self, text: str) -> str:
        return "PASS" if sum(text.encode()) % 3 else "FAIL"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            question = json.loads(await reader.readline())
            reply = await self._reply(question)
            writer.write(json.dumps(reply).encode() + b"\n")
        except (ConnectionError, ValueError, asyncio.CancelledError):  # who asked was killed, or the server stops
            pass
        finally:
            writer.close()

    async def _reply(self, question: dict[str, Any]) -> dict[str, Any]:
        pid = question["pid"]
        self.asked[tuple(question["key"])] += 1
        self.asked_at.append(self._loop.time())
        self.in_flight[pid] += 1
        in_flight = sum(self.in_flight.values())
        self.most = max(self.most, in_flight)
        try:
            if question["text"] == "hang":
                await asyncio.sleep(3600)
            if in_flight > self.room or self.refused < self.refusing:
                self.refused += 1
                return {"status": 429, "retry_after_s": self.retry_after_s}
            await asyncio.sleep(self.latency_s)
        finally:
            self.in_flight[pid] -= 1
        return {"status": 200, "verdict": self._verdict(question["text"])}

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def stop() -> None:
            self._server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
