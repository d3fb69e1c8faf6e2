"""Decisions about rubrics -> the scores and statuses ADK counts with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_rubrics import RubricScore
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

from judgeharness_adk import _seams
from judgeharness_adk.measuring import Judged
from judgeharness_adk.options import HarnessBlock, OnAbstain
from judgeharness_adk.rationales import counted, headline, overall_rationale, rubric_rationale
from judgeharness_integrations import HarnessResult
from judgeharness_integrations.analysis.usage import known_sum, tokens_of
from judgeharness_integrations.verdictlog.plain import safe_text

if TYPE_CHECKING:
    from google.adk.evaluation.eval_metrics import TokenUsageDetails


class Score(NamedTuple):
    """A metric's score, None when it has none, and its status."""

    value: float | None
    status: EvalStatus


def fold(
    scores: Sequence[float | None],
    threshold: float,
    on_abstain: OnAbstain,
    *,
    weights: Sequence[Fraction | int] | None = None,
    judged: bool = True,
) -> Score:
    """Return the mean of rubric scores and whether it reaches the threshold.

    Rubrics without a decision are None. With `fail` they count as not fulfilled. Otherwise the decided rubrics settle
    the status if they can, whatever the others would have been; if they cannot it is what `on_abstain` says:
    `not_evaluated` without a score, `informational` with the mean of the decided rubrics. Nothing passes unless a
    judge decided some of it (`judged`).
    """
    if not scores:
        return Score(None, EvalStatus.NOT_EVALUATED)
    weights = [1] * len(scores) if weights is None else weights
    total = sum(weights)  # exact, so that a mean meets a threshold it equals
    decided = [(_exact(score), weight) for score, weight in zip(scores, weights, strict=True) if score is not None]
    known, won = sum(weight for _, weight in decided), sum(score * weight for score, weight in decided)
    low, high = float(won / total), float((won + total - known) / total)
    mean = float(won / known) if known else None
    if judged and len(decided) == len(scores):
        return _compared(low, threshold)
    if on_abstain == "fail":
        # a metric of which nothing was decided has not passed, however low the bar
        return _compared(low, threshold) if judged and decided else Score(0.0, EvalStatus.FAILED)
    if mean is not None and (high < threshold or (judged and low >= threshold)):
        return _compared(mean, threshold)
    if on_abstain == "not_evaluated":
        return Score(None, EvalStatus.NOT_EVALUATED)
    return Score(mean if judged else None, EvalStatus.INFORMATIONAL)


def _exact(score: float) -> Fraction | int:
    return int(score) if score in (0, 1) else Fraction(score)  # whole numbers are added in a tenth of the time


def _compared(value: float, threshold: float) -> Score:
    return Score(value, EvalStatus.PASSED if value >= threshold else EvalStatus.FAILED)


_KIND = _seams.token_usage_details()

# ADK's name of a count -> ours; a judge has no tools, and what of its output was thought is not told apart
_COUNTS: Mapping[str, str] = {
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "cached_tokens": "cached_input_tokens",
    "output_tokens": "output_tokens",
}


def details_of(judged: Judged) -> TokenUsageDetails | None:
    """Return the tokens of an invocation, those of its preparation included; None where no answer told any."""
    samples, before = tokens_of(result.usage for result in judged.results), judged.preparation
    counts = {adks: known_sum((samples[ours], before[ours])) for adks, ours in _COUNTS.items()}
    total = known_sum((counts["input_tokens"], counts["output_tokens"]))
    return None if total is None or _KIND is None else _KIND(total_tokens=total, **counts)


def average_of(every: Sequence[TokenUsageDetails | None]) -> TokenUsageDetails | None:
    """Return the average over the invocations as ADK forms it: one that tells nothing counts as none."""
    told = [details.model_dump() for details in every if details is not None]
    if not told or _KIND is None:
        return None
    sums = {name: known_sum(details[name] for details in told) for name in _KIND.model_fields}
    return _KIND(**{name: None if sum_ is None else sum_ / len(every) for name, sum_ in sums.items()})


_SCORES = {"PASS": 1.0, "FAIL": 0.0}
_UNPREPARED = "preparation"  # the row of what could not be judged
_WORDS = {"abstained": "ABSTAIN", "not_graded": "NOT GRADED"}


@dataclass(frozen=True, kw_only=True)
class _Rubric:
    """One decision: rubric, score (None without a decision), weight in the metric's mean, and what it rests on.

    What was `compared` no judge decided.
    """

    id: str
    score: float | None
    weight: Fraction | int
    word: str
    headline: str
    rationale: str
    shares: tuple[tuple[str, float | None], ...] = ()
    compared: bool = False


@dataclass(frozen=True, kw_only=True)
class Reporter:
    """Tells ADK what was measured.

    `standing` are the rubrics of the metric's own criterion; of a `conjunctive` metric an invocation is one decision.
    `pooled` is the id of the metric's one overall row where its questions differ between invocations (sentences);
    `balanced` gives each invocation the same weight, as ADK's metric does.
    """

    threshold: float
    block: HarnessBlock
    standing: frozenset[str]
    pooled: str | None = None
    balanced: bool = False
    conjunctive: bool = False

    def result(
        self, judged: Sequence[Judged], actual: Sequence[Invocation], expected: Sequence[Invocation] | None
    ) -> EvaluationResult:
        """Return one result an invocation, and the metric's own."""
        decided = [list(self._rubrics(one)) for one in judged]
        unjudged = _unjudged([rubric for rubrics in decided for rubric in rubrics])
        decided = [[_alone(rubric) if unjudged else rubric for rubric in rubrics] for rubrics in decided]
        units = [self._units(rubrics) for rubrics in decided]
        tokens = [details_of(one) for one in judged]
        invocations = []
        for place, rubrics in enumerate(decided):
            score = self._fold(units[place], judged=not unjudged)
            invocations.append(
                PerInvocationResult(
                    actual_invocation=actual[place],
                    expected_invocation=None if expected is None else expected[place],
                    score=score.value,
                    eval_status=score.status,
                    rubric_scores=[*self._rows(rubrics)] or None,
                    token_usage_details=tokens[place],
                )
            )
        every = [rubric for rubrics in decided for rubric in rubrics]
        overall = self._fold([unit for one in units for unit in one], judged=not unjudged)
        return EvaluationResult(
            overall_score=overall.value,
            overall_eval_status=overall.status,
            per_invocation_results=invocations,
            overall_rubric_scores=[*self._overall(every, overall)] or None,
            overall_token_usage_details=average_of(tokens),
        )

    def _units(self, rubrics: list[_Rubric]) -> list[_Rubric]:
        """Return what counts of an invocation: of a conjunctive metric its worst: failed, open, passed."""
        if not self.conjunctive:
            return rubrics
        return sorted(rubrics, key=lambda rubric: 0.5 if rubric.score is None else rubric.score)[:1]

    def _fold(self, rubrics: Sequence[_Rubric], *, judged: bool) -> Score:
        scores, weights = [rubric.score for rubric in rubrics], [rubric.weight for rubric in rubrics]
        return fold(scores, self.threshold, self.block.on_abstain, weights=weights, judged=judged)

    def _rubrics(self, judged: Judged) -> Iterator[_Rubric]:
        units = (len(judged.results) + len(judged.problems)) if self.balanced else 1
        for problem in judged.problems:
            text = safe_text(f"NOT GRADED · {problem}", 1_000)
            yield _Rubric(
                id=_UNPREPARED, score=None, weight=Fraction(1, units), word="NOT GRADED", headline=text, rationale=text
            )
        for known in judged.settled:
            word = "PASS" if known.passed else "FAIL"
            text = f"{word} · {known.why} · compared, no judge asked"
            yield _Rubric(
                id=known.id,
                score=_SCORES[word],
                weight=1,
                word=word,
                headline=text,
                rationale=text,
                compared=True,
            )
        for result in judged.results:
            for name, measured in result.criteria.items():
                line = headline(result, name, standing=name in self.standing)
                yield _Rubric(
                    id=name,
                    score=_SCORES.get(str(measured.verdict)) if measured.status == "decided" else None,
                    weight=Fraction(1, len(result.criteria) * units) if self.balanced else 1,
                    word=_WORDS.get(measured.status, str(measured.verdict)),
                    headline=line,
                    rationale=rubric_rationale(result, name, line),
                    shares=_shares(result, name),
                )

    def _rows(self, rubrics: Iterable[_Rubric]) -> Iterator[RubricScore]:
        for rubric in rubrics:
            yield RubricScore(rubric_id=rubric.id, score=rubric.score, rationale=rubric.rationale)
            if self.block.extra_rows:
                for name, share in rubric.shares:
                    yield RubricScore(rubric_id=f"{rubric.id}.{name}", score=share, rationale=rubric.headline)

    def _overall(self, rubrics: Sequence[_Rubric], overall: Score) -> Iterator[RubricScore]:
        if self.pooled is not None:
            if rubrics:
                text = f"{len(rubrics)} {self.pooled}: {counted(rubric.word for rubric in rubrics)}"
                yield RubricScore(rubric_id=self.pooled, score=overall.value, rationale=text)
            return
        groups: dict[str, list[_Rubric]] = {}
        for rubric in rubrics:
            groups.setdefault(rubric.id, []).append(rubric)
        for name, group in groups.items():
            score = None if _unjudged(group) else self._fold(group, judged=True).value
            told = [(rubric.word, rubric.headline) for rubric in group]
            yield RubricScore(rubric_id=name, score=score, rationale=overall_rationale(told))


def _unjudged(rubrics: Sequence[_Rubric]) -> bool:
    """Whether a judge was to decide something and decided nothing: what was compared is then no measurement."""
    asked = [rubric for rubric in rubrics if not rubric.compared]
    return bool(asked) and all(rubric.score is None for rubric in asked)


def _alone(rubric: _Rubric) -> _Rubric:
    """Return what was compared saying that it counts for nothing; everything else as it is."""
    if not rubric.compared:
        return rubric
    text = f"{rubric.headline} · counts for nothing, as no judge decided anything else"
    return replace(rubric, headline=text, rationale=text)


def _shares(result: HarnessResult, criterion: str) -> tuple[tuple[str, float | None], ...]:
    measured = result.criteria[criterion]
    valid = measured.valid / measured.planned if measured.planned else None
    return (("consistency", measured.consistency_rate), ("valid_samples", valid))


def unmeasured(
    metric: str, actual: Sequence[Invocation], expected: Sequence[Invocation] | None, sentence: str
) -> EvaluationResult:
    """Return the result of a metric that could not be measured: failed, and why.

    Its invocations score 0.0: AgentEvaluator averages over runs and leaves out what has no score.
    """
    row = RubricScore(rubric_id=metric, score=None, rationale=safe_text(f"NOT MEASURED · {sentence}", 1_000))
    matched = expected if expected is not None and len(expected) == len(actual) else [None] * len(actual)
    return EvaluationResult(
        overall_score=None,
        overall_eval_status=EvalStatus.FAILED,
        per_invocation_results=[
            PerInvocationResult(
                actual_invocation=one,
                expected_invocation=other,
                score=0.0,
                eval_status=EvalStatus.FAILED,
                rubric_scores=[row],
            )
            for one, other in zip(actual, matched, strict=True)
        ],
        overall_rubric_scores=[row],
    )
