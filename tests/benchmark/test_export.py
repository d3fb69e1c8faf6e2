from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benchmark_results import judged, make_benchmark

from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.curation import Curating, curated, exported
from judgeharness_integrations.benchmark.results.judgments import joined
from judgeharness_integrations.verdictlog.row import VerdictRow

SKILLS = {"a": 0.95, "b": 0.8, "c": 0.6, "d": 0.45, "e": 0.3}
LABELS = st.sampled_from(["clean", "ambiguous", "noise", None])


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return make_benchmark(tmp_path_factory.mktemp("export") / "b", n=40).pairs()


def curation(rows: list[VerdictRow], audit: dict[str, str | None] | None = None) -> Curating:
    return curated(rows, share=0.0, failures="missing", flags=audit is not None)


@pytest.mark.slow
@settings(max_examples=8)
@given(labels=st.lists(LABELS, min_size=40, max_size=40), asked=st.integers(2, 40), bands=st.integers(1, 5))
def test_each_pair_is_somewhere_once_and_what_people_found_decides_first(
    pairs: list[Pair], labels: list[str | None], asked: int, bands: int
) -> None:
    audit = {pair.pair_id: label for pair, label in zip(pairs, labels, strict=True)}
    made = curation(joined(judged(pairs[:asked], skill=SKILLS), pairs, audit=audit), audit)
    found = exported(pairs, made, audit=audit, bands=bands)
    placed = [pair.pair_id for mine in found.files.values() for pair in mine]
    assert len(placed) == len({*placed})
    left = found.noise + found.unanswered + found.unjudged + found.alone + found.unplaced
    assert len(placed) + left == len(pairs)
    assert {pair.pair_id for pair in found.files["held_out"]} == {name for name in audit if audit[name] == "clean"}
    assert not {name for name in audit if audit[name] == "noise"} & {*placed}
    assert [one.pairs for one in found.bands()] == [len(mine) for mine in found.files.values()]


@pytest.mark.slow
def test_bands_go_from_easy_to_hard(pairs: list[Pair]) -> None:
    made = curation(joined(judged(pairs, skill=SKILLS), pairs))
    found = exported(pairs, made, audit=None, bands=3)
    assert list(found.files) == [
        *("band_1_of_3", "band_2_of_3", "band_3_of_3", "unanimous_right", "unanimous_wrong", "held_out")
    ]
    known = [one for one in found.bands() if one.name.startswith("band") and one.pairs]
    assert len(known) >= 2
    for easier, harder in pairwise(known):
        assert easier.hardest is not None
        assert harder.easiest is not None
        assert easier.hardest < harder.easiest
    assert all(one.easiest is None for one in found.bands() if not one.name.startswith("band"))


def test_unanimous_pairs_are_told_by_who_is_right(pairs: list[Pair]) -> None:
    rows = joined(judged(pairs[:4], skill={"a": 1.0, "b": 1.0}), pairs)
    wrong = {pairs[1].pair_id}
    turned = [
        replace(row, verdict="turn 99") if row.case_id in wrong and row.criterion == "turn" else row for row in rows
    ]
    found = exported(pairs[:5], curation(turned), audit=None, bands=2)
    assert {pair.pair_id for pair in found.files["unanimous_wrong"]} == wrong
    assert len(found.files["unanimous_right"]) == 3
    assert found.unjudged == 1


def test_one_judge_alone_does_not_say_how_hard_a_pair_is(pairs: list[Pair]) -> None:
    all_right = {"a": 1.0, "b": 1.0}
    both, alone = pairs[:3], pairs[3:8]
    rows = joined([*judged(both, skill=all_right), *judged(alone, skill={"a": 1.0})], pairs)
    made = curation(rows)
    assert made.alone == {pair.pair_id for pair in alone}
    assert made.steps([])[0].unanimous_right == 8
    found = exported(pairs[:8], made, audit=None, bands=2)
    assert found.files["unanimous_right"] == tuple(both)
    assert (found.alone, found.unjudged, found.unplaced) == (5, 0, 0)


def test_pairs_without_an_answer_that_counts_are_in_no_file(pairs: list[Pair]) -> None:
    rows = joined(judged(pairs[:6], skill=SKILLS), pairs)
    failed = [replace(row, verdict=None, outcome="refused") if row.case_id == pairs[0].pair_id else row for row in rows]
    found = exported(pairs[:6], curation(failed), audit=None, bands=2)
    assert found.unanswered == 1
    assert pairs[0] not in [pair for mine in found.files.values() for pair in mine]


def test_without_judges_there_are_no_bands_yet_what_is_clean_is_held_out(pairs: list[Pair]) -> None:
    found = exported(pairs, None, audit={pairs[0].pair_id: "clean", pairs[1].pair_id: "noise"}, bands=2)
    assert {name: len(mine) for name, mine in found.files.items() if mine} == {"held_out": 1}
    assert (found.noise, found.unjudged) == (1, 38)


def test_judges_that_cannot_be_compared_place_nothing(pairs: list[Pair]) -> None:
    mine = [row for row in judged(pairs, skill={"a": 0.6}) if row.case_id in {pair.pair_id for pair in pairs[:20]}]
    rows = joined([*mine, *judged(pairs[20:], skill={"b": 0.6})], pairs)
    found = exported(pairs, curation(rows), audit=None, bands=2)
    assert sum(len(mine) for name, mine in found.files.items() if name.startswith("band")) == 0
