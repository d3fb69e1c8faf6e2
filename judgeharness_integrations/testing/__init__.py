"""Public fakes and simulated judges, whose answers are known beforehand, conformance suites and a pytest plugin."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.testing.bench import Bench, Evaluator, HarnessedEvaluator, Native
    from judgeharness_integrations.testing.checks import CHECKS
    from judgeharness_integrations.testing.checks.perturbations import check_perturbation
    from judgeharness_integrations.testing.checks.rules import check_rule
    from judgeharness_integrations.testing.conformance import AdapterReport, CheckResult, check_adapter, check_bench
    from judgeharness_integrations.testing.judges import RecordedJudge, ScriptedJudge
    from judgeharness_integrations.testing.script import GARBAGE, Script
    from judgeharness_integrations.testing.simulating.cases import simulated_cases
    from judgeharness_integrations.testing.simulating.judge import SimulatedJudge
    from judgeharness_integrations.testing.simulating.truth import SimulatedTruth
    from judgeharness_integrations.testing.verdicts import verdict_text

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
    "CHECKS": "checks",
    "GARBAGE": "script",
    "AdapterReport": "conformance",
    "Bench": "bench",
    "CheckResult": "conformance",
    "Evaluator": "bench",
    "HarnessedEvaluator": "bench",
    "Native": "bench",
    "RecordedJudge": "judges",
    "Script": "script",
    "ScriptedJudge": "judges",
    "SimulatedJudge": "simulating.judge",
    "SimulatedTruth": "simulating.truth",
    "check_adapter": "conformance",
    "check_bench": "conformance",
    "check_perturbation": "checks.perturbations",
    "check_rule": "checks.rules",
    "simulated_cases": "simulating.cases",
    "verdict_text": "verdicts",
}

__getattr__ = lazy(__name__, _HOMES)
