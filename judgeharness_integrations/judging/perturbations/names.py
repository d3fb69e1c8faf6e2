"""Other names in the texts of a case: people's and products' exchanged, and models'.

Names of well-known models and assistants, current and past, as they are written in texts. Words that mean something
else more often than a model (Llama, Nova, Command, Bard) appear with their version only.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.perturbations.base import Perturbation, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from judgeharness_integrations.judging.cases import Case
    from judgeharness_integrations.judging.perturbations.base import Context

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
