"""`check_perturbation` passes every perturbation of the package, and says what each defect is."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.cases import map_texts
from judgeharness_integrations.judging.perturbations import PERTURBATION_NAMES, Perturbation, perturbation
from judgeharness_integrations.testing import check_perturbation

ANNA, BOB = "Paris, says **Anna**.\n\nIndeed it is.", 'It may well be Lyon, "says" Bob - or GPT-4.'
PAIR = PairwiseCase(case_id="pair", input="Which?", output=ANNA, output_b=BOB, names=("Anna", "Bob"), gold="A")
CASES = [PAIR, AnswerCase(case_id="one", output=ANNA, gold="PASS"), "GPT-4 wrote a plain text.", {"messages": []}]
PARAMETERS = {"slot_names": "(X/Y)", "prompt_variant": "(1)"}


@pytest.mark.parametrize("name", [*PERTURBATION_NAMES, "slot_names", "position_swap+format_change"])
def test_the_perturbations_of_the_package_keep_what_they_promise(name: str) -> None:
    made = perturbation(
        name + PARAMETERS.get(name, ""), rewriter=lambda text: f"Well, {text}", instructions=["Be fair."]
    )
    check_perturbation(made, CASES)


def loud(case: Any) -> Any:
    return map_texts(case, str.upper)


def swapped(case: Any) -> Any:
    return replace(case, output=case.output_b, output_b=case.output)


def turned(verdict: Any, criterion: str) -> Any:
    del criterion
    return {"A": "B", "B": "A"}.get(verdict, verdict) if isinstance(verdict, str) else verdict


async def rewritten(case: Any, context: Any) -> Any:
    async def reword(text: str) -> str:
        await asyncio.sleep(0)
        return f"{text}!"

    return replace(case, output=await context.rewrite(reword, case.output))


def in_place(case: Any) -> Any:
    object.__setattr__(case, "output", case.output.upper())
    return case


@pytest.mark.parametrize(
    "made",
    [
        Perturbation("loud", loud),
        Perturbation("order", swapped, restore=turned, swaps=True),
        Perturbation("reworded", rewritten, contextual=True),
    ],
    ids=lambda made: made.name,
)
def test_perturbations_of_the_callers_own_pass(made: Perturbation) -> None:
    check_perturbation(made, [PAIR])
    check_perturbation(replace(made, name="again"), [PAIR, PAIR])


class Kinds:
    """A perturbation that draws where it may not."""

    def __init__(self) -> None:
        self.times = 0

    def counting(self, case: Any) -> Any:
        self.times += 1
        return map_texts(case, lambda text: f"{text} {self.times}")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (Perturbation("p", lambda case: case), "leaves all of the 1 cases it fits as they are"),
        (Perturbation("p", Kinds().counting), "two repetitions saw different changes"),
        (
            Perturbation("p", lambda case: map_texts(case, lambda text: f"{text}{random.random()}")),  # noqa: S311
            "draw from the context's random alone",
        ),
        (Perturbation("p", lambda case: replace(case, case_id="other")), "the case's id became 'other'"),
        (Perturbation("p", lambda case: replace(case, gold="B", input="x")), "gold 'A' became 'B'"),
        (Perturbation("p", lambda case: case.output), "PairwiseCase became str"),
        (Perturbation("p", in_place), "the case given was changed itself"),
        (Perturbation("p", lambda case: map_texts(case, lambda _: " ")), "an answer became empty"),
        (Perturbation("p", swapped), "prefers answer A by its words comes back as B"),
        (Perturbation("p", loud, restore=turned), r"keeps the order of texts \(swaps=False\), and restore\(\) maps"),
        (Perturbation("p", swapped, swaps=True), r"exchanges the two texts, and restore\(\) maps A, B to 'A', 'B'"),
        (Perturbation("p", loud, restore=lambda verdict, _: "A" if verdict == "TIE" else verdict), "'A' of 'TIE'"),
        (Perturbation("p", loud, restore=lambda verdict, _: -verdict if verdict == 7 else verdict), "-7 of 7"),
        (Perturbation("p", loud, fits=lambda _: ""), "fits() returns None or a sentence on why not, not ''"),
        (Perturbation("p", loud, fits=lambda _: "it is no poem."), "p fits none of the 1 cases: it is no poem."),
    ],
    ids=range(15),
)
def test_a_defect_is_told_in_one_sentence(made: Perturbation, sentence: str) -> None:
    pattern = sentence if "\\" in sentence else sentence.replace("(", r"\(").replace(")", r"\)")
    case = replace(PAIR)
    with pytest.raises(AssertionError, match=pattern):
        check_perturbation(made, [case])


def test_a_perturbation_that_loses_an_answer_is_told() -> None:
    class Answers(AnswerCase):
        def texts(self) -> tuple[str, ...]:
            return tuple(self.output.split("|"))

    cut = Perturbation("cut", lambda case: replace(case, output="one"))
    with pytest.raises(AssertionError, match="2 answers became 1"):
        check_perturbation(cut, [Answers(case_id="c", output="one|two")])


def test_nothing_is_checked_without_cases() -> None:
    with pytest.raises(UsageError, match="give some that it fits"):
        check_perturbation(Perturbation("loud", loud), [])


def test_answers_that_share_their_words_say_nothing_about_the_order() -> None:
    check_perturbation(Perturbation("p", swapped), [replace(PAIR, output="a b", output_b="b  a")])


def test_it_runs_where_an_event_loop_runs() -> None:
    async def inside() -> None:
        check_perturbation(Perturbation("loud", loud), CASES[:1])

    asyncio.run(inside())
