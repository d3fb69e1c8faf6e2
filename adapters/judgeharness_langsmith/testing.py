"""Measurements inside tests that LangSmith records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from langsmith import testing

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.execution.observing import is_private
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_langsmith.choosing import Calibration, harness_for, judge_in
from judgeharness_langsmith.feedback import Family, comment_of, native
from judgeharness_langsmith.tracing import traced, without_words

_VALUES = ("inputs", "outputs", "reference_outputs")


class Measure:
    """A judge under a harness, called with a case or with `outputs`, `inputs` and `reference_outputs`."""

    def __init__(
        self,
        judge: Any,
        harness: JudgeHarness | None = None,
        calibration: Calibration = None,
        *,
        key: str | None = None,
        private: bool = False,
        logs: bool = True,
    ) -> None:
        """Prepare; `logs`: it is called inside a test marked `langsmith`. The rest is as in `HarnessRunEvaluator`."""
        self.judge = judge_in(judge)
        harness = harness_for(judge, self.judge, harness, calibration)
        self.private = private or is_private(harness.observers)
        self.harness = traced(harness, private=self.private)
        self.family = Family.of(self.judge, harness, key)
        self.logs = logs

    def __call__(self, case: Any = None, **values: Any) -> HarnessResult:
        """Measure, and log one feedback row a criterion.

        Raises:
            UsageError: neither a case nor `outputs` are given, or both.

        """
        with self._logged():
            result = self.harness.evaluate(self.judge, _case(case, values))
            self._log(result)
        return result

    async def acall(self, case: Any = None, **values: Any) -> HarnessResult:
        """Measure in an async test; see `__call__`."""
        with self._logged():
            result = await self.harness.aevaluate(self.judge, _case(case, values))
            self._log(result)
        return result

    @contextmanager
    def _logged(self) -> Iterator[None]:
        with testing.trace_feedback(name=self.judge.name) if self.logs and not self.private else nullcontext():
            yield

    def _log(self, result: HarnessResult) -> None:
        if not self.logs:
            return
        shown = without_words(result) if self.private else result
        for name, measured in shown.criteria.items():
            score, value = native(measured)
            testing.log_feedback(
                key=self.family.key_of(name, several=len(result.criteria) > 1),
                score=score,
                value=value,
                comment=comment_of(shown, name),
            )


def _case(case: Any, values: dict[str, Any]) -> Any:
    if (case is None) == ("outputs" not in values) or (case is not None and values):
        raise UsageError("give a case, or outputs= with inputs= and reference_outputs= where there are some.")
    if case is not None:
        return case
    known = {name: values.pop(name) for name in _VALUES if name in values}
    return structured_case(extra=values, **known)
