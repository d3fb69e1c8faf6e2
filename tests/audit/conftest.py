"""The browser of this room: started once a file, when its first test needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.browser import started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with started() as browser:
        yield browser
