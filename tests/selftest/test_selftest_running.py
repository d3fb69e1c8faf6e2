"""The self-test: it finds what misses, and is the same for the same seed."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.statistics.proportions import wilson
from judgeharness_integrations.testing.selftest import IntervalCheck, Point, PowerCheck, SizeCheck, run_selftest
from judgeharness_integrations.testing.selftest.agreement import _standard_error
from judgeharness_integrations.testing.selftest.check import each_distinct, grid, point_text
from judgeharness_integrations.testing.selftest.report import CHECKS, Kind

POINTS = grid(n=(50, 200), rate=(0.5, 0.8))


def interval_check(width: float = 1.0, **options: Any) -> IntervalCheck:
    """Return the check of a normal mean's interval, `width` times as wide as it should be."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Any, Any, float]:
        means = generator.normal(point["rate"], 1 / math.sqrt(point["n"]), size=replicates)
        half = width * 1.96 / math.sqrt(point["n"])
        return means - half, means + half, point["rate"]

    return IntervalCheck(**{"name": f"{width} times", "points": POINTS, "simulate": simulate} | options)


def size_check(level: float = 0.05, **options: Any) -> SizeCheck:
    """Return the check of a test that rejects a true hypothesis with chance `level`."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Any:
        return np.where(generator.random(replicates) < level, 0.01, 0.5)

    return SizeCheck(**{"name": f"rejects {level}", "points": POINTS, "simulate": simulate} | options)


@pytest.mark.parametrize("full", [False, True])
def test_a_right_interval_and_a_right_test_are_ok(full: bool) -> None:  # noqa: FBT001 - a parameter of the test
    report = run_selftest([interval_check(), size_check(0.045)], full=full)
    assert [check.verdict for check in report.checks] == ["ok", "ok"]
    assert report.passed
    assert [len(check.points) for check in report.checks] == [4, 4] if full else [2, 2]
    assert {point.replicates for check in report.checks for point in check.points} == {4000 if full else 400}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (interval_check(0.7), "mean coverage 0.8"),
        (interval_check(2.0), "and it is not declared conservative"),
        (size_check(0.2), "rejects 0."),
    ],
    ids=["too narrow", "too wide", "rejects too often"],
)
def test_what_does_not_keep_its_promise_is_a_miss(full: bool, check: Any, reason: str) -> None:  # noqa: FBT001
    report = run_selftest([check, interval_check()], full=full)
    missed, ok = report.checks
    assert (missed.verdict, ok.verdict) == ("miss", "ok")
    assert reason in missed.reason
    assert not report.passed


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (interval_check(0.92), "mean coverage 0.9"),
        (interval_check(1.15), "and it is not declared conservative"),
        (size_check(0.075), "rejects 0.0"),
    ],
    ids=["too narrow", "too wide", "rejects too often"],
)
def test_what_so_few_replicates_cannot_tell_from_a_miss_is_unclear_and_a_miss_in_full(check: Any, reason: str) -> None:
    report = run_selftest([check])
    [fast] = report.checks
    [full] = run_selftest([check], full=True).checks
    assert (fast.verdict, full.verdict, report.passed) == ("unclear", "miss", True)
    assert reason in fast.reason
    assert fast.reason.endswith(", but so few replicates cannot tell: see --full")


def test_a_single_bad_point_is_a_miss() -> None:
    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Any, Any, float]:
        width = 0.85 if point["n"] == 7 else 1.1
        return interval_check(width).simulate(point, replicates, generator)

    points = (*POINTS, *POINTS, {"n": 7, "rate": 0.5})
    [found] = run_selftest([interval_check(simulate=simulate, points=points)], full=True).checks
    assert found.verdict == "miss"
    assert found.reason.startswith("coverage 0.9")
    assert str(found.worst) == "n=7, rate=0.5"


def test_a_declared_conservative_interval_is_conservative_and_so_is_a_test_that_hardly_rejects() -> None:
    report = run_selftest([interval_check(2.0, conservative=True), size_check(0.01)], full=True)
    assert [check.verdict for check in report.checks] == ["conservative", "conservative"]
    assert report.passed


@pytest.mark.parametrize("kind", ["interval", "size"])
def test_replicates_without_an_answer_are_counted_and_a_point_without_any_is_a_miss(kind: str) -> None:
    def none_below(limit: float) -> Any:
        def intervals(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Any, Any, float]:
            low, high, truth = interval_check().simulate(point, replicates, generator)
            return np.where(np.arange(replicates) < limit * replicates, np.nan, low), high, truth

        def p_values(point: Point, replicates: int, generator: np.random.Generator) -> Any:
            return np.where(np.arange(replicates) < limit * replicates, np.nan, 0.5)

        return interval_check(simulate=intervals) if kind == "interval" else size_check(simulate=p_values)

    [half] = run_selftest([none_below(0.5)]).checks
    assert {point.undefined for point in half.points} == {200}
    assert half.verdict != "miss"
    [none] = run_selftest([none_below(1.0)]).checks
    assert (none.verdict, none.mean, none.worst.rate) == ("miss", None, None)
    assert none.reason == "nothing is defined at n=50, rate=0.5"


def test_the_same_seed_gives_the_same_report_whatever_else_is_checked() -> None:
    both = run_selftest([size_check(), interval_check()], seed=3)
    assert run_selftest([interval_check()], seed=3).checks == both.checks[1:]
    assert run_selftest([size_check(), interval_check()], only=["1.0 TIMES"], seed=3).checks == both.checks[1:]
    assert run_selftest([interval_check()], seed=4).checks != both.checks[1:]


def test_progress_is_told_before_each_point() -> None:
    told: list[str] = []
    run_selftest([interval_check()], progress=told.append)
    assert told == ["1.0 times: n=50, rate=0.5", "1.0 times: n=50, rate=0.8"]


def test_a_check_that_takes_long_takes_fewer_replicates_and_points_in_the_fast_version() -> None:
    [found] = run_selftest([interval_check(fast=1, fast_replicates=100)]).checks
    assert [point.replicates for point in found.points] == [100]


def test_wrong_calls() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown check '1\.1 times': did you mean '1\.0 times'"):
        run_selftest([interval_check()], only=["1.1 times"])
    with pytest.raises(UsageError, match="a seed is a whole number of at least 0, not -1"):
        run_selftest([interval_check()], seed=-1)


def test_a_report_is_json_without_gaps() -> None:
    [check] = run_selftest([interval_check(note="beside")]).to_dict()["checks"]
    assert (check["name"], check["kind"], check["verdict"], check["note"]) == ("1.0 times", "coverage", "ok", "beside")
    assert [point["point"] for point in check["points"]] == list(POINTS[:2])


# What is registered


@pytest.fixture(scope="module")
def fast() -> Any:
    return run_selftest()


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.timeout(600)
def test_the_fast_version_passes(fast: Any) -> None:
    assert [f"{check.name}: {check.reason}" for check in fast.checks if check.verdict == "miss"] == []


@pytest.mark.slow
def test_every_kind_is_in_the_fast_version(fast: Any) -> None:
    assert {check.kind for check in fast.checks} == set(get_args(Kind))


def test_every_check_has_a_name_of_its_own_and_a_place_in_the_fast_version() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(0 <= check.fast <= len(check.points) for check in CHECKS)
    assert {type(check) for check in CHECKS if not check.fast} == {PowerCheck}


def test_simulated_coverage_of_wilson_is_the_enumerated_one() -> None:
    [check] = [check for check in CHECKS if check.name == "rates: Wilson interval"]
    [found] = run_selftest([check], full=True).checks
    for point in found.points:
        n, rate = int(point.point["n"]), point.point["rate"]
        chances = [math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)] if n <= 200 else []
        if chances:
            limits = [wilson(k, n) for k in range(n + 1)]
            exact = sum(chance for chance, one in zip(chances, limits, strict=True) if one and one[0] <= rate <= one[1])
            assert point.rate == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 4000))


def test_an_interval_is_computed_once_for_each_outcome() -> None:
    asked: list[tuple[int, int]] = []

    def interval(one: int, other: int) -> tuple[float, float] | None:
        asked.append((one, other))
        return None if one > 1 else (one, other)

    low, high = each_distinct([np.array([1, 0, 1, 2]), np.array([5, 6, 5, 7])], interval)
    assert sorted(asked) == [(0, 6), (1, 5), (2, 7)]
    assert low[:3].tolist() == [1, 0, 1]
    assert high[:3].tolist() == [5, 6, 5]
    assert np.isnan([low[3], high[3]]).all()


def test_a_grid_is_every_combination_and_a_point_reads_as_text() -> None:
    points = grid(n=(1, 2), rate=(0.5,))
    assert points == ({"n": 1, "rate": 0.5}, {"n": 2, "rate": 0.5})
    assert point_text(points[1]) == "n=2, rate=0.5"


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "check", [one for one in CHECKS if isinstance(one, (IntervalCheck, SizeCheck))], ids=lambda check: check.name
)
def test_every_point_can_be_simulated(check: Any) -> None:
    for point in check.points:
        found = check.simulate(point, 3, np.random.default_rng(0))
        if isinstance(check, SizeCheck):
            assert found.shape == (3,)
            assert ((found >= 0) & (found <= 1) | np.isnan(found)).all()
            continue
        low, high, truth = found
        assert low.shape == high.shape == (3,)
        assert np.isfinite(truth)
        assert ((low <= high) | np.isnan(low)).all()


def test_an_undefined_kappa_has_no_interval() -> None:
    assert _standard_error(5, 0, 0, 0) is None
    assert _standard_error(5, 1, 1, 5) is not None
