from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations import name_swap
from judgeharness_integrations.judging.perturbations.registry import MODEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

words = st.lists(st.sampled_from(["Alice", "Bob", "Alicea", "xBob", "saw", "Alice's", "(Bob)", "\u202eBob", "😀"]))


def test_names_change_places_in_every_text_and_the_author_stays(apply: Apply) -> None:
    case = PairwiseCase(
        case_id="c",
        input="Is Alice older than Bob?",
        output="Alice, says Bob.",
        output_b="BOB? Bobby.",
        reference="Bob's",
        context="Alice/Bob",
        names=("Alice", "Bob"),
        author="Alice",
        author_b="Bob",
    )
    swapped = apply(name_swap(), case)
    assert swapped.input == "Is Bob older than Alice?"
    assert (swapped.output, swapped.output_b) == ("Bob, says Alice.", "BOB? Bobby.")
    assert (swapped.reference, swapped.context) == ("Alice's", "Bob/Alice")
    assert (swapped.author, swapped.author_b, swapped.names) == ("Alice", "Bob", ("Alice", "Bob"))


@given(words, st.integers(0, 99))
def test_exchanging_two_names_twice_is_identity(apply: Apply, parts: list[str], seed: int) -> None:
    case = AnswerCase(case_id="c", output=" ".join(parts), names=("Alice", "Bob"))
    once = apply(name_swap(), case, seed)
    assert apply(name_swap(), once, seed + 1) == case
    assert (once != case) == (name_swap().fits(case) is None)


@given(st.permutations(["Ann", "Ben", "Cleo", "Dan", "Eve"]), st.integers(0, 99))
def test_no_name_keeps_its_place_and_none_is_lost(apply: Apply, names: list[str], seed: int) -> None:
    case = AnswerCase(case_id="c", output=" ".join(names), names=tuple(names))
    changed = apply(name_swap(), case, seed).output.split()
    assert sorted(changed) == sorted(names)
    assert all(new != old for new, old in zip(changed, names, strict=True))
    assert apply(name_swap(), case, seed).output.split() == changed


def test_the_longest_name_wins_and_an_exchange_never_chains(apply: Apply) -> None:
    case = AnswerCase(case_id="c", output="Ann Lee met Ann.", names=("Ann", "Ann Lee"))
    assert apply(name_swap(), case).output == "Ann met Ann Lee."


def test_a_combining_mark_belongs_to_the_word(apply: Apply) -> None:
    case = AnswerCase(case_id="c", output="Jose\u0301 and Jose", names=("Jose", "Bob", ""))
    assert apply(name_swap(), case).output == "Jose\u0301 and Bob"


@pytest.mark.parametrize("seed", range(5))
def test_model_names_in_a_plain_text_change_places(apply: Apply, seed: int) -> None:
    text = "GPT-4 beats Claude; GPT-4o, GPT-4.5, GPT-4-turbo, Claude Monet and Jean-Claude stay. GPT-4."
    case = text.replace("GPT-4o, ", "")
    expected = "Claude beats GPT-4; GPT-4.5, GPT-4-turbo, Claude Monet and Jean-Claude stay. Claude."
    assert apply(name_swap(), case, seed) == expected


def test_a_model_that_stands_alone_becomes_another(apply: Apply) -> None:
    chosen = {apply(name_swap(), "by ChatGPT", seed).removeprefix("by ") for seed in range(30)}
    assert "ChatGPT" not in chosen
    assert len(chosen) > 5
    assert chosen <= set(MODEL_NAMES)


def test_a_replacement_is_never_a_given_name(apply: Apply) -> None:
    case = AnswerCase(case_id="c", output="GPT-4 and Claude and Gemini", names=("Claude", "Gemini"))
    for seed in range(50):
        model, *rest = apply(name_swap(), case, seed).output.split(" and ")
        assert rest == ["Gemini", "Claude"]
        assert model not in {"GPT-4", "Claude", "Gemini"}


def test_a_case_without_names_comes_back_unchanged(apply: Apply) -> None:
    assert apply(name_swap(), "nobody") == "nobody"


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("nobody", "finds no name"),
        (AnswerCase(case_id="c", output="x"), "finds no name"),
        (AnswerCase(case_id="c", output="Alice", names=("Alice", " Alice ")), "gives only 'Alice'"),
        (AnswerCase(case_id="c", output="x", names=("Alice", "Bob")), "none of the case's names"),
        ({"output": "Alice"}, "not a case of type dict"),
    ],
)
def test_why_there_is_nothing_to_exchange(case: Any, reason: str) -> None:
    assert reason in name_swap().fits(case)


def test_one_given_name_beside_a_model_fits(apply: Apply) -> None:
    case = AnswerCase(case_id="c", output="Alice asked Claude.", names=("Alice",))
    assert name_swap().fits(case) is None
    assert apply(name_swap(), case).output.startswith("Alice asked ")


def test_the_shipped_names_are_distinct() -> None:
    assert len(set(MODEL_NAMES)) == len(MODEL_NAMES) >= 40
    assert all(name == name.strip() for name in MODEL_NAMES)
