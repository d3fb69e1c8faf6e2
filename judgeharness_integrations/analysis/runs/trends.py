"""What the runs of a log came to, one beside the other: right, abstained and consistent, by each run's own rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.replay.replaying import replay
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.verdictlog.row import VerdictRow


def run_measures(
    rows: Sequence[VerdictRow], parts: Mapping[str, Any], *, cases: int | None = None
) -> list[dict[str, Any]] | None:
    """Return what each judge and criterion of a run came to.

    Args:
        rows: all of the run.
        parts: what its answers depend on, as its record keeps it: the rule and its quorum are among it.
        cases: how many each judge was to be asked about; those without a row are not graded.

    Returns:
        Counts of cases, `accuracy` (share of the decided cases with gold), `consistency_rate`; None where its rows do
        not tell: no rule is noted or it is a function, a certificate or a passport held answers back, or it has no
        rows.

    """
    harness = parts.get("harness", {})
    if not rows or "aggregation_rule" not in harness or parts.get("certificate") is not None:
        return None
    judges = {row.judge for row in rows}
    try:
        found = replay(
            rows,
            harness["aggregation_rule"],
            min_valid=harness.get("min_valid"),
            tolerance=harness.get("tolerance", 1.0),
            planned={} if cases is None else dict.fromkeys(judges, cases),
        )
    except UsageError:  # a rule that no name brings back, or one that cannot read these answers
        return None
    return [_measures(one) for one in found.judges]


def _measures(one: JudgeReplay) -> dict[str, Any]:
    return {
        "judge": one.judge,
        "criterion": one.criterion,
        "cases": one.cases,
        "decided": one.decided,
        "abstained": one.abstained,
        "not_graded": one.not_graded,
        "decided_with_gold": one.labelled,
        "accuracy": one.accuracy,
        "consistency_rate": one.consistency_rate,
    }


def changed_parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return which parts of two runs differ: `cases`, `judges`, `harness`; none is known of a run without a record."""
    known = [name for name in ("cases", "judges", "harness") if name in before and name in after]
    return [name for name in known if before[name] != after[name]]
