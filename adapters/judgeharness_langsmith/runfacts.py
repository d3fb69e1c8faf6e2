"""What a run and an example tell beside inputs and outputs, by which their cases are known again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langsmith.schemas import Example, Run

from judgeharness_integrations.execution.probehash import value_digest

__all__ = ["rest_digest"]

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_cost", "completion_cost", "total_cost")
_TOLD = ("name", "run_type", "error", "tags", "attachments", *_COUNTS)
_OF_ITSELF = frozenset({"revision_id", "example_version"})  # metadata that LangSmith sets anew


def rest_digest(run: Run, example: Example | None) -> str:
    """Return a digest of what a run and its example tell beside their own inputs and outputs.

    Ids, times, events and feedback are left out: they change where nothing else does. Runs that hold what cannot be
    compared are known by their ids.
    """
    about = [_facts(run), getattr(example, "metadata", None) or {}]
    digest = value_digest(about)
    if digest is None:
        digest = value_digest([run.id, getattr(example, "id", None), getattr(example, "modified_at", None)])
    return (digest or b"").hex()


def _facts(run: Any) -> dict[str, Any]:
    """Return the facts of a run, with those of its child runs; whatever is empty is left out."""
    told = {name: getattr(run, name, None) for name in _TOLD}
    extra = {name: value for name, value in (getattr(run, "extra", None) or {}).items() if name != "runtime"}
    if isinstance(extra.get("metadata"), Mapping):
        extra["metadata"] = {name: value for name, value in extra["metadata"].items() if name not in _OF_ITSELF}
    told["extra"] = {name: value for name, value in extra.items() if value}
    children = getattr(run, "child_runs", None) or ()
    told["child_runs"] = [{**_facts(one), "inputs": one.inputs, "outputs": one.outputs} for one in children]
    return {name: value for name, value in told.items() if value}
