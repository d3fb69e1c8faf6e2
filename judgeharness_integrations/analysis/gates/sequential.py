"""Gates that may be looked at after every case: the cases of a report as evidence for and against a bar."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

from ..aggregation.grouping import Clusters
from ..runs.report import RunReport
from ..runs.summarising import summaries
from ..sequential import log_e_mean, log_e_rate, mean_interval, rate_interval, unequal_clusters
from .gate import NOT_DRAWN, TAKEN_FOR_WHOLE, About, AskingOrder, Expression, GateCheck, GateReport, number
from .metrics import CASE_VALUES, CriterionCases, Measured, case_value, measure

if TYPE_CHECKING:
    from ..result import HarnessResult

Outcome: TypeAlias = Literal["passed", "failed", "unsettled"]

ALPHA: Final = 0.05  # of both ends of an interval together: a gate looks at one of them
_NEEDED: Final = 2 / ALPHA
_LARGEST: Final = 700.0  # of logarithms


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The units that were looked at, in their order: single cases, or clusters of them.

    `totals` are the sums of the values of a unit's cases, each from 0 to 1, and `weights` how many cases count; `most`
    is the largest number of cases a unit can have. `size` is the number of units in the suite, None for a population.
    `copies` of cases count with what they copy, by their mean; `mixed` says that some unit, looked at or not, has such.
    """

    totals: NDArray[np.float64]
    weights: NDArray[np.float64]
    most: int = 1
    size: int | None = None
    copies: int = 0
    mixed: bool = False

    @classmethod
    def of(
        cls,
        values: Sequence[float | None],
        clusters: Sequence[Hashable],
        *,
        questions: Sequence[Hashable] | None = None,
        size: int | None = None,
    ) -> Evidence:
        """Return the units of cases; None as a value is a case that does not count.

        Args:
            values: one a case, from 0 to 1, in the order in which cases were to be looked at.
            clusters: which cluster each case is in, itself alone or with others. Of a population all must hold equally
                many cases, and of a suite the largest must be among them.
            questions: what each case asks: those that ask the same, in one cluster, count as one case. None: each one.
            size: units in the suite.

        """
        asked = range(len(values)) if questions is None else questions
        units: dict[Hashable, list[int]] = {}
        for place, cluster in enumerate(clusters):
            units.setdefault(cluster, []).append(place)
        sums = [
            unit_sums([values[place] for place in unit], [asked[place] for place in unit]) for unit in units.values()
        ]
        distinct = Counter(cluster for cluster, _ in set(zip(clusters, asked, strict=True)))
        return cls(
            totals=np.array([total for total, _ in sums]),
            weights=np.array([weight for _, weight in sums]),
            most=max(distinct.values(), default=1),
            size=size,
            copies=len(values) - len(set(asked)),
            mixed=len(set(asked)) < len(values),
        )

    @cached_property
    def plain(self) -> NDArray[np.float64] | None:
        """The values where every unit is one case that counts as 0 or 1; None where a mean has to be weighed."""
        counting = self.weights > 0
        if self.most > 1 or self.mixed or (self.size is not None and not counting.all()):
            return None
        values = self.totals[counting]
        return values if np.isin(values, (0.0, 1.0)).all() else None

    @property
    def value(self) -> float:
        """The mean over the cases that count, of which there is one at least."""
        return float(self.totals.sum() / self.weights.sum())

    @property
    def counts(self) -> bool:
        """Whether any case does."""
        return bool(self.weights.any())

    def log_e(self, bar: float, *, above: bool, strict: bool) -> float:
        """Return the logarithm of the evidence that the mean lies above a bar (or below it) at the last unit."""
        if self.plain is not None:
            hits = self.plain if above else 1 - self.plain
            return float(log_e_rate(hits, bar if above else 1 - bar, size=self.size, strict=strict)[-1])
        totals = self.totals if above else self.weights - self.totals
        at = bar if above else 1 - bar
        return float(log_e_mean(totals, self.weights, at, most=self.most, size=self.size, strict=strict, path=False))

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence sequence of the mean at the last unit; the mean alone where no unit is left."""
        if self.size == len(self.weights):
            return self.value, self.value
        if self.plain is not None:
            return rate_interval(self.plain, alpha=ALPHA, size=self.size)
        return mean_interval(self.totals, self.weights, most=self.most, alpha=ALPHA, size=self.size)


def unit_sums(values: Sequence[float | None], questions: Sequence[Hashable]) -> tuple[float, float]:
    """Return the sum of the values of a unit's cases, and how many count: copies of a case as one, by their mean."""
    asked: dict[Hashable, list[float]] = {}
    for value, question in zip(values, questions, strict=True):
        if value is not None:
            asked.setdefault(question, []).append(value)
    return sum(math.fsum(same) / len(same) for same in asked.values()), float(len(asked))


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What the evidence says about a bar: `p` is 1 / evidence for it, at most 1, and holds however often one looks.

    `needed` are the odds that settle it: of one of several judges as many times as much as of one alone.
    """

    outcome: Outcome
    p: float
    odds: float
    needed: float = _NEEDED

    def sentence(self) -> str:
        """Return what was found, in words."""
        if self.outcome == "unsettled":
            return f"not settled: the evidence is {self.odds:.3g} to 1, and {self.needed:g} to 1 is needed"
        if math.isinf(self.odds):
            return f"settled {'for' if self.outcome == 'passed' else 'against'} it: the cases left cannot change it"
        direction = "for" if self.outcome == "passed" else "against"
        return f"settled {direction} it: the evidence is {self.odds:.3g} to 1, and {self.needed:g} to 1 is needed"


def weigh(
    expression: Expression, evidence: Evidence, *, scale: tuple[float, float] | None = None, judges: int = 1
) -> Weighed:
    """Return whether the evidence settles a bar.

    Args:
        expression: the metric and its bar.
        evidence: the cases looked at.
        scale: the ends of scores, which are 0 and 1 in `evidence`.
        judges: how many are gated on the same labels: that any of them passes at the bar is then no likelier than of
            one alone (Bonferroni's bound on e-values).

    """
    needed = _NEEDED * (judges if expression.metric == "accuracy" else 1)
    bar, high = expression.bar, expression.wants_high
    if scale is not None:
        bar = (bar - scale[0]) / (scale[1] - scale[0])
    strict = expression.operator in {">", "<"}
    pro = _odds(evidence.log_e(bar, above=high, strict=strict))
    contra = _odds(evidence.log_e(bar, above=not high, strict=not strict))
    excluded = math.isinf(contra)  # the cases left cannot bring it about, whatever it looked like before
    p = min(1.0, 1 / pro) if pro and not excluded else 1.0
    if pro >= needed and not excluded:
        return Weighed(outcome="passed", p=p, odds=pro, needed=needed)
    outcome: Outcome = "failed" if contra >= needed else "unsettled"
    return Weighed(outcome=outcome, p=p, odds=max(pro, contra), needed=needed)


def _odds(log_e: float) -> float:
    return math.exp(log_e) if log_e < _LARGEST else math.inf


_ABOUT_SUITE: Final = "gate about this suite (--about suite), or ask equally many cases a cluster"
_ASK_AGAIN: Final = "ask with run --until, which knows every case of the suite and asks nothing twice"

_TOLD_AT_ITS_END: Final = (
    "what the run's own gates said stands in its report (leave these gates out); for others ask the cases that are "
    "left, with run and without --until"
)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Results in random order, and units of the suite; `missing` says why there is no sample.

    `size` is None of gates about a population. `note` says what is taken for granted of the sample.
    """

    results: Sequence[HarnessResult] = ()
    size: int | None = None
    missing: str = ""
    note: str = ""

    @cached_property
    def clusters(self) -> list[Hashable]:
        """The cluster of each result."""
        return _clusters(self.results)

    @cached_property
    def questions(self) -> list[Hashable] | None:
        """What each result asks; None of gates about a suite, in which every case counts."""
        if self.size is not None:
            return None
        clusters = Clusters.of_cases(self.results)
        return [clusters.question(result.case_id) for result in self.results]


def shuffled(names: Sequence[Hashable], *, seed: int) -> list[int]:
    """Return the places of units in a random order: by a digest of the seed and their names.

    A unit keeps its place among others when some are added, and the order knows nothing of any answer. Whoever names
    the units must not know the seed.
    """
    keys = [
        hashlib.blake2b(f"{seed}\0{name!r}".encode(errors=LONE_SURROGATES), digest_size=16).digest() for name in names
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)


def sample_of(cases: CriterionCases, *, about: About, report: RunReport, gate: str = "") -> Sample:
    """Return the cases that were asked, if they are a random sample of all.

    Args:
        cases: of a judge and criterion.
        about: the population, or this suite.
        report: theirs; where the run's own gates stopped it, its cases were asked in random order.
        gate: the expression the sample is for; where it is the run's own, the cases that one looked at.

    """
    results, own = cases.results, report.gates
    if own is None or not own.stopped:
        found = _whole(results, cases.summary.cases, about)
        found = found if report.of_known_size else replace(found, note=TAKEN_FOR_WHOLE)
    elif own.order is None:
        found = _of_unknown_order(results, about)
    else:
        found = _drawn(results, own.order, cases.summary.judge, about, looked=_looked(own, cases, about, gate))
    unequal = unequal_sizes(Clusters.of_cases(found.results)) if about == "population" else ""
    return Sample(missing=unequal) if unequal else found


def unequal_sizes(clusters: Clusters) -> str:
    """Return why clusters are no evidence about a population, and what to do; empty where they are."""
    unequal, copied = unequal_clusters(clusters.by_question()), clusters.copied
    return unequal and f"{'; '.join([*copied, unequal])}: {'leave copies out, ' if copied else ''}{_ABOUT_SUITE}"


def _whole(results: Sequence[HarnessResult], planned: int, about: About) -> Sample:
    unasked = planned - sum(bool(result.rows) for result in results)
    if unasked:
        return Sample(missing=f"{unasked} of {planned} cases {NOT_DRAWN}: continue the run to its end, or {_ASK_AGAIN}")
    return Sample(results=results, size=len(set(_clusters(results))) if about == "suite" else None)


def _of_unknown_order(results: Sequence[HarnessResult], about: About) -> Sample:
    if about == "suite":
        return Sample(missing=f"how many cases the suite holds was not noted: {_ASK_AGAIN}")
    return Sample(results=[result for result in results if result.rows])


def _looked(own: GateReport, cases: CriterionCases, about: About, gate: str) -> int | None:
    """Return at how many cases the run's own gates looked: those in flight when they were settled are no evidence.

    That is the run's number, or that of its gate where `gate` is the same one; None where it was not noted.
    """
    of_judge = [check for check in own.checks if check.judge == cases.summary.judge and check.looked is not None]
    asked = (gate, cases.summary.criterion, about)
    same = [check for check in of_judge if (check.gate, check.criterion, own.sequential) == asked]
    return max((check.looked or 0 for check in same or of_judge), default=None)


def _drawn(
    results: Sequence[HarnessResult], order: AskingOrder, judge: str, about: About, *, looked: int | None
) -> Sample:
    """Return the cases up to the first without an answer: which answer was late may depend on the answer."""
    clusters = _clusters(results)
    if order.clusters < order.cases or len(set(clusters)) < len(results):
        return Sample(missing=f"which cases the clusters hold that were not asked is not known: {_TOLD_AT_ITS_END}")
    asked = order.asked.get(judge, 0)
    if asked > len(results):
        return Sample(
            missing=f"{asked - len(results)} of the {asked} cases that were asked have no result: {_ASK_AGAIN}"
        )
    drawn = [results[place] for place in shuffled(clusters, seed=order.seed)[:asked]]
    whole = next((place for place, result in enumerate(drawn) if not result.rows), len(drawn))
    kept = drawn[: whole if looked is None else min(whole, looked)]
    return Sample(results=kept, size=order.cases if about == "suite" else None)


def _clusters(results: Sequence[HarnessResult]) -> list[Hashable]:
    clusters = Clusters.of_cases(results)
    return [clusters.of(result.case_id) for result in results]


def within(cases: CriterionCases, case_ids: frozenset[str]) -> CriterionCases | None:
    """Return the part of the cases that was looked at; None where none of them is about the criterion."""
    pairs = tuple(pair for pair in cases.pairs if pair[0].case_id in case_ids)
    others = tuple(result for result in cases.others if result.case_id in case_ids)
    if len(pairs) + len(others) == cases.summary.cases:
        return cases
    found = summaries([*(result for result, _ in pairs), *others])
    summary = next((one for one in found if one.criterion == cases.summary.criterion), None)
    return None if summary is None else replace(cases, pairs=pairs, others=others, summary=summary)


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a sequential gate looks at; without `evidence` the reason why there is none is `missing`.

    `case_ids` are the cases behind it, and `note` is for readers. `judges`: how many are gated on the same labels.
    """

    evidence: Evidence | None = None
    scale: tuple[float, float] | None = None
    missing: str = ""
    of: str = "cases"
    case_ids: frozenset[str] = frozenset()
    note: str = ""
    judges: int = 1


def looked_at(
    expression: Expression,
    measured: Measured,
    cases: CriterionCases,
    *,
    about: About,
    scale: tuple[float, float] | None,
    report: RunReport,
    at_stop: Looked | None = None,
) -> Looked:
    """Return the cases of a report as evidence about a metric.

    Args:
        expression: the metric and its bar.
        measured: the metric on all cases of the report.
        cases: of a judge and criterion.
        about: the population, or this suite.
        scale: the ends of scores.
        report: which the cases are of.
        at_stop: the evidence when asking was stopped, instead of that of the cases.

    """
    if expression.metric not in CASE_VALUES:
        return Looked(missing="its calibration was measured once, on a fixed number of labelled cases")
    if measured.value is None:
        return Looked(missing=measured.missing)
    if not expression.is_share and scale is None:
        return Looked(missing="a sequential gate of scores needs the ends of their scale: give --scale 1:10")
    found = at_stop or _evidence(expression, cases, about=about, scale=scale, report=report)
    if found.evidence is None:
        return found
    part = within(cases, found.case_ids)
    noted = None if part is None else measure(expression, replace(part, judges=1))
    notes = ["" if noted is None else noted.note, found.note]
    if expression.metric == "accuracy" and cases.judges > 1:
        notes.append(f"{cases.among}: the level holds for all of them together")
    if measured.controls:  # of all cases, as everywhere else: of a part of them they may say the contrary
        of_all = "" if part is cases else f"of all {cases.summary.cases - cases.unasked} cases asked: "
        notes.append(f"{of_all}{measured.controls} by an interval over a fixed number of cases")
    return replace(found, of=measured.of, note="; ".join(filter(None, notes)), judges=max(found.judges, cases.judges))


def _evidence(
    expression: Expression, cases: CriterionCases, *, about: About, scale: tuple[float, float] | None, report: RunReport
) -> Looked:
    sample = sample_of(cases, about=about, report=report, gate=expression.text)
    if sample.missing:
        return Looked(missing=sample.missing)
    name = cases.summary.criterion
    values = [case_value(expression, result, result.criteria.get(name)) for result in sample.results]
    if scale is not None and not expression.is_share:
        values = [None if one is None else (one - scale[0]) / (scale[1] - scale[0]) for one in values]
        if any(one is not None and not 0 <= one <= 1 for one in values):
            return Looked(missing=f"a score lies outside the scale {scale[0]:g}:{scale[1]:g}")
    return Looked(
        evidence=Evidence.of(values, sample.clusters, questions=sample.questions, size=sample.size),
        scale=None if expression.is_share else scale,
        case_ids=frozenset(result.case_id for result in sample.results),
        note=sample.note,
    )


def judged_sequentially(
    expression: Expression,
    looked: Looked,
    *,
    about: About,
    judge: str,
    criterion: str,
    design: str = "",
    exploratory: bool = False,
) -> GateCheck:
    """Return what a sequential gate says; see `checking.judged`. What is not settled has not passed."""
    facts: dict[str, Any] = {"gate": expression.text, "judge": judge, "criterion": criterion, "design": design}
    evidence = looked.evidence
    if evidence is None or not evidence.counts:
        reason = f"{expression.name} was not measured: {looked.missing or 'no case counts'}"
        return GateCheck(**facts, status="not_measured", value=None, low=None, high=None, n=0, reason=reason)
    found = weigh(expression, evidence, scale=looked.scale, judges=looked.judges)
    value, low, high = (_scaled(one, looked.scale) for one in (evidence.value, *evidence.interval()))
    bar, n = expression.bar, int(evidence.weights.sum())
    sentence = (
        f"{expression.name} {number(value, bar)} [{number(low, bar)}, {number(high, bar)}] over {n} {looked.of}"
        f"{_units(evidence)}, about {_about(about, evidence)}: {found.sentence()}"
    )
    sentence += f" ({looked.note})" if looked.note else ""
    sentence += "; exploratory: the rule was chosen after the samples" if exploratory else ""
    return GateCheck(
        **facts,
        status="passed" if found.outcome == "passed" else "failed",
        value=value,
        low=low,
        high=high,
        n=n,
        reason=sentence,
        p_anytime=found.p,
        looked=len(evidence.weights),
    )


def _scaled(value: float, scale: tuple[float, float] | None) -> float:
    return value if scale is None else scale[0] + value * (scale[1] - scale[0])


def _units(evidence: Evidence) -> str:
    units = "" if evidence.most == 1 else f" in {len(evidence.weights)} clusters, which are the units"
    return f"{units} ({copies_counted(evidence.copies)})" if evidence.copies else units


def copies_counted(copies: int) -> str:
    """Return that copies of cases are no further ones."""
    return f"{copies} {'copy counts' if copies == 1 else 'copies count'} with what is copied, by the mean"


def _about(about: About, evidence: Evidence) -> str:
    if about == "population":
        return "the population they are from"
    return f"this suite of {evidence.size} {'cases' if evidence.most == 1 else 'clusters'}"
