"""Gates: what a measurement must reach before something ships, on intervals over cases."""

from judgeharness_integrations.gates.checking import check_gates
from judgeharness_integrations.gates.expression import METRICS, Expression, parse_expression
from judgeharness_integrations.gates.gate import Gate, Gates
from judgeharness_integrations.gates.report import GateCheck, GateReport

__all__ = [
    "METRICS",
    "Expression",
    "Gate",
    "GateCheck",
    "GateReport",
    "Gates",
    "check_gates",
    "parse_expression",
]
