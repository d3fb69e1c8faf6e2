"""How many labels a width takes."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration.corrected import corrected_rate_of_counts
from judgeharness_integrations.analysis.planning import (
    CorrectedLabels,
    Goal,
    Limits,
    corrected_labels,
    pilot_of,
    planned,
    wilson_labels,
)
from judgeharness_integrations.analysis.planning.grid import widest_rate
from judgeharness_integrations.analysis.planning.report import Wanted
from judgeharness_integrations.analysis.statistics.proportions import wilson_of
from judgeharness_integrations.verdictlog import VerdictRow


@given(st.floats(0, 1), st.sampled_from([0.02, 0.1, 0.5, 0.9]))
def test_the_labels_are_the_fewest_that_give_the_width(rate: float, width: float) -> None:
    n = wilson_labels(rate, width)
    assert n is not None
    z = NormalDist().inv_cdf(0.975)
    low, high = wilson_of(rate, n, z)
    assert high - low <= width
    low, high = wilson_of(rate, max(1, n - 1), z)
    assert n <= 2 or high - low > width


def test_known_numbers() -> None:
    assert wilson_labels(0.8, 0.1) == 245
    assert wilson_labels(0.5, 0.1) == 381
    assert wilson_labels(0.5, 0.0001) is None
    assert wilson_labels(0.8, 0.1, assurance=0.8) == 263


@pytest.mark.parametrize(
    ("rate", "width"), [(1.1, 0.1), (-0.1, 0.1), (0.5, 0), (0.5, 1), (math.nan, 0.1), (0.5, math.nan)]
)
def test_what_is_no_share_is_refused(rate: float, width: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        wilson_labels(rate, width)
    with pytest.raises(UsageError, match="between 0 and 1"):
        corrected_labels(rate=rate, sensitivity=0.9, specificity=0.9, cases=1000, width=width)


def narrow(judge: tuple[float, float, float], labels: tuple[int, int], width: float, *, cases: int = 5000) -> float:
    """Share of studies whose printed interval (Lee et al., cut) is no wider."""
    rng, times = np.random.default_rng(4), 1500
    (rate, q1, q0), (m1, m0) = judge, labels
    passed = rng.binomial(cases, rate * q1 + (1 - rate) * (1 - q0), times).tolist()
    right1, right0 = rng.binomial(m1, q1, times).tolist(), rng.binomial(m0, q0, times).tolist()
    widths = []
    for p, a, b in zip(passed, right1, right0, strict=True):
        report = corrected_rate_of_counts(
            judged_passes=p, judged_total=cases, sensitivity=(a, m1), specificity=(b, m0), labels_are="other_mix"
        )
        [one] = [estimate for estimate in report.estimates if estimate.method == report.chosen]
        widths.append(math.inf if one.interval is None else one.interval[1] - one.interval[0])
    return float(np.mean(np.array(widths) <= width))


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("rate", "q1", "q0", "width"),
    [(0.6, 0.9, 0.8, 0.12), (0.05, 0.9, 0.95, 0.08), (0.02, 0.85, 0.97, 0.06), (0.5, 0.99, 0.98, 0.08)],
)
def test_the_printed_interval_is_as_narrow_as_wanted_in_as_many_studies(
    rate: float, q1: float, q0: float, width: float
) -> None:
    found = corrected_labels(rate=rate, sensitivity=q1, specificity=q0, cases=5000, width=width)
    assert found.positives is not None
    assert found.negatives is not None
    assert narrow((rate, q1, q0), (found.positives, found.negatives), width) == pytest.approx(0.8, abs=0.05)
    half = corrected_labels(rate=rate, sensitivity=q1, specificity=q0, cases=5000, width=width, assurance=None)
    assert (half.positives or 0) + (half.negatives or 0) < found.positives + found.negatives


@pytest.mark.slow
@pytest.mark.untraced
def test_other_divisions_of_labels_do_no_better() -> None:
    found = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=5000, width=0.12)
    assert found.positives is not None
    total = found.positives + (found.negatives or 0)
    divided = [(round(total * part), total - round(total * part)) for part in (0.35, 0.75)]
    shares = [narrow((0.6, 0.9, 0.8), labels, 0.12) for labels in divided]
    assert max(shares) < 0.75


@pytest.mark.parametrize(("sensitivity", "specificity", "widest"), [(0.9, 0.7, (0.0, 0.4)), (0.7, 0.9, (0.6, 1.0))])
def test_the_interval_is_widest_where_the_judge_errs_more_often(
    sensitivity: float, specificity: float, widest: tuple[float, float]
) -> None:
    facts = {"cases": 1000, "fewest_cases": 100, "judged_rate": 0.5}
    labels = CorrectedLabels(positives=300, negatives=300, **facts)  # type: ignore[arg-type]
    found = widest_rate(labels, sensitivity=sensitivity, specificity=specificity)
    assert widest[0] <= found <= widest[1]
    unlimited = CorrectedLabels(positives=None, negatives=None, **facts)  # type: ignore[arg-type]
    known = widest_rate(unlimited, sensitivity=sensitivity, specificity=specificity)
    assert known * sensitivity + (1 - known) * (1 - specificity) == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("rate", [0.2, 0.3])
def test_a_corrected_rate_planned_after_a_pilot_is_as_narrow_as_assured(rate: float) -> None:
    """The luck of the pilot counts: planned on all rates it leaves plausible, .73 were as narrow as assured in .8."""
    sensitivity, specificity, cases = 0.9, 0.7, 1000
    judged = rate * sensitivity + (1 - rate) * (1 - specificity)
    wanted = Wanted(goal=Goal(value=0.15), sensitivity=sensitivity, specificity=specificity)
    shares = []
    for positive in binom.ppf((np.arange(8) + 0.5) / 8, 100, judged).astype(int).tolist():
        rows = [VerdictRow(case_id=f"c{n}", verdict="PASS" if n < positive else "FAIL") for n in range(100)]
        found = planned(wanted, pilot=pilot_of(rows), limits=Limits(cases=cases)).corrected
        assert found is not None
        if found.positives is not None and found.negatives is not None:
            labels = found.positives, found.negatives
            shares.append(narrow((rate, sensitivity, specificity), labels, 0.15, cases=cases))
    assert np.mean(shares) >= 0.8


@pytest.mark.slow
def test_an_open_rate_takes_more_labels() -> None:
    facts = {"rate": 0.5, "sensitivity": 0.9, "specificity": 0.8, "cases": 3000, "width": 0.12}
    certain = corrected_labels(**facts)  # type: ignore[arg-type]
    spread = corrected_labels(**facts, needed=0.3)  # type: ignore[arg-type]
    assert (spread.positives or 0) + (spread.negatives or 0) > (certain.positives or 0) + (certain.negatives or 0)
    assert spread.judged_rate == pytest.approx(certain.judged_rate)


@pytest.mark.slow
def test_too_few_cases_cannot_be_mended_by_labels() -> None:
    found = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=100, width=0.1)
    assert (found.positives, found.negatives) == (None, None)
    assert found.fewest_cases is not None
    enough = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=found.fewest_cases, width=0.1)
    short = corrected_labels(rate=0.6, sensitivity=0.9, specificity=0.8, cases=found.fewest_cases - 1, width=0.1)
    assert enough.positives is not None
    assert short.positives is None


@pytest.mark.slow
def test_a_judge_no_better_than_chance_cannot_be_corrected() -> None:
    found = corrected_labels(rate=0.6, sensitivity=0.5, specificity=0.5, cases=1000, width=0.1)
    assert (found.positives, found.fewest_cases) == (None, None)
    perfect = corrected_labels(rate=0.6, sensitivity=1, specificity=1, cases=1000, width=0.1)
    assert (perfect.positives or 0) > 5  # the interval does not know that the judge is perfect
    with pytest.raises(UsageError, match="cases must be a whole number of at least 1"):
        corrected_labels(rate=0.6, sensitivity=1, specificity=1, cases=0, width=0.1)


@pytest.mark.slow
def test_a_width_no_number_of_labels_reaches_is_none() -> None:
    found = corrected_labels(rate=0.5, sensitivity=0.9, specificity=0.9, cases=10, width=1e-5)
    assert (found.positives, found.fewest_cases) == (None, None)
