"""The risk-coverage curve of a calibration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.calibration import Judged, Rate, RiskPoint, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import RiskCoverage, risk_coverage


def judged(gold: str, verdict: str | None, confidence: float | None) -> Judged:
    status = "not_graded" if verdict is None else "abstained" if verdict == "ABSTAIN" else "decided"
    return Judged(gold=gold, verdict=verdict, status=status, confidence=confidence)  # type: ignore[arg-type]


def curve(*items: Judged) -> RiskCoverage:
    found = risk_coverage(items, range(len(items)))
    assert found is not None
    return found


def test_each_confidence_is_one_step_from_the_surest_on() -> None:
    found = curve(
        judged("PASS", "FAIL", 0.6),
        judged("PASS", "PASS", 1.0),
        judged("FAIL", "FAIL", 1.0),
        judged("FAIL", "PASS", 0.8),
        judged("PASS", "PASS", 0.8),
    )
    assert [(point.threshold, point.n, point.coverage, point.accuracy) for point in found.points] == [
        (1.0, 2, 0.4, 1.0),
        (0.8, 4, 0.8, 0.75),
        (0.6, 5, 1.0, 0.6),
    ]
    assert found.aurc == pytest.approx((2 * 0 + 2 * 0.25 + 1 * 0.4) / 5)
    rate = Rate.of(3, 4)
    assert rate is not None
    assert (found.points[1].low, found.points[1].high) == (rate.low, rate.high)


def test_abstentions_count_in_the_denominator_of_coverage() -> None:
    found = curve(judged("PASS", "PASS", 1.0), judged("PASS", "ABSTAIN", 0.5), judged("FAIL", None, None))
    assert [(point.n, point.coverage) for point in found.points] == [(1, 1 / 3)]
    assert (found.n, found.unordered) == (3, 0)


def test_decisions_without_a_confidence_are_counted_and_not_covered() -> None:
    found = curve(judged("PASS", "PASS", 0.9), judged("PASS", "FAIL", None))
    assert (found.unordered, found.points[-1].coverage) == (1, 0.5)
    assert risk_coverage([judged("PASS", "PASS", None)], range(1)) is None
    assert risk_coverage([], []) is None


confident = st.lists(
    st.tuples(st.sampled_from(["PASS", "FAIL"]), st.sampled_from(["PASS", "FAIL"]), st.sampled_from([0.5, 0.7, 0.9])),
    min_size=1,
    max_size=20,
)


@given(confident, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(rows: list[tuple[str, str, float]], random: object) -> None:
    items = [judged(*row) for row in rows]
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = curve(*items)
    assert curve(*shuffled) == found
    assert [point.coverage for point in found.points] == sorted(point.coverage for point in found.points)
    assert found.points[-1].accuracy == pytest.approx(sum(gold == said for gold, said, _ in rows) / len(rows))
    assert 0 <= found.aurc <= 1


def test_a_confidence_that_knows_beats_one_that_does_not() -> None:
    rows = [("PASS", "PASS")] * 8 + [("PASS", "FAIL")] * 2
    knowing = curve(*(judged(*row, 1.0 if row[0] == row[1] else 0.5) for row in rows))
    blind = curve(*(judged(*row, 1.0) for row in rows))
    wrong = curve(*(judged(*row, 0.5 if row[0] == row[1] else 1.0) for row in rows))
    assert knowing.aurc < blind.aurc < wrong.aurc


def test_a_calibration_holds_the_curve_and_clusters_it() -> None:
    items = [
        Judged(gold="A", verdict="A" if number % 2 else "B", status="decided", confidence=0.75, cluster=str(number % 3))
        for number in range(9)
    ]
    found = measure_calibration(items).risk_coverage
    assert found is not None
    rate = Rate.over([number % 2 == 1 for number in range(9)], [number % 3 for number in range(9)])
    assert rate is not None
    assert found.points == (RiskPoint(threshold=0.75, n=9, coverage=1.0, accuracy=4 / 9, low=rate.low, high=rate.high),)
