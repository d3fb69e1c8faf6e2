"""What configuration files and `judgeharness adapters` know about LangSmith; imports no framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging import Judge
from judgeharness_langsmith.versions import TESTED

if TYPE_CHECKING:
    from judgeharness_integrations.testing import Bench

__all__ = ["ADAPTER"]


def _build_judge(spec: JudgeSpec) -> Judge:
    raise ConfigError(f"judge {spec.name!r}: LangSmith brings no judges; use adapter langchain or openevals for it.")


def _benches() -> Sequence[Bench]:
    from judgeharness_langsmith.bench import benches  # noqa: PLC0415

    return benches()


ADAPTER = Adapter(
    name="langsmith",
    extras={"langsmith": ("langsmith",), "otel": ("opentelemetry",)},
    build_judge=_build_judge,
    benches=_benches,
    tested=TESTED,
)
