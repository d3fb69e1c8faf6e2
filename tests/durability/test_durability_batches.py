"""`kill -9` around submit, poll and collect: nothing is paid twice."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from support.batch_server import BatchServer, Faults
from support.batched import CALLS, longer
from support.databases import fresh_schema
from support.zygote import BATCH_WORKER, Zygote

from judgeharness_integrations.verdictlog import SqlLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("judgeharness_langchain")
pytestmark = pytest.mark.slow
CASES = 4  # of a run


@pytest.fixture(scope="module")
def batching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """A process that forks measuring processes, with the clients of both providers."""
    with Zygote(tmp_path_factory.mktemp("batching") / "errors.txt", BATCH_WORKER) as started:
        yield started


def _moments(server: BatchServer, zygote: Zygote, random: Random, **order: Any) -> Iterator[str]:
    """Yield what the provider was asked last at each kill, the first as it makes a batch, until a process ended."""
    making = True
    while True:
        before, patience = len(server.seen), random.randrange(12)
        child = zygote.start(**order)
        ends = time.monotonic() + (20 if making or patience else 0.5)  # it takes seconds to begin on a busy machine
        while time.monotonic() < ends and (
            "create" not in server.seen if making else len(server.seen) < before + patience
        ):
            time.sleep(0.001)  # the server knows of no waiting
        time.sleep(0 if making else random.random() * 0.02)
        making = False
        if not child.kill():
            return
        yield server.seen[-1] if len(server.seen) > before else "nothing"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("provider", "store", "kills"), [("openai", "sqlite", 15), ("anthropic", "sqlite", 15), ("openai", "postgres", 5)]
)
def test_a_run_by_batch_that_is_killed_again_and_again_pays_no_request_twice(
    batching: Zygote, tmp_path: Path, provider: str, store: str, kills: int
) -> None:
    with ExitStack() as stack:
        place = str(tmp_path / "verdicts.sqlite") if store == "sqlite" else stack.enter_context(fresh_schema())
        killed_again_and_again(batching, provider, place, kills)


def killed_again_and_again(batching: Zygote, provider: str, place: str, kills: int) -> None:
    random, met, runs = Random(provider), Counter[str](), 0  # noqa: S311 - no secret
    order: dict[str, Any] = {"provider": provider, "count": CASES, "log": place}
    while met.total() < kills:
        runs += 1
        with BatchServer(longer, Faults(polls=3, dropped=runs % 2, expired=3)) as server:
            met += Counter(_moments(server, batching, random, **order, run=f"run {runs}", url=server.url))
            batching.start(**order, run=f"run {runs}", url=server.url).wait()
            assert Counter(server.finish().values()) == {1: CASES * CALLS}
    with SqlLog(place) as log:
        assert Counter(row.outcome for row in log.rows()) == {"ok": runs * CASES * CALLS}
    assert {"create", "look"} <= met.keys(), met
