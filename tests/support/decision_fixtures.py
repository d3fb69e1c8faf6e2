"""Loopback servers of decision models for a room; its conftest, or a test file, imports the fixture."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.provider_server import ProviderServer

__all__ = ["KEY", "Decide", "decision_server"]

Decide = Callable[..., ProviderServer]
KEY = "sk-loopback-0123456789"


@pytest.fixture
def decision_server() -> Iterator[Decide]:
    """Start a loopback server that lasts as long as the test: `decision_server(Planted())`."""
    with contextlib.ExitStack() as servers:

        def start(script: Any) -> ProviderServer:
            return servers.enter_context(ProviderServer(script))

        yield start
