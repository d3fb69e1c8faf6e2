"""Prompts as text: what they hash to, and the names the two answers carry in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.prompts import (
    BasePromptTemplate,
    ChatPromptTemplate,
    HumanMessagePromptTemplate,
    PromptTemplate,
)

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging import text_hash

__all__ = ["chat_prompt", "prompt_hash", "relabelled", "template_texts"]

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
