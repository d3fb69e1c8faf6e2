"""The fixture: judges asked inside a test, every measurement recorded for the session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations.judging import JudgeLike, as_judge
from judgeharness_integrations.testing.pytest_plugin.designing import marker_keys
from judgeharness_integrations.testing.pytest_plugin.expecting import Expectation, Expected, short_report
from judgeharness_integrations.testing.pytest_plugin.properties import properties
from judgeharness_integrations.testing.pytest_plugin.settings import OnAbstention, chosen

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.harness import JudgeHarness
    from judgeharness_integrations.result import HarnessResult
    from judgeharness_integrations.testing.pytest_plugin.suite import Suite

__all__ = ["Asking"]


class Asking:
    """Asks judges inside one test.

    Judges are what `JudgeHarness.evaluate` takes: functions of a case, `Judge`s, LangChain evaluators and openevals
    judges among them.
    """

    def __init__(self, item: pytest.Item, suite: Suite) -> None:
        """Read the test's markers.

        Raises:
            UsageError: one of them cannot be used.

        """
        self._item, self._suite = item, suite
        self._keys = marker_keys(item)
        self._count = 0

    def __repr__(self) -> str:
        """Return the same text in every process: LangSmith takes fixtures for inputs, and they identify an example."""
        return "judgeharness"

    @property
    def harness(self) -> JudgeHarness:
        """The design in force, where no case and no judge tells its shape; see `harness_for`."""
        return self._suite.designer.harness(self._keys)

    def harness_for(self, judge: JudgeLike, case: Case) -> JudgeHarness:
        """Return the harness a case is measured with: a pair is asked in both orders unless options say otherwise."""
        return self._suite.designer.harness(self._keys, as_judge(judge), case)

    def __call__(
        self, judge: JudgeLike, case: Case, *, judge_model: str | None = None, harness: JudgeHarness | None = None
    ) -> HarnessResult:
        """Measure one case; see `evaluate`."""
        return self.evaluate(judge, case, judge_model=judge_model, harness=harness)

    def evaluate(
        self, judge: JudgeLike, case: Case, *, judge_model: str | None = None, harness: JudgeHarness | None = None
    ) -> HarnessResult:
        """Measure one case and record the result; the test goes on whatever it is.

        Args:
            judge: who judges.
            case: an `AnswerCase`, a `PairwiseCase`, or whatever the judge takes.
            judge_model: the model behind the judge, for the report and the limiter.
            harness: a harness of the test's own, instead of the one options and markers stand for.

        Raises:
            UsageError: case, judge and design do not fit together; nothing was asked.
            BudgetError: the plan needs more than `max_calls`; nothing was asked.

        """
        chosen_harness = self._chosen(judge, case, judge_model, harness)
        return self._recorded(chosen_harness.evaluate(judge, case, judge_model), case, chosen_harness)

    async def aevaluate(
        self, judge: JudgeLike, case: Case, *, judge_model: str | None = None, harness: JudgeHarness | None = None
    ) -> HarnessResult:
        """Measure one case inside an event loop; see `evaluate`."""
        chosen_harness = self._chosen(judge, case, judge_model, harness)
        return self._recorded(await chosen_harness.aevaluate(judge, case, judge_model), case, chosen_harness)

    def evaluate_many(
        self,
        judge: JudgeLike,
        cases: Iterable[Case],
        *,
        judge_model: str | None = None,
        harness: JudgeHarness | None = None,
    ) -> list[HarnessResult]:
        """Measure cases one after another, in their order; see `evaluate`. The calls of each are made side by side."""
        return [self.evaluate(judge, case, judge_model=judge_model, harness=harness) for case in cases]

    def check(self, judge: JudgeLike, case: Case, expected: Expected | None = None, **options: Any) -> HarnessResult:
        """Measure one case and fail the test unless the decision is what was expected.

        Args:
            judge: who judges.
            case: what is judged.
            expected: the verdict, several of which one will do, or either by criterion; PASS unless said.
            options: `at_least` and `at_most` are limits of a score; `min_consistency` is the least share of samples
                that agree; `on_abstain` is `fail`, `skip` or `pass`; `judge_model` and `harness` as in `evaluate`.

        Raises:
            AssertionError: the judge decided otherwise, or the harness abstained.
            NotGradedError: too few valid answers; pytest counts it among the errors.
            UsageError: what was expected cannot be compared with the verdict.

        """
        __tracebackhide__ = True
        asked, expectation, on_abstain = self._read(expected, **options)
        return self._checked(self.evaluate(judge, case, **asked), expectation, on_abstain)

    async def acheck(
        self, judge: JudgeLike, case: Case, expected: Expected | None = None, **options: Any
    ) -> HarnessResult:
        """Measure one case inside an event loop, and check it; see `check`."""
        __tracebackhide__ = True
        asked, expectation, on_abstain = self._read(expected, **options)
        return self._checked(await self.aevaluate(judge, case, **asked), expectation, on_abstain)

    def _chosen(
        self, judge: JudgeLike, case: Case, judge_model: str | None, harness: JudgeHarness | None
    ) -> JudgeHarness:
        if harness is not None:
            return self._suite.designer.borrowed(harness)
        return self._suite.designer.harness(self._keys, as_judge(judge), case, judge_model)

    def _recorded(self, result: HarnessResult, case: Case, harness: JudgeHarness) -> HarnessResult:
        self._count += 1
        self._item.user_properties.extend(properties(result, number=self._count))
        self._suite.record(self._item.nodeid, result, case, with_texts=harness.keep == "text")
        return result

    def _read(
        self,
        expected: Expected | None,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        min_consistency: float | None = None,
        on_abstain: OnAbstention | None = None,
        **asked: Any,
    ) -> tuple[dict[str, Any], Expectation, str]:
        """Return what a check asks with, what it expects, and what an abstention does to it."""
        least = self._keys.get("min_consistency") if min_consistency is None else min_consistency
        expectation = Expectation(expected=expected, at_least=at_least, at_most=at_most, min_consistency=least)
        wish = on_abstain or self._keys.get("on_abstain") or self._suite.settings.on_abstain
        return asked, expectation, chosen("on_abstain", wish)

    def _checked(self, result: HarnessResult, expectation: Expectation, on_abstain: str) -> HarnessResult:
        __tracebackhide__ = True
        outcomes = [one for one in expectation.outcomes(result) if one.problem is not None]
        told = {one: f"{one.problem}\n{short_report(result, one.criterion)}" for one in outcomes}
        if unmeasured := [told[one] for one in outcomes if one.status == "not_graded"]:
            raise NotGradedError("\n".join(unmeasured), result)
        failed = [one for one in outcomes if one.status == "decided" or on_abstain == "fail"]
        if failed:
            raise AssertionError("\n".join(told[one] for one in failed))
        if outcomes and on_abstain == "skip":
            pytest.skip(" ".join(str(one.problem) for one in outcomes))
        return result
