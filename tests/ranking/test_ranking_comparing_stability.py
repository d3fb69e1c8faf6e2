from __future__ import annotations

import json

import numpy as np
import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking import firmness as room
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.firmness import FRACTIONS, StabilityPoint, stability


def planted(judges: int, pairs: int, *, seed: int = 0, spread: float = 2.0) -> Credits:
    """Credits of judges of rising ability on pairs of random difficulty."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(-spread / 2, spread / 2, judges)
    chance = 1 / (1 + np.exp(rng.normal(0, 1, pairs)[:, None] - ability))
    return Credits(
        judges=tuple(f"j{place}" for place in range(judges)),
        pairs=tuple(f"p{place}" for place in range(pairs)),
        values=(rng.random((pairs, judges)) < chance).astype(float),
        columns={"domain": tuple(("law", "tax")[place % 2] for place in range(pairs))},
    )


def numbers(point: StabilityPoint) -> set[float | None]:
    plain = point.to_dict()
    return {value for name, value in plain.items() if name.startswith(("spearman", "kendall", "top"))}


@pytest.mark.parametrize("method", ["bradley-terry", "conditional", "eip"])
def test_all_matches_give_the_whole_ranking(method: str) -> None:
    (point,) = stability(planted(6, 60), method=method, fractions=(1.0,), draws=3)
    assert (point.method, point.draws, point.unrated, point.placed) == (method, 3, 0, 0)
    assert numbers(point) == {1.0}


@pytest.mark.slow
def test_many_judges_are_not_conditioned_draw_by_draw() -> None:
    options = {"fractions": (0.5,), "draws": 2}
    for judges, used in ((20, "conditional"), (21, "bradley-terry")):
        matrix = planted(judges, 60)
        (point,) = stability(matrix, method="conditional", **options)
        assert point.method == used
        assert (point,) == stability(matrix, method=used, **options)


@pytest.mark.slow
def test_more_matches_are_nearer_to_the_whole() -> None:
    points = stability(planted(12, 300, spread=1.0), method="bradley-terry", fractions=(0.1, 0.5, 0.9), draws=12)
    means = [point.spearman for point in points]
    assert means == sorted(means)
    assert means[0] < 0.9 < means[-1]
    for point in points:
        assert point.spearman_low <= point.spearman <= point.spearman_high
        assert point.kendall_low <= point.kendall <= point.kendall_high
        assert point.kendall < point.spearman
        assert 0 < point.top5 <= 1


def test_default_fractions_are_tenths() -> None:
    points = stability(planted(4, 60), method="bradley-terry", draws=1)
    assert tuple(point.fraction for point in points) == FRACTIONS == tuple(tenth / 10 for tenth in range(1, 10))


def test_seed_decides_the_draws() -> None:
    matrix = planted(8, 80)

    def one(seed: int) -> tuple[StabilityPoint, ...]:
        return stability(matrix, method="bradley-terry", fractions=(0.3,), draws=4, seed=seed)

    assert one(1) == one(1) != one(2)


def test_groups_follow_all_data_and_rest_on_their_own_matches() -> None:
    matrix = planted(6, 120)
    points = stability(matrix, method="bradley-terry", fractions=(0.5,), draws=4, by="domain")
    assert [point.group for point in points] == [None, "law", "tax"]
    law = matrix.groups("domain")["law"]
    alone = stability(law, method="bradley-terry", fractions=(0.5,), draws=4, by="domain")
    assert alone[1] == points[1] != points[2]


def test_groups_of_the_same_credits_have_draws_of_their_own() -> None:
    half = planted(8, 60)
    twice = Credits(
        judges=half.judges,
        pairs=tuple(f"p{place}" for place in range(120)),
        values=np.vstack([half.values, half.values]),
        columns={"domain": ("law",) * 60 + ("tax",) * 60},
    )
    _, law, tax = stability(twice, method="bradley-terry", fractions=(0.3,), draws=3, by="domain")
    assert law.spearman != tax.spearman


def test_a_column_has_to_exist() -> None:
    with pytest.raises(UnknownNameError, match="domain"):
        stability(planted(3, 9), method="bradley-terry", by="domian")


def test_top_five_of_five_is_no_measure() -> None:
    (five,) = stability(planted(5, 80), method="bradley-terry", fractions=(0.8,), draws=3)
    assert five.top5 is None
    assert five.spearman is not None


def test_draws_that_rank_nobody_are_counted() -> None:
    matrix = planted(3, 6, seed=3)
    (point,) = stability(matrix, method="bradley-terry", fractions=(0.1,), draws=7)  # two matches compare nobody
    assert (point.draws, point.unrated, point.placed) == (7, 7, 0)
    assert numbers(point) == {None}


def test_judges_without_a_rating_stand_first_or_last() -> None:
    strong, weak, pairs = (1, 1, 1, 1, 0), (0, 0, 0, 0, 1), 40
    rng = np.random.default_rng(5)
    values = np.column_stack([np.tile(strong, 8), np.tile(weak, 8), rng.integers(0, 2, (pairs, 3))]).astype(float)
    matrix = Credits(judges=tuple("abcde"), pairs=tuple(map(str, range(pairs))), values=values)
    (point,) = stability(matrix, method="bradley-terry", fractions=(0.25,), draws=30)
    assert point.placed > 0
    assert point.placed + point.unrated <= 30
    assert point.spearman is not None


@pytest.mark.parametrize("method", ["bradley-terry", "eip"])
def test_a_whole_without_a_ranking_has_nothing_to_be_held_against(method: str) -> None:
    matrix = planted(4, 20)
    values = matrix.values.copy()
    values[:10, 2:] = values[10:, :2] = np.nan  # two panels: no scale holds both, and EIP needs every cell
    apart = Credits(judges=matrix.judges, pairs=matrix.pairs, values=values)
    (point,) = stability(apart, method=method, fractions=(0.5,), draws=2)
    assert point.unrated == 2
    assert numbers(point) == {None}


def test_matches_are_drawn_without_replacement_among_those_there_are() -> None:
    matrix = planted(5, 40)
    values = np.where(np.random.default_rng(1).random((40, 5)) < 0.2, np.nan, matrix.values)
    sparse = Credits(judges=matrix.judges, pairs=matrix.pairs, values=values)
    drawn = room._drawn(sparse, 0.3, np.random.default_rng(0), "bradley-terry")
    assert drawn.pairs == sparse.pairs
    assert int(drawn.seen.sum()) == round(0.3 * int(sparse.seen.sum()))
    assert np.array_equal(drawn.values[drawn.seen], sparse.values[drawn.seen])


def test_eip_draws_pairs_with_every_judge() -> None:
    drawn = room._drawn(planted(5, 40), 0.3, np.random.default_rng(0), "eip")
    assert drawn.complete
    assert len(drawn.pairs) == len(set(drawn.pairs)) == 12


def test_unanimous_pairs_hold_no_match() -> None:
    matrix = planted(6, 60)
    easy = Credits(
        judges=matrix.judges,
        pairs=(*matrix.pairs, *(f"easy {place}" for place in range(200))),
        values=np.vstack([matrix.values, np.ones((200, 6))]),
    )
    options = {"method": "bradley-terry", "fractions": (0.4,), "draws": 3}
    assert stability(easy, **options) == stability(matrix, **options)


@pytest.mark.parametrize("fractions", [(0.0,), (0.5, 1.1), (-0.1,)])
def test_fractions_out_of_range_are_refused(fractions: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        stability(planted(3, 9), method="bradley-terry", fractions=fractions)


def test_no_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 draw, not 0"):
        stability(planted(3, 9), method="bradley-terry", draws=0)


def test_points_are_json() -> None:
    (point,) = stability(planted(6, 60), method="bradley-terry", fractions=(0.5,), draws=3)
    plain = json.loads(json.dumps(point.to_dict(), allow_nan=False))
    assert plain["fraction"] == 0.5
    assert plain["group"] is None
    assert all(not isinstance(value, (list, dict)) for value in plain.values())
