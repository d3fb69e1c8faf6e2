"""Public fakes, judges whose answers are known beforehand, and the conformance suite for adapters."""

from judgeharness_integrations.testing.bench import Bench, Evaluator, HarnessedEvaluator, Native
from judgeharness_integrations.testing.checks import CHECKS
from judgeharness_integrations.testing.conformance import AdapterReport, CheckResult, check_adapter, check_bench
from judgeharness_integrations.testing.judges import RecordedJudge, ScriptedJudge
from judgeharness_integrations.testing.script import GARBAGE, Script

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
    "check_adapter",
    "check_bench",
]
