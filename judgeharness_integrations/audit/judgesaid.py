"""What judges said about one pair, answer by answer, as the log holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations.benchmark.conditions import Side
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

__all__ = ["CRITERIA", "JudgeAnswer", "Mode", "Said", "judge_answers"]

Mode: TypeAlias = Literal["pairwise", "pointwise"]

CRITERIA: dict[Mode, tuple[str, ...]] = {
    "pairwise": ("verdict", "turn", "type"),
    "pointwise": ("score", "flawed", "turn", "type"),
}
_JOINT = CRITERIA["pairwise"]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What an answer says about one criterion; `correct` is None where there is no gold or nothing was said."""

    criterion: str
    text: str | None
    correct: bool | None


@dataclass(frozen=True, kw_only=True)
class JudgeAnswer:
    """One answer of one judge, about both conversations (`side` None) or about the one on `side`.

    `joint`: verdict, turn and type are right all three, None for an answer about one conversation; an answer that
    could not be read is not. `problem` says why nothing was read.
    """

    judge: str
    mode: Mode
    side: Side | None
    probe: str
    said: tuple[Said, ...]
    joint: bool | None
    reasoning: str | None
    raw: str | None
    problem: str | None

    def of(self, criterion: str) -> Said | None:
        """Return what it says about a criterion."""
        return next((said for said in self.said if said.criterion == criterion), None)


def judge_answers(rows: Iterable[VerdictRow], pair: Pair) -> tuple[JudgeAnswer, ...]:
    """Return the answers about a pair, by judge, pairwise ones first; rows of other pairs are left out."""
    calls: dict[tuple[str, int, str, str, int], list[VerdictRow]] = {}
    for row in rows:
        pair_id, _, side = row.case_id.rpartition("/") if row.case_id != pair.pair_id else (row.case_id, "", "")
        if pair_id == pair.pair_id and side in ("", "A", "B"):
            key = (row.judge, int(bool(side)), side, row.perturbation, row.repetition)
            calls.setdefault(key, []).append(row)
    return tuple(_answer(calls[key], pair) for key in sorted(calls))


def _answer(rows: Sequence[VerdictRow], pair: Pair) -> JudgeAnswer:
    first = rows[0]
    side: Side | None = None if first.case_id == pair.pair_id else "A" if first.case_id.endswith("/A") else "B"
    mode: Mode = "pairwise" if side is None else "pointwise"
    gold = _gold(pair, side)
    by_name = {row.criterion: row for row in rows}
    said = tuple(_said(name, by_name.get(name), gold.get(name)) for name in CRITERIA[mode])
    failed = next((row for row in rows if row.outcome != "ok"), None)
    return JudgeAnswer(
        judge=first.judge,
        mode=mode,
        side=side,
        probe=_probe(first),
        said=said,
        joint=all(one.correct is True for one in said) if mode == "pairwise" else None,
        reasoning=next((row.reasoning for row in rows if row.reasoning), None),
        raw=next((row.raw for row in rows if row.raw), None),
        problem=None if failed is None else _problem(failed, all_of_it=all(row.outcome != "ok" for row in rows)),
    )


def _said(name: str, row: VerdictRow | None, gold: str | None) -> Said:
    if row is None or row.verdict is None:
        return Said(criterion=name, text=None, correct=None)
    text = verdict_text(row.verdict)
    return Said(criterion=name, text=text, correct=None if gold is None else text == gold)


def _problem(row: VerdictRow, *, all_of_it: bool) -> str:
    about = "" if all_of_it else f" ({row.criterion})"
    return f"{row.outcome}{about}" + (f": {row.error}" if row.error else "")


def _gold(pair: Pair, side: Side | None) -> dict[str, str]:
    """Return criterion -> what the pair was made to be."""
    conditions = pair.conditions
    turn, kind = f"turn {conditions.flawed_round}", conditions.failure_type
    if side is None:
        return dict(zip(_JOINT, (conditions.better, turn, kind), strict=True))
    if side == conditions.better:
        return {"flawed": "sound", "turn": "none", "type": "none"}
    return {"flawed": "flawed", "turn": turn, "type": kind}


def _probe(row: VerdictRow) -> str:
    """Return which of a judge's answers it is, in words; empty for the plain first one."""
    parts = [] if row.perturbation == "none" else [row.perturbation.replace("_", " ")]
    return ", ".join([*parts, *([f"repetition {row.repetition + 1}"] if row.repetition else [])])
