"""The worth of being shown first: found where it was planted, none where there is none, refused where it cannot be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from support.drawn_credits import DATA, credits_from

from judgeharness_integrations import read_log
from judgeharness_integrations.analysis.ranking.contrasts import OrderEffect, order_effect
from judgeharness_integrations.analysis.ranking.correctness import Credits, Policy, by_better_first, decisions_of

POINTS = 400 / np.log(10)
Both = tuple[Credits, Credits]


def drawn(seed: int, *, judges: int, pairs: int, effect: float, missing: float = 0.0) -> Both:
    """Draw both orders of every pair; `effect` in logits."""
    generator = np.random.default_rng(seed)
    logits = np.linspace(-0.6, 0.6, judges) - generator.standard_normal((pairs, 1))
    orders = []
    for shift in (effect / 2, -effect / 2):
        values = (generator.random(logits.shape) < special.expit(logits + shift)).astype(float)
        values[generator.random(logits.shape) < missing] = np.nan
        orders.append(credits_from(values))
    return orders[0], orders[1]


def found_in(both: Both) -> OrderEffect:
    found = order_effect(*both)
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("effect", [-1.0, 0.0, 0.3, 1.0])
def test_a_planted_effect_is_recovered(effect: float) -> None:
    found = found_in(drawn(1, judges=20, pairs=4000, effect=effect, missing=0.2))
    assert found.elo == pytest.approx(POINTS * effect, abs=4 * found.se)
    assert found.se < 8
    assert (found.p < 1e-6) == (effect != 0)
    assert found.ci95 == pytest.approx((found.elo - 1.959964 * found.se, found.elo + 1.959964 * found.se))


@pytest.mark.slow
def test_the_effect_spreads_as_its_error_says() -> None:
    found = [found_in(drawn(seed, judges=8, pairs=80, effect=0.4)) for seed in range(150)]
    spread = float(np.std([one.elo for one in found]))
    assert spread == pytest.approx(np.mean([one.se for one in found]), rel=0.15)


def test_ratings_are_those_without_the_effect_and_the_matches_are_counted() -> None:
    both = drawn(2, judges=5, pairs=3000, effect=1.5, missing=0.1)
    found = found_in(both)
    alone = found_in(drawn(2, judges=5, pairs=3000, effect=0.0))
    elo, other = (np.array([one[1] for one in effect.judges]) for effect in (found, alone))
    assert elo.mean() == pytest.approx(1500)
    assert elo == pytest.approx(other, abs=30)
    assert [name for name, _, _ in found.judges] == ["j0", "j1", "j2", "j3", "j4"]
    assert found.pairs <= 3000
    assert found.matches < 2 * 5 * 3000 * 0.93


def test_orders_exchanged_change_the_sign_alone() -> None:
    first, second = drawn(3, judges=6, pairs=120, effect=0.7, missing=0.1)
    found, turned = found_in((first, second)), found_in((second, first))
    assert (turned.elo, turned.se, turned.p) == pytest.approx((-found.elo, found.se, found.p), rel=1e-5)
    for one, other in zip(found.judges, turned.judges, strict=True):
        assert one == (other[0], pytest.approx(other[1]), pytest.approx(other[2]))


def test_where_each_pair_was_shown_in_one_order_alone_the_effect_cannot_be_told_from_difficulty() -> None:
    first, second = drawn(4, judges=5, pairs=60, effect=0.8)
    early = np.arange(60)[:, None] < 30
    once = [
        replace(first, values=np.where(early, first.values, np.nan)),
        replace(second, values=np.where(early, np.nan, second.values)),
    ]
    assert order_effect(*once) is None


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5))
def test_one_judge_prefers_the_first_by_log_up_by_down_as_mcnemar_has_it(up: int, down: int, same: int) -> None:
    first = [[1]] * up + [[0]] * down + [[1]] * same + [[0]] * same
    second = [[0]] * up + [[1]] * down + [[1]] * same + [[0]] * same
    found = found_in((credits_from(first), credits_from(second)))
    pairs = up + down
    assert found.elo == pytest.approx(POINTS * np.log(up / down), abs=1e-6)
    assert found.se == pytest.approx(POINTS * np.sqrt((1 / up + 1 / down) * pairs / (pairs - 1)), rel=1e-6)
    assert (found.pairs, found.matches) == (pairs, 2 * pairs)


def test_ties_that_earn_half_leave_the_effect_unmeasured() -> None:
    assert order_effect(credits_from([[1, 0.5], [0, 1]]), credits_from([[0, 1], [1, 0]])) is None


def test_judges_that_answer_alike_in_both_orders_show_no_effect() -> None:
    first, _ = drawn(5, judges=4, pairs=60, effect=0.0)
    found = found_in((first, first))
    assert found.elo == pytest.approx(0, abs=1e-6)
    assert found.se == pytest.approx(0, abs=1e-6)
    assert found.p == 1
    assert found.judges[0][1] < found.judges[-1][1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[1, 0], [0, 1]], [[None, None], [None, None]]),
        ([[1, 1], [0, 0]], [[1, 1], [0, 0]]),
        ([[1, 0], [1, 0]], [[1, 0], [1, 1]]),
    ],
    ids=["one order", "unanimous", "never beaten"],
)
def test_where_nothing_can_be_compared_there_is_no_effect(first: Any, second: Any) -> None:
    assert order_effect(credits_from(first), credits_from(second)) is None


@pytest.mark.parametrize("judges", [2, 3])
def test_judges_that_follow_the_order_alone_have_no_finite_effect(judges: int) -> None:
    shape = (12, judges)
    assert order_effect(credits_from(np.ones(shape)), credits_from(np.zeros(shape))) is None


def test_judges_always_right_where_the_better_is_first_have_no_finite_effect() -> None:
    second = credits_from([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert order_effect(credits_from(np.ones((4, 3))), second) is None


@pytest.mark.slow
def test_llmbar_judges_prefer_what_is_shown_second_or_first_by_what_their_rows_show() -> None:
    decisions = decisions_of(read_log(DATA / "llmbar.csv.gz"), Policy.of("both_orders"))
    both = by_better_first(decisions, "verdict")
    assert both is not None
    found = found_in(both)
    shares = [np.nanmean(one.values) for one in both]
    assert np.sign(found.elo) == np.sign(shares[0] - shares[1])
    assert found.matches <= sum(int(one.seen.sum()) for one in both)
    kept = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert kept["judges"][0] == dict(zip(("judge", "elo", "se"), found.judges[0], strict=True))
    assert kept["ci95"] == list(found.ci95)


@pytest.mark.slow
def test_few_judges_do_not_inflate_the_effect() -> None:
    found = [found_in(drawn(seed, judges=2, pairs=80, effect=0.8)) for seed in range(120)]
    mean, error = np.mean([one.elo for one in found]), np.std([one.elo for one in found]) / np.sqrt(len(found))
    assert mean == pytest.approx(POINTS * 0.8, abs=3 * error)
    assert mean < POINTS * 0.8 * 4 / 3 - 3 * error  # what joint estimation would bring it to
    covered = np.mean([one.ci95[0] <= POINTS * 0.8 <= one.ci95[1] for one in found])
    assert covered > 0.9


def test_one_pair_shows_no_effect_where_its_judges_cancel_out() -> None:
    found = found_in((credits_from([[1, 0]]), credits_from([[0, 1]])))
    assert (found.pairs, found.matches, found.p) == (1, 4, 1)
    assert found.elo == pytest.approx(0)
