"""What a check expects of a measurement, and what it says where that is not so."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.reporting.headline import headline
from judgeharness_integrations.reporting.plain import distribution_text, number_text, safe_text
from judgeharness_integrations.reporting.rationales import dissent, rationale, shown_order
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text

__all__ = ["Expectation", "Expected", "Outcome", "short_report"]

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
