"""Samples that change places: every split, against a brute-force permutation of rows."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.comparisons import a_run, rows_of

from judgeharness_integrations.analysis.aggregation.rules import Rule, decide, rule
from judgeharness_integrations.analysis.comparison.comparing import compare
from judgeharness_integrations.analysis.comparison.pairing import (
    CaseOutcomes,
    CaseSamples,
    JudgePair,
    Pair,
    Side,
    State,
    exchangeable,
    flipped,
    null_distribution,
    paired_criteria,
)
from judgeharness_integrations.analysis.comparison.splits import (
    CountSplits,
    NoiseTest,
    RowSplits,
    ScoreSplits,
    affordable,
    noise_test,
)
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log

SAME = JudgePair(before="judge", after="judge")
P, F = "PASS", "FAIL"


def pairs_of(before: RunReport, after: RunReport) -> tuple[Pair, ...]:
    return next(iter(paired_criteria(before, after, SAME))).pairs


def samples_of(before: Any, after: Any, rule: Any = "majority") -> CaseSamples:
    return exchangeable(pairs_of(a_run({"c": before}, rule), a_run({"c": after}, rule))).cases[0]


def noise_of(before: RunReport, after: RunReport, **options: Any) -> NoiseTest:
    return noise_test(pairs_of(before, after), **{"tolerance": None, "seed": 0, "permutations": 2000} | options)


def brute_force(case: CaseSamples, tolerance: float | None) -> tuple[float, float]:
    """The share of all ways to change places that flip, and of those at least as far apart as what was observed."""

    def outcome(parts: list[tuple[list[Any], list[Any]]]) -> tuple[bool, float]:
        states = []
        for place, side in enumerate(case.sides):
            rows = [row for part in parts for row in part[place]] + list(case.fixed[place])
            decision = decide(rows, side.rule, planned=side.planned, min_valid=side.min_valid)
            states.append(State(decision.status, decision.verdict))
        return flipped(*states, tolerance), sum(distance(*part, numeric=tolerance is not None) for part in parts)

    def splits(stratum: Any) -> list[tuple[list[Any], list[Any]]]:
        rows = [*stratum[0], *stratum[1]]
        return [
            ([rows[i] for i in chosen], [row for i, row in enumerate(rows) if i not in chosen])
            for chosen in itertools.combinations(range(len(rows)), len(stratum[0]))
        ]

    seen = outcome([(list(before), list(after)) for before, after in case.strata])[1]
    found = [outcome(list(parts)) for parts in itertools.product(*map(splits, case.strata))]
    return (
        sum(flip for flip, _ in found) / len(found),
        sum(flip and far >= seen - 1e-9 for flip, far in found) / len(found),
    )


def distance(before: list[Any], after: list[Any], *, numeric: bool) -> float:
    if numeric:
        first, second = ([row.verdict for row in rows if row.verdict is not None] for rows in (before, after))
        n, m = len(first), len(second)
        return n * m / (n + m) * (np.mean(first) - np.mean(second)) ** 2 if n and m else 0.0
    n, m = len(before), len(after)
    first, second = (Counter(row.verdict for row in rows) for rows in (before, after))
    return n * m / (n + m) * sum((first[v] / n - second[v] / m) ** 2 for v in first | second)


def agrees(found: CaseOutcomes, case: CaseSamples, tolerance: float | None) -> None:
    share, extreme = brute_force(case, tolerance)
    assert found.chances is not None
    assert float(found.chances.sum()) == pytest.approx(1)
    assert float(found.chances[found.flips].sum()) == pytest.approx(share)
    if found.flipped:
        assert found.p == pytest.approx(extreme)


answers = st.sampled_from(["A", "B", "TIE", None])
three = st.lists(answers, min_size=2, max_size=3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "rule", ["majority", "strict_majority", "supermajority(2/3)", "abstain_on_disagreement", "majority | median"]
)
@settings(max_examples=12)
@given(before=three, after=three)
def test_labels_are_split_as_rows_are(rule: str, before: list[Any], after: list[Any]) -> None:
    case = samples_of(before, after, rule)
    agrees(CountSplits(tolerance=None, permutations=9, random=np.random.default_rng(0)).outcomes(case), case, None)


@pytest.mark.parametrize("rule", ["swap_consensus", "net_preference"])
@settings(max_examples=12)
@given(both=st.lists(st.tuples(answers, answers), min_size=4, max_size=4))
def test_pairs_change_places_within_their_order(rule: str, both: list[tuple[Any, Any]]) -> None:
    first, second = (tuple(map(list, zip(*half, strict=True))) for half in (both[:2], both[2:]))
    case = samples_of(first, second, rule)
    assert len(case.strata) == 2
    agrees(CountSplits(tolerance=None, permutations=9, random=np.random.default_rng(0)).outcomes(case), case, None)


scores = st.lists(st.sampled_from([1, 2.5, 3, 4, 9, None]), min_size=2, max_size=4).filter(any)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rule", ["median", "mean", "trimmed_mean(0.3)", "median(pass_at=3)", "mean(pass_at=2.5)"])
@settings(max_examples=12)
@given(before=scores, after=scores)
def test_scores_are_split_as_rows_are(rule: str, before: list[Any], after: list[Any]) -> None:
    case = samples_of(before, after, rule)
    found = ScoreSplits(tolerance=1.0, permutations=9, random=np.random.default_rng(0)).outcomes(case)
    agrees(found, case, 1.0)


@settings(max_examples=12)
@given(before=scores, after=scores)
def test_modes_of_scores_are_counted(before: list[Any], after: list[Any]) -> None:
    case = samples_of(before, after, "mode")
    found = CountSplits(tolerance=1.0, permutations=9, random=np.random.default_rng(0)).outcomes(case)
    states = [
        decide(part, side.rule, planned=side.planned) for part, side in zip(case.strata[0], case.sides, strict=True)
    ]
    assert found.flipped is flipped(*(State(s.status, s.verdict) for s in states), 1.0)
    assert float(found.chances[found.flips].sum()) == pytest.approx(brute_force(case, 1.0)[0])


@pytest.mark.slow
def test_a_case_with_many_splits_is_permuted() -> None:
    many = [["A"] * 5 + ["B"] * 5 + ["C"] * 6, ["A"] * 6 + ["D"] * 6 + ["E"] * 2 + ["F"] * 2]
    case = samples_of(*many)
    drawn = CountSplits(tolerance=None, permutations=1500, random=np.random.default_rng(1)).outcomes(case)
    assert drawn.chances is None
    by_row = RowSplits(tolerance=None, permutations=500, random=np.random.default_rng(2)).outcomes(case)
    assert drawn.flips.mean() == pytest.approx(by_row.flips.mean(), abs=0.08)
    assert drawn.distances.mean() == pytest.approx(by_row.distances.mean(), rel=0.1)
    assert (drawn.flipped, drawn.distance) == (by_row.flipped, pytest.approx(by_row.distance))
    numbers = [[1.0, 2, 3, 4, 5, 6, 7], [2.0, 3, 4, 5, 6, 7, 9.5]]
    case = samples_of(*numbers, "median")
    scored = ScoreSplits(tolerance=1.0, permutations=2000, random=np.random.default_rng(1)).outcomes(case)
    by_row = RowSplits(tolerance=1.0, permutations=500, random=np.random.default_rng(2)).outcomes(case)
    assert scored.chances is None
    assert scored.flips.mean() == pytest.approx(by_row.flips.mean(), abs=0.08)
    assert 0 < scored.p <= 1


def test_what_one_run_did_not_ask_stays_where_it_is() -> None:
    wide = run_report(
        results_of_log([*rows_of("c", [P, P]), *rows_of("c", [F, F, F], perturbation="format_change")], "majority")
    )
    case = exchangeable(pairs_of(wide, a_run({"c": [P, F]}))).cases[0]
    assert [len(side) for side in case.fixed] == [3, 0]
    agrees(CountSplits(tolerance=None, permutations=9, random=np.random.default_rng(0)).outcomes(case), case, None)


def test_a_sure_judge_that_is_now_sure_of_the_contrary_is_found_where_counting_flips_sees_nothing() -> None:
    before = a_run({f"c{i}": [P, P, P] for i in range(6)})
    after = a_run({f"c{i}": [F, F, F] for i in range(6)})
    found = noise_of(before, after)
    assert (found.observed, found.expected, found.low, found.high) == (6, 6.0, 6, 6)
    assert found.p_count == 1.0
    assert found.p < 0.01
    assert set(found.p_of_case.values()) == {0.1}


def test_flips_of_an_undecided_judge_are_noise() -> None:
    before = a_run({f"c{i}": [P, P, F] if i % 2 else [P, F, F] for i in range(40)})
    after = a_run({f"c{i}": [P, P, F] if i % 3 else [P, F, F] for i in range(40)})
    found = noise_of(before, after)
    assert found.observed > 5
    assert found.p > 0.5
    assert found.low <= found.observed <= found.high or found.observed < found.low


def test_null_distributions_of_many_outcomes_are_drawn_one_by_one() -> None:
    random = np.random.default_rng(0)
    flips = np.arange(50) % 2 == 0
    case = CaseOutcomes(
        case_id="c",
        flips=flips,
        distances=random.random(50),
        chances=np.full(50, 0.02),
        flipped=True,
        distance=0.5,
    )
    null = null_distribution([case], seed=0, permutations=4000)
    assert null.flips.mean() == pytest.approx(0.5, abs=0.05)
    assert null.evidence.mean() == pytest.approx(case.distances[flips].sum() / 50, abs=0.02)
    draws = replace(case, chances=None)
    assert np.array_equal(null_distribution([draws], seed=0, permutations=50).flips, flips)
    assert draws.p == pytest.approx((1 + np.sum(flips & (case.distances >= 0.5))) / 51)


def first_row(rows: Any) -> Any:
    return next((row.verdict for row in rows if row.verdict is not None), None)


def test_a_rule_of_the_callers_own_is_called_for_every_permutation() -> None:
    own = Rule("first_row", first_row)
    before, after = ({f"c{i}": [P, P, P, F] for i in range(9)}, {f"c{i}": [F, F, F, P] for i in range(9)})
    found = noise_of(a_run(before, own), a_run(after, own), permutations=300)
    assert found.permutations == 300
    assert found.observed == 9
    assert found.expected == pytest.approx(9 * 4 / 7, abs=0.8)
    assert affordable(10, 2000) == 2000
    assert affordable(500, 2000) == 400
    assert affordable(100_000, 2000) == 199


def test_the_order_of_cases_and_of_runs_changes_no_p_value() -> None:
    random = np.random.default_rng(4)
    cases = {f"c{i}": [P if x else F for x in random.random(3) < 0.7] for i in range(30)}
    others = {f"c{i}": [P if x else F for x in random.random(3) < 0.5] for i in range(30)}
    there = noise_of(a_run(cases), a_run(others))
    assert noise_of(a_run(dict(reversed(cases.items()))), a_run(others)) == there
    back = noise_of(a_run(others), a_run(cases))
    assert (back.p, back.p_count, back.expected) == (there.p, there.p_count, pytest.approx(there.expected))
    assert noise_of(a_run(cases), a_run(others), seed=1).p == pytest.approx(there.p, abs=0.05)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("single", "ask at least twice"),
        ("stopped", "sampling stopped early"),
        ("copied", "nothing was asked twice"),
        ("collapsed", "copies of one another"),
    ],
)
def test_where_the_noise_cannot_be_told_there_is_a_reason(case: str, reason: str) -> None:
    common: dict[str, Any] = {}
    samples = [P] if case == "single" else [P, P]
    if case == "stopped":
        common = {"attributes": {"planned_samples": 2}}
    if case == "collapsed":
        common = {"raw": "x" * 300}
    before = a_run({"c": samples, "d": samples}, **common)
    if case == "copied":
        common = {"attributes": {"reused_from": "first"}}
        before = run_report(results_of_log([r for c in "cd" for r in rows_of(c, samples, run="first")], "majority"))
    found = noise_of(before, a_run({"c": samples, "d": samples}, **common))
    assert (found.p, found.observed, found.cases) == (None, None, 0)
    assert reason in found.reason
    assert (found.copied, found.collapsed) == (2 * (case == "copied"), 2 * (case == "collapsed"))


def test_answers_that_two_runs_took_over_from_a_third_are_copies_and_others_are_not() -> None:
    third = {"attributes": {"reused_from": "third"}}
    assert exchangeable(pairs_of(a_run({"c": [P, P]}, **third), a_run({"c": [P, P]}, **third))).copied == 1
    assert exchangeable(pairs_of(a_run({"c": [P, P]}, **third), a_run({"c": [P, P]}))).copied == 0


def test_one_sample_in_each_of_two_orders_can_change_places() -> None:
    before, after = ({f"c{i}": one for i in range(12)} for one in ((["A"], ["A"]), (["B"], ["B"])))
    found = noise_of(a_run(before, "swap_consensus"), a_run(after, "swap_consensus"))
    assert (found.cases, found.observed, found.expected) == (12, 12, 6.0)
    assert found.p < 0.01


def test_not_enough_valid_samples_are_not_graded_in_splits_too() -> None:
    rule = samples_of([1, 2], [1, 2], "median").sides[0].rule
    case = samples_of([1, None, None, 4], [2, 3, 5, None], "median")
    short = replace(case, sides=(Side(rule, 9, None), Side(rule, 4, None)))
    found = ScoreSplits(tolerance=1.0, permutations=9, random=np.random.default_rng(0)).outcomes(short)
    agrees(found, short, 1.0)


def test_the_test_is_part_of_a_comparison() -> None:
    before = a_run({f"c{i}": [P, P, P, P] if i % 2 else [F, F, F, F] for i in range(20)})
    after = a_run({f"c{i}": [F, F, F, F] if i % 2 else [P, P, P, P] for i in range(20)})
    one = compare(before, after).criteria[0]
    assert one.answer == "flips more than noise"
    assert one.main.difference == 0.0
    assert "flips" in one.answer
    assert "no net change" in one.reason
    assert len(one.flips) == 20
    assert [flip.p for flip in one.flips] == pytest.approx([2 / 70] * 20)


def test_rules_of_probabilities_read_more_than_verdicts() -> None:
    for name, reads in (("mean_probability(0.6)", True), ("majority", False), ("majority | expected_score", True)):
        assert Side(rule=rule(name), planned=1, min_valid=None).reads_rows is reads
