"""Every test of this room may start a loopback LangSmith; none sees the environment's."""

import pytest
from support.langsmith_fixtures import langsmith_server, langsmith_unset

__all__ = ["langsmith_server", "langsmith_unset"]


@pytest.fixture(autouse=True)
def _nothing_of_the_environment(langsmith_unset: None) -> None:
    pass
