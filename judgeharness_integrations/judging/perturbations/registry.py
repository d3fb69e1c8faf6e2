"""Perturbations by name; the same said in other words, and the same question in another form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.verdictlog.row import PROBE, Verdict

from ..cases import AnswerCase, Case, QuestionForm, map_texts, presented
from .base import (
    Context,
    Perturbation,
    Rewriter,
    compose,
    kind_of,
    none,
    position_swap,
    retest,
    slot_names,
    texts_of,
    wants_answer,
    wants_text,
)
from .formats import format_change, typography, whitespace

if TYPE_CHECKING:
    from random import Random


MODEL_NAMES: tuple[str, ...] = (
    "ChatGPT",
    "GPT-3",
    "GPT-3.5",
    "GPT-3.5 Turbo",
    "GPT-4",
    "GPT-4 Turbo",
    "GPT-4.1",
    "GPT-4.1 mini",
    "GPT-4o",
    "GPT-4o mini",
    "GPT-5",
    "GPT-5 mini",
    "InstructGPT",
    "OpenAI o1",
    "OpenAI o3",
    "gpt-3.5-turbo",
    "gpt-4",
    "gpt-4-turbo",
    "gpt-4.1",
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-5",
    "Claude",
    "Claude 2",
    "Claude 3 Haiku",
    "Claude 3 Opus",
    "Claude 3 Sonnet",
    "Claude 3.5 Haiku",
    "Claude 3.5 Sonnet",
    "Claude 3.7 Sonnet",
    "Claude Haiku 4.5",
    "Claude Opus 4",
    "Claude Sonnet 4",
    "Claude Sonnet 4.5",
    "claude-3-haiku",
    "claude-3-opus",
    "claude-3-sonnet",
    "claude-3-5-sonnet",
    "Gemini",
    "Gemini 1.5 Flash",
    "Gemini 1.5 Pro",
    "Gemini 2.0 Flash",
    "Gemini 2.5 Flash",
    "Gemini 2.5 Pro",
    "Gemini Pro",
    "Gemini Ultra",
    "Gemma 2",
    "Gemma 3",
    "Google Bard",
    "PaLM 2",
    "gemini-1.5-flash",
    "gemini-1.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "Llama 2",
    "Llama 3",
    "Llama 3.1",
    "Llama 3.3",
    "Llama 4",
    "Vicuna-13B",
    "Alpaca-7B",
    "Mistral 7B",
    "Mistral Large",
    "Mixtral 8x7B",
    "Mixtral 8x22B",
    "Qwen",
    "Qwen2",
    "Qwen2.5",
    "Qwen3",
    "QwQ-32B",
    "DeepSeek",
    "DeepSeek-R1",
    "DeepSeek-V3",
    "Grok 2",
    "Grok 3",
    "Grok 4",
    "Command R",
    "Command R+",
    "Amazon Nova Pro",
    "Phi-3",
    "Phi-4",
    "Kimi K2",
    "GLM-4",
    "GLM-4.5",
    "Falcon-40B",
    "Microsoft Copilot",
)


_ALSO_FIRST_NAMES = frozenset({"Claude", "Gemini"})
_COMBINING = "\u0300-\u036f"


class _Found(NamedTuple):
    given: tuple[str, ...]
    models: tuple[str, ...]
    pattern: re.Pattern[str]


def name_swap() -> Perturbation:
    """Return the perturbation that exchanges names in all texts of a case, whole words only.

    The names of `case.names` change places among themselves, none keeping its own; so do the well-known model
    names that the texts mention, and one that stands alone becomes another of `MODEL_NAMES`. Who wrote an answer
    (`author`) stays.
    """
    return Perturbation("name_swap", _swapped, fits=_unfit, contextual=True)


def _swapped(case: Case, context: Context) -> Case:
    found = _found(case)
    other = _cycle(found.given, context.random)
    models = found.models
    if len(models) == 1:
        taken = {*models, *found.given}
        other[models[0]] = context.random.choice([name for name in MODEL_NAMES if name not in taken])
    other.update(_cycle(models, context.random) if len(models) > 1 else {})
    if not other:
        return case
    return _map_all(case, lambda text: found.pattern.sub(lambda name: other[name[0]], text))


def _unfit(case: Case) -> str | None:
    if not isinstance(case, (str, AnswerCase)):
        return f"name_swap needs an AnswerCase, a PairwiseCase or a string, not {kind_of(case)}."
    found = _found(case)
    if found.given or found.models:
        return None
    names = _distinct(_given(case))
    if len(names) == 1:
        return f"name_swap exchanges two names at least, and the case gives only {names[0]!r}."
    if names:
        return f"name_swap finds none of the case's names in its texts: {', '.join(names)}."
    return "name_swap finds no name to exchange: give the case's names, or texts that mention a model."


def _found(case: Case) -> _Found:
    """Return the names to exchange and the pattern that matches each where it stands as a whole word."""
    texts = _texts(case)
    given = _distinct(_given(case))
    given = given if len(given) > 1 else ()
    models = [name for name in MODEL_NAMES if name not in given and any(name in text for text in texts)]
    pattern = _pattern(given, models)
    seen = {name for text in texts for name in pattern.findall(text)}
    return _Found(given if seen.intersection(given) else (), tuple(name for name in models if name in seen), pattern)


def _pattern(given: Iterable[str], models: Iterable[str]) -> re.Pattern[str]:
    forms = {name: rf"{re.escape(name)}(?![\w{_COMBINING}])" for name in given}
    for name in models:
        # a version that is not listed, or a person of that first name, is a name of its own
        more = r"|[ ]\d" + ("|[ ][A-Z][a-z]" if name in _ALSO_FIRST_NAMES else "") if name.isalpha() else ""
        forms[name] = rf"(?<![.-]){re.escape(name)}(?!\w|[.-]\w{more})"
    ordered = sorted(forms, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms[name] for name in ordered)})" if ordered else r"(?!)")


def _cycle(names: Iterable[str], random: Random) -> dict[str, str]:
    order = sorted(names)
    random.shuffle(order)
    return dict(pairwise([*order, order[0]])) if order else {}


def _given(case: Case) -> tuple[str, ...]:
    return case.names if isinstance(case, AnswerCase) else ()


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _texts(case: Case) -> tuple[str, ...]:
    return (case,) if isinstance(case, str) else case.all_texts()


def _map_all(case: Case, change: Callable[[str], str]) -> Case:
    return change(case) if isinstance(case, str) else case.with_all_texts(change)


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
