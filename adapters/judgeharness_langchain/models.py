"""Which model is behind a judge."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import RunnableBinding

from judgeharness_integrations import chatmodels
from judgeharness_integrations.judging import model_family

__all__ = ["family_of", "innermost", "model_name", "with_innermost"]

_MAKERS = frozenset({"anthropic", "google"})


def innermost(model: object) -> object:
    """Return the model below `bind(...)` and the like."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model


def with_innermost(model: Any, core: BaseLanguageModel[Any]) -> Any:
    """Return the same bindings around another model."""
    if not isinstance(model, RunnableBinding):
        return core
    return model.model_copy(update={"bound": with_innermost(model.bound, core)})


def model_name(model: object) -> str | None:
    """Return the provider's name of the model; the class name when it has none."""
    core = innermost(model)
    own = type(core).__name__ if isinstance(core, BaseLanguageModel) else None
    return chatmodels.model_name(core) or own


def family_of(model: object) -> str | None:
    """Return the maker of the model by its name, else by the integration package it comes from."""
    core = innermost(model)
    package = type(core).__module__.split(".")[0].removeprefix("langchain_").split("_")[0]
    return model_family(model_name(model)) or model_family(package) or (package if package in _MAKERS else None)
