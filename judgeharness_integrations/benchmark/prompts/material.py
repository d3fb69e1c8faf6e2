"""Prompts from templates: instructions from a file of this package, material between marks that it cannot forge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from judgeharness_integrations.chatmodels import Prompt
from judgeharness_integrations.marks import MARKS, material_of

__all__ = ["object_of", "prompt"]

_ANSWER = "Answer with one JSON object of the given schema and nothing else."


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("judgeharness_integrations.benchmark.prompts"),
        autoescape=False,  # noqa: S701 - models read plain text; pages have an environment of their own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def prompt(
    step: str,
    material: Sequence[tuple[str, str]],
    schema: Mapping[str, Any],
    *,
    template: str | None = None,
    **words: Any,
) -> Prompt:
    """Return the prompt of a step.

    Args:
        step: its name; instructions are in `templates/{step}.txt` unless `template` names another.
        material: (title, text) of what the model is given, in this order. Texts may be hostile.
        schema: JSON schema of the answer.
        template: the template's name without its ending.
        words: what the template says besides; never texts of documents or conversations.

    """
    told = _environment().get_template(f"{template or step}.txt").render(**words)
    shown = material_of(material)
    system = f"{told.strip()}\n\n{MARKS}\n{_ANSWER}"
    return Prompt(step=step, system=system, user=shown.material, schema=schema, code=shown.code)


def object_of(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object whose properties are all required and no others allowed."""
    return {
        "title": title,
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
