"""Fixtures of every test room."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.openai_server import OpenAIServer


def pytest_configure(config: pytest.Config) -> None:
    # The async client of `ChatOpenAI` leaves its pooled connections open when `asyncio.run` closes their loop, and
    # nothing public closes them later. Whenever they are collected, the warning would fail the test that runs.
    config.addinivalue_line("filterwarnings", r"ignore:unclosed (transport|<socket\.socket):ResourceWarning")
    # The background loop may collect them while pytest is about to set its filters, when "error" alone is in force.
    unraisable = r"ignore:Exception ignored in. <(socket\.socket|function _SelectorTransport)"
    config.addinivalue_line("filterwarnings", f"{unraisable}:pytest.PytestUnraisableExceptionWarning")
    # How long one example takes depends on who else uses the machine; each run draws other examples.
    calm = [HealthCheck.too_slow]
    settings.register_profile("shared machine", max_examples=30, deadline=None, suppress_health_check=calm)
    settings.load_profile("shared machine")


def pytest_collection_finish() -> None:
    gc.freeze()  # what was collected lives as long as the session: no collection need look at it again


@pytest.fixture
def openai_server() -> Iterator[Callable[..., OpenAIServer]]:
    """Starts servers with `openai_server(script)`; each is stopped when the test ends."""
    from support.openai_server import OpenAIServer  # noqa: PLC0415 - most rooms run without these extras

    with contextlib.ExitStack() as servers:
        yield lambda script, **options: servers.enter_context(OpenAIServer(script, **options))
