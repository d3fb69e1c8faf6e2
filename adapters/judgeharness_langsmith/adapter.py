"""What configuration files and `judgeharness adapters` know about LangSmith; imports no framework."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging.judge import Judge

from .versions import TESTED

if TYPE_CHECKING:
    from judgeharness_integrations.judging.adapterkit import Bench
    from judgeharness_integrations.judging.execution.observing import Observer

_SWITCHES = tuple(f"{space}_{name}" for name in ("TRACING_V2", "TRACING") for space in ("LANGSMITH", "LANGCHAIN"))


def _build_judge(spec: JudgeSpec) -> Judge:
    raise ConfigError(f"judge {spec.name!r}: LangSmith brings no judges; use adapter langchain or openevals for it.")


def _benches() -> Sequence[Bench]:
    from .bench import benches  # noqa: PLC0415

    return benches()


def _observer() -> Observer | None:
    """Return an observer where LangSmith traces, "local" tracing included: what is judged is then kept from it."""
    if not _traces() or "langsmith" in ADAPTER.missing():
        return None
    from .tracing import LangSmithTracing  # noqa: PLC0415 - not while tracing is off

    return LangSmithTracing()


def _traces() -> bool | str:
    """Whether LangSmith traces here; as long as nobody has imported it, its environment variables tell."""
    loaded = sys.modules.get("langsmith.utils")
    if loaded is not None:
        traces: bool | str = loaded.tracing_is_enabled()
        return traces
    return next((value for name in _SWITCHES if (value := os.environ.get(name, "")).strip()), "") == "true"


ADAPTER = Adapter(
    name="langsmith",
    extras={"langsmith": ("langsmith",), "otel": ("opentelemetry",)},
    build_judge=_build_judge,
    benches=_benches,
    tested=TESTED,
    observer=_observer,
)
