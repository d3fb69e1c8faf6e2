"""Fixtures of rooms that trace to the loopback LangSmith; a room's conftest imports them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import langsmith
import pytest
from langsmith import run_trees, utils
from langsmith.env import _runtime_env

from support.langsmith_server import LangSmithServer

__all__ = ["LangSmithServerFactory", "langsmith_server", "langsmith_unset"]

LangSmithServerFactory = Callable[..., LangSmithServer]


@pytest.fixture
def langsmith_unset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of LangSmith's is set, and langsmith remembers none."""
    for name in list(os.environ):
        if name.startswith(("LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")):
            monkeypatch.delenv(name)
    _forget()
    yield
    _forget()


@pytest.fixture
def langsmith_server(langsmith_unset: None) -> Iterator[LangSmithServerFactory]:
    """Start a loopback LangSmith that lasts as long as the test: `langsmith_server(multipart=False)`."""
    with contextlib.ExitStack() as servers:
        yield lambda **options: servers.enter_context(LangSmithServer(**options))
        if run_trees._CLIENT is not None:  # what it holds must arrive while there is a server
            run_trees._CLIENT.flush()


def _forget() -> None:
    """Forget what langsmith has read from the environment, the process's own client and what was configured."""
    for module in (utils, run_trees, _runtime_env):
        for thing in list(vars(module).values()):
            if hasattr(thing, "cache_clear") and getattr(thing, "__module__", "").startswith("langsmith"):
                thing.cache_clear()
    if run_trees._CLIENT is not None:
        run_trees._CLIENT.close()
    langsmith.configure(client=None, enabled=None, project_name=None, tags=None, metadata=None)
