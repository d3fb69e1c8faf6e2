from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase, Presentation
from judgeharness_integrations.judging.perturbations import (
    compose,
    paraphrase,
    position_swap,
    prompt_variant,
    prompt_variants,
    whitespace,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgeharness_integrations.judging.perturbations import Perturbation

Apply: TypeAlias = "Callable[..., Any]"

PAIR = PairwiseCase(case_id="p", input="q", output="left", output_b="right")
INSTRUCTED = AnswerCase(
    case_id="a", output="x", presentation=Presentation(slot_names=("X", "Y"), instructions="Judge.")
)


def upper(text: str) -> str:
    return text.upper()


async def later(text: str) -> str:
    return f"{text}!"


def test_every_judged_text_is_reworded_and_nothing_else(apply: Apply) -> None:
    changed = apply(paraphrase(upper), PAIR)
    assert (changed.output, changed.output_b, changed.input) == ("LEFT", "RIGHT", "q")
    assert apply(paraphrase(later), "text") == "text!"
    assert paraphrase(upper).name == "paraphrase"


def test_equal_texts_get_one_rewording(apply: Apply) -> None:
    asked = []

    def counting(text: str) -> str:
        asked.append(text)
        return f"{text} {len(asked)}"

    changed = apply(paraphrase(counting), PairwiseCase(case_id="p", output="x", output_b="x"))
    assert (changed.output, changed.output_b, asked) == ("x 1", "x 1", ["x"])


def test_the_rewrites_are_known_beforehand() -> None:
    assert paraphrase(upper).rewrites(PAIR) == {(id(upper), "left", ""), (id(upper), "right", "")}
    assert prompt_variant(rewriter=upper).rewrites(INSTRUCTED) == {(id(upper), "Judge.", "")}
    assert prompt_variant(rewriter=upper).rewrites(PAIR) == frozenset()
    assert prompt_variant(rewriter=upper).rewrites({}) == frozenset()
    assert paraphrase(upper).rewrites({}) == frozenset()
    both = compose(paraphrase(upper), prompt_variant(rewriter=upper))
    assert both.rewrites(INSTRUCTED) == {(id(upper), "x", ""), (id(upper), "Judge.", "")}
    assert compose(position_swap(), paraphrase(upper)).rewrites(PAIR) == paraphrase(upper).rewrites(PAIR)
    loose = compose(whitespace(), paraphrase(upper)).rewrites(PAIR)
    assert len(loose | paraphrase(upper).rewrites(PAIR)) == 4


@pytest.mark.parametrize("reply", ["", " \n"])
@pytest.mark.parametrize("make", [paraphrase, lambda rewriter: prompt_variant(rewriter=rewriter)])
def test_an_empty_rewording_is_an_error(apply: Apply, make: Callable[..., Any], reply: Any) -> None:
    with pytest.raises(ValueError, match="empty text"):
        apply(make(lambda text: reply), INSTRUCTED)


def test_a_rewording_that_is_no_text_is_an_error(apply: Apply) -> None:
    with pytest.raises(TypeError, match="must return a text, not int"):
        apply(paraphrase(len), "text")


def test_a_rewriter_is_needed() -> None:
    with pytest.raises(PlanError, match=r"JudgeHarness\(rewriter=\.\.\.\).*chat_rewriter\(model\)\.$"):
        paraphrase(None)


def test_an_empty_answer_cannot_be_reworded() -> None:
    assert paraphrase(upper).fits(AnswerCase(case_id="a", output="")) == (
        "paraphrase cannot change an empty text: output."
    )
    assert paraphrase(upper).fits(PAIR) is None


@given(st.text().filter(str.strip), st.integers(1, 99))
def test_a_prompt_variant_sets_the_instructions(apply: Apply, text: str, number: int) -> None:
    variant = prompt_variant(text, number)
    shown = apply(variant, INSTRUCTED)
    assert shown.presentation == Presentation(slot_names=("X", "Y"), instructions=text)
    assert (variant.name, variant.needs) == (f"prompt_variant({number})", {"prompt_variant"})


def test_a_rewriter_rewords_the_judges_own_instructions(apply: Apply) -> None:
    variant = prompt_variant(rewriter=upper)
    assert apply(variant, INSTRUCTED).presentation.instructions == "JUDGE."
    assert (variant.name, variant.needs) == ("prompt_variant", {"prompt_variant"})


def test_a_judge_without_instructions_cannot_be_reworded(apply: Apply) -> None:
    with pytest.raises(PlanError, match="no instructions to reword"):
        apply(prompt_variant(rewriter=upper), PAIR)


@pytest.mark.parametrize("variant", [prompt_variant("Judge."), prompt_variant(rewriter=upper)])
def test_a_prompt_variant_fits_the_harness_own_cases(variant: Perturbation) -> None:
    assert variant.fits(PAIR) is None
    assert variant.fits("x") == "prompt_variant needs an AnswerCase or a PairwiseCase, not a case of type str."


@pytest.mark.parametrize(
    ("given_arguments", "message"),
    [
        ({}, "either instructions or a rewriter"),
        ({"instructions": "x", "rewriter": upper}, "either instructions or a rewriter"),
        ({"instructions": " "}, "not empty"),
        ({"instructions": 5}, "that are a text"),
        ({"instructions": "x", "number": 0}, "numbered from 1"),
    ],
)
def test_prompt_variants_that_are_refused(given_arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        prompt_variant(**given_arguments)


def test_a_list_is_numbered_from_one() -> None:
    assert [variant.name for variant in prompt_variants(["a", "b"])] == ["prompt_variant(1)", "prompt_variant(2)"]
    assert prompt_variants([]) == ()
    with pytest.raises(PlanError, match="a list of texts"):
        prompt_variants("ab")
