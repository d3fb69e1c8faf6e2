"""The pytest fixture `harnessed`: measures inside tests, marked with `@pytest.mark.langsmith` or not.

Switched on in a conftest.py with `pytest_plugins = ["judgeharness_langsmith.pytest_plugin"]`.
"""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from judgeharness_integrations.harness import JudgeHarness
from judgeharness_langsmith.choosing import Calibration
from judgeharness_langsmith.testing import Measure

__all__ = ["Harnessed", "harnessed"]


class Harnessed(Protocol):
    """What the fixture `harnessed` is."""

    def __call__(
        self,
        judge: Any,
        harness: JudgeHarness | None = None,
        calibration: Calibration = None,
        *,
        key: str | None = None,
        private: bool = False,
    ) -> Measure:
        """Return the judge under a harness; the arguments are those of `HarnessRunEvaluator`."""
        ...


@pytest.fixture
def harnessed(request: pytest.FixtureRequest) -> Harnessed:
    """Put judges under a harness inside tests.

    What `measure = harnessed(judge)` returns is called as `measure(inputs=..., outputs=...)`, `measure(case)` or
    `await measure.acall(...)`, and returns a `HarnessResult`. In a test marked `langsmith` each measurement logs one
    feedback row a criterion and one trace, whatever the number of samples.
    """
    logs = request.node.get_closest_marker("langsmith") is not None

    def wrap(
        judge: Any,
        harness: JudgeHarness | None = None,
        calibration: Calibration = None,
        *,
        key: str | None = None,
        private: bool = False,
    ) -> Measure:
        return Measure(judge, harness, calibration, key=key, private=private, logs=logs)

    return wrap
