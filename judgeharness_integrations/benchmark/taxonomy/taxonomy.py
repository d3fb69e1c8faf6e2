"""The failure types a worse conversation can have, and the ways users behave."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from judgeharness_integrations.benchmark.records import Record

__all__ = ["Behaviour", "FailureType", "Taxonomy"]


class FailureType(Record):
    """A way to fail: `flaw` is what the worse assistant does in the flawed round, `benign` what the better one does
    under the same pressure. `definition` is what judges are told. `earliest_round`: the first in which it can occur.
    """  # noqa: D205 - one paragraph

    name: str
    definition: str
    flaw: str
    benign: str
    earliest_round: int = Field(default=1, ge=1)


class Behaviour(Record):
    """A way users behave in a conversation."""

    name: str
    description: str


class Taxonomy(Record):
    """Failure types and behaviours by name, in the order of their files."""

    failure_types: Mapping[str, FailureType]
    behaviours: Mapping[str, Behaviour]
