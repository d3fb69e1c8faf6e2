"""What the models of one pair are given: its conditions with their texts, and the chunks it may draw on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.conditions import Conditions
from judgeharness_integrations.benchmark.documents.document import Chunk, Document
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Behaviour, FailureType, Taxonomy

__all__ = ["Material", "Which"]

Which: TypeAlias = Literal["better", "worse"]


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
        mine = [documents[name] for name in conditions.documents if name in documents]
        held = {chunk.chunk_id: chunk for document in mine for chunk in document.chunks}
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
