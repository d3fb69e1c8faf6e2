"""Where the variance is: crossed components by moments, and the best split of calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judgeharness_integrations.analysis.planning import GStudy, gstudy
from judgeharness_integrations.verdictlog import VerdictRow, read_log

LLMBAR = Path(__file__).parent.parent / "data" / "llmbar.csv.gz"
PLANTED = {"case": 1.0, "prompt": 0.3, "order": 0.2, "case x prompt": 0.5, "case x order": 0.25, "prompt x order": 0.1}


def scores(
    rng: np.random.Generator, *, cases: int = 60, prompts: int = 12, orders: int = 2, samples: int = 2
) -> list[VerdictRow]:
    """A crossed log of scores with planted effects; orders are few, so that theirs are only roughly found."""
    shape = {"case": cases, "prompt": prompts, "order": orders}

    def effect(source: str) -> np.ndarray:
        sizes = [size if facet in source.split(" x ") else 1 for facet, size in shape.items()]
        return rng.normal(0, np.sqrt(PLANTED[source]), size=sizes)

    mean = sum(effect(source) for source in PLANTED)
    values = mean[..., None] + rng.normal(0, 1.0, size=(cases, prompts, orders, samples))
    return [
        VerdictRow(
            case_id=f"c{case}",
            perturbation=f"p{prompt}" + ("+position_swap" if order else ""),
            swapped=bool(order),
            repetition=sample,
            verdict=float(values[case, prompt, order, sample]),
        )
        for case, prompt, order, sample in np.ndindex(*values.shape)
    ]


def parts(found: GStudy | None) -> dict[str, float]:
    assert found is not None
    return {part.source: part.variance for part in found.parts}


@pytest.mark.slow
def test_planted_components_are_found_on_average() -> None:
    rng = np.random.default_rng(5)
    found = [parts(gstudy(scores(rng, cases=30, prompts=6))) for _ in range(12)]
    means = {source: float(np.mean([one[source] for one in found])) for source in found[0]}
    assert means["case"] == pytest.approx(1.0, rel=0.25)
    assert means["case x prompt"] == pytest.approx(0.5, rel=0.15)
    assert means["case x order"] == pytest.approx(0.25, rel=0.3)
    assert means["sampling"] == pytest.approx(1.0, rel=0.05)
    assert means["prompt"] == pytest.approx(0.3, rel=0.6)
    assert means["case x prompt x order"] < 0.05


@pytest.mark.slow
def test_missing_cells_leave_the_estimates_where_they_are() -> None:
    rng = np.random.default_rng(6)
    rows = scores(rng)
    whole, kept = gstudy(rows), gstudy([row for row in rows if rng.random() < 0.7])
    for source, variance in parts(whole).items():
        assert parts(kept)[source] == pytest.approx(variance, abs=0.12)


def test_balanced_components_are_those_of_the_mean_squares() -> None:
    rng = np.random.default_rng(7)
    rows = scores(rng, cases=9, prompts=4, orders=1, samples=1)
    values = np.array([float(row.verdict) for row in rows]).reshape(9, 4)  # type: ignore[arg-type]
    residual = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    inside = (residual**2).sum() / (8 * 3)
    found = parts(gstudy(rows))
    assert found["sampling"] == pytest.approx(inside)
    assert found["case"] == pytest.approx(max(0.0, values.mean(1).var(ddof=1) - inside / 4))
    assert found["prompt"] == pytest.approx(max(0.0, values.mean(0).var(ddof=1) - inside / 9))


@pytest.mark.slow
def test_a_real_judge_varies_by_case_and_by_case_and_prompt() -> None:
    rows = [row for row in read_log(LLMBAR) if row.judge.startswith("GPT-4/")]
    found = gstudy(rows, positive="A")
    assert found is not None
    assert (found.of, found.levels) == ("right", {"case": 419, "prompt": 15, "order": 2, "sampling": 1})
    shares = {part.source: 100 * (part.share or 0.0) for part in found.parts}
    expected = {"case": 53, "case x prompt": 11, "case x order": 3, "prompt": 0.7, "sampling": 33}
    assert {name: shares[name] for name in expected} == pytest.approx(expected, abs=0.5)
    prompts = found.variance_of_mean(cases=200, prompts=2, orders=1, repetitions=1)
    orders = found.variance_of_mean(cases=200, prompts=1, orders=2, repetitions=1)
    assert prompts < 0.8 * orders
    best = found.best_split(400)
    assert best is not None
    assert (best.cases, best.prompts, best.orders, best.repetitions) == (200, 2, 1, 1)
    assert best.alone is not None
    assert best.error == pytest.approx(prompts**0.5)
    assert best.error < best.alone
    unlabelled = gstudy([replace(row, gold=None) for row in rows[:2000]], positive="A")
    assert unlabelled is not None
    assert unlabelled.of == "share of A"


def test_what_cannot_be_told_apart_is_said() -> None:
    rows = [
        row
        for row in scores(np.random.default_rng(8), prompts=2, samples=2)
        if row.swapped == ("p1" in row.perturbation)
    ]
    found = gstudy(rows)
    assert found is not None
    assert found.notes[0] == "order cannot be told from the others in this log"
    assert "prompt" in parts(found)
    assert "order" not in parts(found)


def test_without_repeats_there_is_no_table() -> None:
    assert gstudy([]) is None
    assert gstudy([VerdictRow(case_id=f"c{n}", verdict=n) for n in range(5)]) is None
    assert gstudy([VerdictRow(case_id="c", verdict=n, repetition=n) for n in range(5)]) is None
    flat = gstudy(
        [VerdictRow(case_id=f"c{n}", verdict="A", repetition=r) for n in range(3) for r in range(2)], positive="A"
    )
    assert flat is not None
    assert {part.share for part in flat.parts} == {None}
    assert flat.best_split(1) is None


def test_cases_at_hand_leave_calls_for_the_rest() -> None:
    found = gstudy(scores(np.random.default_rng(9)))
    assert found is not None
    best = found.best_split(1000, cases=50)
    assert best is not None
    assert best.cases <= 50
    assert best.prompts > 1
    assert best.calls <= 1000
    assert found.best_split(10, cases=50) is not None
    two = GStudy(of="score", samples=4, levels={"case": 2, "prompt": 1, "order": 1, "sampling": 2}, parts=found.parts)
    one = two.best_split(4, cases=4)
    assert one is not None
    assert (one.prompts, one.orders) == (1, 1)
