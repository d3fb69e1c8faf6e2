"""Variance of a rubric's verdicts, against known components and an independent analysis of variance."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from judgeharness_adk import AdkResults
from judgeharness_adk.results.overview import RubricVariance
from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.verdictlog import VerdictRow

METRIC = "rubric_based_final_response_quality_v1"
PARTS = {"model": "m"}


def measured(case: int, run: int, verdicts: Iterable[bool | None], **facts: Any) -> AdkResult:
    """The measurement of one run; None is a sample that failed."""
    invocation = f"e-{case}-{run}"
    words = {True: "PASS", False: "FAIL", None: None}
    rows = [
        VerdictRow(
            case_id=invocation,
            judge=METRIC,
            criterion="polite",
            repetition=place,
            verdict=words[verdict],
            outcome="error" if verdict is None else "ok",
        )
        for place, verdict in enumerate(verdicts)
    ]
    design = Design(perturbations=("none",), repetitions=len(rows), rule=rule("majority"))
    given: dict[str, Any] = {
        "evaluation": "e",
        "app": "app",
        "eval_set_id": "set",
        "eval_id": str(case),
        "turn": 1,
        "run": run,
    }
    return AdkResult(
        result=measure(rows, case_id=invocation, judge=METRIC, design=design, criteria=["polite"]),
        metric=METRIC,
        invocation_id=invocation,
        **{"rubrics": {}, "standing": ("polite",), "parts": PARTS, **given, **facts},
    )


def simulated(
    cases: int, runs: int, samples: int, chance: Callable[[random.Random, int], Sequence[float]]
) -> AdkResults:
    """Samples that pass with the chance of their run; `chance` gives one for each run of a case."""
    rng = random.Random(7)  # noqa: S311 - a simulation
    results = []
    for case in range(cases):
        for run, p in enumerate(chance(rng, runs), start=1):
            results.append(measured(case, run, [rng.random() < p for _ in range(samples)]))
    return AdkResults(tuple(results))


def shifting(rng: random.Random, runs: int) -> list[float]:
    """0.5 give or take 0.2 for the case, give or take 0.15 for each run."""
    case = 0.5 + rng.choice((-0.2, 0.2))
    return [case + rng.choice((-0.15, 0.15)) for _ in range(runs)]


def only(results: AdkResults) -> RubricVariance:
    [variance] = results.variance()
    return variance


@pytest.mark.slow
def test_known_components_are_found() -> None:
    found = only(simulated(600, 3, 5, shifting))
    assert found.between_cases == pytest.approx(0.2**2, abs=0.008)
    assert found.between_runs == pytest.approx(0.15**2, abs=0.008)
    assert found.between_samples == pytest.approx(0.25 - 0.2**2 - 0.15**2, abs=0.008)
    assert (found.cases, found.runs, found.samples) == (600, 1800, 9000)
    assert found.clipped == ()


@pytest.mark.slow
def test_a_steady_agent_has_no_variance_between_runs() -> None:
    found = only(simulated(600, 3, 5, lambda rng, runs: [rng.choice((0.3, 0.7))] * runs))
    assert found.between_runs == pytest.approx(0.0, abs=0.008)
    assert found.between_cases == pytest.approx(0.04, abs=0.008)


@pytest.mark.parametrize("samples", [2, 4])
def test_a_balanced_design_agrees_with_the_mean_squares_of_statsmodels(samples: int) -> None:
    cases, runs = 9, 3
    results = simulated(cases, runs, samples, shifting)
    table = pd.DataFrame(
        [
            {"case": f"c{one.eval_id}", "run": f"r{one.run}", "y": float(row.verdict == "PASS")}
            for one in results
            for row in one.result.rows
        ]
    )
    squares = anova_lm(ols("y ~ C(case) + C(case):C(run)", data=table).fit())["mean_sq"]
    case, run, error = squares["C(case)"], squares["C(case):C(run)"], squares["Residual"]
    found = only(results)
    assert found.between_samples == pytest.approx(error)
    assert found.between_runs == pytest.approx(max(0.0, (run - error) / samples))
    assert found.between_cases == pytest.approx(max(0.0, (case - run) / (samples * runs)))


def test_a_component_below_zero_is_named() -> None:
    results = AdkResults(tuple(measured(case, run, (True, False)) for case in (1, 2) for run in (1, 2)))
    found = only(results)
    assert (found.between_cases, found.between_runs, found.clipped) == (0.0, 0.0, ("runs",))
    assert str(found) == (
        f"{METRIC} · polite: between cases 0.000, runs 0.000, samples 0.500 "
        "(2 cases, 4 runs, 8 samples; negative, set to 0: runs)"
    )
    [*_, line] = [line for line in results.report().splitlines() if line.startswith("  polite ")]
    assert line.split() == ["polite", "2", "4", "8", "0.000", "0.000", "0.500", "runs"]


def test_what_cannot_be_estimated_is_none() -> None:
    pairs = (True, False)
    one_run = only(AdkResults((measured(1, 1, pairs), measured(2, 1, pairs))))
    assert (one_run.between_runs, one_run.between_samples) == (None, 0.5)
    one_case = only(AdkResults((measured(1, 1, pairs), measured(1, 2, pairs))))
    assert (one_case.between_cases, one_case.between_runs) == (None, 0.0)
    single = only(AdkResults((measured(1, 1, [True]), measured(2, 1, [False]))))
    assert (single.between_cases, single.between_runs, single.between_samples) == (None, None, None)


def test_failed_samples_count_nowhere() -> None:
    found = only(AdkResults((measured(1, 1, (True, None, False)), measured(1, 2, (None, None)))))
    assert (found.cases, found.runs, found.samples) == (1, 1, 2)


def test_order_changes_nothing() -> None:
    results = simulated(6, 2, 3, shifting)
    turned, straight = only(results[::-1]), only(results)
    for part in ("between_cases", "between_runs", "between_samples"):
        assert getattr(turned, part) == pytest.approx(getattr(straight, part))
    assert (turned.cases, turned.runs, turned.samples) == (6, 12, 36)


def test_turns_agents_eval_sets_and_evaluations_are_cases_of_their_own() -> None:
    pairs = (True, False)
    facts = ({}, {"turn": 2}, {"app": "other"}, {"eval_set_id": "other"}, {"evaluation": "other"})
    assert only(AdkResults(tuple(measured(1, 1, pairs, **fact) for fact in facts))).cases == 5


@pytest.mark.slow
def test_evaluations_are_never_mixed_into_what_runs_differ_by() -> None:
    """A steady agent that an edit made worse: pooled, the runs of each evaluation still agree."""
    chances = {"before": 0.9, "after": 0.1}
    pooled = [
        replace(one, evaluation=evaluation)
        for evaluation, p in chances.items()
        for one in simulated(200, 3, 5, lambda rng, runs, p=p: [p] * runs)  # type: ignore[misc]
    ]
    found = only(AdkResults(tuple(pooled)))
    assert found.between_runs == pytest.approx(0.0, abs=0.008)
    assert found.between_cases == pytest.approx(0.16, abs=0.008)
    assert (found.cases, found.runs) == (400, 1200)


def test_configurations_are_not_runs_of_one_another() -> None:
    old, new = measured(1, 1, (True, False)), measured(1, 2, (True, False), parts={"model": "n"})
    assert [(one.fingerprint, one.runs) for one in AdkResults((old, new)).variance()] == [
        (old.fingerprint, 1),
        (new.fingerprint, 1),
    ]
    unknown = measured(1, 3, (True, False), parts=None)
    report = AdkResults((old, unknown)).report()
    assert (unknown.fingerprint, "another configuration than above: model changed" in report) == (None, True)


def test_unknown_cases_are_left_out_where_others_are_known() -> None:
    known, unknown = measured(1, 1, (True, False)), measured(2, 1, (True, True), eval_id=None)
    assert only(AdkResults((known, unknown))).cases == 1
    assert only(AdkResults((unknown,))).cases == 1
