"""What one judge of `judgeharness benchmark judge` said, from the rows of the log alone."""

from __future__ import annotations

from collections.abc import Iterable

from judgeharness_integrations.benchmark.judging.derived import pair_rows
from judgeharness_integrations.benchmark.judging.summary import FailureKind, JudgeSummary, RightShare, Took
from judgeharness_integrations.benchmark.results.joint import joint_table
from judgeharness_integrations.cli._failures import failures
from judgeharness_integrations.cli._summary_usage import used
from judgeharness_integrations.cli.benchmark._judge_asked import Asked
from judgeharness_integrations.cli.benchmark._models import ModelFile
from judgeharness_integrations.verdictlog.sql.log import SqlLog

__all__ = ["summary_of"]


def summary_of(asked: Asked, log: SqlLog, models: ModelFile) -> JudgeSummary:
    """Return what a judge said about the pairs it was to be asked about, and what all its answers of the mode took."""
    rows = asked.rows(log)
    whole = asked.whole(rows)
    table = joint_table(pair_rows(whole) if asked.design.mode == "pointwise" else whole)
    cells = list(table.cells.values())
    mine = [usage for usage in log.usage(asked.design.mode) if usage.judge == asked.judge.name]
    took = used(mine, models.prices)
    return JudgeSummary(
        judge=asked.judge.name,
        mode=asked.design.mode,
        pairs=len(asked.pairs),
        planned_calls=asked.planned,
        unanswered_calls=asked.unanswered(rows),
        verdict=_right(cell.verdict.correct for cell in cells),
        turn=_right(cell.turn.correct for cell in cells),
        type=_right(cell.type.correct for cell in cells),
        joint=_right(cell.joint for cell in cells),
        failures=tuple(FailureKind(**kind) for kind in failures(rows, models.options)),
        took=Took(**{name: took[name] for name in Took.model_fields}),
    )


def _right(hits: Iterable[bool | None]) -> RightShare:
    """Return the share of hits; None, which nothing asked in full should be, is a miss."""
    return RightShare.over(hit is True for hit in hits)
