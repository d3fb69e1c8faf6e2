"""Conditions are drawn uniformly, each by itself, from seed and number alone."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.pair import (
    Behaviour,
    Chunk,
    Conditions,
    Document,
    Drawing,
    FailureType,
    Taxonomy,
    draw_conditions,
)
from judgeharness_integrations.benchmark.taxonomy import default_taxonomy

LEAST = 1e-3  # the draws are fixed by their seed: a test passes always or never


def document(name: str, *lengths: int) -> Document:
    chunks = tuple(Chunk(chunk_id=f"{name}#{n}", text="x" * length) for n, length in enumerate(lengths or (40,), 1))
    return Document(document_id=name, title=name, domain=f"about {name}", source=f"{name}.txt", chunks=chunks)


DOCUMENTS = [document(name) for name in ("bread", "law", "sea", "stars", "trees")]


def draws(n: int = 1, *, taxonomy: Taxonomy | None = None, documents: Any = None, **drawing: Any) -> list[Conditions]:
    return [
        draw_conditions(
            number,
            documents=documents or DOCUMENTS,
            taxonomy=taxonomy or default_taxonomy(),
            drawing=Drawing(**drawing),
        )
        for number in range(n)
    ]


@cache
def many() -> list[Conditions]:
    return draws(3_000, seed=7)


def uniform(found: list[Any], values: int) -> float:
    counts = Counter(found)
    assert len(counts) == values
    return float(chisquare(list(counts.values())).pvalue)


@pytest.mark.parametrize(
    ("what", "values"),
    [("failure_type", 7), ("behaviour", 7), ("n_rounds", 5), ("better", 2), ("documents", 5), ("domain", 5)],
)
def test_every_choice_is_uniform(what: str, values: int) -> None:
    assert uniform([getattr(one, what) for one in many()], values) > LEAST


@pytest.mark.parametrize("n_rounds", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("earliest", [1, 2])
def test_the_flawed_round_is_uniform_among_those_in_which_the_flaw_can_occur(n_rounds: int, earliest: int) -> None:
    types = default_taxonomy().failure_types
    found = [
        one.flawed_round
        for one in many()
        if one.n_rounds == n_rounds and types[one.failure_type].earliest_round == earliest
    ]
    assert set(found) == set(range(earliest, n_rounds + 1))
    assert uniform(found, n_rounds - earliest + 1) > LEAST


CHOICES = ("failure_type", "behaviour", "n_rounds", "better", "domain")


@pytest.mark.parametrize(("first", "second"), list(combinations(CHOICES, 2)))
def test_no_choice_tells_anything_about_another(first: str, second: str) -> None:
    counts = Counter((getattr(one, first), getattr(one, second)) for one in many())
    rows, columns = (sorted({pair[place] for pair in counts}, key=str) for place in (0, 1))
    table = [[counts[row, column] for column in columns] for row in rows]
    assert chi2_contingency(table).pvalue > LEAST


def test_neither_does_the_pair_before() -> None:
    better = [one.better for one in many()]
    counts = Counter(pairwise(better))
    assert chi2_contingency([[counts[a, b] for b in "AB"] for a in "AB"]).pvalue > LEAST


def test_ids_follow_the_numbers() -> None:
    assert [(one.number, one.pair_id) for one in draws(2)] == [(0, "pair-00001"), (1, "pair-00002")]


def test_more_pairs_leave_those_of_before_as_they_are_and_another_seed_does_not() -> None:
    assert draws(40)[:10] == draws(10)
    assert draws(10, seed=1) != draws(10)


def without(one: Conditions, *names: str) -> dict[str, Any]:
    return {name: value for name, value in one.to_dict().items() if name not in names}


def test_another_taxonomy_moves_no_other_choice() -> None:
    base = default_taxonomy()
    failure = FailureType(name="more", definition="d", flaw="f", benign="b")
    behaviour = Behaviour(name="also", description="d")
    failures = Taxonomy(failure_types={**base.failure_types, "more": failure}, behaviours=base.behaviours)
    behaviours = Taxonomy(failure_types=base.failure_types, behaviours={**base.behaviours, "also": behaviour})
    for before, one, other in zip(draws(60), draws(60, taxonomy=failures), draws(60, taxonomy=behaviours), strict=True):
        assert without(one, "failure_type", "flawed_round") == without(before, "failure_type", "flawed_round")
        assert without(other, "behaviour") == without(before, "behaviour")


def test_other_rounds_and_weights_move_no_other_choice() -> None:
    shorter, weighed = draws(60, rounds=(2, 3)), draws(60, weights={"evasion": 5.0, "focused": 0.5})
    for before, one, other in zip(draws(60), shorter, weighed, strict=True):
        assert without(one, "n_rounds", "flawed_round") == without(before, "n_rounds", "flawed_round")
        moved = ("failure_type", "behaviour", "flawed_round")
        assert without(other, *moved) == without(before, *moved)


def test_a_type_that_needs_an_earlier_round_gets_a_conversation_long_enough() -> None:
    found = draws(300, rounds=(1, 1))
    types = default_taxonomy().failure_types
    assert {one.n_rounds for one in found} == {1, 2}
    for one in found:
        assert types[one.failure_type].earliest_round <= one.flawed_round <= one.n_rounds


@pytest.mark.slow
def test_weights_are_followed() -> None:
    found = Counter(one.failure_type for one in draws(2_000, weights={"evasion": 3.0, "disorganized": 0.0}))
    assert "disorganized" not in found
    expected = [2_000 * (3 if name == "evasion" else 1) / 8 for name in found]
    assert chisquare(list(found.values()), expected).pvalue > LEAST
    documents = Counter(one.documents for one in draws(200, weights={"law": 0, "sea": 0, "stars": 0, "trees": 0}))
    assert documents == {("bread",): 200}


def test_a_pair_on_several_documents_has_different_ones_and_the_domain_of_the_first() -> None:
    found = draws(400, documents_per_pair=2)
    assert all(len(set(one.documents)) == 2 and one.domain == f"about {one.documents[0]}" for one in found)
    assert uniform([one.documents for one in found], 20) > LEAST
    assert all(one.chunks == tuple(f"{name}#1" for name in one.documents) for one in found)


@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=12),
    st.integers(500, 3_000),
    st.integers(1, 2),
    st.integers(0, 50),
)
def test_the_chunks_are_a_window_that_holds_what_it_may(
    lengths: list[int], most: int, per_pair: int, number: int
) -> None:
    long = document("long", *lengths)
    (one,) = [
        draw_conditions(
            number,
            documents=[long, document("other")][:per_pair],
            taxonomy=default_taxonomy(),
            drawing=Drawing(most_characters=most, documents_per_pair=per_pair),
        )
    ]
    places = [int(chunk.partition("#")[2]) - 1 for chunk in one.chunks if chunk.startswith("long")]
    assert places == list(range(places[0], places[-1] + 1))
    held, limit = sum(lengths[place] for place in places), most // per_pair
    assert held <= limit or len(places) == 1
    if sum(lengths) <= limit:
        assert len(places) == len(lengths)
    elif places[-1] + 1 < len(lengths):
        assert held + lengths[places[-1] + 1] > limit
    else:
        assert held >= limit - lengths[places[0] - 1] or places[0] == 0


def test_windows_reach_every_part_of_a_long_document() -> None:
    long = [document("long", *[400] * 20)]
    found = draws(400, documents=long, most_characters=2_000)
    assert {len(one.chunks) for one in found} == {5}
    assert {chunk for one in found for chunk in one.chunks} == {f"long#{n}" for n in range(1, 21)}
    assert uniform([one.chunks[0] for one in found], 16) > LEAST


def test_documents_that_are_too_few_are_counted() -> None:
    with pytest.raises(UsageError, match="a pair needs 6 documents and there are 5: give more"):
        draws(documents_per_pair=6)


def test_weights_that_leave_nothing_are_refused() -> None:
    none = dict.fromkeys(default_taxonomy().behaviours, 0.0)
    with pytest.raises(
        UsageError, match=r"nothing is left to draw from focused, .*: give one of them a weight above 0"
    ):
        draws(weights=none)


@pytest.mark.parametrize("wrong", [{"documents_per_pair": 0}, {"most_characters": 499}])
def test_a_drawing_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="greater than or equal"):
        Drawing(**wrong)
