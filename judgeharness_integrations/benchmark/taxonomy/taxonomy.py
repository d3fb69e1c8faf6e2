"""The failure types a worse conversation can have, and the ways users behave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from judgeharness_integrations.benchmark.records import Record

__all__ = ["Behaviour", "FailureType", "Taxonomy"]


class FailureType(Record):
    """A way to fail: `flaw` is what the worse assistant does in the flawed round, `benign` what the better one does
    under the same pressure. `definition` is what judges are told. `earliest_round`: the first in which it can occur.
    """  # noqa: D205 - one paragraph

    name: str = Field(min_length=1)
    definition: str
    flaw: str
    benign: str
    earliest_round: int = Field(default=1, ge=1)


class Behaviour(Record):
    """A way users behave in a conversation."""

    name: str = Field(min_length=1)
    description: str


class Taxonomy(Record):
    """Failure types and behaviours by name, in the order of their files."""

    failure_types: Mapping[str, FailureType]
    behaviours: Mapping[str, Behaviour]

    @model_validator(mode="after")
    def _named(self) -> Self:
        """Refuse an entry that stands under another name than its own: pairs are drawn by one, told by the other."""
        named = [(name, entry.name) for name, entry in self.failure_types.items()]
        named += [(name, entry.name) for name, entry in self.behaviours.items()]
        for name, own in named:
            if name != own:
                raise ValueError(f"{name!r} holds the entry of {own!r}")
        return self
