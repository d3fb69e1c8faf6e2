"""Gates: what a measurement must reach before something ships, on intervals over cases."""

from .checking import check_gates
from .gate import METRICS, Expression, Gate, GateCheck, GateReport, Gates, parse_expression

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
