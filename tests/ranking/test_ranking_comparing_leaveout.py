from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking import firmness as room
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.firmness import leave_one_out
from judgeharness_integrations.analysis.ranking.rating import rate
from judgeharness_integrations.analysis.ranking.studying import curate


def random_credits(judges: int, pairs: int, seed: int = 0) -> Credits:
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(rng.normal(0, 1, pairs)[:, None] - np.linspace(-0.7, 0.7, judges)))
    return Credits(
        judges=tuple(f"j{place}" for place in range(judges)),
        pairs=tuple(f"p{place}" for place in range(pairs)),
        values=(rng.random((pairs, judges)) < chance).astype(float),
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("method", ["bradley-terry", "conditional", "eip"])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_each_judge_is_left_out_and_pairs_are_curated_anew(method: str, share: float) -> None:
    matrix = random_credits(6, 80)
    whole = rate(curate(matrix, share=share).kept).scores(method)
    for entry in leave_one_out(matrix, method=method, share=share):
        others = [name for name in matrix.judges if name != entry.judge]
        kept = curate(matrix.of_judges(others), share=share).kept
        scores = rate(kept).scores(method)
        before, after = (np.array([side[name] for name in others]) for side in (whole, scores))
        shift = (after - after.mean()) - (before - before.mean())
        assert entry.pairs == len(kept.pairs)
        assert entry.spearman == pytest.approx(stats.spearmanr(before.round(6), after.round(6)).statistic)
        assert entry.kendall == pytest.approx(stats.kendalltau(before.round(6), after.round(6)).statistic)
        assert entry.largest_shift == pytest.approx(shift[np.abs(shift).argmax()], abs=1e-6)
        assert abs(shift[others.index(entry.shifted)]) == pytest.approx(np.abs(shift).max(), abs=1e-6)


def test_pairs_that_only_one_judge_told_apart_go_with_it() -> None:
    matrix = random_credits(4, 30)
    lone = np.zeros((10, 4))
    lone[:, 2] = 1.0
    wider = Credits(
        judges=matrix.judges,
        pairs=(*matrix.pairs, *(f"lone {place}" for place in range(10))),
        values=np.vstack([matrix.values, lone]),
    )
    before, after = (leave_one_out(side, method="bradley-terry")[2].pairs for side in (matrix, wider))
    assert before == after
    assert leave_one_out(wider, method="bradley-terry")[0].pairs >= 10


def test_two_others_have_no_correlation_but_a_shift() -> None:
    entries = leave_one_out(random_credits(3, 60), method="bradley-terry")
    assert [entry.spearman for entry in entries] == [None, None, None]
    assert all(entry.largest_shift is not None and entry.shifted != entry.judge for entry in entries)


def test_a_judge_that_is_never_beaten_has_an_order_but_no_shift() -> None:
    matrix = random_credits(4, 60)
    perfect = Credits(
        judges=(*matrix.judges, "perfect"),
        pairs=matrix.pairs,
        values=np.column_stack([matrix.values, np.ones(60)]),
    )
    entry = leave_one_out(perfect, method="bradley-terry")[0]
    assert entry.spearman is not None
    assert entry.shifted != "perfect"


def test_ratings_that_share_no_judge_have_no_shift() -> None:
    assert room._largest_shift({"a": 1400.0, "b": 1600.0}, {"c": 1400.0, "d": 1600.0}) == (None, None)


def test_a_shift_is_taken_from_the_mean_of_the_judges_in_both() -> None:
    before = {"a": 1400.0, "b": 1500.0, "c": 1600.0}
    assert room._largest_shift(before, {"b": 1480.0, "c": 1520.0}) == ("b", 30.0)
    assert room._largest_shift(before, {"c": 1600.0, "b": 1400.0}) == ("c", 50.0)


def test_without_a_ranking_nothing_is_measured() -> None:
    apart = Credits(judges=("a", "b"), pairs=("1", "2"), values=np.array([[1.0, 0.0], [1.0, 0.0]]))
    for entry in leave_one_out(apart, method="bradley-terry"):
        assert (entry.pairs, entry.spearman, entry.largest_shift, entry.shifted) == (0, None, None, None)


def test_one_judge_leaves_nobody() -> None:
    alone = Credits(judges=("a",), pairs=("1",), values=np.array([[1.0]]))
    (entry,) = leave_one_out(alone, method="eip")
    assert entry.pairs is None


def test_a_cut_that_fails_without_a_judge_is_not_measured() -> None:
    entries = leave_one_out(random_credits(2, 40), method="bradley-terry", share=0.1)
    assert [entry.pairs for entry in entries] == [None, None]


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="below 1"):
        leave_one_out(random_credits(3, 20), method="bradley-terry", share=1.0)


def test_entries_are_json() -> None:
    entry = leave_one_out(random_credits(4, 40), method="bradley-terry")[0]
    plain = json.loads(json.dumps(entry.to_dict(), allow_nan=False))
    assert set(plain) == {"judge", "pairs", "spearman", "kendall", "largest_shift", "shifted"}
