"""Cases as the arguments of an evaluator."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from judgeharness_integrations.cases import AnswerCase, Case, PairwiseCase
from judgeharness_integrations.structured import Attachments, StructuredCase, structured_case

__all__ = ["as_messages", "for_prompt", "is_plain", "texts_of", "values_of"]

_SHARED_FIELDS = ("names", "author", "gold", "attributes", "presentation", "criteria")


def is_plain(case: Case) -> bool:
    """Whether a case is one answer, as text."""
    return isinstance(case, AnswerCase) and not isinstance(case, (StructuredCase, PairwiseCase))


def values_of(case: StructuredCase) -> dict[str, Any]:
    """Return the values of a case by name."""
    outputs = {"inputs": case.inputs, "outputs": case.outputs, "reference_outputs": case.reference_outputs}
    return {**case.extra, **outputs}


def for_prompt(attached: Any) -> Any:
    """Return attachments in the form openevals' prompts take them; None where there are none."""
    if not isinstance(attached, Attachments):
        return attached or None
    if attached.others:  # openevals says what is wrong with them
        return dict(attached)
    files = attached.files.items()
    return [{"mime_type": f.mime_type or "", "data": f.data_uri, "name": name} for name, f in files] or None


def texts_of(case: AnswerCase, wanted: Collection[str]) -> dict[str, Any]:
    """Return the texts of a case by name, with those of context and attributes that are `wanted`."""
    more = {**case.attributes, "context": case.context}
    texts = {"inputs": case.input, "outputs": case.output, "reference_outputs": case.reference}
    return {name: value for name, value in more.items() if name in wanted} | texts


def as_messages(case: AnswerCase) -> StructuredCase:
    """Return a case of text as one of messages."""
    return structured_case(
        case_id=case.case_id,
        inputs=case.input,
        outputs=_messages(case.output),
        reference_outputs=None if case.reference is None else _messages(case.reference),
        extra={} if case.context is None else {"context": case.context},
        **{name: getattr(case, name) for name in _SHARED_FIELDS},
    )


def _messages(text: str) -> Any:
    """Return the messages a text holds as JSON; else one message of the assistant."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    several = found.get("messages") if isinstance(found, Mapping) else found
    is_messages = isinstance(several, list) and all(isinstance(part, Mapping) and "role" in part for part in several)
    return found if is_messages and several else [{"role": "assistant", "content": text}]
