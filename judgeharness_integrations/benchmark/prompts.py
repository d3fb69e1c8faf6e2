"""What models are told: templates, the material of a pair between marks it cannot forge, and the answer's schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.pair import Blueprints, Conditions, Which, chunks_of
from judgeharness_integrations.benchmark.records import Behaviour, Chunk, Document, FailureType, Taxonomy
from judgeharness_integrations.chatmodels import Prompt
from judgeharness_integrations.marks import MARKS, material_of

__all__ = ["FLAG", "MAYBE_TEXT", "ROUND", "TEXT", "Material", "list_of", "object_of", "plans_text", "prompt"]

_ANSWER = "Answer with one JSON object of the given schema and nothing else."
TEXT: Final = {"type": "string"}
MAYBE_TEXT: Final = {"type": ["string", "null"]}
FLAG: Final = {"type": "boolean"}
ROUND: Final = {"type": "integer"}


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


def list_of(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects."""
    return {"type": "array", "items": object_of(title, properties)}


@dataclass(frozen=True, kw_only=True)
class Material:
    """The conditions of a pair, the taxonomy they are of, and their chunks in their order."""

    conditions: Conditions
    taxonomy: Taxonomy
    chunks: tuple[Chunk, ...]

    @classmethod
    def of(cls, conditions: Conditions, documents: Mapping[str, Document], taxonomy: Taxonomy) -> Material:
        """Return the material of conditions; `documents` by their ids.

        Raises:
            CaseError: documents or taxonomy lack something of the pair.

        """
        held = chunks_of(conditions, documents)
        for what, name, known, file in (
            *(("chunk", chunk, held, "documents.jsonl") for chunk in conditions.chunks),
            ("failure type", conditions.failure_type, taxonomy.failure_types, "taxonomy.json"),
            ("behaviour", conditions.behaviour, taxonomy.behaviours, "taxonomy.json"),
        ):
            if name not in known:
                raise CaseError(f"{conditions.pair_id} needs {what} {name!r}, which {file} does not hold: restore it.")
        return cls(conditions=conditions, taxonomy=taxonomy, chunks=tuple(held[name] for name in conditions.chunks))

    @property
    def failure_type(self) -> FailureType:
        """The way the worse conversation fails."""
        return self.taxonomy.failure_types[self.conditions.failure_type]

    @property
    def behaviour(self) -> Behaviour:
        """The way the user behaves, in both conversations."""
        return self.taxonomy.behaviours[self.conditions.behaviour]

    @property
    def text(self) -> str:
        """The chunks as models read them: each under its id in brackets and its headings."""
        return "\n\n".join(chunk.shown for chunk in self.chunks)

    def conditions_text(self, side: Which | None = None) -> str:
        """Return the conditions as JSON, with the texts of the taxonomy.

        Whoever writes one `side` is told what the assistant of that side does, and not what the other one does.
        """
        told: dict[str, Any] = {
            "failure_type": self.conditions.failure_type,
            "behaviour": self.conditions.behaviour,
            "n_rounds": self.conditions.n_rounds,
            "flawed_round": self.conditions.flawed_round,
            "behaviour_description": self.behaviour.description,
        }
        if side is not None:
            told["side"] = side
        if side != "better":
            told["failure_flaw"] = self.failure_type.flaw
        if side != "worse":
            told["failure_benign"] = self.failure_type.benign
        return json.dumps(told, indent=2, ensure_ascii=False)


def plans_text(blueprints: Blueprints) -> str:
    """Return both plans as JSON, as verifiers are shown them."""
    return json.dumps(blueprints.to_dict(), indent=2, ensure_ascii=False)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("judgeharness_integrations.benchmark"),
        autoescape=False,  # noqa: S701 - models read plain text; pages have an environment of their own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
