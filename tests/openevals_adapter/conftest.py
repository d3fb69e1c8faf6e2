"""Nothing of this room reaches the real LangSmith."""

from __future__ import annotations

import pytest
from support.langsmith_fixtures import langsmith_server, langsmith_unset

__all__ = ["langsmith_server", "langsmith_unset"]


@pytest.fixture(autouse=True)
def offline(langsmith_unset: None) -> None:
    """No variable of LangSmith's is set."""
