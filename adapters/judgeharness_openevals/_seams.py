"""Where openevals ends and we begin.

Whatever is missing degrades: a judge that cannot be read is an unknown one, a test case that cannot be seen is none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from langchain_core.runnables import config as runnable_config


def _variable(holder: object, name: str) -> ContextVar[Any]:
    """Return a framework's context variable; one that nobody reads where it has gone."""
    found = getattr(holder, name, None)
    return found if isinstance(found, ContextVar) else ContextVar(name, default=None)


_TEST_CASE = _variable(import_module("langsmith.testing._internal"), "_TEST_CASE")
_CHILD_CONFIG = _variable(runnable_config, "var_child_runnable_config")


def in_test_case() -> bool:
    """Whether a test marked `@pytest.mark.langsmith` is running."""
    return bool(_TEST_CASE.get(None))


@contextmanager
def outside_test_case() -> Iterator[None]:
    """Keep an openevals judge from logging feedback: of a sample, where the verdict is what is to be logged."""
    token = _TEST_CASE.set(None)
    try:
        yield
    finally:
        _TEST_CASE.reset(token)


@contextmanager
def marked(tags: list[str], metadata: Mapping[str, Any]) -> Iterator[None]:
    """Give every LangChain run inside tags and metadata: openevals takes no config to hand on."""
    outer: dict[str, Any] = dict(_CHILD_CONFIG.get(None) or {})
    outer["tags"] = [*(outer.get("tags") or ()), *tags]
    outer["metadata"] = {**(outer.get("metadata") or {}), **metadata}
    token = _CHILD_CONFIG.set(outer)
    try:
        yield
    finally:
        _CHILD_CONFIG.reset(token)


def closure_of(function: object) -> Mapping[str, Any]:
    """Return the variables a function closes over; nothing for what is no function, or not filled yet."""
    try:
        return inspect.getclosurevars(function).nonlocals  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}


def agentevals_factories() -> Iterator[Callable[..., Any]]:
    """Yield what makes the judges of agentevals, whose scorers are openevals'; nothing where it is not installed."""
    for name in ("trajectory", "graph_trajectory"):
        with suppress(ImportError, AttributeError):
            module = import_module(f"agentevals.{name}.llm")
            yield from (getattr(module, f"create_{kind}{name}_llm_as_judge") for kind in ("", "async_"))
