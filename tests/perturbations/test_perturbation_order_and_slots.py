from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase, Presentation
from judgeharness_integrations.judging.perturbations import compose, none, position_swap, slot_names

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

PAIR = PairwiseCase(
    case_id="p", input="q", output="left", output_b="right", author="ann", author_b="bob", attributes={"cut": 1}
)
pairs = st.builds(
    PairwiseCase,
    case_id=st.just("p"),
    output=st.text(),
    output_b=st.text(),
    author=st.none() | st.text(),
    author_b=st.none() | st.text(),
)
verdicts = st.sampled_from(["A", "B", "TIE", "a", "PASS"]) | st.integers() | st.frozensets(st.sampled_from("AB"))


def test_swap_exchanges_answers_and_authors_and_nothing_else(apply: Apply) -> None:
    swapped = apply(position_swap(), PAIR)
    assert (swapped.output, swapped.output_b, swapped.author, swapped.author_b) == ("right", "left", "bob", "ann")
    assert (swapped.case_id, swapped.input, swapped.attributes) == ("p", "q", {"cut": 1})
    assert position_swap().swaps


@given(pairs)
def test_swapping_twice_is_identity(apply: Apply, pair: PairwiseCase) -> None:
    twice = apply(compose(position_swap(), position_swap()), pair)
    assert twice == pair
    assert apply(position_swap(), apply(position_swap(), pair)) == pair


@given(verdicts)
def test_restoring_twice_is_identity(verdict: Any) -> None:
    restore = position_swap().restore
    assert restore(restore(verdict, "verdict"), "verdict") == verdict


@pytest.mark.parametrize(
    ("shown", "meant"),
    [("A", "B"), ("B", "A"), ("TIE", "TIE"), (7, 7), (0.5, 0.5), (frozenset({"A"}), frozenset({"A"})), ("a", "a")],
)
def test_restore_exchanges_the_two_letters_only(shown: Any, meant: Any) -> None:
    assert position_swap().restore(shown, "quality") == meant


def test_two_swaps_do_not_swap() -> None:
    assert not compose(position_swap(), position_swap()).swaps
    assert compose(position_swap(), slot_names("X", "Y")).swaps


@pytest.mark.parametrize("make", [position_swap, slot_names])
@pytest.mark.parametrize(
    ("case", "kind"),
    [(AnswerCase(case_id="a", output="x"), "an AnswerCase"), ("x", "a case of type str"), ({}, "a case of type dict")],
)
def test_two_answers_are_needed(make: Callable[..., Any], case: Any, kind: str) -> None:
    assert make().fits(PAIR) is None
    assert make().fits(case) == f"{make().name} needs two answers: give a PairwiseCase, not {kind}."


def test_slot_names_are_set_and_the_order_stays(apply: Apply) -> None:
    shown = apply(slot_names("Response 1", "Response 2"), PAIR)
    assert shown.presentation.slot_names == ("Response 1", "Response 2")
    assert (shown.output, shown.output_b) == ("left", "right")
    assert slot_names("Response 1", "Response 2").name == "slot_names(Response 1/Response 2)"
    assert slot_names().needs == {"slot_names"}


def test_slot_names_keep_the_rest_of_the_presentation(apply: Apply) -> None:
    pair = PairwiseCase(case_id="p", output="x", output_b="y", presentation=Presentation(instructions="Judge."))
    assert apply(slot_names("X", "Y"), pair).presentation.instructions == "Judge."


def test_without_labels_the_seed_chooses_the_pair(apply: Apply) -> None:
    chosen = {apply(slot_names(), PAIR, seed).presentation.slot_names for seed in range(20)}
    assert chosen == {("Response 1", "Response 2"), ("X", "Y")}
    assert apply(slot_names(), PAIR, 3) == apply(slot_names(), PAIR, 3)


@pytest.mark.parametrize(
    "labels", [("X", "X"), ("", "Y"), ("X", None), (None, "Y"), (" X", "Y"), ("X/1", "Y"), ("X", "Y+"), ("X", "Y\n2")]
)
def test_labels_that_are_equal_empty_or_unnameable_are_refused(labels: tuple[Any, Any]) -> None:
    with pytest.raises(PlanError, match="two"):
        slot_names(*labels)


@given(st.text() | st.dictionaries(st.text(), st.text()) | pairs)
def test_none_changes_nothing(apply: Apply, case: Any) -> None:
    assert none().fits(case) is None
    assert apply(none(), case) == case
    assert none().restore("A", "verdict") == "A"


def test_a_composition_applies_from_left_and_restores_from_right(apply: Apply) -> None:
    renamed = compose(position_swap(), slot_names("X", "Y"))
    shown = apply(renamed, PAIR)
    assert (shown.output, shown.presentation.slot_names) == ("right", ("X", "Y"))
    assert renamed.restore("A", "verdict") == "B"
    assert renamed.fits("text") == position_swap().fits("text")


@pytest.mark.parametrize("labels", [("x", "X"), ("TIE", "Y"), ("Y", "tie")])
def test_labels_that_read_the_same_are_refused(labels: tuple[str, str]) -> None:
    with pytest.raises(PlanError, match="differ from each other and from TIE"):
        slot_names(*labels)
