"""A Ray of our own: started when it is needed, ended when nobody needs it any more."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from support.line_server import LineJudge
from support.ray_cluster import cases, harness

from judgeharness_integrations._errors import ClusterError, NotInstalledError
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor
from judgeharness_integrations.judging.execution.ray_engine.cluster import connected

pytestmark = pytest.mark.slow

ray: Any = pytest.importorskip("ray")


def test_nothing_answers_at_the_address() -> None:
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(ClusterError, match=f"no Ray answers at {address} .* start one with `ray start --head`"):
            harness(RayExecutor(address=address)).evaluate(LineJudge(1), cases(1)[0])


def test_without_the_extra_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotInstalledError, match=r"Ray is not installed: pip install '\.\[ray\]'"):
        harness(RayExecutor()).evaluate(LineJudge(1), cases(1)[0])


@pytest.mark.slow
def test_a_ray_of_our_own_ends_with_its_last_user_also_when_one_is_cancelled_while_it_starts() -> None:
    async def use() -> None:
        async with connected(None, cpus=1), connected("local", cpus=1):  # a calibration is a run inside a run
            assert ray.is_initialized()

    async def go() -> None:
        cancelled, using = asyncio.ensure_future(use()), asyncio.ensure_future(use())
        await asyncio.sleep(0.2)
        cancelled.cancel()
        await using
        with pytest.raises(asyncio.CancelledError):
            await cancelled

    asyncio.run(go())
    assert not ray.is_initialized()
