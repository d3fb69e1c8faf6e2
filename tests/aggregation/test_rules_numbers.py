from __future__ import annotations

import statistics

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation import rule

TABLE = [
    ("median", [1, 9, 5], 5),
    ("median", [1, 2], 1.5),
    ("median", [7, None, 9], 8),
    ("mean", [1, 2, 6], 3),
    ("mean", [1, None], 1),
    ("trimmed_mean(0.2)", [0, 5, 6, 7, 100], 6),
    ("trimmed_mean(0.2)", [0, 5, 6, 7], 4.5),
    ("trimmed_mean(0)", [0, 5], 2.5),
    ("trimmed_mean(0.49)", [0, 5, 6, 7, 100], 6),
    ("mode", [7, 7, 8], 7),
]


@pytest.mark.parametrize(("name", "scores", "expected"), TABLE)
def test_the_decision_is_a_score(name: str, scores: list, expected: float) -> None:
    decision = rule(name).decide(sampled(scores))
    assert (decision.status, decision.verdict, decision.center) == ("decided", expected, expected)


def test_a_mode_that_is_tied_abstains() -> None:
    decision = rule("mode").decide(sampled([7, 8, 7.0, 8, 1]))
    assert (decision.status, decision.reason) == ("abstained", "tie between 7, 8 at 2 each")
    assert rule("mode(pass_at=1)").decide(sampled([7, 8])).status == "abstained"


@pytest.mark.parametrize(
    ("name", "scores", "verdict", "center"),
    [
        ("median(pass_at=7)", [6, 7, 9], "PASS", 7),
        ("median(pass_at=7)", [6, 6.9, 9], "FAIL", 6.9),
        ("mean(pass_at=0.3)", [0.1, 0.2, 0.6], "FAIL", 0.3 - 1e-16),
        ("mean(pass_at=1/3)", [0, 0, 1], "FAIL", 1 / 3),
        ("trimmed_mean(0.2, pass_at=6)", [0, 5, 6, 7, 100], "PASS", 6),
        ("mode(pass_at=8)", [7, 7, 8], "FAIL", 7),
    ],
)
def test_a_threshold_turns_the_decision_into_pass_or_fail(name: str, scores: list, verdict: str, center: float) -> None:
    decision = rule(name).decide(sampled(scores))
    assert decision.verdict == verdict
    assert decision.center == pytest.approx(center)


def test_the_reason_gives_the_range() -> None:
    assert rule("median").decide(sampled([3, None, 9])).reason == "2 of 3 samples, from 3 to 9"
    assert rule("median(pass_at=7)").decide(sampled([6, 9])).reason == "7.5; 2 of 2 samples, from 6 to 9"


scores = st.one_of(st.integers(-1000, 1000), st.floats(-1e100, 1e100, allow_nan=False))


@given(st.lists(scores, min_size=1, max_size=12), st.sampled_from(["0.2", "0", "0.1", "1/3", "0.49", "0.25"]))
def test_the_trimmed_mean_is_scipys(values: list[float], share: str) -> None:
    ours = rule(f"trimmed_mean({share})").decide(sampled(values)).verdict
    numerator, _, denominator = share.partition("/")
    theirs = stats.trim_mean([float(v) for v in values], float(numerator) / float(denominator or 1))
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9 * max(abs(v) for v in values) + 1e-300)


@given(st.lists(scores, min_size=1, max_size=12))
def test_median_and_mean_are_the_standard_librarys(values: list[float]) -> None:
    assert rule("median").decide(sampled(values)).verdict == statistics.median(values)
    mean = rule("mean").decide(sampled(values)).verdict
    assert mean == pytest.approx(statistics.mean(values), rel=1e-12, abs=1e-12 * max(abs(v) for v in values) + 1e-300)


@given(st.lists(scores, min_size=1, max_size=12), st.sampled_from(["median", "mean", "trimmed_mean(0.2)", "mode"]))
@example([0.1, 0.1, 0.1], "mean")
@example([1e100, 1e100], "median")
def test_a_score_rule_stays_within_the_range_of_the_scores(values: list[float], name: str) -> None:
    decision = rule(name).decide(sampled(values))
    if decision.status == "decided":
        assert min(values) <= decision.verdict <= max(values)
    else:
        assert name == "mode"
