"""What a benchmark was made with: enough to go on with it, and to make its parallel set."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from judgeharness_integrations.benchmark.conditions import Drawing
from judgeharness_integrations.benchmark.records import Record

__all__ = ["Settings"]


class Settings(Record):
    """One `benchmark.json`.

    `n`: pairs planned. `generator` and `verifier` are models; `imported_from`: the file a benchmark was converted from
    instead. `documents` and `taxonomy` are digests of what the folder holds of them.
    """

    schema_: Literal["judgeharness.benchmark/1"] = Field(default="judgeharness.benchmark/1", alias="schema")
    n: int = Field(ge=0)
    drawing: Drawing = Drawing()
    generator: str | None = None
    verifier: str | None = None
    min_grounded: float = Field(default=1.0, ge=0, le=1)
    documents: str
    taxonomy: str
    imported_from: str | None = None
