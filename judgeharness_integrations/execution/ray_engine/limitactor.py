"""The actor that keeps the limits of a judge model on a cluster: found by its name, made by whoever needs it first."""

from __future__ import annotations

import asyncio
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.execution.ray_engine.limitkeeper import LimitKeeper
from judgeharness_integrations.execution.ray_engine.loading import connected_ray, loaded_ray
from judgeharness_integrations.execution.ray_engine.replies import answer_of
from judgeharness_integrations.execution.ray_engine.sending import reason

__all__ = ["NAMESPACE", "KeeperActor", "keeper_of"]

NAMESPACE = "judgeharness"
_MOST_CLIENTS = 1000  # calls an actor serves at once: two a run
_TRIES, _PAUSE_S = 10, 1.0


class KeeperActor(LimitKeeper):
    """The actor; it ends itself, as nobody owns it."""

    def __init__(self, **times: float) -> None:
        """Start without runs; `times` are those of `LimitKeeper`."""
        super().__init__(end=_end_this_actor, **times)


def _end_this_actor() -> None:
    ray = loaded_ray()
    ray.kill(ray.get_runtime_context().current_actor)


async def keeper_of(model: str) -> Any:
    """Return the actor that limits a judge model on this cluster; the first run makes it, it outlives each of them.

    Raises:
        UsageError: it cannot be started.
        ClusterError: the cluster is lost.

    """
    errors = loaded_ray().exceptions
    options = {
        "name": f"limits of {model}",
        "namespace": NAMESPACE,
        "get_if_exists": True,
        "lifetime": "detached",
        "num_cpus": 0,
        "max_concurrency": _MOST_CLIENTS,
    }
    tries = _TRIES
    while True:
        keeper: Any = connected_ray().remote(KeeperActor).options(**options).remote()
        try:
            await answer_of(keeper.state.remote())
        except errors.RayError as error:  # it was ending, or its machine
            tries -= 1
            if not tries:
                raise UsageError(
                    f"the limiter of {model} cannot be started ({reason(error)}): see `ray status`."
                ) from error
            await asyncio.sleep(_PAUSE_S)
        else:
            return keeper
