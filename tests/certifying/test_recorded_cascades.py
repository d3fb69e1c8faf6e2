"""Cascades on recorded judges: PaLM 2 and then GPT-4 on LLMBar, their votes over prompts and orders as sureness."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.certified import Bools, Floats, family_cases, family_rows
from support.recorded_turns import Turns, drawn_labels, turns

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying.cascade import cascade_log, certify_cascade
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted
from judgeharness_integrations.verdictlog import VerdictRow

DELTA, LABELS, STUDIES = 0.1, 400, 2000
CHEAP_CALLS = 16  # of PaLM 2: eight prompts in both orders
Steps = tuple[tuple[Floats, Bools], ...]


@cache
def recorded(strong_prompts: int, *, natural: bool = False) -> Steps:
    """PaLM 2 under eight prompts, then GPT-4: one call of it where it is asked with no prompt in both orders."""
    cheap = family_cases("PaLM2", 8)
    strong = family_cases("GPT-4", max(strong_prompts, 1), swapped=strong_prompts > 0)
    kept = np.array(["Natural" in str(row.attributes["subset"]) for row in _firsts()]) | (not natural)
    return tuple((scores[kept], wrong[kept]) for scores, wrong in (cheap, strong))


def _firsts() -> list[VerdictRow]:
    return list({row.case_id: row for row in family_rows("PaLM2", 8)}.values())


def studied(steps: Steps, agreement: float, *, seed: int = 1) -> Turns:
    labels = drawn_labels(len(steps[0][0]), len(steps), LABELS, number=STUDIES, seed=seed)
    return turns(steps, labels, agreement=agreement, delta=DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [0.7, 0.75, 0.8, 0.85, 0.9])
@pytest.mark.parametrize("strong_prompts", [0, 1, 3, 15])
def test_decisions_disagree_more_often_than_promised_in_at_most_delta_of_the_studies(
    agreement: float, strong_prompts: int
) -> None:
    assert studied(recorded(strong_prompts), agreement).violating(agreement) <= DELTA


@pytest.mark.slow
def test_the_naive_reading_of_the_same_labels_breaks_its_promise_far_more_often() -> None:
    """Without it the test above could pass because nothing is ever decided."""
    steps = recorded(15)
    found = studied(steps, 0.9)
    assert found.granted[:, 1].mean() > 0.8
    assert found.coverage > 0.6
    scores, wrong = steps[1]
    labels = drawn_labels(len(scores), 1, LABELS, number=STUDIES, seed=1)[:, 0]
    grid = np.unique(scores[scores >= 0])
    accepted = scores >= grid[:, None]
    shares = (labels @ (accepted & wrong).T) / np.maximum(labels @ accepted.T, 1)
    lowest = np.argmax(shares <= 0.1, axis=1)
    risk = (accepted & wrong).sum(1) / accepted.sum(1)
    assert np.mean(risk[lowest] > 0.1) > 2 * DELTA


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [0.7, 0.8, 0.9])
def test_a_judge_that_is_right_half_of_the_time_is_refused(agreement: float) -> None:
    votes = np.random.default_rng(7).binomial(CHEAP_CALLS, 0.5, len(recorded(1)[0][0]))
    right = votes / CHEAP_CALLS
    halving = np.where(votes * 2 == CHEAP_CALLS, -1.0, np.maximum(right, 1 - right)), right < 0.5
    found = studied((halving, recorded(15)[1]), agreement)
    assert found.granted[:, 0].mean() <= DELTA / 2
    assert found.violating(agreement) <= DELTA


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agreement", "natural", "ratio", "strong_calls", "most"),
    [
        (0.7, False, 1 / 100, 1, 0.6),
        (0.7, False, 1 / 20, 1, 1.05),
        (0.85, True, 1 / 100, 1, 0.3),
        (0.85, True, 1 / 20, 1, 1.0),
        (0.9, True, 1 / 100, 2, 1.0),
    ],
)
def test_a_decision_costs_about_one_call_of_the_strong_judge_at_most(
    agreement: float, *, natural: bool, ratio: float, strong_calls: int, most: float
) -> None:
    found = studied(recorded(strong_calls - 1, natural=natural), agreement)
    alone = studied(recorded(strong_calls - 1, natural=natural)[1:], agreement)
    price = found.price(CHEAP_CALLS * ratio, strong_calls)
    print(  # noqa: T201 - what was measured
        f"{'Natural' if natural else 'all'}, agreement {agreement}, a cheap call costs {ratio:.2f}: a decision costs "
        f"{price:.2f} calls of the strong judge at coverage {found.coverage:.2f}; the strong one alone "
        f"{alone.price(strong_calls):.2f} at {alone.coverage:.2f}"
    )
    assert found.violating(agreement) <= DELTA
    assert price <= most


@pytest.mark.slow
def test_the_studies_certify_what_the_command_certifies() -> None:
    judges = {"palm2": family_rows("PaLM2", 8), "gpt-4": family_rows("GPT-4", 1)}
    rows = [row for mine in judges.values() for row in mine]
    steps = [(name, rule("majority")) for name in judges]
    wanted, where = Wanted(agreement=0.7, delta=DELTA), Labels(name="llmbar")
    both = {"criterion": "verdict", "measured_at": "2026-11-01T00:00:00+00:00"}
    cascade = certify_cascade(rows, steps, wanted, where, **both)
    report = cascade_log(rows, cascade)
    names = list(dict.fromkeys(row.case_id for row in judges["palm2"]))
    dealt = np.zeros((1, 2, len(names)), np.int64)
    for place, step in enumerate(cascade.steps):
        assert step.certificate.selections[0].refusal is None
        scores, _ = recorded(1)[place]
        threshold = step.certificate.selections[0].threshold
        assert threshold in scores
    parts = _parts(rows, names)
    dealt[0, parts, np.arange(len(names))] = 1
    found = turns(recorded(1), dealt, agreement=0.7, delta=DELTA)
    assert found.granted.all()
    assert abs(int(found.decided[0]) - report.decided) <= 0.05 * len(names)


def _parts(rows: list[VerdictRow], names: list[str]) -> list[int]:
    from judgeharness_integrations.analysis.certifying.cascade import _dealt

    dealt = _dealt([replace(row) for row in rows], 2, 0)
    return [dealt[name] for name in names]
