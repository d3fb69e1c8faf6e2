"""Shares, corrected rates and scores: intervals and tests of them and of their differences; clustered data."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.analysis.calibration.corrected import corrected_rate, corrected_rate_of_counts
from judgeharness_integrations.analysis.calibration.estimators import (
    DoubleSampling,
    PpiPlusPlus,
    ppi_plus_plus,
    tenenbein,
)
from judgeharness_integrations.analysis.calibration.rates import Rate, ScoreErrors, score_errors
from judgeharness_integrations.analysis.calibration.rogangladen import RoganGladen, Sample, rogan_gladen
from judgeharness_integrations.analysis.calibration.scores import kendall_tau_b, quadratic_kappa, spearman
from judgeharness_integrations.analysis.checking.statistics import excess_interval, excess_test
from judgeharness_integrations.analysis.statistics.means import Estimate, mean_interval
from judgeharness_integrations.analysis.statistics.paired import tango_interval
from judgeharness_integrations.analysis.statistics.proportions import above_test, clopper_pearson, sign_test, wilson

from .check import (
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    Simulated,
    Simulation,
    SizeCheck,
    each,
    each_distinct,
    grid,
    interval_of,
)


def errors_table(point: Point) -> Floats:
    """Return the cells (4,) PASS/PASS, PASS/FAIL, FAIL/PASS, FAIL/FAIL of labels of this rate and a judge.

    The judge has this sensitivity and specificity.
    """
    rate, yes, no = point["rate"], point["sensitivity"], point["specificity"]
    return np.array([rate * yes, rate * (1 - yes), (1 - rate) * (1 - no), (1 - rate) * no])


def equal_clusters(clusters: int, size: int, *, large: int = 0) -> NDArray[np.intp]:
    """Return (items,) the cluster of each of `clusters` x `size` items, and of one more cluster of `large`."""
    return np.repeat(np.arange(clusters + 1), [*[size] * clusters, large])


def clustered_hits(
    generator: np.random.Generator,
    *,
    rate: float,
    correlation: float,
    clusters: int,
    size: int,
    replicates: int,
    large: int = 0,
) -> NDArray[np.bool_]:
    """Return (replicates, items) of hits whose rate varies by cluster (beta-binomial), with this intra-correlation."""
    spread = (1 - correlation) / correlation
    rates = generator.beta(rate * spread, (1 - rate) * spread, size=(replicates, clusters + (large > 0)))
    keys = equal_clusters(clusters, size, large=large)
    hits: NDArray[np.bool_] = generator.random((replicates, len(keys))) < rates[:, keys]
    return hits


def cluster_effects(
    generator: np.random.Generator, *, correlation: float, clusters: int, size: int, replicates: int
) -> NDArray[np.float64]:
    """Return (replicates, items) of standard normal numbers with this correlation within clusters."""
    common = np.repeat(generator.standard_normal((replicates, clusters)), size, axis=1)
    own = generator.standard_normal((replicates, clusters * size))
    found: NDArray[np.float64] = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return found


def _of_rate(interval: Callable[[int, int], Interval]) -> Simulation:
    """Return the simulation of a rate of so many trials."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        n = int(point["n"])
        hits = generator.binomial(n, point["rate"], size=replicates)
        return *each_distinct([hits], lambda count: interval(count, n)), point["rate"]

    return simulate


def _clustered(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    clusters, size, large = (int(point.get(name, 0)) for name in ("clusters", "size", "large"))
    hits = clustered_hits(
        generator,
        rate=point["rate"],
        correlation=point["correlation"],
        clusters=clusters,
        size=size,
        replicates=replicates,
        large=large,
    )
    keys = equal_clusters(clusters, size, large=large).tolist()
    rates = (Rate.over(row, keys) for row in hits.tolist())
    return *each(None if rate is None else (rate.low, rate.high) for rate in rates), point["rate"]


def _tango(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    n, gained, lost = int(point["n"]), point["gained"], point["lost"]
    changed = generator.multinomial(n, [gained, lost, 1 - gained - lost], size=replicates)
    return *each_distinct([changed[:, 0], changed[:, 1]], lambda up, down: tango_interval(up, down, n)), gained - lost


def _sign_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    """Pairs whose two outcomes are as likely to change either way."""
    either = point["discordant"] / 2
    changed = generator.multinomial(int(point["n"]), [either, either, 1 - 2 * either], size=replicates)
    pairs, inverse = np.unique(changed[:, :2], axis=0, return_inverse=True)
    values = [sign_test(int(one), int(other)) for one, other in pairs]
    tested = np.array([np.nan if value is None else value for value in values])
    found: Floats = tested[inverse.reshape(-1)]
    return found


PROPORTIONS: tuple[Check, ...] = (
    IntervalCheck(
        name="rates: Wilson interval",
        points=grid(n=(20, 50, 200, 1000), rate=(0.5, 0.6, 0.7, 0.8, 0.9, 0.95)),
        simulate=_of_rate(wilson),
        fast=8,
        note="swings with n and rate, as every interval of a count: exactly 0.909 at n=50, rate=0.99",
    ),
    IntervalCheck(
        name="rates: Wilson interval of clustered items",
        points=grid(clusters=(20, 50), size=(4,), correlation=(0.1, 0.4), rate=(0.5, 0.7, 0.9)),
        simulate=_clustered,
        fast=3,
    ),
    IntervalCheck(
        name="rates: Wilson interval of clusters of unequal size",
        points=(
            *grid(clusters=(9,), size=(1,), large=(50,), correlation=(0.4,), rate=(0.5, 0.8)),
            *grid(clusters=(20,), size=(1,), large=(20,), correlation=(0.4,), rate=(0.5, 0.8)),
            *grid(clusters=(30,), size=(2,), large=(30,), correlation=(0.4,), rate=(0.5, 0.8)),
        ),
        simulate=_clustered,
        fast=1,
        conservative=True,
        note="one large cluster among small ones tells little",
    ),
    IntervalCheck(
        name="drift: Tango interval of a paired difference",
        points=(
            *grid(n=(50, 200), gained=(0.05, 0.2), lost=(0.05, 0.2)),
            *grid(n=(50, 200), gained=(0.01,), lost=(0.01, 0.1)),
        ),
        simulate=_tango,
        fast=4,
    ),
    SizeCheck(
        name="drift, position bias: exact sign test (McNemar)",
        points=grid(n=(40, 200, 1000), discordant=(0.1, 0.3, 0.6)),
        simulate=_sign_test,
        fast=9,
        note="exact, so it rejects less often than its level",
    ),
)
_STEADY = 0.5  # share of cases about which even a noisy judge always says the same


def _of_shares(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    """Cases of several samples each, whose rates differ: half of them never have the event."""
    n, samples, rate = int(point["n"]), int(point["samples"]), point["rate"]
    rates = np.where(generator.random((replicates, n)) < _STEADY, 0.0, rate / (1 - _STEADY))
    hits = generator.binomial(samples, rates).sum(axis=1)
    return *each_distinct([hits], lambda count: clopper_pearson(count / samples, n)), rate


def _flips(point: Point, replicates: int, generator: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (replicates, n) how many samples flip under the change and as they are.

    Samples of a case flip at a rate of its own, `noise` on average; the change flips a share of cases for good, so that
    `effect` is the excess.
    """
    n, probed, base, noise = int(point["n"]), int(point["probed"]), int(point["base"]), point["noise"]
    rates = np.where(generator.random((replicates, n)) < _STEADY, 0.0, noise / (1 - _STEADY))
    works = generator.random((replicates, n)) < point.get("effect", 0.0) / (1 - noise)
    changed = np.where(works, probed, generator.binomial(probed, rates))
    return changed, generator.binomial(base, rates)


def _excess(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    changed, repeated = _flips(point, replicates, generator)
    pairs = zip(changed / point["probed"], repeated / point["base"], strict=True)
    return *each(excess_interval(*pair) for pair in pairs), point["effect"]


def _excess_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    changed, repeated = _flips(point, replicates, generator)
    probed, base = (np.full(int(point["n"]), int(point[name])) for name in ("probed", "base"))
    return np.array([excess_test(one, probed, other, base) for one, other in zip(changed, repeated, strict=True)])


def _above_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    n = int(point["n"])
    hits = generator.binomial(n, point["share"], size=replicates)
    return np.array([above_test(count, n, point["share"]) for count in hits.tolist()])


EXCESSES: tuple[Check, ...] = (
    IntervalCheck(
        name="check: Clopper-Pearson interval",
        points=grid(n=(20, 50, 200), rate=(0.05, 0.1, 0.3, 0.5)),
        simulate=_of_rate(clopper_pearson),
        fast=6,
        conservative=True,
        note="exact: it never covers less than it says",
    ),
    IntervalCheck(
        name="check: Clopper-Pearson interval of cases with several samples",
        points=grid(n=(20, 50, 200), samples=(3,), rate=(0.05, 0.1, 0.3)),
        simulate=_of_shares,
        fast=3,
        conservative=True,
        note="the mean of a case's samples varies less than one of them",
    ),
    IntervalCheck(
        name="check: flips beyond those under repetition",
        points=(
            *grid(n=(50, 20, 200), noise=(0.1, 0.3), probed=(1,), base=(2,), effect=(0.0, 0.1, 0.4)),
            *grid(n=(20, 50, 200), noise=(0.0,), probed=(1,), base=(2,), effect=(0.1, 0.3)),
            *grid(n=(50,), noise=(0.1, 0.3), probed=(3,), base=(1,), effect=(0.0, 0.3)),
        ),
        simulate=_excess,
        fast=2,
        fast_replicates=200,
    ),
    SizeCheck(
        name="check: exact test of flips beyond those under repetition",
        points=(
            *grid(n=(20, 50, 200), noise=(0.05, 0.1, 0.3), probed=(1,), base=(2,)),
            *grid(n=(50,), noise=(0.3,), probed=(3,), base=(1,)),
        ),
        simulate=_excess_test,
        fast=2,
        fast_replicates=200,
        note="exact, so it rejects less often than its level",
    ),
    SizeCheck(
        name="check: exact test of a rate above the tolerance",
        points=grid(n=(20, 50, 200), share=(0.05, 0.1, 0.2)),
        simulate=_above_test,
        fast=3,
        note="exact, so it rejects less often than its level",
    ),
)


def _other_mix(limits: Callable[[RoganGladen], Interval]) -> Simulation:
    """Return the simulation of labels from another mix: as many positive items as others."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        n, m, theta, yes, no = (point[name] for name in ("n", "m", "rate", "sensitivity", "specificity"))
        n, m = int(n), int(m)
        passed = generator.binomial(n, theta * yes + (1 - theta) * (1 - no), size=replicates)
        right1, right0 = generator.binomial(m, yes, size=replicates), generator.binomial(m, no, size=replicates)

        def interval(count: int, one: int, zero: int) -> Interval:
            found = rogan_gladen(
                judged=count / n, n=n, sensitivity=one / m, positives=m, specificity=zero / m, negatives=m
            )
            return None if found is None else limits(found)

        return *each_distinct([passed, right1, right0], interval), theta

    return simulate


def _random(estimator: Callable[[Sample], PpiPlusPlus | DoubleSampling | None]) -> Simulation:
    """Return the simulation of labels that are a random sample of the items; clustered where the point says so."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        size = int(point.get("size", 1))
        n, labelled = int(point["n"]), int(point["labels"])
        truth = _truths(point, replicates, generator, size)
        hit = np.where(truth, point["sensitivity"], 1 - point["specificity"])
        judged = generator.random((replicates, n)) < hit
        keys = equal_clusters(n // size, size).tolist()
        samples = (
            Sample(
                labels=row[:labelled],
                judged=said[:labelled],
                rest=said[labelled:],
                label_clusters=keys[:labelled],
                rest_clusters=keys[labelled:],
            )
            for row, said in zip(truth, judged, strict=True)
        )
        return *each(None if one is None else one.interval for one in map(estimator, samples)), point["rate"]

    return simulate


def _truths(point: Point, replicates: int, generator: np.random.Generator, size: int) -> NDArray[np.bool_]:
    n, rate = int(point["n"]), point["rate"]
    if size == 1:
        alone: NDArray[np.bool_] = generator.random((replicates, n)) < rate
        return alone
    return clustered_hits(
        generator, rate=rate, correlation=point["correlation"], clusters=n // size, size=size, replicates=replicates
    )


def _recommended(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    """Simulate what `corrected_rate` recommends for labels that are a random sample."""
    n, labels, rate = int(point["n"]), int(point["labels"]), point["rate"]
    cells = errors_table(point)
    drawn = generator.multinomial(labels, cells, size=replicates)
    passed = generator.binomial(n - labels, cells[0] + cells[2], size=replicates)

    def interval(*counts: int) -> Interval:
        hit, missed, wrong, right, rest = counts
        best = corrected_rate_of_counts(
            judged_passes=rest,
            judged_total=n - labels,
            sensitivity=(hit, hit + missed),
            specificity=(right, right + wrong),
            labels_are="random",
        ).best
        return None if best is None else best.interval

    return *each_distinct([*drawn.T, passed], interval), rate


def _abstaining(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    """Simulate it for a judge that abstains more often on negative items."""
    n, labels, rate = int(point["n"]), int(point["labels"]), point["rate"]

    def drawn() -> Interval:
        truth = generator.random(n) < rate
        passed = generator.random(n) < np.where(truth, point["sensitivity"], 1 - point["specificity"])
        silent = generator.random(n) < np.where(truth, 0.1, point["abstains"])
        judged = [None if no else bool(yes) for yes, no in zip(passed, silent, strict=True)]
        known: list[bool | None] = [*truth[:labels].tolist(), *[None] * (n - labels)]
        best = corrected_rate(judged=judged, labels=known, labels_are="random").best
        return None if best is None else best.interval

    return *each(drawn() for _ in range(replicates)), rate


_MIXES = grid(n=(1000,), m=(50, 200), rate=(0.1, 0.5, 0.8), sensitivity=(0.7, 0.9), specificity=(0.7, 0.9))
_RATES = (0.3, 0.6)
_SAMPLES = (
    *grid(n=(500,), labels=(50, 150), rate=_RATES, sensitivity=(0.9,), specificity=(0.6, 0.9)),
    *grid(n=(400,), size=(4,), correlation=(0.3,), labels=(120,), rate=_RATES, sensitivity=(0.9,), specificity=(0.8,)),
)
_ALL_RATES = (
    *grid(n=(1000,), labels=(100,), rate=(0.05, 0.5), sensitivity=(0.9,), specificity=(0.9,)),
    *grid(n=(2000,), labels=(200,), rate=(0.02, 0.98), sensitivity=(0.9,), specificity=(0.98,)),
    *grid(n=(2000,), labels=(100, 500), rate=(0.02, 0.98), sensitivity=(0.98,), specificity=(0.98,)),
    *grid(n=(1000,), labels=(100, 250), rate=(0.05, 0.3, 0.9), sensitivity=(0.6,), specificity=(0.6, 0.98)),
)
CORRECTED_RATES: tuple[Check, ...] = (
    IntervalCheck(
        name="corrected rate: recommended for a random sample of labels",
        points=_ALL_RATES,
        simulate=_recommended,
        fast=4,
    ),
    IntervalCheck(
        name="corrected rate: recommended, the judge abstains",
        points=grid(
            n=(600,), labels=(150,), rate=(0.05, 0.5, 0.95), sensitivity=(0.9,), specificity=(0.8,), abstains=(0.3,)
        ),
        simulate=_abstaining,
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="corrected rate: Rogan-Gladen, interval of Lee et al. and Fieller",
        points=_MIXES,
        simulate=_other_mix(lambda found: found.interval),
        fast=3,
    ),
    IntervalCheck(
        name="corrected rate: Rogan-Gladen, delta interval",
        points=_MIXES,
        simulate=_other_mix(lambda found: found.delta),
        fast=3,
        note="reports withhold it where one of its six counts is below ten",
    ),
    IntervalCheck(name="corrected rate: PPI++", points=_SAMPLES, simulate=_random(ppi_plus_plus), fast=3),
    IntervalCheck(
        name="corrected rate: double sampling (Tenenbein)", points=_SAMPLES, simulate=_random(tenenbein), fast=3
    ),
)


_Correlation = Callable[[Floats, Floats, Sequence[Hashable]], Estimate | None]


def _errors(interval: Callable[[ScoreErrors], Interval], truth: Callable[[float], float]) -> Simulation:
    """Return the simulation of normal errors around `bias`, in units of their standard deviation."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        clusters, size = int(point["clusters"]), int(point["size"])
        correlation = point.get("correlation", 0.0)
        noise = cluster_effects(generator, correlation=correlation, clusters=clusters, size=size, replicates=replicates)
        keys = equal_clusters(clusters, size).tolist()
        found = (score_errors([(0.0, error) for error in row], keys) for row in (noise + point["bias"]).tolist())
        return *each(None if errors is None else interval(errors) for errors in found), truth(point["bias"])

    return simulate


_STEPS = (0.8, 0.15, 0.05)  # shares of the errors that are of one, two and three steps


def _steps(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    """Scores of which most agree exactly with gold."""
    shares = [point["exact"], *((1 - point["exact"]) * share for share in _STEPS)]
    errors = generator.choice(len(shares), p=shares, size=(replicates, int(point["n"])))
    found = (score_errors([(0.0, error) for error in row]) for row in errors.tolist())
    return *each(None if one is None else one.mean_absolute_error_interval for one in found), sum(
        size * share for size, share in enumerate(shares)
    )


def _folded_mean(bias: float) -> float:
    """Return E|N(bias, 1)|."""
    return math.sqrt(2 / math.pi) * math.exp(-(bias**2) / 2) + bias * math.erf(bias / math.sqrt(2))


def _correlated(correlation: _Correlation, truth: Callable[[float, float], float]) -> Simulation:
    """Return the simulation of two normal columns with correlation `r`, the second shifted by `shift`."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        n, r, shift = int(point["n"]), point["r"], point.get("shift", 0.0)
        first, other = generator.standard_normal((2, replicates, n))
        second = r * first + math.sqrt(1 - r * r) * other + shift
        found = (correlation(x, y, range(n)) for x, y in zip(first, second, strict=True))
        return *each(map(interval_of, found)), truth(r, shift)

    return simulate


def _mean(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    """Changes of a distance: mostly none, some by a step either way."""
    shares = [point["worse"], point["better"], 1 - point["worse"] - point["better"]]
    changes = generator.choice([1.0, -1.0, 0.0], p=shares, size=(replicates, int(point["n"])))
    return *each(mean_interval(row) for row in changes), point["worse"] - point["better"]


_ERRORS = (
    *grid(clusters=(30, 100), size=(1,), bias=(0.0, 0.5)),
    *grid(clusters=(30,), size=(4,), correlation=(0.3,), bias=(0.0, 0.5)),
)
_NORMAL = grid(n=(30, 100), r=(0.0, 0.5, 0.8))
SCORES: tuple[Check, ...] = (
    IntervalCheck(
        name="calibration: mean absolute error",
        points=_ERRORS,
        simulate=_errors(lambda errors: errors.mean_absolute_error_interval, _folded_mean),
        fast=1,
    ),
    IntervalCheck(
        name="calibration: mean absolute error on a scale, most scores exact",
        points=grid(exact=(0.8, 0.95), n=(20, 50, 150)),
        simulate=_steps,
        fast=2,
    ),
    IntervalCheck(
        name="calibration: bias of scores",
        points=_ERRORS,
        simulate=_errors(lambda errors: errors.bias_interval, lambda bias: bias),
        fast=1,
    ),
    IntervalCheck(
        name="calibration: Spearman's correlation",
        points=_NORMAL,
        simulate=_correlated(spearman, lambda r, _: 6 / math.pi * math.asin(r / 2)),
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: Kendall's tau-b",
        points=_NORMAL,
        simulate=_correlated(kendall_tau_b, lambda r, _: 2 / math.pi * math.asin(r)),
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: quadratic kappa",
        points=grid(n=(30, 100), r=(0.3, 0.8), shift=(0.0, 0.5)),
        simulate=_correlated(quadratic_kappa, lambda r, shift: 2 * r / (2 + shift**2)),
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="drift: mean change of scores",
        points=grid(n=(50, 200), worse=(0.1, 0.3), better=(0.1, 0.3)),
        simulate=_mean,
        fast=2,
    ),
)
