"""A process that measures by batch with the real clients; see `zygote`.

python -m support.batch_worker      forks a child for every order that comes on standard input
"""

from __future__ import annotations

from typing import Any

import anthropic  # noqa: F401 - so that children need not import it
import langchain_anthropic  # noqa: F401
import langchain_openai  # noqa: F401
import openai  # noqa: F401

from judgeharness_integrations.judging.execution.batch_engine import BatchExecutor, Terms
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_langchain import PairwiseJudge
from support.batched import pairs
from support.provider_clients import MODELS
from support.slim_worker import harness, serve


class _Server:
    """Where a server of the test's process is."""

    def __init__(self, url: str) -> None:
        self.url = url


async def _measure(order: dict[str, Any]) -> None:
    model: Any = MODELS[order["provider"]]
    judge = PairwiseJudge(model(_Server(order["url"])), output="structured")
    executor = BatchExecutor(terms=Terms(poll_s=0.02, settle_s=0.5, max_requests=10))
    with SqlLog(order["log"]) as log, log.claim(order["run"]):
        one = harness(log, order["run"], executor=executor)
        async for _ in one.aevaluate_many(judge, pairs(order["count"])):
            pass


if __name__ == "__main__":
    serve(_measure)
