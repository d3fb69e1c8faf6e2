from __future__ import annotations

import asyncio
import inspect
import random
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations.judging.perturbations import Context

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgeharness_integrations.judging.perturbations import Perturbation


async def _rewrite(rewriter: Callable[[str], Any], text: str) -> Any:
    reworded = rewriter(text)
    return await reworded if inspect.isawaitable(reworded) else reworded


def _apply(perturbation: Perturbation, case: Any, seed: int = 0) -> Any:
    context = Context(random.Random(seed), _rewrite)  # noqa: S311
    return asyncio.run(perturbation.applied(case, context))


@pytest.fixture(scope="session")
def apply() -> Callable[..., Any]:
    return _apply
