"""What configuration files and `judgeharness adapters` know about LangSmith; imports no framework."""

from __future__ import annotations

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging import Judge

__all__ = ["ADAPTER"]


def _build_judge(spec: JudgeSpec) -> Judge:
    raise ConfigError(f"judge {spec.name!r}: LangSmith brings no judges; use adapter langchain or openevals for it.")


ADAPTER = Adapter(
    name="langsmith", extras={"langsmith": ("langsmith",), "otel": ("opentelemetry",)}, build_judge=_build_judge
)
