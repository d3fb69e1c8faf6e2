"""What stands behind a judge: its chat model and how it is set, its prompts as text, one cache namespace a sample."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from langchain_core.caches import BaseCache
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseLanguageModel
from langchain_core.prompts import BasePromptTemplate, ChatPromptTemplate, HumanMessagePromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableBinding
from pydantic import ValidationError

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging import chatmodels
from judgeharness_integrations.judging.cases import AnswerCase, Case, PairwiseCase, case_id_of
from judgeharness_integrations.judging.chatmodels import NamespacedCache, single_choice
from judgeharness_integrations.judging.judge import model_family, text_hash
from judgeharness_integrations.redacting import REDACTED

_SHORTEST_SECRET = 4
_MAKERS = frozenset({"anthropic", "google"})


def innermost(model: object) -> object:
    """Return the model below `bind(...)` and the like."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model


def with_innermost(model: Any, core: Any) -> Any:
    """Return the same bindings around another model."""
    if not isinstance(model, RunnableBinding):
        return core
    return model.model_copy(update={"bound": with_innermost(model.bound, core)})


def model_name(model: object) -> str | None:
    """Return the provider's name of the model; the class name when it has none."""
    core = innermost(model)
    own = type(core).__name__ if isinstance(core, BaseLanguageModel) else None
    return chatmodels.model_name(core) or own


def family_of(model: object) -> str | None:
    """Return the maker of the model by its name, else by the integration package it comes from."""
    core = innermost(model)
    package = type(core).__module__.split(".")[0].removeprefix("langchain_").split("_")[0]
    return model_family(model_name(model)) or model_family(package) or (package if package in _MAKERS else None)


def model_parameters(model: object, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters that are set, bound arguments included, and the endpoint.

    Args:
        model: the model, maybe in bindings; the outermost binding wins.
        told: arguments a chain adds to each call; they win over all bindings.

    """
    given = dict(told or {})
    while isinstance(model, RunnableBinding):
        given = {**model.kwargs, **given}
        model = model.bound
    return chatmodels.model_parameters(model, given)


_SLOT = re.compile(r"\b[Aa]ssistant ([AB])\b")
Change = Callable[[str], str]


def chat_prompt(prompt: object, known: Sequence[str]) -> ChatPromptTemplate:
    """Return a prompt as messages: a `PromptTemplate` becomes one message of the user.

    Raises:
        UsageError: it is no prompt template, or it names what is not `known`.

    """
    if isinstance(prompt, PromptTemplate):
        fixed = dict(prompt.partial_variables)
        whole = {"partial_variables": {}, "input_variables": [*prompt.input_variables, *fixed]}
        message = HumanMessagePromptTemplate(prompt=prompt.model_copy(update=whole))
        prompt = ChatPromptTemplate(messages=[message], partial_variables=fixed)
    if not isinstance(prompt, ChatPromptTemplate):
        raise UsageError(f"a prompt is a ChatPromptTemplate or a PromptTemplate, not {type(prompt).__name__}.")
    if unknown := sorted(set(prompt.input_variables) - set(known)):
        raise UsageError(f"the prompt names {' and '.join(unknown)}: name only {', '.join(known)} in it.")
    return prompt


def _templates(prompt: Any) -> list[tuple[str, str]]:
    """Return (role, template) of every message whose template is text."""
    if isinstance(prompt, PromptTemplate):
        return [("text", prompt.template)]
    messages = prompt.messages if isinstance(prompt, ChatPromptTemplate) else []
    found = []
    for message in messages:
        inner = getattr(message, "prompt", None)
        text = getattr(inner, "template", None) or getattr(message, "content", "")
        found.append((type(message).__name__, str(text)))
    return found


def template_texts(prompt: Any) -> tuple[str, ...]:
    """Return what a prompt says whatever it is about: its templates, and its fixed parts that are texts."""
    fixed = getattr(prompt, "partial_variables", {}).values()
    return (*(template for _, template in _templates(prompt)), *(part for part in fixed if isinstance(part, str)))


def prompt_hash(prompt: Any) -> str | None:
    """Return a digest of the prompt's templates and fixed parts (criteria, ...); None when they cannot be read."""
    templates = _templates(prompt)
    if not templates:
        return None
    fixed = sorted((name, str(value)) for name, value in getattr(prompt, "partial_variables", {}).items())
    return text_hash(repr((templates, fixed)))


def relabelled(prompt: BasePromptTemplate[Any], slots: tuple[str, str]) -> BasePromptTemplate[Any] | None:
    """Return the prompt with `Assistant A` and `Assistant B` renamed; None when it does not name both so.

    The verdict letters stay: `[[A]]` is still the first text.
    """
    named = {match[1] for _, template in _templates(prompt) for match in _SLOT.finditer(template)}
    if named != {"A", "B"}:
        return None
    names = {letter: slot.replace("{", "{{").replace("}", "}}") for letter, slot in zip("AB", slots, strict=True)}

    def change(template: str) -> str:
        return _SLOT.sub(lambda match: names[match[1]], template)

    if isinstance(prompt, PromptTemplate):
        return prompt.model_copy(update={"template": change(prompt.template)})
    messages = [_changed(message, change) for message in getattr(prompt, "messages", ())]
    return prompt.model_copy(update={"messages": messages})


def _changed(message: Any, change: Change) -> Any:
    inner = getattr(message, "prompt", None)
    if not isinstance(inner, PromptTemplate):
        return message
    return message.model_copy(update={"prompt": inner.model_copy(update={"template": change(inner.template)})})


class _Choosy(Protocol):
    """A judge that says which cases it cannot judge."""

    @property
    def name(self) -> str: ...

    def fits(self, case: Case) -> str | None: ...


def misfit(case: Case, asked: Any, *, pairwise: bool) -> str | None:
    """Return why a case cannot be judged, None when it can.

    Args:
        case: what is to be judged.
        asked: who is asked; its `requires_input` and `requires_reference` count.
        pairwise: two answers are compared, not one judged.

    """
    if not isinstance(case, AnswerCase):
        return f"it judges an AnswerCase or a PairwiseCase, not a {type(case).__name__}"
    if pairwise != isinstance(case, PairwiseCase):
        return (
            "it compares two answers and the case has one"
            if pairwise
            else "it judges one answer and the case has two, of which it would ignore output_b"
        )
    words = [word for word in ("input", "reference") if getattr(asked, f"requires_{word}", False)]
    missing = [word for word in words if getattr(case, word) is None]
    return f"it needs the {' and the '.join(missing)}, which the case lacks" if missing else None


def fitting_case(judge: _Choosy, case: Case) -> AnswerCase:
    """Return the case when the judge can judge it.

    Raises:
        CaseError: it cannot; a plan says so earlier.

    """
    if (reason := judge.fits(case)) is not None:
        raise CaseError(f"{judge.name} cannot judge case {case_id_of(case)!r}: {reason}.")
    return cast("AnswerCase", case)


BaseCache.register(NamespacedCache)


def active_cache(model: object) -> BaseCache | None:
    """Return the cache that would answer for a model; None when none does."""
    own = getattr(innermost(model), "cache", None)
    if isinstance(own, BaseCache):
        return own
    return None if own is False else get_llm_cache()


def isolated(model: Any, namespace: str) -> Any | None:
    """Return a copy of the model whose cache entries stand apart and that gives one choice; None when out of reach.

    A namespace that is already set (a judge inside a judge) is kept: its entries are nested.
    """
    cache, core = active_cache(model), single_choice(innermost(model))
    if cache is None:
        return model if core is innermost(model) else with_innermost(model, core)
    if not isinstance(core, BaseLanguageModel):
        return None
    return with_innermost(model, core.model_copy(update={"cache": NamespacedCache(cache, namespace)}))


def sentence(error: Exception, options: Mapping[str, Any] | None = None) -> str:
    """Return one line that says what is wrong; values of options, which may be secrets, are left out of it."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_context=False, include_input=False)
        line = "; ".join(_refused(part["loc"], part["msg"]) for part in found)
    else:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    for text in sorted(_texts(options), key=len, reverse=True):
        line = line.replace(text, REDACTED)
    return " ".join(line.split()).rstrip(".")


def _refused(place: tuple[int | str, ...], message: str) -> str:
    return f"option {'.'.join(map(str, place))!r}: {message}" if place else message


def _texts(value: object) -> set[str]:
    """Return the texts among (nested) options that could be recognised in a message."""
    if isinstance(value, Mapping):
        # the provider is no secret and what a message is about
        return set().union(*(_texts(part) for name, part in value.items() if name != "model_provider"))
    if isinstance(value, (list, tuple)):
        return set().union(*map(_texts, value))
    return {value} if isinstance(value, str) and len(value) >= _SHORTEST_SECRET else set()
