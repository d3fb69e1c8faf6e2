"""How a model is set, its bindings included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableBinding

from judgeharness_integrations import chatmodels

__all__ = ["model_parameters"]


def model_parameters(model: object, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters that are set, bound arguments included, and the endpoint.

    Args:
        model: the model, maybe in bindings; the outermost binding wins.
        told: arguments a chain adds to each call; they win over all bindings.

    """
    given = dict(told or {})
    while isinstance(model, RunnableBinding):
        given = {**model.kwargs, **given}
        model = model.bound
    return chatmodels.model_parameters(model, given)
