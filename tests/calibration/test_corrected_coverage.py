"""What the intervals of corrected rates are worth: planted truths, seeded; the full grid is in `selftest`."""

from __future__ import annotations

import numpy as np
import pytest

from judgeharness_integrations.analysis.calibration.estimators import ppi_plus_plus, tenenbein
from judgeharness_integrations.analysis.calibration.rogangladen import Sample, rogan_gladen

REPLICATES = 600


def drawn(  # noqa: PLR0917 - a truth
    rng: np.random.Generator, rate: float, sensitivity: float, specificity: float, n: int, total: int
) -> Sample:
    truth = rng.random(total) < rate
    judged = np.where(truth, rng.random(total) < sensitivity, rng.random(total) >= specificity)
    return Sample(
        labels=truth[:n],
        judged=judged[:n],
        rest=judged[n:],
        label_clusters=range(n),
        rest_clusters=range(n, total),
    )


def covered(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "n", "total"),
    [(0.5, 0.9, 0.8, 100, 1000), (0.3, 0.8, 0.8, 60, 500), (0.8, 0.7, 0.6, 200, 1000)],
)
def test_ppi_and_tenenbein_cover_when_labels_are_a_random_sample(
    rate: float, sensitivity: float, specificity: float, n: int, total: int
) -> None:
    rng = np.random.default_rng(12)
    hits = np.zeros(2)
    for _ in range(REPLICATES):
        data = drawn(rng, rate, sensitivity, specificity, n, total)
        powered, double = ppi_plus_plus(data), tenenbein(data)
        assert powered is not None
        assert double is not None
        hits += [covered(powered.interval, rate), covered(double.interval, rate)]
    assert (hits / REPLICATES).min() >= 0.91
    assert (hits / REPLICATES).max() <= 0.985


@pytest.mark.slow
def test_few_errors_make_the_normal_interval_too_narrow_and_tenenbeins_hold() -> None:
    """The reason for the note that says so: 40 labels, a judge right on 95 and 90 %, a rate of .9."""
    rng = np.random.default_rng(13)
    hits = np.zeros(2)
    for _ in range(REPLICATES):
        data = drawn(rng, 0.9, 0.95, 0.9, 40, 440)
        powered, double = ppi_plus_plus(data), tenenbein(data)
        hits += [
            powered is not None and covered(powered.interval, 0.9),
            double is not None and covered(double.interval, 0.9),
        ]
    powered_share, double_share = hits / REPLICATES
    assert powered_share < 0.91
    assert double_share >= 0.925


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "n", "m"),
    [(0.5, 0.9, 0.8, 1000, 100), (0.2, 0.9, 0.7, 1000, 50), (0.02, 0.95, 0.9, 500, 50), (0.9, 0.97, 0.97, 300, 30)],
)
def test_the_lee_interval_covers_when_labels_come_from_another_mix(
    rate: float, sensitivity: float, specificity: float, n: int, m: int
) -> None:
    rng = np.random.default_rng(14)
    passed = rng.binomial(n, rate * sensitivity + (1 - rate) * (1 - specificity), REPLICATES) / n
    yes, no = (rng.binomial(m, share, REPLICATES) / m for share in (sensitivity, specificity))
    hits = 0
    for p, q1, q0 in zip(passed.tolist(), yes.tolist(), no.tolist(), strict=True):
        found = rogan_gladen(judged=p, n=n, sensitivity=q1, positives=m, specificity=q0, negatives=m)
        assert found is not None
        hits += covered(found.lee, rate)
    assert hits / REPLICATES >= 0.925


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "negatives", "positives"),
    [(0.02, 0.55, 0.6, 20, 50), (0.02, 0.6, 0.6, 10, 50), (0.98, 0.6, 0.55, 25, 25), (0.5, 0.98, 0.6, 20, 20)],
)
def test_the_printed_interval_covers_where_the_judge_is_hardly_better_than_chance(
    rate: float, sensitivity: float, specificity: float, negatives: int, positives: int
) -> None:
    """Lee's own covers .83 to .91 at the first two points: small sums of sensitivity and specificity look larger."""
    rng = np.random.default_rng(18)
    passed = rng.binomial(1000, rate * sensitivity + (1 - rate) * (1 - specificity), 4_000) / 1000
    yes, no = rng.binomial(positives, sensitivity, 4_000) / positives, rng.binomial(negatives, specificity, 4_000)
    hits = told = 0
    for p, q1, q0 in zip(passed.tolist(), yes.tolist(), (no / negatives).tolist(), strict=True):
        found = rogan_gladen(judged=p, n=1000, sensitivity=q1, positives=positives, specificity=q0, negatives=negatives)
        if found is not None and found.interval is not None:
            told += 1
            hits += covered(found.interval, rate)
            assert found.lee is not None
            assert found.interval[0] <= found.lee[0] <= found.lee[1] <= found.interval[1]
    assert told > 2_500
    assert hits / told >= 0.93


def test_clusters_make_the_standard_error_of_double_sampling_no_smaller() -> None:
    """Items of a cluster that resemble each other less than chance would have it; the clustered error is a quarter."""
    truth = np.tile([True, False], 60)
    truth[:3] = True
    judged = np.tile([True, False, False, True, True, False], 20)
    keys = np.repeat(np.arange(60), 2)
    facts = {"labels": truth[:60], "judged": judged[:60], "rest": judged[60:]}
    together = tenenbein(Sample(**facts, label_clusters=keys[:60].tolist(), rest_clusters=keys[60:].tolist()))
    alone = tenenbein(Sample(**facts, label_clusters=range(60), rest_clusters=range(60, 120)))
    assert together is not None
    assert alone is not None
    assert together.se == pytest.approx(alone.se)


def test_resampling_the_labels_alone_covers_about_half() -> None:
    """The anti-example: a bootstrap of the labelled items with the judged rate held fixed forgets its noise.

    1,000 labels of each class, 100 judged items: 56 % at nominal 95 % here, where the delta interval covers.
    """
    rng = np.random.default_rng(15)
    rate, q1, q0, n, m, replicates = 0.5, 0.9, 0.8, 100, 400, 300
    wrong = right = 0
    for _ in range(replicates):
        p = rng.binomial(n, rate * q1 + (1 - rate) * (1 - q0)) / n
        yes, no = (rng.binomial(m, share) / m for share in (q1, q0))
        again = [rng.binomial(m, share, 400) / m for share in (yes, no)]
        low, high = np.quantile((p + again[1] - 1) / (again[0] + again[1] - 1), (0.025, 0.975))
        wrong += low <= rate <= high
        found = rogan_gladen(judged=p, n=n, sensitivity=yes, positives=m, specificity=no, negatives=m)
        assert found is not None
        right += covered(found.lee, rate)
    assert wrong / replicates < 0.7
    assert right / replicates >= 0.92


@pytest.mark.slow
def test_clusters_are_covered_where_the_plain_error_is_not() -> None:
    """Twenty documents of five labelled items, intra-cluster correlation .25."""
    rng = np.random.default_rng(16)
    hits = np.zeros(4)
    keys = np.repeat(np.arange(100), 5)
    for _ in range(300):
        truth = rng.random(500) < np.repeat(rng.beta(1.5, 1.5, 100), 5)
        judged = np.where(truth, rng.random(500) < 0.9, rng.random(500) >= 0.9)
        for place, clusters in enumerate((keys, np.arange(500))):
            data = Sample(
                labels=truth[:150],
                judged=judged[:150],
                rest=judged[150:],
                label_clusters=clusters[:150].tolist(),
                rest_clusters=clusters[150:].tolist(),
            )
            powered, double = ppi_plus_plus(data), tenenbein(data)
            assert powered is not None
            assert double is not None
            hits[2 * place : 2 * place + 2] += [covered(powered.interval, 0.5), covered(double.interval, 0.5)]
    assert (hits[:2] / 300).min() >= 0.92
    assert (hits[2:] / 300).max() < 0.9
