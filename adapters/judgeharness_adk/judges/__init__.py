"""ADK's LLM metrics as core judges."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .base import MetricJudge, NoQuestionsError, Settled, Unready
from .metrics import (
    FinalResponseMatchJudge,
    FinalResponseQualityJudge,
    HallucinationsJudge,
    ToolUseQualityJudge,
    TrajectoryQualityJudge,
    UserSimulatorJudge,
)

__all__ = ["JUDGES", "MetricJudge", "NoQuestionsError", "Settled", "Unready"]

# ADK's name of a metric -> its judge
JUDGES: Mapping[str, type[MetricJudge[Any]]] = MappingProxyType(
    {
        judge.metric: judge
        for judge in (
            FinalResponseQualityJudge,
            ToolUseQualityJudge,
            TrajectoryQualityJudge,
            FinalResponseMatchJudge,
            HallucinationsJudge,
            UserSimulatorJudge,
        )
    }
)
