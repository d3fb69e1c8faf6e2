"""The pytest plugin: fixture and marker `judgeharness`, one report and gates over a session, also with pytest-xdist.

What pytest needs before the first test stands here; everything else loads when a test asks a judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations._errors import NotGradedError

    from .fixture import Asking

__all__ = ["Asking", "NotGradedError", "judgeharness", "pytest_addoption", "pytest_configure"]

__getattr__ = lazy(__name__, {"Asking": "fixture", "NotGradedError": ".._errors"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, on the command line and in the configuration file."""
    from .options import add_options  # noqa: PLC0415

    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, check the options where there are any, and watch the session."""
    from .hooks import start  # noqa: PLC0415

    start(config)


@pytest.fixture
def judgeharness(request: pytest.FixtureRequest) -> Asking:
    """Ask judges under the harness that options and `@pytest.mark.judgeharness` stand for.

    `judgeharness(judge, case)` measures, `judgeharness.check(judge, case)` fails the test where the decision is not
    PASS; every result is part of the session's report.
    """
    from .hooks import asking  # noqa: PLC0415

    return asking(request)
