"""The fixture: judges asked inside a test under a harness, and what a check expects of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pytest

from judgeharness_integrations._errors import NotGradedError, UsageError
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.cases import Case
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import JudgeLike
from judgeharness_integrations.reporting.text import dissent, headline, rationale, shown_order
from judgeharness_integrations.verdictlog.encoding import distribution_text, number_text, safe_text
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text

from .ending import properties
from .settings import OnAbstention, chosen
from .suite import Suite, marker_keys

# a verdict, several of which one will do, or either of them by criterion
Expected: TypeAlias = "Verdict | Collection[Verdict] | Mapping[str, Verdict | Collection[Verdict]]"
_ABSTAIN = "ABSTAIN"


@dataclass(frozen=True)
class Outcome:
    """What a criterion's measurement means for a check; `problem` is a sentence, None where all is well."""

    criterion: str
    status: str
    problem: str | None


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What must hold of every criterion that is expected: a verdict, or a score between limits, and consistency."""

    expected: Expected | None = None
    at_least: float | None = None
    at_most: float | None = None
    min_consistency: float | None = None

    def outcomes(self, result: HarnessResult) -> Iterator[Outcome]:
        """Yield what each criterion's measurement means.

        Raises:
            UsageError: a criterion that is expected was not judged, or scores are compared with a label.

        """
        for name, expected in self._by_criterion(result).items():
            if name not in result.criteria:
                known = ", ".join(result.criteria)
                raise UsageError(f"criterion {name!r} was not judged: expect something of {safe_text(known)}.")
            measured = result.criteria[name]
            yield Outcome(name, self._status(measured, expected), self._problem(result, measured, expected))

    def _by_criterion(self, result: HarnessResult) -> Mapping[str, Verdict | Collection[Verdict] | None]:
        if isinstance(self.expected, Mapping):
            return cast("Mapping[str, Verdict | Collection[Verdict]]", self.expected)
        return dict.fromkeys(result.criteria, self.expected)

    def _status(self, measured: CriterionResult, expected: Verdict | Collection[Verdict] | None) -> str:
        wanted = measured.status == "abstained" and _ABSTAIN in _accepted(expected)
        return "decided" if wanted else measured.status

    def _problem(
        self, result: HarnessResult, measured: CriterionResult, expected: Verdict | Collection[Verdict] | None
    ) -> str | None:
        about = f"case {safe_text(result.case_id, 80)!r}" + (
            f", criterion {safe_text(measured.criterion, 60)!r}" if len(result.criteria) > 1 else ""
        )
        judge = f"judge {safe_text(result.judge, 60)!r}"
        if measured.status == "not_graded":
            return f"not graded: {judge} gave no verdict on {about}: {safe_text(measured.reason)}"
        if self._status(measured, expected) == "abstained":
            return f"abstained: {judge} is of two minds about {about}: {safe_text(measured.reason)}"
        if (wanted := self._unmet(measured, expected)) is not None:
            verdict = safe_text(verdict_text(measured.verdict), 60)
            return f"{judge} decided {verdict} on {about}, expected {wanted}"
        consistency, least = measured.consistency_rate, self.min_consistency
        if least is not None and measured.status == "decided" and (consistency is None or consistency < least):
            return (
                f"{judge} is at odds with itself on {about}: consistency {number_text(consistency)}, at least {least:g}"
            )
        return None

    def _unmet(self, measured: CriterionResult, expected: Verdict | Collection[Verdict] | None) -> str | None:
        """Return what was expected of a decision and is not so."""
        verdict = measured.verdict
        if expected is None and measured.numeric:
            return self._outside(verdict)
        if self.at_least is not None or self.at_most is not None:
            raise UsageError(f"at_least and at_most are limits of scores: expect a verdict of {measured.criterion!r}.")
        accepted = _accepted("PASS" if expected is None else expected)
        if measured.numeric and is_number(verdict):
            near = measured.tolerance or 0.0
            if not all(isinstance(one, (int, float)) for one in accepted):
                raise UsageError(
                    f"{measured.criterion!r} is a score: give at_least=, at_most= or a number as expected."
                )
            met = any(abs(float(one) - float(verdict)) <= near for one in accepted)  # type: ignore[arg-type]
        else:
            met = verdict in accepted
        return None if met else " or ".join(safe_text(verdict_text(one), 60) for one in accepted)

    def _outside(self, verdict: Verdict | None) -> str | None:
        """Return the limit that a score does not keep."""
        if self.at_least is None and self.at_most is None:
            raise UsageError("the judge gives scores: say at_least=, at_most= or expected= with a number.")
        score = float(verdict)  # type: ignore[arg-type]
        if self.at_least is not None and score < self.at_least:
            return f"at least {self.at_least:g}"
        return f"at most {self.at_most:g}" if self.at_most is not None and score > self.at_most else None


def _accepted(expected: Verdict | Collection[Verdict] | None) -> tuple[Verdict, ...]:
    if expected is None:
        return ()
    if isinstance(expected, (str, int, float, frozenset)):  # a frozenset is one verdict: a set of labels
        return (cast("Verdict", expected),)
    return tuple(expected)


def short_report(result: HarnessResult, criterion: str) -> str:
    """Return a few lines: samples and rule, the distribution, the reasons for the decision and against it."""
    measured = result.criteria[criterion]
    lines = [headline(result, criterion), f"sample_distribution: {distribution_text(measured.sample_distribution)}"]
    if (row := rationale(result, criterion)) is not None:
        lines.append(f"rationale{shown_order(row)}: {_reasons(row)}")
    if (row := dissent(result, criterion)) is not None:
        verdict = safe_text(verdict_text(row.verdict), 60)
        lines.append(f"strongest dissent, {verdict}{shown_order(row)}: {_reasons(row)}")
    return "\n".join(f"  {line}" for line in lines)


def _reasons(row: VerdictRow) -> str:
    return safe_text(row.reasoning or row.raw or "")


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
        outcomes = [outcome for outcome in expectation.outcomes(result) if outcome.problem is not None]
        problems = {outcome: f"{outcome.problem}\n{short_report(result, outcome.criterion)}" for outcome in outcomes}
        if unmeasured := [problems[outcome] for outcome in outcomes if outcome.status == "not_graded"]:
            raise NotGradedError("\n".join(unmeasured), result)
        failed = [outcome for outcome in outcomes if outcome.status == "decided" or on_abstain == "fail"]
        if failed:
            raise AssertionError("\n".join(problems[outcome] for outcome in failed))
        if outcomes and on_abstain == "skip":
            pytest.skip(" ".join(str(outcome.problem) for outcome in outcomes))
        return result
