"""The pytest fixture `harnessed`: measures inside tests, marked with `@pytest.mark.langsmith` or not.

Switched on in a conftest.py with `pytest_plugins = ["judgeharness_langsmith.pytest_plugin"]`.
"""

from __future__ import annotations

from typing import Any

import pytest

from judgeharness_integrations.judging.harness import JudgeHarness

from .feedback import Measure
from .runjudge import Calibration


class Harnessed:
    """Puts judges under a harness inside one test."""

    def __init__(self, *, logs: bool) -> None:
        """Log to LangSmith, or only measure."""
        self._logs = logs

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
        return Measure(judge, harness, calibration, key=key, private=private, logs=self._logs)

    def __repr__(self) -> str:
        """Return the same text in every process: LangSmith takes fixtures for inputs, and they identify an example."""
        return "harnessed"


@pytest.fixture
def harnessed(request: pytest.FixtureRequest) -> Harnessed:
    """Put judges under a harness inside tests.

    What `measure = harnessed(judge)` returns is called as `measure(inputs=..., outputs=...)`, `measure(case)` or
    `await measure.acall(...)`, and returns a `HarnessResult`. In a test marked `langsmith` each measurement logs one
    feedback row a criterion and one trace, whatever the number of samples.
    """
    return Harnessed(logs=request.node.get_closest_marker("langsmith") is not None)
