"""Gates of a command: read before anything is asked; what they come to as an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.gates.gate import Gates
from judgeharness_integrations.analysis.gates.report import GateReport
from judgeharness_integrations.cli._gate_options import GateOptions, ends_of
from judgeharness_integrations.cli.exits import GATE_FAILED, NOT_GRADED, OK


def gates_of(options: GateOptions, configured: Gates | None = None, *, until: Sequence[str] = ()) -> Gates:
    """Return the gates of a configuration with those of the command: expressions are added, limits go first.

    Those a run asks `until` are its only ones, and sequential.

    Raises:
        UsageError: an expression cannot be read, or can never pass, or an option would count for nothing.

    """
    gates = (configured or Gates()).with_options(
        fail_under=options.fail_under,
        max_abstention=options.max_abstention,
        min_consistency=options.min_consistency,
        require_calibration=options.require_calibration,
        point_estimates=options.point_estimates,
        sequential=options.sequential,
        about=options.about,
        scale=ends_of(options.scale),
    )
    if not until:
        _check_sequential(options, gates)
        return gates
    if gates.listed or gates.point_estimates:
        raise UsageError(
            "a run that asks until its gate is settled has no other gates: intervals and values would be of a number "
            "of cases that depends on the answers; leave out --fail-under, --max-abstention, --min-consistency, "
            "--point-estimates and the key gates, or --until."
        )
    return gates.with_options(fail_under=until, sequential=True)


def _check_sequential(options: GateOptions, gates: Gates) -> None:
    """Refuse options that say how sequential gates look at cases, where none does."""
    given = {"--about": options.about, "--scale": options.scale}
    if not gates.sequential and (named := " and ".join(name for name, value in given.items() if value is not None)):
        raise UsageError(f"{named} count{'s' * (' ' not in named)} for sequential gates alone: add --sequential.")
    if options.sequential and not gates.listed:
        raise UsageError("--sequential says how gates look at cases: give a gate, as --fail-under 'pass_rate>=0.8'.")


def gate_exit(gates: GateReport | None, *, graded: bool = True) -> int:
    """Return the exit code of what gates said: 1 unless every one passed, 3 where nothing was `graded`."""
    if not graded:
        return NOT_GRADED
    return OK if gates is None or gates.passed else GATE_FAILED
