"""`judgments.jsonl`: what each judge decided about each pair, without anything that depends on when it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from pydantic import Field

from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.results.joint import JointTable, SaidStatus

__all__ = ["JUDGMENTS", "Judgment", "Mode", "judgments_of"]

Mode: TypeAlias = Literal["pairwise", "pointwise"]

JUDGMENTS: Final = "judgments.jsonl"


class Judgment(Record):
    """One line of `judgments.jsonl`: one judge on one pair, all its answers folded by `rule`.

    `verdict`, `turn` and `type` are None unless they were decided; the statuses say why. `joint`: right about all.
    """

    schema_: Literal["judgeharness.benchmark_judgment/1"] = Field(
        default="judgeharness.benchmark_judgment/1", alias="schema"
    )
    pair_id: str
    judge: str
    mode: Mode
    rule: str
    verdict: str | None
    verdict_status: SaidStatus
    verdict_correct: bool | None
    turn: str | None
    turn_status: SaidStatus
    turn_correct: bool | None
    type: str | None
    type_status: SaidStatus
    type_correct: bool | None
    joint: bool | None


def judgments_of(tables: Iterable[tuple[Mode, JointTable]]) -> Iterator[Judgment]:
    """Yield the judgments of tables, by mode, pair and judge."""
    for mode, table in tables:
        for pair in table.pairs:
            for judge in sorted(table.judges):
                cell = table.cell(judge, pair)
                if cell is not None:
                    yield Judgment(
                        pair_id=pair,
                        judge=judge,
                        mode=mode,
                        rule=table.rule,
                        verdict=cell.verdict.label,
                        verdict_status=cell.verdict.status,
                        verdict_correct=cell.verdict.correct,
                        turn=cell.turn.label,
                        turn_status=cell.turn.status,
                        turn_correct=cell.turn.correct,
                        type=cell.type.label,
                        type_status=cell.type.status,
                        type_correct=cell.type.correct,
                        joint=cell.joint,
                    )
