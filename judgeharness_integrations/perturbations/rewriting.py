"""The same said in other words, by a rewriter the caller supplies: the answers, or the judge's instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.cases import AnswerCase, map_texts, presented
from judgeharness_integrations.perturbations._fits import texts_of, wants_answer, wants_text
from judgeharness_integrations.perturbations.base import Perturbation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations.base import Context, Rewriter

__all__ = ["paraphrase", "prompt_variant", "prompt_variants"]

_NEEDS = frozenset({"prompt_variant"})
_WHERE = "give JudgeHarness(rewriter=...), for instance judgeharness_langchain.chat_rewriter(model)"


def paraphrase(rewriter: Rewriter | None) -> Perturbation:
    """Return the perturbation that has every judged text said in other words.

    Args:
        rewriter: text -> the same in other words; may be async. It is asked once per distinct text.

    Raises:
        PlanError: there is no rewriter.

    Applying it raises `TypeError` or `ValueError` when the rewriter gives back no text or an empty one.

    """
    if rewriter is None:
        raise PlanError(f"paraphrase needs a rewriter: {_WHERE}.")

    async def apply(case: Case, context: Context) -> Case:
        reworded = {text: await _reworded(rewriter, text, context) for text in dict.fromkeys(texts_of(case))}
        return map_texts(case, reworded.__getitem__)

    return Perturbation(
        "paraphrase", apply, fits=wants_text("paraphrase"), contextual=True, rewriter=rewriter, texts=texts_of
    )


def prompt_variant(instructions: str | None = None, number: int = 1, rewriter: Rewriter | None = None) -> Perturbation:
    """Return the perturbation that gives the judge the same task in other words.

    Args:
        instructions: the other words, named `prompt_variant(1)`.
        number: which of several variants this is, from 1.
        rewriter: makes the other words of `case.presentation.instructions`, named `prompt_variant`.

    Raises:
        PlanError: neither or both are given, the instructions are empty, or the number is below 1.

    """
    if (instructions is None) == (rewriter is None):
        raise PlanError(f"prompt_variant needs either instructions or a rewriter: {_WHERE}.")
    if rewriter is not None:
        return _rewritten_prompt(rewriter)
    if not isinstance(instructions, str) or not instructions.strip():
        raise PlanError(f"prompt_variant({number}) needs instructions that are a text and not empty.")
    if number < 1:
        raise PlanError(f"prompt variants are numbered from 1, not {number}.")
    return Perturbation(
        f"prompt_variant({number})",
        lambda case: presented(case, instructions=instructions),
        fits=wants_answer("prompt_variant"),
        needs=_NEEDS,
    )


def prompt_variants(instructions: Sequence[str]) -> tuple[Perturbation, ...]:
    """Return `prompt_variant(1)`, `prompt_variant(2)` and so on, one for each text.

    Raises:
        PlanError: a single text was given instead of a list, or one of the texts is empty.

    """
    if isinstance(instructions, str):
        raise PlanError("prompt_variants needs a list of texts, not a single text.")
    return tuple(prompt_variant(text, number) for number, text in enumerate(instructions, start=1))


def _rewritten_prompt(rewriter: Rewriter) -> Perturbation:
    async def apply(case: AnswerCase, context: Context) -> AnswerCase:
        own = case.presentation.instructions
        if own is None:
            raise PlanError("prompt_variant has no instructions to reword: the judge states none of its own.")
        return presented(case, instructions=await _reworded(rewriter, own, context))

    return Perturbation(
        "prompt_variant",
        apply,
        fits=wants_answer("prompt_variant"),
        contextual=True,
        needs=_NEEDS,
        rewriter=rewriter,
        texts=_instructions,
    )


def _instructions(case: Case) -> tuple[str, ...]:
    own = case.presentation.instructions if isinstance(case, AnswerCase) else None
    return () if own is None else (own,)


async def _reworded(rewriter: Rewriter, text: str, context: Context) -> str:
    reworded: object = await context.rewrite(rewriter, text)
    if not isinstance(reworded, str):
        raise TypeError(f"the rewriter must return a text, not {type(reworded).__name__}.")
    if not reworded.strip():
        raise ValueError("the rewriter returned an empty text.")
    return reworded
