"""Gates of a command: read before anything is asked; what they come to as an exit code."""

from __future__ import annotations

from judgeharness_integrations.cli._gate_options import GateOptions
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.gates.gate import Gates
from judgeharness_integrations.gates.report import GateReport

__all__ = ["gate_exit", "gates_of"]


def gates_of(options: GateOptions, configured: Gates | None = None) -> Gates:
    """Return the gates of a configuration with those of the command: expressions are added, limits go first.

    Raises:
        UsageError: an expression cannot be read, or can never pass.

    """
    return (configured or Gates()).with_options(
        fail_under=tuple(options.fail_under or ()),
        max_abstention=options.max_abstention,
        min_consistency=options.min_consistency,
        require_calibration=options.require_calibration,
        point_estimates=options.point_estimates,
    )


def gate_exit(gates: GateReport | None) -> int:
    """Return the exit code of what gates said: 1 unless every one passed."""
    return OK if gates is None or gates.passed else GATE_FAILED
