"""Rows about pairs: what is asked and what is right, joined with what is known of a pair, or made of its two sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations.analysis.usage import known_sum
from judgeharness_integrations.benchmark.pair import Pair, Side
from judgeharness_integrations.verdictlog.row import Outcome, Verdict, VerdictRow, is_number

VERDICT: Final = "verdict"
TURN: Final = "turn"
TYPE: Final = "type"
SCORE: Final = "score"
FLAWED: Final = "flawed"
SOUND: Final = "sound"
NONE: Final = "none"  # the turn and the type of a conversation without a flaw
CRITERIA: Final = (VERDICT, TURN, TYPE)
GROUPS: Final = ("domain", "failure_type", "behaviour", "n_rounds", "flawed_round", "better")
AUDIT: Final = "audit"
NOISE: Final = "noise"
AMBIGUOUS: Final = "ambiguous"
_TIE: Final = "TIE"
_FAILURES: Final[tuple[Outcome, ...]] = ("error", "refused", "unparsed")  # the worst one first
_OTHER: Final[Mapping[Side, Side]] = {"A": "B", "B": "A"}
_OF_A_SIDE: Final = frozenset({"pair", "side", "length", "response_id", "cached", "warning"})
_SUMMED: Final = ("input_tokens", "output_tokens", "latency_s", "attempts")
_Call: TypeAlias = Mapping[str, VerdictRow]  # criterion -> what one call said about it
_Place: TypeAlias = tuple[str, str, str, str, int]
Mode: TypeAlias = Literal["pairwise", "pointwise"]


def turn_label(number: int) -> str:
    """Return the label of a turn, 1-based: turns are names, not numbers to be averaged."""
    return f"turn {number}"


def gold_of(pair: Pair) -> dict[str, str]:
    """Return the right answer about each criterion of a pair."""
    conditions = pair.conditions
    return {VERDICT: conditions.better, TURN: turn_label(conditions.flawed_round), TYPE: conditions.failure_type}


def side_gold(pair: Pair, side: Side) -> dict[str, str]:
    """Return the right answer about each criterion of one conversation but its score, of which there is none."""
    if side == pair.worse_side:
        gold = gold_of(pair)
        return {FLAWED: FLAWED, TURN: gold[TURN], TYPE: gold[TYPE]}
    return {FLAWED: SOUND, TURN: NONE, TYPE: NONE}


def attributes_of(pair: Pair) -> dict[str, str | float]:
    """Return what is known of a pair: what it was drawn with, and who wrote it."""
    conditions = pair.conditions
    return {
        "domain": conditions.domain,
        "failure_type": conditions.failure_type,
        "behaviour": conditions.behaviour,
        "n_rounds": conditions.n_rounds,
        "flawed_round": conditions.flawed_round,
        "better": conditions.better,
        "generator": pair.generator,
    }


def joined(
    rows: Iterable[VerdictRow], pairs: Iterable[Pair], *, audit: Mapping[str, str | None] | None = None
) -> list[VerdictRow]:
    """Return the rows about some pairs with their columns and gold, in an order that says nothing of when they came.

    A call that failed (outcome `error`) is no answer, and is left out: it is asked again.

    Args:
        rows: of judges, a case a pair; those about other pairs are left out.
        pairs: that count.
        audit: pair id -> what people agreed on, None where they did not; None where nobody looked at any pair. It
            becomes the column `audit`, and `noise` is 1 for pairs people found to be noise and 0 for the others.

    """
    known = {pair.pair_id: pair for pair in pairs}
    columns = {name: _columns_of(pair) | _found(name, audit) for name, pair in known.items()}
    gold = {name: gold_of(pair) for name, pair in known.items()}
    mine = [
        replace(
            row,
            attributes={**row.attributes, **columns[row.case_id]},
            gold=gold[row.case_id].get(row.criterion, row.gold),
        )
        for row in _counting(rows, known)
    ]
    return _in_order(mine, known)


def judged_rows(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> list[VerdictRow]:
    """Return what `joined` does without what nobody is right or wrong by: neither columns nor what judges wrote.

    Args:
        rows: of judges, a case a pair; those about other pairs are left out.
        pairs: pair id -> pair, of those that count.

    """
    gold = {name: gold_of(pair) for name, pair in pairs.items()}
    mine = [
        VerdictRow(
            case_id=one.case_id,
            verdict=one.verdict,
            run=one.run,
            judge=one.judge,
            criterion=one.criterion,
            perturbation=one.perturbation,
            repetition=one.repetition,
            swapped=one.swapped,
            outcome=one.outcome,
            gold=gold[one.case_id].get(one.criterion, one.gold),
        )
        for one in _counting(rows, pairs)
    ]
    return _in_order(mine, pairs)


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
        rows: of single conversations (`judges.side_case`), any judges, perturbations and repetitions.

    Returns:
        Rows of pairs both sides of which were asked, `case_id` the pair, gold that of the pair, in order of appearance.

    """
    places: dict[_Place, dict[Side, dict[str, VerdictRow]]] = {}
    for row in rows:
        place = (row.run, str(row.attributes["pair"]), row.judge, row.perturbation, row.repetition)
        side: Side = "A" if row.attributes["side"] == "A" else "B"
        places.setdefault(place, {}).setdefault(side, {})[row.criterion] = row
    return [made for place, sides in places.items() if len(sides) == len(_OTHER) for made in _of_pair(place, sides)]


def _columns_of(pair: Pair) -> dict[str, str | float]:
    """Return what a ranking may group or cluster pairs by, and who wrote both conversations."""
    documents = pair.conditions.documents
    mine = {"document": documents[0] if documents else "", "author": pair.generator, "author_b": pair.generator}
    return attributes_of(pair) | mine


def _counting(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> Iterator[VerdictRow]:
    """Yield the answers about the pairs."""
    return (row for row in rows if row.case_id in pairs and row.outcome != "error")


def _in_order(rows: Iterable[VerdictRow], pairs: Mapping[str, Pair]) -> list[VerdictRow]:
    return sorted(rows, key=lambda row: (pairs[row.case_id].conditions.number, row.case_id, *_place(row)))


def _found(pair_id: str, audit: Mapping[str, str | None] | None) -> dict[str, str | float]:
    if audit is None:
        return {}
    label = audit.get(pair_id)
    found: dict[str, str | float] = {NOISE: "1" if label == NOISE else "0"}
    return found if label is None else found | {AUDIT: label}


def _place(row: VerdictRow) -> tuple[str, str, str, int]:
    return (row.judge, row.criterion, row.perturbation, row.repetition)


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
