"""Callbacks, tags and metadata of one evaluation, handed to each of its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig

from judgeharness_integrations.judging import Probe
from judgeharness_integrations.result import HarnessResult

__all__ = ["CallOptions", "Kept"]

Kept = list[tuple[dict[str, Any], HarnessResult]]
Callbacks = list[BaseCallbackHandler] | BaseCallbackManager | None


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """What a caller passes along with an evaluation; `extra` goes to the evaluator untouched.

    `kept` is where a list face wants each answer beside its measurement.
    """

    callbacks: Callbacks = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    include_run_info: bool = False
    kept: Kept = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> CallOptions:
        """Read the keyword arguments of an `evaluate_*` call; a `config` (RunnableConfig) is merged in."""
        extra = dict(options)
        config: Any = extra.pop("config", None) or {}
        callbacks, tags, metadata = extra.pop("callbacks", None), extra.pop("tags", None), extra.pop("metadata", None)
        return cls(
            callbacks=config.get("callbacks") if callbacks is None else callbacks,
            tags=[*(config.get("tags") or ()), *(tags or ())],
            metadata={**(config.get("metadata") or {}), **(metadata or {})},
            include_run_info=bool(extra.pop("include_run_info", False)),
            kept=extra.pop("kept", []),
            extra=extra,
        )

    def for_sample(self, probe: Probe) -> RunnableConfig:
        """Return the config of one call: its perturbation and repetition are added, and a run id of its own."""
        name, repetition = probe.perturbation.name, probe.repetition
        order = "swapped" if probe.perturbation.swaps else "original"
        given = self.callbacks
        return RunnableConfig(
            callbacks=given.copy() if isinstance(given, BaseCallbackManager) else [*(given or ())],
            tags=[*self.tags, "judge-harness", f"perturbation:{name}", f"repetition:{repetition}"],
            metadata={**self.metadata, "perturbation": name, "repetition": repetition, "order": order},
            run_id=uuid4(),
        )
