"""Scores of single answers as verdicts on pairs, and how far apart they put the better and the worse answer."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import PAIR_COLUMN, TEXT_COLUMN
from judgeharness_integrations.verdictlog.row import (
    EXCHANGED,
    TOKENS,
    Verdict,
    VerdictRow,
    is_number,
    verdict_text,
    voting,
)

from ..aggregation.grouping import Clusters, by_criterion, by_judge, is_numeric
from ..statistics.means import Estimate, clustered_error, estimate

Side: TypeAlias = Literal["A", "B"]
Preference: TypeAlias = Literal["A", "B", "TIE"]

PAIR: Final = "pair"
SIDE: Final = "side"

_OF_ONE: Final = (PAIR, SIDE, TEXT_COLUMN)  # columns that a pair has otherwise than its sides

_GRADES: Final[Mapping[Verdict, float]] = {"PASS": 1, "FAIL": 0}
_PREFERENCES: Final[tuple[Preference, ...]] = ("A", "B", "TIE")
_SIDES: Final[Mapping[str, Side]] = {"A": "A", "B": "B"}


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
        if len(sides) == len(EXCHANGED):
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
        return EXCHANGED[side]
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


_USAGE = (*TOKENS, "latency_s", "attempts")


def has_scored_pairs(rows: Iterable[VerdictRow]) -> bool:
    """Whether a log holds scores of single answers that belong to pairs: columns `pair` and `side`, a number given."""
    return any(PAIR in row.attributes and SIDE in row.attributes and is_number(row.verdict) for row in rows)


def pairs_of_scores(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the verdicts on pairs that scores of answers imply: A or B for the higher score, TIE for equal ones.

    A row for each judge, run, criterion of scores, pair, perturbation and repetition; `case_id` is the pair. A side
    that is missing or failed makes the row unparsed. What a judge used adds up over both sides. A column that differs
    between the sides of any pair is kept as `name` for A and `name_b` for B, another one as it is.

    Args:
        rows: single answers with columns `pair` and `side` (A or B). Gold is A, B or TIE; `better` or `worse`; or
            a number, or PASS or FAIL, on each side. Criteria of labels are left out: nothing says which is better.

    Raises:
        UsageError: a row has no pair or side, a side was scored twice, gold contradicts itself, or numbers and labels
            are mixed.

    """
    rows = list(rows)
    groups = scored_groups(rows)
    gold = preferences_of(groups)
    sided = _sided_columns(rows)
    usage = _Usage(rows)
    return [
        _row(pair, group.criterion, gold[group.criterion].get(pair.pair), sided, usage.take(pair))
        for group in groups
        for pair in scored_pairs(group.rows)
    ]


class _Usage:
    """What the calls about both sides of a pair used together: it stands on one row only, so that sums are right."""

    def __init__(self, rows: Iterable[VerdictRow]) -> None:
        self._sums: dict[Hashable, dict[str, Any]] = {}
        for row in rows:
            sums = self._sums.setdefault(_key(row), {})
            for name in _USAGE:
                used = getattr(row, name)
                if used is not None:
                    sums[name] = sums.get(name, 0) + used
            if row.input_tokens is not None or row.output_tokens is not None:
                tiers = {row.service_tier, sums.get("service_tier", row.service_tier)}
                sums["service_tier"] = "mixed" if len(tiers) > 1 else row.service_tier  # a sum over tiers has no price

    def take(self, pair: ScoredPair) -> dict[str, Any]:
        """Return the sums for the first criterion that asks, nothing for the others."""
        return self._sums.pop(_key(pair.rows[0]), {})


def _key(row: VerdictRow) -> Hashable:
    return (row.judge, row.run, place_of(row)[0], row.perturbation, row.repetition)


def _row(
    pair: ScoredPair, criterion: str, gold: Preference | None, sided: Sequence[str], usage: Mapping[str, Any]
) -> VerdictRow:
    one, scores = pair.rows[0], pair.scores
    return VerdictRow(
        case_id=pair.pair,
        verdict=None if scores is None else preference_of(*scores),
        run=one.run,
        judge=one.judge,
        criterion=criterion,
        perturbation=one.perturbation,
        repetition=one.repetition,
        swapped=one.swapped,
        outcome="unparsed" if scores is None else "ok",
        gold=gold,
        model=one.model,
        error=f"no score for side {' and '.join(pair.lacking)}" if scores is None else None,
        attributes=_attributes(pair, sided),
        **usage,
    )


def _sided_columns(rows: Iterable[VerdictRow]) -> tuple[str, ...]:
    """Return the columns that differ between the two sides of any pair."""
    first: dict[tuple[str, str], str | float] = {}
    differing: dict[str, None] = {}
    for row in rows:
        pair, _ = place_of(row)
        for name, value in row.attributes.items():
            if name not in _OF_ONE and first.setdefault((pair, name), value) != value:
                differing[name] = None
    return tuple(differing)


def _attributes(pair: ScoredPair, sided: Sequence[str]) -> Mapping[str, str | float]:
    kept: dict[str, str | float] = {}
    for suffix, row in (("", pair.first), ("_b", pair.second)):
        for name, value in ({} if row is None else row.attributes).items():
            if name in sided:
                kept[name + suffix] = value
            elif name not in _OF_ONE:
                kept[name] = value
    return kept | _digests(pair)


def _digests(pair: ScoredPair) -> dict[str, str]:
    """Return what the pair asks by what its sides do, in their order and in any; nothing where one does not say."""
    sides = [str(row.attributes[TEXT_COLUMN]) for row in pair.rows if TEXT_COLUMN in row.attributes]
    if len(sides) < len(EXCHANGED):
        return {}
    return {TEXT_COLUMN: " ".join(sides), PAIR_COLUMN: " ".join(sorted(sides))}


_SAME = 1e-9  # of a gap: means of the same scores differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class ScoreGap:
    """Score of the better answer minus score of the worse one, in points of the judge's scale.

    `pairs` with a better side by gold and a score of both sides; `unscored` ones lack a score and are in none of the
    numbers. `mean` and `sd` of the gap over pairs; `se` of the mean (sd / sqrt(pairs)) and `ci95` by Student's t, both
    over `clusters` of pairs where some belong together or ask the same (None: each stands alone); None where too few
    pairs or no variation tell nothing. `right`: pairs with the better side scored higher; `ties`: with equal scores;
    `accuracy`: (right + ties / 2) / pairs.
    """

    judge: str
    criterion: str
    pairs: int
    unscored: int
    mean: float | None
    sd: float | None
    se: float | None
    ci95: tuple[float, float] | None
    ties: int
    right: int
    accuracy: float | None
    clusters: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the gap as JSON keeps it."""
        return asdict(self) | {"ci95": None if self.ci95 is None else list(self.ci95)}


def score_gaps(rows: Iterable[VerdictRow]) -> tuple[ScoreGap, ...]:
    """Return the gap of each judge and criterion of scores, over the pairs of which gold prefers a side.

    A pair that was scored several times (repetitions, perturbations) counts once, with the mean of its gaps.

    Args:
        rows: as `pairs_of_scores` takes them.

    Raises:
        UsageError: as `pairs_of_scores`.

    """
    rows = list(rows)
    groups = scored_groups(rows)
    better = preferences_of(groups)
    clusters = {judge: Clusters.of_rows(mine) for judge, mine in by_judge(pairs_of_scores(rows)).items()}
    return tuple(_gap(group, _gaps(group.rows, better[group.criterion]), clusters[group.judge]) for group in groups)


def _gaps(rows: Sequence[VerdictRow], better: Mapping[str, Preference]) -> dict[str, list[float]]:
    """Return the gaps of each pair of which gold prefers a side; an empty list where a score is missing."""
    gaps: dict[str, list[float]] = {}
    for pair in scored_pairs(rows):
        side = better.get(pair.pair, "TIE")
        if side == "TIE":
            continue
        mine = gaps.setdefault(pair.pair, [])
        if pair.scores is not None:
            first, second = pair.scores
            mine.append(first - second if side == "A" else second - first)
    return gaps


def _gap(group: ScoredGroup, samples: Mapping[str, Sequence[float]], clusters: Clusters) -> ScoreGap:
    gaps = [_mean(values) for values in samples.values() if values]
    keys = [clusters.of(pair) for pair, values in samples.items() if values]
    n, units = len(gaps), len(set(keys))
    mean = math.fsum(gaps) / n if n else None
    deviations = [] if mean is None else [gap - mean for gap in gaps]
    sd = math.sqrt(math.fsum(value * value for value in deviations) / (n - 1)) if n > 1 else None
    interval = None if mean is None else estimate(mean, deviations, keys)
    error = None if sd is None else sd / math.sqrt(n)
    if units < n:
        error = (clustered_error(deviations, keys) or (None,))[0]
    ties, right = sum(gap == 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return ScoreGap(
        judge=group.judge,
        criterion=group.criterion,
        pairs=n,
        unscored=len(samples) - n,
        mean=mean,
        sd=sd,
        se=error,
        ci95=_bounds(interval),
        ties=ties,
        right=right,
        accuracy=(right + ties / 2) / n if n else None,
        clusters=None if units == n else units,
    )


def _bounds(interval: Estimate | None) -> tuple[float, float] | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def _mean(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return 0.0 if abs(mean) < _SAME else mean
