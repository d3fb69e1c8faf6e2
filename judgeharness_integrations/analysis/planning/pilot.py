"""A pilot: what an existing log says about variances, agreement and cost, and what may be true of its judge."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, chdtri, fdtri, ndtri

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text, voting

from ..aggregation.grouping import Cluster, Clusters, by_case, is_numeric
from ..aggregation.rules import Rule, decide, samples_planned
from ..aggregation.statistics import VarianceSplit, agreement, variance_split
from ..statistics.paired import bisected_each
from .gstudy import Components, Shift, shifts_of
from .study import Alone, AnyNoise, Cases, Clustered, Goal, Judging, LabelModel, RateStudy, ScoreStudy, Study, level_of

Floats: TypeAlias = NDArray[np.float64]

_TRUTHS: Final = 256
_TRUTHS_OF_PAIRS: Final = 64  # each takes five times as long, and power is smoother than whether a width is met
_QUESTIONS: Final = 6
_GROWTH: Final = 1.1347241384015194  # the positive root of x^(d + 1) = x + 1 for six dimensions
_EDGE: Final = 1e-6
_LEAST_DEGREES: Final = 0.5  # of one large cluster beside few single cases
_HALVINGS: Final = 25
_POOL: Final = 2_000
_FOLDS: Final = 1_000
_PAIR: Final = 2
_BINARY: Final = 3.0
_NOISELESS: Final = (1.0, 0.75, 0.5, 0.25, 0.0)  # shares of the variance of a sample, one of which is nearly the worst


@dataclass(frozen=True, kw_only=True)
class ClusterSizes:
    """Clusters of a pilot: how many, their size (weighted by cases), and the correlation of two cases of one.

    `size_error` is the standard error of the size: 0 of clusters of one size.
    """

    count: int
    size: float
    correlation: float
    size_error: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Truths:
    """Makes studies of a judge, whose decisions vary as a pilot, or what is declared, says.

    Args:
        goal: what is wanted.
        parts: the variances.
        mean: of a 0/1 indicator; None for scores.
        judging: how samples become a decision, of labels.
        rule: of scores.
        pilot: None where nothing was measured: what is declared is then taken for certain.

    """

    goal: Goal
    parts: Components
    mean: float | None
    rule: Rule
    judging: Judging
    pilot: Pilot | None = None
    _points: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Lay out the truths: evenly, by Roberts' sequence; the middle alone where nothing is uncertain."""
        steps = _GROWTH ** -np.arange(1.0, _QUESTIONS + 1)
        count = _TRUTHS if self.goal.kind == "width" else _TRUTHS_OF_PAIRS
        number = np.arange(1 if self._certain else count)[:, None]
        points = (0.5 + number * steps) % 1.0
        object.__setattr__(self, "_points", np.clip(points, _EDGE, 1 - _EDGE))

    @property
    def _certain(self) -> bool:
        return self.pilot is None or self.goal.assurance is None

    @property
    def repetitions_buy(self) -> bool:
        """Whether more samples a case can buy the goal: a mean of scores, or fewer changes between two systems."""
        return self.mean is None or self.goal.kind == "difference"

    def study(self, perturbations: int, repetitions: int) -> Study:
        """Return the studies of one design; where noise was not measured, those of any noise at once."""
        if self.mean is None:
            between, inside = self._variances(perturbations, repetitions)
            return ScoreStudy(
                goal=self.goal,
                between=between,
                inside=inside,
                graded=1.0 if self.pilot is None else 1 - self.pilot.failed / (self.pilot.samples + self.pilot.failed),
                clusters=self._clusters,
                level=level_of(perturbations * repetitions),
            )
        possible = self._possible(perturbations, repetitions)
        studies = [self._rate_study(model, perturbations, repetitions) for model in possible]
        return studies[0] if len(studies) == 1 else AnyNoise(studies=studies)

    def of_any_noise(self, perturbations: int, repetitions: int) -> bool:
        """Whether the decisions of a design depend on noise that was not measured: the plan then holds whatever it is.

        A rule's decision of one sample is that sample, and a mean of scores is planned on all variance there is.
        """
        noisy = repetitions > 1 or (perturbations > 1 and not self.parts.split)
        return noisy and self.mean is not None and not self.parts.repeated

    def _rate_study(self, model: LabelModel, perturbations: int, repetitions: int) -> RateStudy:
        apart = self.goal.value if self.goal.kind == "difference" else None
        even = np.array([False])
        if not self._certain and self.pilot is not None:
            center = model.neediest(self.pilot.mean, perturbations, repetitions, apart=apart)
            model = replace(model, rates=self.rates_apart(center))
            even = np.abs(model.rates - center) < _EDGE
        return RateStudy(
            goal=self.goal,
            decided=model.decided(perturbations, repetitions, apart=apart),
            clusters=self._clusters,
            level=level_of(perturbations * repetitions),
            uniforms=self._points[:, 4],
            even=even,
        )

    def _possible(self, perturbations: int, repetitions: int) -> list[LabelModel]:
        """Return what may be true of samples: one model where the design's noise is measured, or decides nothing.

        Ties abstain, so that of a noisy judge two samples decide for fewer cases than one, and the rate may come nearer
        to one half. What was not measured of a sample's variance may lie between cases, perturbations or repetitions.
        """
        model, parts = self._labels, self.parts
        if not self.of_any_noise(perturbations, repetitions):
            return [model]
        shares = [model.between] if parts.split else [np.full_like(model.between, share) for share in _NOISELESS]
        withins = (0.0, 1.0) if repetitions > 1 and (parts.split or perturbations > 1) else (0.0,)
        return [replace(model, between=share, within=within) for share in shares for within in withins]

    @property
    def _labels(self) -> LabelModel:
        parts = self.parts
        within = (parts.perturbations or 0.0) / parts.inside if parts.inside and parts.repetitions else 0.0
        between = np.full(len(self._points), parts.cases / parts.total if parts.total else 1.0)
        if not self._certain and self.pilot is not None:
            between = self._shares(self.pilot)
        rates = np.full(len(self._points), self.mean or 0.0)
        return LabelModel(judging=self.judging, rates=rates, between=between, within=within)

    def rates_apart(self, center: float = 0.5) -> Floats:
        """Return plausible rates of samples: the confidence distribution of how far the rate lies from the center.

        The center is where a study takes most cases. The pilot counts as so many independent cases as its mean is
        worth.
        """
        pilot = cast("Pilot", self.pilot)  # nobody asks without one
        worth = np.full(len(self._points), float(pilot.cases))
        if pilot.clusters is not None:
            worth /= 1 + (pilot.clusters.size - 1) * self._correlations(pilot, pilot.clusters)
        if self.parts.inside:
            samples = self.parts.of_samples(perturbations=pilot.perturbations, repetitions=pilot.repetitions)
            between = self._shares(pilot)
            worth /= between + (1 - between) * samples / self.parts.inside
        if pilot.mean > center:
            return 1 - _below(1 - pilot.mean, worth, 1 - center, self._points[:, 0])
        return _below(pilot.mean, worth, center, self._points[:, 0])

    def rate_near(self, center: float, *, confidence: float) -> float:
        """Return the rate nearest to a center that the pilot leaves plausible at this confidence."""
        rates = self.rates_apart(center)
        nearest = rates[np.argsort(np.abs(rates - center), kind="stable")]
        return float(nearest[int((1 - confidence) * len(nearest))])

    def _shares(self, pilot: Pilot) -> Floats:
        """Return plausible shares of the variance that lie between cases, by the error of an intraclass correlation.

        Its variance is 2 ((1 - r) (1 + (k - 1) r))^2 / (k (k - 1) (n - 1)) with k samples a case (Fisher 1925). A
        binary indicator tells less: the variance is taken three times as large, and for rare labels by
        1 / (4 rate (1 - rate)) more.
        """
        if not self.parts.split:
            return np.full(len(self._points), 1.0)
        share, samples = 0.5, max(2, pilot.perturbations * pilot.repetitions)
        worth = 1.0  # nothing varies: any share is as likely
        if total := self.parts.total:
            share = float(np.clip(self.parts.cases / total, 0.01, 0.99))
            error = 2 * ((1 - share) * (1 + (samples - 1) * share)) ** 2 / (samples * (samples - 1) * (pilot.cases - 1))
            worth = max(1.0, share * (1 - share) / (_BINARY * error * max(1.0, 0.25 / max(total, 0.01))) - 1)
        found: Floats = betaincinv(share * worth + 0.5, (1 - share) * worth + 0.5, self._points[:, 1])
        return found

    def _variances(self, perturbations: int, repetitions: int) -> tuple[Floats, Floats]:
        """Return plausible variances between cases, and of what samples leave in a mean of scores."""
        parts, count = self.parts, len(self._points)
        inside = parts.of_samples(perturbations=perturbations, repetitions=repetitions)
        inside *= _noise_of(self.rule, perturbations * repetitions)
        if self._certain or self.pilot is None:
            return np.full(count, parts.cases), np.full(count, inside)
        pilot = self.pilot
        degrees = (pilot.cases if pilot.clusters is None else pilot.clusters.count) - 1
        noise = parts.of_samples(perturbations=pilot.perturbations, repetitions=pilot.repetitions)
        means = (parts.cases + noise) * degrees / chdtri(degrees, 1 - self._points[:, 0])
        freedom = max(1, pilot.samples - pilot.cases)
        scale = freedom / chdtri(freedom, 1 - self._points[:, 1])
        return np.maximum(0.0, means - noise * scale), inside * scale

    @property
    def _clusters(self) -> Cases:
        found = None if self.pilot is None else self.pilot.clusters
        if found is None or self.pilot is None:
            return Alone()
        size, assurance = found.size, self.goal.assurance
        if not self._certain and assurance is not None:  # a bound, since studies draw other sizes, too
            size += float(ndtri(math.sqrt(assurance))) * found.size_error  # both are to be met: the size, and the goal
        return Clustered(size=size, correlations=self._correlations(self.pilot, found), spreads=self._points[:, 3])

    def _correlations(self, pilot: Pilot, found: ClusterSizes) -> Floats:
        """Return plausible correlations of two cases of a cluster: the pivot of mean squares' ratio (Searle 1971).

        Clusters of unequal size count as their effective number. Hits of clusters are skewed where a label is rare.
        Their mean square then varies as one of fewer clusters: its squared coefficient of variation is
        2 / (m - 1) + kurtosis / m for m of them.
        """
        size, share = found.size, found.correlation
        if self._certain:
            return np.full(len(self._points), share)
        observed = (1 + (size - 1) * share) / (1 - min(share, 1 - _EDGE))
        heavy = 0.0 if self.mean is None else max(0.0, _kurtosis(pilot.mean, found, pilot.cases))
        number = pilot.cases / found.size
        least = _LEAST_DEGREES if found.count > 1 else 0.0  # one cluster says nothing of how alike cases are
        degrees = max(least, number - 1) / (1 + heavy / 2 * (number - 1) / number)
        ratio = observed / fdtri(degrees, max(1, pilot.cases - found.count), self._points[:, 2])
        odds = np.maximum(0.0, (ratio - 1) / size)
        correlations: Floats = odds / (1 + odds)
        return correlations


def _kurtosis(rate: float, found: ClusterSizes, cases: int) -> float:
    """Return the excess kurtosis of the hits of a cluster, which are taken for beta-binomial."""
    from scipy.stats import betabinom  # noqa: PLC0415 - slow to load, and needed where cases share clusters

    rate = min(max(rate, 0.5 / cases), 1 - 0.5 / cases)
    share = min(max(found.correlation, 0.01), 0.99)
    spread = (1 - share) / share
    return float(betabinom(max(1, round(found.size)), rate * spread, (1 - rate) * spread).stats("k"))


def _below(share: float, worth: Floats, center: float, points: Floats) -> Floats:
    """Return rates up to a center, by the p-value of a share so far below it: the chance of one as far or farther.

    The counts are binomial and the tails exact (as Clopper and Pearson 1934 have them), so that no rate is taken for
    less plausible than it is. Rates that are given more than the p-value of the center are the center itself: near it
    a pilot may come out on either side, and a tail of one side would promise too much.
    """
    low, high = np.zeros_like(points), np.full_like(points, center)
    opposite = (2 * center - share) * worth

    def p_value(rate: Floats) -> Floats:
        rest = np.maximum(worth - opposite, 0.0) + 1
        other = np.where(opposite <= worth, betainc(np.maximum(opposite, _EDGE), rest, rate), 0.0)
        found: Floats = other + betainc(np.maximum((1 - share) * worth, _EDGE), share * worth + 1, 1 - rate)
        return found

    even = points < p_value(high)
    low, _ = bisected_each(lambda rates: p_value(rates) > points, low, high, steps=_HALVINGS)
    return np.where(even, center, low)


@lru_cache(maxsize=256)
def _noise_of(rule: Rule, samples: int) -> float:
    """Return how much more a rule's decision varies than the mean of its samples, which are normal: the rule is asked.

    A rule that abstains on scores that all differ, as `mode` does, is taken for one that listens to one sample.
    """
    random = np.random.default_rng(0)
    pool = [VerdictRow(case_id="", verdict=float(score)) for score in ndtri((np.arange(_POOL) + 0.5) / _POOL)]
    found = [
        decide([pool[place] for place in places], rule, checked=True).center
        for places in random.integers(0, _POOL, size=(_FOLDS, samples))
    ]
    scores = [score for score in found if score is not None]
    means = float(samples) * float(np.var(scores)) if len(scores) == len(found) else float(samples)
    return max(1.0, means) if samples > _PAIR else 1.0


_USUAL = ("PASS", "A")
_PILOT_PAIR = 2
_MOST_OTHERS = 3
_ONE_CLUSTER = (
    "all cases of the pilot are one cluster: how alike those of another one are is not known, and they count as quite "
    "alike, so that no number of cases does: give a pilot of several clusters"
)


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """One judge and criterion of a log.

    `mean` is the mean over cases: of the score, or the share of `positive` (None for scores). `labels` is how many
    labels occur. `agreement` is the mean share of agreeing pairs of samples within a case. `failed` samples hold no
    verdict and count for nothing here. `tokens_per_call` is None where the log does not tell tokens. `shifts` are the
    perturbations that move the mean; what they move it by is no part of `components`, unless they exchange two answers.
    `others` are the labels that are not positive, each with its share of them. `clusters` is None where every case
    stands for itself (row attribute `cluster`).
    """

    judge: str
    criterion: str
    cases: int
    perturbations: int
    repetitions: int
    samples: int
    failed: int
    mean: float
    positive: str | None
    labels: int | None
    agreement: float | None
    components: Components
    tokens_per_call: float | None
    shifts: tuple[Shift, ...] = ()
    others: Mapping[str, float] = field(default_factory=dict)
    clusters: ClusterSizes | None = None


def pilot_of(rows: Sequence[VerdictRow], *, pass_at: Fraction | None = None) -> Pilot:
    """Return what the rows of one judge and criterion say.

    Args:
        rows: of one judge and criterion.
        pass_at: scores from it on count as PASS, others as FAIL.

    Raises:
        UsageError: they hold fewer than two cases with a verdict, or labels and numbers, or cases were stopped early.

    """
    rows = voting(rows)
    if samples_planned(rows):
        raise UsageError(
            "the pilot stopped asking early (curtail), and samples of no fixed size say nothing of variances: "
            "give one that was asked to the end."
        )
    if pass_at is not None and is_numeric(rows):
        rows = [replace(row, verdict=_grade(row.verdict, pass_at)) for row in rows]
    numeric = is_numeric(rows)
    answered = [replace(row, run="") for row in rows if row.ok]  # a case that was asked in several runs is one case
    groups = list(by_case(answered).values())
    if len(groups) < _PILOT_PAIR:
        raise UsageError("a pilot needs at least two cases with a verdict: the variance between cases is most of it.")
    counts = _counts(answered)
    positive = None if numeric else _positive(counts)
    means = [_mean(_value(row, positive) for row in group) for group in groups]
    shifts = shifts_of(_by_perturbation(groups, positive), swaps={row.perturbation for row in answered if row.swapped})
    belonging = Clusters.of_rows(rows)
    components = _components(_levelled(answered, positive, shifts), shifts)
    clusters = _clusters([belonging.of(group[0].case_id) for group in groups], means)
    if clusters is not None and clusters.count == 1:
        components = replace(components, notes=(*components.notes, _ONE_CLUSTER))
    components = replace(components, notes=(*components.notes, *belonging.copied))
    agreements = [agreement(_counts(group)) for group in groups]
    known = [value for value in agreements if value is not None]
    return Pilot(
        judge=rows[0].judge,
        criterion=rows[0].criterion,
        cases=len(groups),
        perturbations=max(len({row.perturbation for row in group}) for group in groups),
        repetitions=max(max(Counter(row.perturbation for row in group).values()) for group in groups),
        samples=len(answered),
        failed=len(rows) - len(answered),
        mean=_mean(means),
        positive=None if positive is None else verdict_text(positive),
        labels=None if numeric else len(counts),
        agreement=_mean(known) if known else None,
        components=components,
        tokens_per_call=_tokens(rows),
        shifts=shifts,
        others={} if positive is None else _others(counts, positive),
        clusters=clusters,
    )


def _grade(verdict: Verdict | None, pass_at: Fraction) -> Verdict | None:
    if verdict is None:
        return None
    return "PASS" if Fraction(verdict) >= pass_at else "FAIL"  # type: ignore[arg-type]  # a number


def _others(counts: Counter[Verdict], positive: Verdict) -> dict[str, float]:
    """Return the other labels by their share of what is not positive, the most frequent ones; the rest are the last."""
    ranked = sorted(
        ((verdict_text(label), count) for label, count in counts.items() if label != positive),
        key=lambda entry: (-entry[1], entry[0]),
    )
    total = sum(count for _, count in ranked)
    kept = {name: count / total for name, count in ranked[:_MOST_OTHERS]}
    if len(ranked) > _MOST_OTHERS:
        kept[ranked[_MOST_OTHERS - 1][0]] += sum(count for _, count in ranked[_MOST_OTHERS:]) / total
    return kept


def _clusters(keys: Sequence[Cluster], means: Sequence[float]) -> ClusterSizes | None:
    """Return the sizes of clusters, and by one-way ANOVA how alike the means of their cases are; None without any."""
    members: dict[Cluster, list[float]] = {}
    for key, mean in zip(keys, means, strict=True):
        members.setdefault(key, []).append(mean)
    sizes, cases = [len(values) for values in members.values()], len(means)
    count = len(sizes)
    if count == cases:
        return None
    squares = sum(size * size for size in sizes)
    if count == 1:
        return ClusterSizes(count=1, size=float(cases), correlation=1.0)
    center = _mean(means)
    own = [_mean(values) for values in members.values()]
    between = sum(size * (mean - center) ** 2 for size, mean in zip(sizes, own, strict=True)) / (count - 1)
    inside = sum((value - mean) ** 2 for mean, values in zip(own, members.values(), strict=True) for value in values)
    inside /= cases - count
    usual = (cases - squares / cases) / (count - 1)
    spread = between + (usual - 1) * inside
    alike = (between - inside) / spread if spread else 1.0
    size = squares / cases
    error = math.sqrt(sum((one * one - size * one) ** 2 for one in sizes) * count / (count - 1)) / cases
    return ClusterSizes(count=count, size=size, correlation=min(1.0, max(0.0, alike)), size_error=error)


def _counts(rows: Iterable[VerdictRow]) -> Counter[Verdict]:
    return Counter(row.verdict for row in rows if row.verdict is not None)


def _positive(counts: Counter[Verdict]) -> Verdict:
    """Return PASS or A where they occur, else the most frequent label, the first of equals by name."""
    usual = [label for label in _USUAL if label in counts]
    return usual[0] if usual else min(counts, key=lambda label: (-counts[label], verdict_text(label)))


def _value(row: VerdictRow, positive: Verdict | None) -> float:
    return float(row.verdict) if positive is None else float(row.verdict == positive)  # type: ignore[arg-type]


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return math.fsum(values) / len(values)


def _by_perturbation(groups: Iterable[Sequence[VerdictRow]], positive: Verdict | None) -> dict[str, dict[str, float]]:
    """Return case -> perturbation -> mean."""
    means: dict[str, dict[str, float]] = {}
    for group in groups:
        values: dict[str, list[float]] = {}
        for row in group:
            values.setdefault(row.perturbation, []).append(_value(row, positive))
        means[group[0].case_id] = {name: _mean(said) for name, said in values.items()}
    return means


def _levelled(rows: Iterable[VerdictRow], positive: Verdict | None, shifts: Iterable[Shift]) -> list[VerdictRow]:
    """Return the rows with their values as verdicts, without what a perturbation moves all of them by."""
    moved = {one.perturbation: one.shifted - one.mean for one in shifts if not one.swap}
    return [replace(row, verdict=_value(row, positive) - moved.get(row.perturbation, 0.0)) for row in rows]


def _components(rows: Sequence[VerdictRow], shifts: Iterable[Shift]) -> Components:
    """Return the variance split; what cannot be told apart goes where repetitions do not help, which is cautious."""
    names = ", ".join(one.perturbation for one in shifts if not one.swap)
    notes = (f"what {names} moves the mean by is taken out of these variances",) if names else ()
    split = variance_split(rows)
    if split.between_cases is not None:
        return _of_split(split, notes)
    merged = variance_split([replace(row, perturbation="") for row in rows])
    if merged.between_cases is not None:
        note = "every perturbation was asked once: its variance cannot be told from that of repetitions, and holds both"
        return Components(
            cases=merged.between_cases,
            perturbations=merged.between_repetitions,
            repetitions=None,
            notes=(*notes, note),
        )
    # one sample a case: no more than the whole variance is known
    values = [_value(row, None) for row in rows]
    center = _mean(values)
    spread = math.fsum((value - center) ** 2 for value in values) / (len(values) - 1)
    note = "every case was asked once: all variance is counted as that between cases"
    return Components(cases=spread, perturbations=None, repetitions=None, notes=(note,))


def _of_split(split: VarianceSplit, told: Iterable[str]) -> Components:
    notes = [*told] + [f"the variance between {name} came out negative and counts as 0" for name in split.clipped]
    if not any((split.between_cases, split.between_perturbations, split.between_repetitions)):
        notes.append("every sample of the pilot says the same: it shows no variance at all")
    if split.between_perturbations is None:
        notes.append("the pilot has one perturbation a case: that more of them differ is not in these numbers")
    return Components(
        cases=split.between_cases or 0.0,
        perturbations=split.between_perturbations,
        repetitions=split.between_repetitions,
        notes=tuple(notes),
    )


def _tokens(rows: Sequence[VerdictRow]) -> float | None:
    """Return the mean tokens of the calls that tell them; they stand on a call's first row."""
    told = [
        (row.input_tokens or 0) + (row.output_tokens or 0)
        for row in rows
        if row.input_tokens is not None or row.output_tokens is not None
    ]
    return _mean(told) if told else None
