"""Google ADK metrics as measurements: the rubric judges of `adk eval` report their whole distribution.

`register()` in `agent.py` puts harnessed evaluators in the place of ADK's own. The metrics are also functions of this
package, for `custom_metrics`: `judgeharness_adk.rubric_based_final_response_quality_v1`. The classes named
`Harnessed...` are subclasses of ADK's own, to be subclassed alike.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .evaluators import (
        HarnessedEvaluator,
        HarnessedFinalResponseMatchV2Evaluator,
        HarnessedHallucinationsV1Evaluator,
        HarnessedLlmAsJudge,
        HarnessedPerTurnUserSimulatorQualityV1,
        HarnessedRubricBasedFinalResponseQualityV1Evaluator,
        HarnessedRubricBasedMultiTurnTrajectoryEvaluator,
        HarnessedRubricBasedToolUseV1Evaluator,
    )
    from .measuring import observe
    from .registering import Registration, register
    from .results import AdkResults, load_results

__all__ = [
    "AdkResults",
    "HarnessedEvaluator",
    "HarnessedFinalResponseMatchV2Evaluator",
    "HarnessedHallucinationsV1Evaluator",
    "HarnessedLlmAsJudge",
    "HarnessedPerTurnUserSimulatorQualityV1",
    "HarnessedRubricBasedFinalResponseQualityV1Evaluator",
    "HarnessedRubricBasedMultiTurnTrajectoryEvaluator",
    "HarnessedRubricBasedToolUseV1Evaluator",
    "Registration",
    "load_results",
    "observe",
    "register",
]

# Loaded at first use, so that the package can say what is missing when google-adk is not installed.
_HOMES = {
    "AdkResults": "results.loading",
    "HarnessedEvaluator": "evaluators",
    "HarnessedFinalResponseMatchV2Evaluator": "evaluators",
    "HarnessedHallucinationsV1Evaluator": "evaluators",
    "HarnessedLlmAsJudge": "evaluators",
    "HarnessedPerTurnUserSimulatorQualityV1": "evaluators",
    "HarnessedRubricBasedFinalResponseQualityV1Evaluator": "evaluators",
    "HarnessedRubricBasedMultiTurnTrajectoryEvaluator": "evaluators",
    "HarnessedRubricBasedToolUseV1Evaluator": "evaluators",
    "Registration": "registering",
    "load_results": "results.loading",
    "observe": "measuring",
    "register": "registering",
}
_METRICS = (
    "rubric_based_final_response_quality_v1",
    "rubric_based_tool_use_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
    "final_response_match_v2",
    "hallucinations_v1",
    "per_turn_user_simulator_quality_v1",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES and name not in _METRICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require()
    from ._seams import loading  # noqa: PLC0415

    with loading():
        home = import_module(f"{__name__}.{_HOMES.get(name, 'registering')}")
    value: object = home.metric_function(name) if name in _METRICS else getattr(home, name)
    globals()[name] = value
    return value
