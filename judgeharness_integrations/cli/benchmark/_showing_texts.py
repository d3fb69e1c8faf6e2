"""The texts of a pair on a terminal: plans, conversations, what judges wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from judgeharness_integrations.benchmark.pair import Blueprint, Conversation, Pair
from judgeharness_integrations.cli._printing import safe
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["conversation_parts", "plan_parts", "reasoning_parts"]

_LONGEST = 20_000  # characters of a paragraph
_SIDES = ("better", "worse")


def plan_parts(pair: Pair) -> Iterator[Text]:
    """Yield both plans, round by round."""
    if pair.blueprints is None:
        return
    for side in _SIDES:
        plan: Blueprint = getattr(pair.blueprints, side)
        yield _title(f"plan of the {side} conversation")
        yield from _paragraphs(plan.sketch)
        for entry in plan.rounds:
            chunk = f" ({entry.chunk})" if entry.chunk else ""
            yield safe(f"{entry.round}. {entry.user} -> {entry.assistant}{chunk}", _LONGEST)


def conversation_parts(pair: Pair) -> Iterator[Text]:
    """Yield both conversations, the flawed turn marked."""
    if pair.conversations is None:
        yield _title("no conversations were written")
        return
    for side in _SIDES:
        told: Conversation = getattr(pair.conversations, side)
        letter = pair.conditions.better if side == "better" else pair.worse_side
        yield _title(f"conversation {letter}, the {side} one")
        for turn in told.turns:
            flawed = side == "worse" and turn.round == pair.conditions.flawed_round
            yield from _said(f"[Round {turn.round}] User: ", turn.user)
            yield from _said(f"[Round {turn.round}] Assistant{' (flawed)' if flawed else ''}: ", turn.assistant)
            yield Text("")


def reasoning_parts(rows: Sequence[VerdictRow]) -> Iterator[Text]:
    """Yield what judges wrote before they decided, as far as it was kept, and why answers failed."""
    told = [row for row in rows if row.reasoning or row.error]
    if told:
        yield _title("what they wrote")
    for row in told:
        where = f"{row.judge}, {row.perturbation} {row.repetition + 1}: "
        yield from _said(where, row.reasoning or f"failed: {row.error}")


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _said(who: str, text: str) -> Iterator[Text]:
    first, *others = text.split("\n")
    yield safe(f"{who}{first}", _LONGEST)
    yield from _paragraphs("\n".join(others))


def _paragraphs(text: str) -> Iterator[Text]:
    for line in text.split("\n"):
        if line.strip():
            yield safe(line, _LONGEST)
