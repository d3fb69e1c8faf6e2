"""Public fakes and simulated judges, whose answers are known beforehand, conformance suites and a pytest plugin."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.judging.adapterkit import (
        GARBAGE,
        Bench,
        Evaluator,
        HarnessedEvaluator,
        Native,
        Script,
    )

    from .conformance import (
        CHECKS,
        AdapterReport,
        CheckResult,
        check_adapter,
        check_bench,
        check_perturbation,
        check_rule,
    )
    from .judges import RecordedJudge, ScriptedJudge, SimulatedTruth, verdict_text
    from .simulated import SimulatedJudge, simulated_cases

__all__ = [
    "CHECKS",
    "GARBAGE",
    "AdapterReport",
    "Bench",
    "CheckResult",
    "Evaluator",
    "HarnessedEvaluator",
    "Native",
    "RecordedJudge",
    "Script",
    "ScriptedJudge",
    "SimulatedJudge",
    "SimulatedTruth",
    "check_adapter",
    "check_bench",
    "check_perturbation",
    "check_rule",
    "simulated_cases",
    "verdict_text",
]

# Loaded at first use: pytest imports the plugin beside them in every session.
_HOMES = {
    "CHECKS": "conformance",
    "GARBAGE": ".judging.adapterkit",
    "AdapterReport": "conformance",
    "Bench": ".judging.adapterkit",
    "CheckResult": "conformance",
    "Evaluator": ".judging.adapterkit",
    "HarnessedEvaluator": ".judging.adapterkit",
    "Native": ".judging.adapterkit",
    "RecordedJudge": "judges",
    "Script": ".judging.adapterkit",
    "ScriptedJudge": "judges",
    "SimulatedJudge": "simulated",
    "SimulatedTruth": "judges",
    "check_adapter": "conformance",
    "check_bench": "conformance",
    "check_perturbation": "conformance",
    "check_rule": "conformance",
    "simulated_cases": "simulated",
    "verdict_text": "judges",
}

__getattr__ = lazy(__name__, _HOMES)
