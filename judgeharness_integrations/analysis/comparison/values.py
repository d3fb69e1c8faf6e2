"""A difference that may be looked at after every case: its evidence instead of a test of a fixed number of cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict, is_number

from ..aggregation.folds import Status
from ..calibration.controls import Controls, controls_of, longer_of
from ..runs.summarising import columns_of, positive_of
from ..sequential import log_e_shift, log_e_signs, mean_interval, unequal_clusters
from .difference import Difference, Measure, compared_means, compared_shares, homogeneity_p
from .pairing import Pair, PairedCriterion, State, state_of

_NO_SCALE: Final = "the ends of the scale are not known"
_BETTING = "betting e-process and confidence sequence"


def anytime(
    found: Difference,
    changes: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    span: float | None,
    every: Sequence[Hashable] | None = None,
) -> Difference:
    """Return a difference with a p-value and an interval that hold however often one looks.

    Args:
        found: the difference.
        changes: after - before, one a case.
        clusters: which cluster each case is in: clusters are the units.
        span: the largest change there can be; None where nobody says, and then nothing is tested.
        every: the clusters of all cases that were measured twice, those without a change among them; nothing is tested
            where some hold more cases than others.

    """
    nothing: dict[str, Any] = {"error": None, "degrees": None}
    missing = _NO_SCALE if not changes or span is None else unequal_clusters(clusters if every is None else every)
    if not changes or span is None or missing:
        return replace(found, p=None, low=None, high=None, method=f"none: {missing}", **nothing)
    sizes = Counter(clusters)
    most = max(Counter(clusters if every is None else every).values())
    sums = _sums(changes, clusters)
    weights = np.array(list(sizes.values()), dtype=np.float64)
    signs = most == 1 and set(changes) <= {-1.0, 0.0, 1.0}
    log_e = float(log_e_signs(found.rose, found.fell) if signs else log_e_shift(sums, span * most))
    low, high = mean_interval((sums / span + weights) / 2, weights, most=most)
    method = f"mixture e-process of signs, {_BETTING}" if signs else _BETTING
    return replace(found, p=_p(log_e), low=span * (2 * low - 1), high=span * (2 * high - 1), method=method, **nothing)


def p_of_labels(
    before: Sequence[int], after: Sequence[int], clusters: Sequence[Hashable], *, labels: int
) -> float | None:
    """Return the p-value of unchanged shares of all labels: of the mean of the evidence about each of them.

    None where some clusters hold more cases than others.
    """
    if unequal_clusters(clusters):
        return None
    most = max(Counter(clusters).values())
    found = []
    for label in range(labels):
        changes = [float(now == label) - float(was == label) for was, now in zip(before, after, strict=True)]
        found.append(float(log_e_shift(_sums(changes, clusters), float(most))))
    return _p(float(np.logaddexp.reduce(found)) - math.log(labels))


def _sums(changes: Sequence[float], clusters: Sequence[Hashable]) -> NDArray[np.float64]:
    sums: dict[Hashable, float] = {}
    for change, cluster in zip(changes, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + change
    return np.array(list(sums.values()))


def _p(log_e: float) -> float:
    return math.exp(-max(0.0, log_e))


Kind: TypeAlias = Literal["labels", "numbers", "mixed"]
MeasureChoice: TypeAlias = Literal["auto", "rate", "gold"]
CaseTexts: TypeAlias = Mapping[str, Mapping[str, str]]

_GRADED = frozenset({"PASS", "FAIL"})


@dataclass(frozen=True, kw_only=True)
class Values:
    """What is known of the pairs of one criterion.

    `golds` has the label of each pair, None where there is none or the two sides name different ones (`relabelled`).
    `by_gold`: whether the main measure holds decisions against gold. `sequential`: whether differences hold however
    often one looks, for which scores need the ends of their `scale`.
    """

    pairs: tuple[Pair, ...]
    states: tuple[tuple[State, State], ...]
    clusters: tuple[Hashable, ...]
    kind: Kind
    positive: str | None
    golds: tuple[Verdict | None, ...]
    relabelled: tuple[str, ...]
    by_gold: bool
    seed: int
    sequential: bool = False
    scale: tuple[float, float] | None = None

    @property
    def span(self) -> float:
        """The range of the scores and their gold labels; 1 where there is none."""
        return (max(self.scores) - min(self.scores) or 1.0) if self.scores else 1.0

    @property
    def scores(self) -> list[float]:
        """Every score and every gold label that is one."""
        seen = [state.verdict for pair in self.states for state in pair] + list(self.golds)
        return [float(value) for value in seen if is_number(value)]  # type: ignore[arg-type]

    @property
    def failures(self) -> tuple[int, int]:
        """How many cases were not graded before, and after."""
        before, after = (sum(pair[side].status == "not_graded" for pair in self.states) for side in (0, 1))
        return before, after

    def graded(self) -> Values:
        """Return the same of the cases that were graded in both runs."""
        kept = [all(state.status != "not_graded" for state in pair) for pair in self.states]
        return replace(
            self,
            pairs=tuple(compress(self.pairs, kept)),
            states=tuple(compress(self.states, kept)),
            clusters=tuple(compress(self.clusters, kept)),
            golds=tuple(compress(self.golds, kept)),
        )

    def main(self) -> Difference:
        """Return the difference that the report tests."""
        if self.kind == "numbers":
            return self._errors() if self.by_gold else self._scores()
        if self.by_gold:
            return self._right()
        return self._positive() if self.positive is not None else self._shares()

    def beside(self) -> Iterator[Difference]:
        """Yield what stands beside it, untested."""
        if self.kind == "numbers":
            others = [self._scores()] if self.by_gold else [self._errors()]
        else:
            others = [self._positive()] if self.by_gold and self.positive is not None else []
            others += [] if self.by_gold else [self._right()]
        yield from (one for one in others if one.n)
        yield self._of_status("coverage", "decided")
        yield self._of_status("abstention", "abstained")
        yield from self._consistency()

    def _of_status(self, measure: Measure, status: Status) -> Difference:
        hits = [[pair[side].status == status for pair in self.states] for side in (0, 1)]
        return self._rates(measure, hits, self.clusters)

    def _positive(self) -> Difference:
        hits = [[pair[side].verdict == self.positive for pair in self.states] for side in (0, 1)]
        return self._rates("positive_rate", hits, self.clusters, of=self.positive)

    def _right(self) -> Difference:
        known = [place for place, gold in enumerate(self.golds) if gold is not None]
        hits = [[self.states[place][side].verdict == self.golds[place] for place in known] for side in (0, 1)]
        return self._rates("right_of_labelled", hits, [self.clusters[place] for place in known])

    def _rates(
        self, measure: Measure, hits: Sequence[Sequence[bool]], clusters: Sequence[Hashable], *, of: str | None = None
    ) -> Difference:
        found = compared_shares(measure, hits[0], hits[1], clusters, of=of, seed=self.seed)
        changes = [float(now) - float(was) for was, now in zip(*hits, strict=True)]
        return anytime(found, changes, clusters, span=1.0, every=self.clusters) if self.sequential else found

    def _shares(self) -> Difference:
        """Compare the shares of all states at once."""
        codes = {state: code for code, state in enumerate(sorted({s for pair in self.states for s in pair}, key=str))}
        sides = [np.array([codes[pair[side]] for pair in self.states], dtype=np.int64) for side in (0, 1)]
        changed = int(np.sum(sides[0] != sides[1]))
        return Difference(
            measure="label_shares",
            n=len(self.states),
            before=None,
            after=None,
            difference=None,
            low=None,
            high=None,
            rose=changed,
            fell=changed,
            p=p_of_labels(sides[0].tolist(), sides[1].tolist(), self.clusters, labels=len(codes))
            if self.sequential
            else homogeneity_p(sides[0], sides[1], self.clusters, labels=len(codes), seed=self.seed),
            method="betting e-processes of all labels" if self.sequential else "Stuart-Maxwell statistic, permuted",
        )

    def _scores(self) -> Difference:
        return self._means("mean_score", [(_number(before), _number(after)) for before, after in self.states])

    def _errors(self) -> Difference:
        pairs = [
            (_distance(before, gold), _distance(after, gold))
            for (before, after), gold in zip(self.states, self.golds, strict=True)
        ]
        return self._means("mean_error", pairs)

    def _consistency(self) -> Iterator[Difference]:
        rates = [(before.consistency_rate, after.consistency_rate) for before, after in (p.sides for p in self.pairs)]
        curtailed = any(pair.before.design.curtail or pair.after.design.curtail for pair in self.pairs)
        if not curtailed and any(max(side.planned for side in pair.sides) > 1 for pair in self.pairs):
            found = self._means("consistency_rate", rates, span=1.0)
            yield from [found] if found.n else []

    def _means(
        self, measure: Measure, pairs: Sequence[tuple[float | None, float | None]], *, span: float | None = None
    ) -> Difference:
        """Compare the means of the cases that have a number on both sides."""
        both = [
            (before, after, cluster)
            for (before, after), cluster in zip(pairs, self.clusters, strict=True)
            if before is not None and after is not None
        ]
        clusters = [cluster for _, _, cluster in both]
        found = compared_means(
            measure,
            [before for before, _, _ in both],
            [after for _, after, _ in both],
            clusters,
            span=self.span if span is None else span,
            seed=self.seed,
        )
        if not self.sequential:
            return found
        width = None if self.scale is None else self.scale[1] - self.scale[0]
        changes = [now - was for was, now, _ in both]
        return anytime(found, changes, clusters, span=width if span is None else span, every=self.clusters)


def values_of(
    paired: PairedCriterion,
    *,
    measure: MeasureChoice,
    new_answers: bool,
    seed: int,
    sequential: bool = False,
    scale: tuple[float, float] | None = None,
) -> Values:
    """Return what is compared of a criterion.

    Args:
        paired: its pairs.
        measure: `gold` holds decisions against gold labels, `rate` does not; `auto` does where at least half of the
            pairs have one and the answers are not known to be new: a label belongs to the answer it was given to.
        new_answers: whether they are known to be.
        seed: of permutations.
        sequential: whether differences hold however often one looks.
        scale: the ends of scores, which that needs.

    """
    states = tuple((state_of(before), state_of(after)) for before, after in (pair.sides for pair in paired.pairs))
    kind = _kind(states)
    golds, relabelled = _golds(paired.pairs, kind)
    known = sum(gold is not None for gold in golds)
    enough = 2 * known >= max(len(golds), 1) and not new_answers
    found = Values(
        pairs=paired.pairs,
        states=states,
        clusters=tuple(pair.cluster for pair in paired.pairs),
        kind=kind,
        positive=_positive(paired.pairs, states) if kind == "labels" else None,
        golds=golds,
        relabelled=relabelled,
        by_gold=known > 0 and (measure == "gold" or (measure == "auto" and enough)),
        seed=seed,
        sequential=sequential,
        scale=scale,
    )
    if scale is not None and not all(scale[0] <= score <= scale[1] for score in found.scores):
        raise UsageError(f"a score lies outside the scale {scale[0]:g}:{scale[1]:g}: give its true ends.")
    return found


def controls_beside(values: Values, texts: tuple[CaseTexts, CaseTexts]) -> tuple[Controls | None, Controls | None]:
    """Return the controls of each side, on its decided cases with a gold label; None without any.

    Args:
        values: what is compared.
        texts: of each side, case -> field -> text of what was judged, as far as that is known.

    """
    before, after = (_controls(values, side, texts[side]) for side in (0, 1))
    return before, after


def _controls(values: Values, side: int, texts: CaseTexts) -> Controls | None:
    if values.kind == "mixed":
        return None
    results = [(pair.before, pair.after)[side] for pair in values.pairs]
    found = [
        (gold, states[side].verdict, cluster, longer_of(texts.get(result.case_id, {}), columns_of(result)))
        for result, states, gold, cluster in zip(results, values.states, values.golds, values.clusters, strict=True)
        if gold is not None and states[side].status == "decided"
    ]
    golds, verdicts, clusters, longer = zip(*found, strict=True) if found else ((), (), (), ())
    return controls_of(golds, verdicts, clusters, longer=longer)


def _kind(states: Sequence[tuple[State, State]]) -> Kind:
    numeric = {is_number(s.verdict) for pair in states for s in pair if s.status == "decided"}
    if len(numeric) > 1:
        return "mixed"
    return "numbers" if True in numeric else "labels"


def _positive(pairs: Sequence[Pair], states: Sequence[tuple[State, State]]) -> str | None:
    """Return the label a rate is of; of scores that a rule makes PASS or FAIL of, PASS."""
    measured = [side for pair in pairs for side in pair.sides]
    if any(side.numeric for side in measured):
        decided = {state.verdict for pair in states for state in pair if state.status == "decided"}
        return "PASS" if decided and decided <= _GRADED else None
    return positive_of(measured)


def _golds(pairs: Sequence[Pair], kind: Kind) -> tuple[tuple[Verdict | None, ...], tuple[str, ...]]:
    """Return the gold labels of the kind that is decided, and the cases where the two sides name different ones."""
    found: list[Verdict | None] = []
    relabelled: list[str] = []
    for pair in pairs:
        first, second = pair.golds
        if first is not None and second is not None and first != second:
            relabelled.append(pair.name)
            first = second = None
        gold = second if first is None else first
        found.append(gold if gold is not None and is_number(gold) is (kind == "numbers") else None)
    return tuple(found), tuple(relabelled)


def _number(state: State) -> float | None:
    return float(state.verdict) if state.status == "decided" else None  # type: ignore[arg-type]  # of scores alone


def _distance(state: State, gold: Verdict | None) -> float | None:
    score = _number(state)
    return None if score is None or gold is None else abs(score - float(gold))  # type: ignore[arg-type]  # a number
