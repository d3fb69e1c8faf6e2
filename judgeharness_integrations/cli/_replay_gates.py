"""Gates on a replay: the log measured again under the rule of the replay, which was chosen after the samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.calibration.rivals import candidates_beside
from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.replay import rows_of_judges
from judgeharness_integrations.analysis.runs.building import run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.reporting.gates import gates_section
from judgeharness_integrations.reporting.terminal import console, show_section

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.aggregation.rules import Rule
    from judgeharness_integrations.analysis.gates.gate import Gates
    from judgeharness_integrations.analysis.gates.report import GateReport
    from judgeharness_integrations.analysis.runs.folder import Calibrations
    from judgeharness_integrations.verdictlog.row import VerdictRow


def check_replay(
    gates: Gates,
    rows: Sequence[VerdictRow],
    rule: Rule,
    known: Calibrations,
    *,
    every: Iterable[VerdictRow],
    planned: Mapping[str, int],
    own: GateReport | None,
    **options: Any,
) -> GateReport:
    """Check gates on the rows of a log under a rule.

    Args:
        gates: what is asked of it.
        rows: of the log.
        rule: how they are folded.
        known: the calibrations its results are compared with.
        every: all rows of the log: what is not replayed of it may have been tried on the same labels.
        planned: judge -> cases of the run, as far as that is known: those that were never asked are not graded.
        own: what the run's own gates said.
        options: those of `results_of_log`.

    """
    results, judges = results_of_log(rows, rule, **options), options.get("judges")
    groups = rows_of_judges(rows, judges)
    if known:
        from judgeharness_integrations.analysis.runs.folder import anchored_results  # noqa: PLC0415 - few have one

        results = anchored_results(results, known, groups, rule)
    wanted = {judge: count for judge, count in planned.items() if not judges or judge in judges}
    beside = candidates_beside(every, chain.from_iterable(groups.values()))
    return check_gates(run_report(results, planned=wanted, gates=own, beside=beside), gates)


def tell_gates(checked: GateReport, *, stderr: bool) -> None:
    """Print what the gates said."""
    show_section(gates_section(checked), console(stderr=stderr))
