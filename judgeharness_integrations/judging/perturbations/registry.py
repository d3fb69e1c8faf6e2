"""Perturbations by name; the same said in other words, and the same question in another form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.judging.cases import AnswerCase, QuestionForm, map_texts, presented
from judgeharness_integrations.judging.perturbations.base import (
    Perturbation,
    compose,
    none,
    position_swap,
    retest,
    slot_names,
    texts_of,
    wants_answer,
    wants_text,
)
from judgeharness_integrations.judging.perturbations.formats import format_change, typography, whitespace
from judgeharness_integrations.judging.perturbations.names import name_swap
from judgeharness_integrations.verdictlog.row import PROBE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judgeharness_integrations.judging.cases import Case
    from judgeharness_integrations.judging.perturbations.base import Context, Rewriter
    from judgeharness_integrations.verdictlog.row import Verdict

_MOST_TURNS = 2**16
_OPPOSITE = {"PASS": "FAIL", "FAIL": "PASS"}
_SENTENCES: Final = (
    "The Danube flows into the Black Sea.",
    "A week has seven days.",
    "Honey is made by bees.",
    "The Moon goes round the Earth.",
    "Copper conducts electricity.",
)


def option_order() -> Perturbation:
    """Return the perturbation that shows the options of a choice in another order, a rotation drawn for each case.

    The two answers of a pair stay where they are.
    """
    return _form("option_order", _turned)


def option_names() -> Perturbation:
    """Return the perturbation that calls the options of a choice option 1, option 2 ...; what they mean is said."""
    return _form("option_names", lambda form, *_: replace(form, renamed=True))


def negated() -> Perturbation:
    """Return the perturbation that asks the opposite of a yes or no question.

    PASS is restored to FAIL and FAIL to PASS, and so are their probabilities: p becomes 1 - p.
    """
    made = _form("negated", lambda form, *_: replace(form, negated=not form.negated))
    return replace(made, restore=_restored, negates=True)


def two_way_choice() -> Perturbation:
    """Return the perturbation that asks a yes or no question as a choice between yes and no."""
    return _form("two_way_choice", lambda form, *_: replace(form, two_way=True))


def alone() -> Perturbation:
    """Return the perturbation that asks every question about a case in a request of its own."""
    return _form("alone", lambda form, *_: replace(form, alone=True))


def irrelevant_sentence() -> Perturbation:
    """Return the perturbation that puts a true sentence beside the case that has nothing to do with it."""
    return _form("irrelevant_sentence", _with_sentence)


def _turned(form: QuestionForm, context: Context, case: AnswerCase) -> QuestionForm:
    del case
    return replace(form, turned=context.random.randrange(_MOST_TURNS))


def _with_sentence(form: QuestionForm, context: Context, case: AnswerCase) -> QuestionForm:
    told = "\n".join(case.all_texts())
    sentences = [sentence for sentence in _SENTENCES if sentence not in told] or list(_SENTENCES)
    return replace(form, sentence=context.random.choice(sentences))


def _form(name: str, change: Callable[..., QuestionForm]) -> Perturbation:
    def apply(case: AnswerCase, context: Context) -> AnswerCase:
        return presented(case, form=change(case.presentation.form or QuestionForm(), context, case))

    return Perturbation(name, apply, fits=wants_answer(name), contextual=True, needs=frozenset({name}))


def _restored(verdict: Verdict, criterion: str) -> Verdict:
    del criterion
    return _OPPOSITE.get(verdict, verdict) if isinstance(verdict, str) else verdict


QUESTION_FORMS: Mapping[str, Callable[[], Perturbation]] = MappingProxyType(
    {
        "alone": alone,
        "irrelevant_sentence": irrelevant_sentence,
        "negated": negated,
        "option_names": option_names,
        "option_order": option_order,
        "two_way_choice": two_way_choice,
    }
)


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


_PLAIN: dict[str, Callable[[], Perturbation]] = {
    **QUESTION_FORMS,
    "format_change": format_change,
    "name_swap": name_swap,
    "none": none,
    "position_swap": position_swap,
    "retest": retest,
    "slot_names": slot_names,
    "typography": typography,
    "whitespace": whitespace,
}
PERTURBATION_NAMES: tuple[str, ...] = tuple(sorted([*_PLAIN, "paraphrase", "prompt_variant"]))

# attacks stand above their registry: checks of a judge ask them, and few runs
_NAMED_PROBE = "judgeharness_integrations.judging.probes.catalogue:named_probe"
_SPEC = re.compile(r"([^()]*+)(?:\(([^()]*+)\))?")
_TWO_LABELS = 2


def perturbation(
    spec: str | Perturbation,
    *,
    rewriter: Rewriter | None = None,
    instructions: Sequence[str] = (),
    more: Mapping[str, Callable[[], Perturbation]] = MappingProxyType({}),
) -> Perturbation:
    """Return the perturbation a name stands for; the result's own name stands for it again.

    Args:
        spec: a `Perturbation`, which is returned as it is, or a name: `typography`, `slot_names(X/Y)`,
            `prompt_variant(2)`, an adversarial probe (`probe:injection.encoded(b)`), or several joined by `+`.
        rewriter: what `paraphrase` and `prompt_variant` use.
        instructions: the texts that `prompt_variant(1)`, `prompt_variant(2)` ... stand for.
        more: perturbations that a framework's cases have besides, or instead of, those of the same name.

    Raises:
        UnknownNameError: there is no perturbation of that name.
        PlanError: the name's parameters are malformed, or what it needs is missing.

    """
    if isinstance(spec, Perturbation):
        return spec
    if not isinstance(spec, str):
        raise PlanError(
            "a plain function has no name in the log: Perturbation(name, function) gives it one."
            if callable(spec)
            else f"a perturbation is a name or a Perturbation, not {type(spec).__name__}."
        )
    plain = {**_PLAIN, **more}
    return compose(*(_one(part.strip(), spec, plain, rewriter, instructions) for part in spec.split("+")))


def _one(
    part: str,
    spec: str,
    plain: Mapping[str, Callable[[], Perturbation]],
    rewriter: Rewriter | None,
    instructions: Sequence[str],
) -> Perturbation:
    parsed = _SPEC.fullmatch(part)
    if not part or not parsed:
        raise PlanError(f"{spec!r} is malformed: write name, name(parameter) or a+b.")
    name, parameter = parsed[1].strip(), parsed[2]
    if name.startswith(PROBE):
        probe: Perturbation = resolve_name(_NAMED_PROBE)(part, spec)
        return probe
    if name not in (known := sorted({*plain, *PERTURBATION_NAMES})):
        raise UnknownNameError("perturbation", name, known)
    if name == "slot_names" and parameter is not None:
        return _labelled(part, parameter)
    if name == "prompt_variant" and parameter is not None:
        return _numbered(part, parameter, instructions)
    if parameter is not None:
        raise PlanError(f"{name} takes no parameters: write {name!r}, not {part!r}.")
    if name == "paraphrase":
        return paraphrase(rewriter)
    return prompt_variant(rewriter=rewriter) if name == "prompt_variant" else plain[name]()


def _labelled(part: str, parameter: str) -> Perturbation:
    labels = [label.strip() for label in parameter.split("/")]
    if len(labels) != _TWO_LABELS:
        raise PlanError(f"{part!r} is malformed: write slot_names(first/second).")
    return slot_names(*labels)


def _numbered(part: str, parameter: str, instructions: Sequence[str]) -> Perturbation:
    if not re.fullmatch(r"[ ]*+[0-9]{1,6}[ ]*+", parameter) or int(parameter) < 1:
        raise PlanError(f"{part!r} is malformed: write prompt_variant(1) for the first of the instructions.")
    number = int(parameter)
    if number > len(instructions):
        raise PlanError(f"{part!r} needs {number} prompt variants, and {len(instructions)} are given.")
    return prompt_variant(instructions[number - 1], number)
