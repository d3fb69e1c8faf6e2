"""Rows about single conversations -> rows about pairs: the side with the higher score is the better one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from judgeharness_integrations.benchmark.conditions import Side
from judgeharness_integrations.benchmark.judging.gold import FLAWED, NONE, SCORE, TURN, TYPE, VERDICT, turn_label
from judgeharness_integrations.usage import known_sum
from judgeharness_integrations.verdictlog.row import Outcome, Verdict, VerdictRow, is_number

__all__ = ["pair_rows"]

_TIE: Final = "TIE"
_FAILURES: Final[tuple[Outcome, ...]] = ("error", "refused", "unparsed")  # the worst one first
_OTHER: Final[Mapping[Side, Side]] = {"A": "B", "B": "A"}
_OF_A_SIDE: Final = frozenset({"pair", "side", "length", "response_id", "cached", "warning"})
_SUMMED: Final = ("input_tokens", "output_tokens", "latency_s", "attempts")

_Call: TypeAlias = Mapping[str, VerdictRow]  # criterion -> what one call said about it
_Place: TypeAlias = tuple[str, str, str, str, int]


@dataclass(frozen=True, kw_only=True)
class _Answered:
    """One answer about a pair, made of the answers about its sides."""

    verdict: Verdict | None = None
    outcome: Outcome = "ok"
    reasoning: str | None = None


def pair_rows(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return what judges that scored single conversations said about pairs: verdict, turn and type.

    The verdict is the side with the higher score, TIE where both are equal. Turn and type are those named for the side
    with the lower score; under a tie those of the one side that was called flawed, and `none` where both or neither
    were: that was read, and points to no flaw. A side whose answer failed makes what rests on it fail the same way.
    What both calls took stands on the verdict.

    Args:
        rows: of single conversations (`cases.side_case`), any judges, perturbations and repetitions.

    Returns:
        Rows of pairs both sides of which were asked, `case_id` the pair, gold that of the pair, in order of appearance.

    """
    places: dict[_Place, dict[Side, dict[str, VerdictRow]]] = {}
    for row in rows:
        place = (row.run, str(row.attributes["pair"]), row.judge, row.perturbation, row.repetition)
        side: Side = "A" if row.attributes["side"] == "A" else "B"
        places.setdefault(place, {}).setdefault(side, {})[row.criterion] = row
    return [made for place, sides in places.items() if len(sides) == len(_OTHER) for made in _of_pair(place, sides)]


def _of_pair(place: _Place, sides: Mapping[Side, _Call]) -> list[VerdictRow]:
    verdict = _verdict(sides)
    told = _told(sides, verdict)
    first = next(iter(sides["A"].values()))
    every = [row for side in sorted(sides) for row in sides[side].values()]
    shared: dict[str, Any] = {
        "case_id": place[1],
        "call_id": "/".join((*place[:4], str(place[4]))),
        "error": next((row.error for row in every if row.error is not None), None),
        "asked_at": min((row.asked_at for row in every if row.asked_at is not None), default=None),
        "attributes": {name: value for name, value in first.attributes.items() if name not in _OF_A_SIDE},
        "probe_hash": None,
        "raw": None,
        **dict.fromkeys(_SUMMED),
    }
    answers = {VERDICT: verdict, TURN: _named(sides, told, TURN), TYPE: _named(sides, told, TYPE)}
    gold = _gold(first)
    made = [
        replace(first, **shared, **vars(answer), criterion=name, gold=gold[name]) for name, answer in answers.items()
    ]
    took: dict[str, Any] = {name: known_sum(getattr(row, name) for row in every) for name in _SUMMED}
    return [replace(made[0], **took), *made[1:]]


def _gold(row: VerdictRow) -> dict[str, Verdict]:
    told = row.attributes
    return {
        VERDICT: str(told["better"]),
        TURN: turn_label(int(told["flawed_round"])),
        TYPE: str(told["failure_type"]),
    }


def _verdict(sides: Mapping[Side, _Call]) -> _Answered:
    first, second = (sides[side].get(SCORE) for side in ("A", "B"))
    scores = [row.verdict for row in (first, second) if row is not None and is_number(row.verdict)]
    if len(scores) < len(_OTHER):
        return _Answered(outcome=_worst(first, second))
    a, b = float(scores[0]), float(scores[1])  # type: ignore[arg-type]
    return _Answered(verdict=_TIE if a == b else "A" if a > b else "B")


def _worst(*rows: VerdictRow | None) -> Outcome:
    """Return how the worse of two answers failed."""
    found: list[Outcome] = ["unparsed" if row is None or row.outcome == "ok" else row.outcome for row in rows]
    return min(found, key=_FAILURES.index)


def _told(sides: Mapping[Side, _Call], verdict: _Answered) -> Side | _Answered:
    """Return the side that counts as the worse one, or how it cannot be told."""
    if verdict.verdict == "A":
        return "B"
    if verdict.verdict == "B":
        return "A"
    if verdict.verdict is None:
        return _Answered(outcome=verdict.outcome)
    flawed: list[Side] = [side for side, call in sides.items() if FLAWED in call and call[FLAWED].verdict == FLAWED]
    if len(flawed) == 1:
        return flawed[0]
    called = [call.get(FLAWED) for call in sides.values()]
    unread = [row for row in called if row is None or row.outcome != "ok"]
    return _Answered(outcome=_worst(*unread)) if unread else _Answered(verdict=NONE)


def _named(sides: Mapping[Side, _Call], told: Side | _Answered, criterion: str) -> _Answered:
    if isinstance(told, _Answered):
        return told
    row = sides[told].get(criterion)
    if row is None:
        return _Answered(outcome="unparsed")
    return _Answered(verdict=row.verdict, outcome=row.outcome, reasoning=row.reasoning)
