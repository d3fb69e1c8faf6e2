"""Rows of single answers brought together by pair: which score each side got, and which side gold prefers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion, by_judge, is_numeric
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text, voting

__all__ = [
    "PAIR",
    "SIDE",
    "Preference",
    "ScoredGroup",
    "ScoredPair",
    "Side",
    "place_of",
    "preference_of",
    "preferences_of",
    "scored_groups",
    "scored_pairs",
]

Side: TypeAlias = Literal["A", "B"]
Preference: TypeAlias = Literal["A", "B", "TIE"]

PAIR: Final = "pair"
SIDE: Final = "side"

_GRADES: Final[Mapping[Verdict, float]] = {"PASS": 1, "FAIL": 0}
_PREFERENCES: Final[tuple[Preference, ...]] = ("A", "B", "TIE")
_SIDES: Final[Mapping[str, Side]] = {"A": "A", "B": "B"}
_OTHER: Final[Mapping[Side, Side]] = {"A": "B", "B": "A"}


@dataclass(frozen=True, kw_only=True)
class ScoredPair:
    """What one judge said about the two sides of a pair in one place of the plan; None where a side has no row."""

    pair: str
    first: VerdictRow | None
    second: VerdictRow | None

    @property
    def rows(self) -> tuple[VerdictRow, ...]:
        """The rows there are, side A first."""
        return tuple(row for row in (self.first, self.second) if row is not None)

    @property
    def scores(self) -> tuple[float, float] | None:
        """Scores of A and B; None where one is missing."""
        first, second = (_score(row) for row in (self.first, self.second))
        return None if first is None or second is None else (first, second)

    @property
    def lacking(self) -> tuple[Side, ...]:
        """The sides without a score."""
        sides: Mapping[Side, VerdictRow | None] = {"A": self.first, "B": self.second}
        return tuple(side for side, row in sides.items() if _score(row) is None)


@dataclass(frozen=True, kw_only=True)
class ScoredGroup:
    """Rows of one judge about one criterion of scores."""

    judge: str
    criterion: str
    rows: Sequence[VerdictRow]


def scored_groups(rows: Iterable[VerdictRow]) -> list[ScoredGroup]:
    """Return the rows by judge and criterion; criteria of labels are left out, since no label is the better one.

    Raises:
        UsageError: a criterion mixes labels and numbers.

    """
    groups = [
        ScoredGroup(judge=judge, criterion=criterion, rows=group)
        for judge, mine in by_judge(voting(rows)).items()
        for criterion, group in by_criterion(mine).items()
    ]
    kept = {name for name, group in _by_criterion(groups).items() if is_numeric(group) is not False}
    return [group for group in groups if group.criterion in kept]


def _by_criterion(groups: Iterable[ScoredGroup]) -> dict[str, list[VerdictRow]]:
    """Return criterion -> rows of all judges."""
    found: dict[str, list[VerdictRow]] = {}
    for group in groups:
        found.setdefault(group.criterion, []).extend(group.rows)
    return found


def scored_pairs(rows: Iterable[VerdictRow]) -> list[ScoredPair]:
    """Return the pairs of one judge and criterion: one for each run, pair, perturbation and repetition.

    Raises:
        UsageError: a row has no pair or side, or a side was scored twice in one place of the plan.

    """
    found: dict[Hashable, dict[Side, VerdictRow]] = {}
    for row in rows:
        pair, side = place_of(row)
        sides = found.setdefault((pair, row.run, row.perturbation, row.repetition), {})
        if side in sides:
            raise UsageError(
                f"judge {row.judge!r} scored side {side} of pair {pair!r} twice: as case {sides[side].case_id!r} and "
                f"as case {row.case_id!r}; keep one."
            )
        sides[side] = row
    return [
        ScoredPair(pair=place_of(next(iter(sides.values())))[0], first=sides.get("A"), second=sides.get("B"))
        for sides in found.values()
    ]


def place_of(row: VerdictRow) -> tuple[str, Side]:
    """Return pair and side of a single answer.

    Raises:
        UsageError: the row does not say.

    """
    pair, said = row.attributes.get(PAIR), str(row.attributes.get(SIDE, "")).strip().upper()
    side = _SIDES.get(said)
    if pair is None or side is None:
        raise UsageError(
            f"case {row.case_id!r} is a single answer among answers that were scored in pairs: give each its `pair` "
            "and its `side`, A or B."
        )
    return verdict_text(pair), side


def preferences_of(groups: Iterable[ScoredGroup]) -> dict[str, dict[str, Preference]]:
    """Return criterion -> pair -> the better side, of the pairs that have gold.

    Gold is A, B or TIE on either row of a pair; `better` or `worse`; or a grade on each side: numbers, the larger the
    better, or PASS and FAIL, which count as 1 and 0.

    Raises:
        UsageError: gold contradicts itself, or is none of these.

    """
    return {criterion: _preferences(rows) for criterion, rows in _by_criterion(groups).items()}


def _preferences(rows: Iterable[VerdictRow]) -> dict[str, Preference]:
    found: dict[str, set[Preference]] = {}
    grades: dict[str, dict[Side, float]] = {}
    for row in rows:
        if row.gold is None:
            continue
        pair, side = place_of(row)
        grade = _GRADES.get(row.gold, row.gold)
        if isinstance(grade, (int, float)):
            if grades.setdefault(pair, {}).setdefault(side, grade) != grade:
                raise UsageError(f"side {side} of pair {pair!r} has two gold grades: keep one.")
        else:
            found.setdefault(pair, set()).add(_preferred(pair, side, row.gold))
    for pair, sides in grades.items():
        if len(sides) == len(_OTHER):
            found.setdefault(pair, set()).add(preference_of(sides["A"], sides["B"]))
    for pair, preferences in found.items():
        if len(preferences) > 1:
            raise UsageError(
                f"gold of pair {pair!r} contradicts itself ({' and '.join(sorted(preferences))}): keep one."
            )
    return {pair: next(iter(preferences)) for pair, preferences in found.items()}


def _preferred(pair: str, side: Side, gold: Verdict) -> Preference:
    text = verdict_text(gold).strip()
    for preference in _PREFERENCES:
        if text.upper() == preference:
            return preference
    if text.lower() == "better":
        return side
    if text.lower() == "worse":
        return _OTHER[side]
    raise UsageError(
        f"pair {pair!r} has the gold {text!r} on side {side}: give A, B or TIE, `better` or `worse`, or a number "
        "on each side."
    )


def preference_of(first: float, second: float) -> Preference:
    """Return the side with the higher score."""
    return "TIE" if first == second else "A" if first > second else "B"


def _score(row: VerdictRow | None) -> float | None:
    verdict = None if row is None else row.verdict
    return float(verdict) if isinstance(verdict, (int, float)) else None
