"""Fixtures of the kill tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.counting_server import CountingServer
    from support.zygote import Zygote


@pytest.fixture
def server() -> Iterator[CountingServer]:
    """A judge that counts what it is asked."""
    from support.counting_server import CountingServer

    with CountingServer() as started:
        yield started


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """A process that forks measuring processes."""
    from support.zygote import Zygote

    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork processes")
    with Zygote(tmp_path_factory.mktemp("zygote") / "errors.txt") as started:
        yield started
