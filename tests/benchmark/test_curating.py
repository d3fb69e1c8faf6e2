from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.benchmark_results import judged, make_benchmark

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.curation import Step, bands_of, curated
from judgeharness_integrations.benchmark.results.judgments import joined

SKILLS = {"a": 0.95, "b": 0.8, "c": 0.6, "d": 0.45, "e": 0.3}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return make_benchmark(tmp_path_factory.mktemp("curating") / "b", n=60).pairs()


@pytest.mark.slow
def test_each_judged_pair_is_in_one_step(pairs: list[Pair]) -> None:
    made = curated(joined(judged(pairs, skill=SKILLS), pairs), share=0.2, cut_ties="cut")
    whole, *groups = made.steps(["domain", "failure_type"])
    names = ("flagged", "unanimous_right", "unanimous_wrong", "unanswered", "hardest", "kept")
    for step in (whole, *groups):
        assert sum(getattr(step, name) for name in names) == step.judged
    assert whole.judged == len(pairs)
    assert whole.kept == len(made.kept)
    assert whole.hardest > 0
    for column in ("domain", "failure_type"):
        assert sum(step.kept for step in groups if step.column == column) == whole.kept


@pytest.mark.slow
def test_the_hardest_are_the_ones_with_the_highest_elo(pairs: list[Pair]) -> None:
    made = curated(joined(judged(pairs, skill=SKILLS), pairs), share=0.2, cut_ties="cut")
    cut = {pair for pair in made.difficulty if pair not in made.kept}
    assert cut
    assert min(made.difficulty[pair] for pair in cut) > max(made.difficulty[pair] for pair in made.kept)


@pytest.mark.slow
def test_noise_is_left_out_before_anything_else(pairs: list[Pair]) -> None:
    audit = {pair.pair_id: "noise" if place < 5 else "clean" for place, pair in enumerate(pairs)}
    rows = joined(judged(pairs, skill=SKILLS), pairs, audit=audit)
    made = curated(rows, share=0, flags=True)
    assert made.steps([])[0].flagged == 5
    assert not {pair.pair_id for pair in pairs[:5]} & {*made.kept}
    assert curated(rows, share=0).steps([])[0].flagged == 0


@pytest.mark.slow
def test_ambiguous_pairs_are_left_out_where_that_is_wished_for(pairs: list[Pair]) -> None:
    found = ["noise", "noise", "ambiguous", "ambiguous", "ambiguous", None]
    audit = {pair.pair_id: label for pair, label in zip(pairs, found, strict=False)}
    rows = joined(judged(pairs, skill=SKILLS), pairs, audit=audit)
    both = curated(rows, share=0, flags=True, ambiguous=True)
    whole, *groups = both.steps(["domain", "failure_type"])
    assert (whole.flagged, whole.ambiguous, whole.judged) == (2, 3, len(pairs))
    assert sum(getattr(whole, name) for name in Step.model_fields if name not in ("column", "value", "judged")) == 60
    for column in ("domain", "failure_type"):
        mine = [step for step in groups if step.column == column]
        assert (sum(step.flagged for step in mine), sum(step.ambiguous for step in mine)) == (2, 3)
    assert both.dropped == {pair: label for pair, label in audit.items() if label is not None}
    assert not both.dropped.keys() & {*both.kept}
    alone = curated(rows, share=0, ambiguous=True)
    assert (alone.steps([])[0].flagged, alone.steps([])[0].ambiguous) == (0, 3)
    assert {*alone.dropped.values()} == {"ambiguous"}
    assert curated(rows, share=0, flags=True).dropped.keys() == {pair.pair_id for pair in pairs[:2]}
    assert curated(rows, share=0).dropped == {}
    assert curated(joined(judged(pairs, skill=SKILLS), pairs), share=0, ambiguous=True).dropped == {}


@pytest.mark.slow
def test_judges_are_told_before_and_after(pairs: list[Pair]) -> None:
    made = curated(joined(judged(pairs, skill=SKILLS), pairs), share=0.3, cut_ties="cut")
    found = {one.judge: one for one in made.judges()}
    assert [one.rank for one in made.judges()] == [1, 2, 3, 4, 5]
    assert found["a"].rank_before == 1
    assert any(one.elo != one.elo_before for one in found.values())


def test_a_cut_that_no_difficulty_allows_says_why(pairs: list[Pair]) -> None:
    rows = joined(judged(pairs, skill={"alone": 0.7}), pairs)
    with pytest.raises(UsageError, match="pairs cannot be cut by difficulty: fewer than two judges"):
        curated(rows, share=0.1)


# Bands

DIFFICULTIES = st.dictionaries(
    st.text(min_size=1, max_size=4),
    st.one_of(st.integers(-5, 5).map(float), st.sampled_from([math.inf, -math.inf])),
    max_size=30,
)


def test_bands_are_quantiles() -> None:
    found = bands_of({f"p{n}": float(n * 7 % 9) for n in range(9)}, bands=3)
    assert [len(band) for band in found] == [3, 3, 3]
    assert found[0] == ("p0", "p4", "p8")  # 0, 1 and 2, in the order given


def test_pairs_of_one_difficulty_stay_together() -> None:
    found = bands_of({"a": 1.0, "b": 1.0 + 1e-9, "c": 1.0, "d": 2.0}, bands=2)
    assert found == (("a", "b", "c"), ("d",))
    assert bands_of(dict.fromkeys("abcd", math.inf), bands=3) == ((), ("a", "b", "c", "d"), ())


@given(difficulty=DIFFICULTIES, bands=st.integers(1, 6))
def test_every_pair_is_in_one_band_and_bands_are_in_order(difficulty: dict[str, float], bands: int) -> None:
    found = bands_of(difficulty, bands=bands)
    assert len(found) == bands
    assert sorted(pair for band in found for pair in band) == sorted(difficulty)
    known = [[difficulty[pair] for pair in band] for band in found if band]
    for easier, harder in pairwise(known):
        assert max(easier) < min(harder)


@given(difficulty=DIFFICULTIES, rng=st.randoms(use_true_random=False))
def test_the_order_of_pairs_moves_none_to_another_band(difficulty: dict[str, float], rng: Any) -> None:
    names = list(difficulty)
    rng.shuffle(names)
    again = bands_of({name: difficulty[name] for name in names}, bands=3)
    assert [set(band) for band in again] == [set(band) for band in bands_of(difficulty, bands=3)]


def test_no_band_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="--bands must be at least 1, not 0"):
        bands_of({}, bands=0)


def test_a_folder_of_one_judge_still_counts(tmp_path: Path) -> None:
    pairs = make_benchmark(tmp_path / "b", n=6).pairs()
    made = curated(joined(judged(pairs, skill={"alone": 0.7}), pairs), share=0)
    whole = made.steps([])[0]
    assert whole.unanimous_right + whole.unanimous_wrong == 6
    assert made.kept == ()
