"""What early stopping is expected to take, against every order in which a pilot's samples may come."""

from __future__ import annotations

import statistics
from itertools import permutations
from math import comb
from typing import Any

import pytest

from judgeharness_integrations.analysis.aggregation import needed, rule
from judgeharness_integrations.analysis.planning.grid import EarlyStopping, early_stopping
from judgeharness_integrations.verdictlog.row import VerdictRow

ORDERS = (("none", False), ("position_swap", True))
CASES = [("AAA", "AAA"), ("AAB", "AAA"), ("ABT", "BBA"), (("A", "A", None), "ABB")]


def case(shown: Any, swapped: Any) -> list[VerdictRow]:
    return [
        VerdictRow(
            case_id="c",
            verdict=verdict,
            outcome="ok" if verdict else "error",
            perturbation=name,
            repetition=number,
            swapped=swaps,
        )
        for (name, swaps), verdicts in zip(ORDERS, (shown, swapped), strict=True)
        for number, verdict in enumerate(verdicts)
    ]


SAMPLES = [name for name in ORDERS for _ in range(3)]


def taken(rows: list[VerdictRow], name: str) -> int:
    count = 0
    while more := needed(rows[:count], rule(name), remaining=[row.swapped for row in rows[count:]]):
        count += more
    return count


def every_order(rows: list[VerdictRow], name: str) -> float:
    """Return the mean over all orders of the samples of each perturbation and, in turns, over which of them begins."""
    counts = []
    for one in permutations(rows[:3]):
        for other in permutations(rows[3:]):
            turns = [zip(one, other, strict=True), zip(other, one, strict=True)]
            asked = [[row for pair in pairs for row in pair] for pairs in turns]
            counts += [taken(order, name) for order in (asked if name == "swap_consensus" else [[*one, *other]])]
    return statistics.fmean(counts)


@pytest.mark.parametrize("name", ["swap_consensus", "net_preference", "majority"])
@pytest.mark.parametrize(("shown", "swapped"), CASES)
def test_the_expected_number_is_the_mean_over_every_order_of_the_samples(name: str, shown: Any, swapped: Any) -> None:
    if name == "net_preference":
        shown = [None if verdict == "T" else verdict for verdict in shown]
    rows = case(shown, swapped)
    found = early_stopping(rule(name), SAMPLES, cases=[rows])
    assert found is not None
    assert found.expected == pytest.approx(every_order(rows, name))


def test_a_steady_judge_takes_four_of_six_samples_and_saves_a_third() -> None:
    found = early_stopping(rule("swap_consensus"), SAMPLES, cases=[case("AAA", "AAA"), case("BBB", "BBB")])
    assert found == EarlyStopping(planned=6, steady=4, expected=4.0, cases=2)
    assert found.saved == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("name", "steadiness", "saved"),
    [
        ("swap_consensus", 0.95, 0.287),
        ("swap_consensus", 0.7, 0.153),
        ("net_preference", 0.95, 0.299),
        ("net_preference", 0.7, 0.135),
        ("supermajority(2/3)", 0.7, 0.135),
    ],
)
def test_what_is_saved_of_judges_who_waver_is_what_the_page_about_runs_says(
    name: str, steadiness: float, saved: float
) -> None:
    expected = 0.0
    for shown in range(4):
        for swapped in range(4):
            rows = case("A" * shown + "B" * (3 - shown), "A" * swapped + "B" * (3 - swapped))
            found = early_stopping(rule(name), SAMPLES, cases=[rows])
            agreeing = shown + swapped
            chance = comb(3, shown) * comb(3, swapped) * steadiness**agreeing * (1 - steadiness) ** (6 - agreeing)
            expected += chance * ((found and found.expected) or 0)
    assert 1 - expected / 6 == pytest.approx(saved, abs=5e-4)


def test_cases_of_other_samples_count_for_nothing() -> None:
    found = early_stopping(rule("swap_consensus"), SAMPLES, cases=[case("AAA", "AAA"), case("AA", "AA")])
    assert (found and found.cases) == 1


def test_without_a_pilot_nothing_is_expected() -> None:
    found = early_stopping(rule("median"), SAMPLES)
    assert found == EarlyStopping(planned=6, steady=4)
    assert found.saved is None


@pytest.mark.parametrize(("name", "samples"), [("mean", SAMPLES), ("majority", [])])
def test_a_rule_that_cannot_stop_and_no_samples_have_no_expectation(name: str, samples: list[tuple[str, bool]]) -> None:
    assert early_stopping(rule(name), samples) is None
