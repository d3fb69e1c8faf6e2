"""The judge of a configuration, copied beside it: `callable: loopback_module:judge` asks a `CountingServer`."""

from __future__ import annotations

import asyncio
import http.client
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment

if TYPE_CHECKING:
    from judgeharness_integrations.judging.judge import Probe

PORT = "JUDGEHARNESS_TEST_LOOPBACK_PORT"
_THREADS = ThreadPoolExecutor(16)  # that of the event loop has fewer threads than there are calls in flight


class _Loopback:
    name = "loopback"
    identity = JudgeIdentity(name="loopback", model="loopback-1")
    criteria = None

    async def judge(self, probe: Probe) -> Judgment:
        path = f"/{probe.case_id}/{probe.perturbation.name}/{probe.repetition}"
        verdict = await asyncio.get_running_loop().run_in_executor(_THREADS, _get, path)
        return Judgment(answers=(Answer(verdict=verdict),), input_tokens=10, output_tokens=1)


def _get(path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ[PORT]), timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


judge = _Loopback()
