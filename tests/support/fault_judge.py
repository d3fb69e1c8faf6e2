"""A slim async judge over plain sockets for the fault server; it raises what real clients raise."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.judging.parsing import label_grammar

__all__ = ["FaultJudge", "ServerError"]

_GRAMMAR = label_grammar({"PASS": "PASS", "FAIL": "FAIL"})
_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ServerError(Exception):
    """A status that is no answer."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status}")
        self.status_code, self.headers = status, headers


class BodyError(ValueError):
    """A 200 without the JSON that was promised."""

    status_code = 200


class FaultJudge:
    """Asks `url`/judge over connections kept open per event loop: end with `aclose`, after the sync face with `close`.

    `given_up` counts the attempts that were cancelled, by their deadline for example.
    """

    def __init__(self, url: str, *, name: str = "faulty", model: str = "faulty-1") -> None:
        self.name = name
        self.identity = JudgeIdentity(name=name, model=model)
        self.criteria = (Criterion(name="verdict", labels=("PASS", "FAIL")),)
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self.given_up = 0
        self._idle: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Connection]] = WeakKeyDictionary()

    async def judge(self, probe: Probe) -> Judgment:
        """Ask once and read the answer strictly."""
        asked = {"case": probe.case_id, "perturbation": probe.perturbation.name, "repetition": probe.repetition}
        status, headers, body = await self._posted(json.dumps(asked).encode())
        if status != 200:
            raise ServerError(status, headers)
        try:
            document: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise BodyError(f"no JSON in {len(body)} bytes") from error
        usage = document["usage"]
        return Judgment(
            answers=(_read(document),),
            raw=document["text"],
            model=self.identity.model,
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
        )

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        for _, writer in self._idle.pop(asyncio.get_running_loop(), []):
            writer.close()
            await writer.wait_closed()

    def close(self) -> None:
        """Close the connections of the sync face's loop."""
        run_sync(self.aclose())

    async def _posted(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        idle = self._idle.setdefault(asyncio.get_running_loop(), [])
        try:
            reader, writer = idle.pop() if idle else await asyncio.open_connection(self._host, self._port)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        try:
            head = f"POST /judge HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            status, headers, length = _parsed(await reader.readuntil(b"\r\n\r\n"))
            answer = await reader.readexactly(length)
        except BaseException as error:
            writer.transport.abort()
            self.given_up += isinstance(error, asyncio.CancelledError)
            if isinstance(error, asyncio.IncompleteReadError):
                raise ConnectionError("the server closed the connection within its answer") from error
            raise
        idle.append((reader, writer))
        return status, headers, answer


def _parsed(head: bytes) -> tuple[int, Mapping[str, str], int]:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if line)
    return int(first.split(" ")[1]), headers, int(headers["Content-Length"])


def _read(document: Mapping[str, Any]) -> Answer:
    if document["refusal"] is not None:
        return Answer(outcome="refused", reasoning=document["refusal"])
    verdict = _GRAMMAR.last_line(document["text"])
    return Answer(outcome="unparsed") if verdict is None else Answer(verdict=verdict)
