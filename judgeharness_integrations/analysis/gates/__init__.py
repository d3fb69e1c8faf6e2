"""Gates: what a measurement must reach before something ships, on intervals over cases."""

from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.gates.gate import (
    METRICS,
    Expression,
    Gate,
    GateCheck,
    GateReport,
    Gates,
    parse_expression,
)

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
