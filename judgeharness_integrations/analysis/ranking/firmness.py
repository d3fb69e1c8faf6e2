"""How firm an order is: one judge left out, other choices, fewer matches."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judgeharness_integrations._errors import UsageError

from .comparing import Comparison, RankCorrelation, RatedSide, Standing, compare, correlate, standing_of
from .correctness import Credits, Decisions, Floats, Marks, credits_of
from .rating import EipOptions, Method, one_thread
from .studying import CutTies, curate


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """The ranking of the others without `judge`, held against their order in the ranking of all.

    `pairs`: how many curation keeps without it. `spearman` and `kendall` (tau-b): of the two orders; None with fewer
    than three others. `shifted`: the judge whose rating changes most, by `largest_shift` (signed; Elo, or points of
    EIP's range), both ratings taken from the mean of the judges they share. All None where either ranking cannot be
    made.
    """

    judge: str
    pairs: int | None
    spearman: float | None
    kendall: float | None
    largest_shift: float | None
    shifted: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON keeps it."""
        return asdict(self)


def leave_one_out(
    matrix: Credits,
    *,
    method: Method,
    share: float = 0.0,
    cut_ties: CutTies = "keep",
    eip_options: EipOptions | None = None,
) -> tuple[LeftOut, ...]:
    """Leave out each judge in turn, curate anew and rank the others.

    Args:
        matrix: pairs x judges, without flagged pairs.
        method: what to rank by.
        share: of the hardest pairs to cut, as in `curate`.
        cut_ties: as in `curate`.
        eip_options: parameters of EIP.

    Returns:
        One entry a judge, in order of the matrix.

    Raises:
        UsageError: the share is out of range, or pairs cannot be cut because the judges cannot be rated.

    """

    def ranked(mine: Credits) -> tuple[int, Standing | None]:
        kept = curate(mine, share=share, cut_ties=cut_ties).kept
        return len(kept.pairs), standing_of(kept, method=method, eip_options=eip_options)

    def without(judge: str) -> tuple[int | None, Standing | None]:
        others = matrix.of_judges([name for name in matrix.judges if name != judge])
        try:
            return ranked(others) if others.judges else (None, None)
        except UsageError:  # without this judge, pairs cannot be cut by difficulty
            return None, None

    with one_thread():
        _, whole = ranked(matrix)
        return tuple(_entry(judge, whole, *without(judge)) for judge in matrix.judges)


def _entry(judge: str, whole: Standing | None, pairs: int | None, without: Standing | None) -> LeftOut:
    if whole is None or without is None:
        return LeftOut(judge=judge, pairs=pairs, spearman=None, kendall=None, largest_shift=None, shifted=None)
    correlation = correlate(whole.order, without.order, labels=("all judges", f"without {judge}"))
    shifted, shift = _largest_shift(whole.scores, without.scores)
    return LeftOut(
        judge=judge,
        pairs=pairs,
        spearman=correlation.spearman,
        kendall=correlation.kendall,
        largest_shift=shift,
        shifted=shifted,
    )


def _largest_shift(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[str | None, float | None]:
    names = [name for name in after if name in before]
    if not names:
        return None, None
    old, new = (np.array([side[name] for name in names]) for side in (before, after))
    shift = (new - new.mean()) - (old - old.mean())
    place = int(np.abs(shift).argmax())
    return names[place], float(shift[place])


USUAL_CUT = 0.05  # share of hardest pairs that RankJudge cuts


def robustness(
    decisions: Decisions,
    criteria: Sequence[str],
    *,
    share: float = 0.0,
    cut_ties: CutTies = "keep",
    flagged: Marks | None = None,
    by: str | None = None,
    pointwise: Decisions | None = None,
    eip_options: EipOptions | None = None,
) -> tuple[Comparison, ...]:
    """Rate judges with and without each choice, on all data and on each group.

    The choices: each criterion but the first; the cut of the hardest pairs (`share`, or 5 % where nothing is cut);
    Bradley-Terry or EIP; verdicts on pairs or scores of single answers. Every side but EIP's is Bradley-Terry Elo, and
    pairs are curated for each side anew, on all data, before they are divided into groups.

    Args:
        decisions: of the ranking.
        criteria: that are credited jointly.
        share: of the hardest pairs to cut.
        cut_ties: as in `curate`.
        flagged: (pairs,) of `credits_of(decisions, criteria)`: pairs that people found wanting.
        by: a column of groups.
        pointwise: decisions from scores of single answers (`pairs_of_scores`); compared on the pairs and judges that
            both have.
        eip_options: parameters of EIP.

    Raises:
        UnknownNameError: a criterion or the column is not known; the nearest is offered.
        UsageError: nothing has gold, the share is out of range, or pairs cannot be cut by difficulty.

    """
    whole = credits_of(decisions, criteria)
    bad = frozenset() if flagged is None else frozenset(np.array(whole.pairs, object)[flagged])
    sides = _Sides(flagged=bad, cut_ties=cut_ties, by=by)
    curate(whole, share=share, cut_ties=cut_ties, flagged=flagged)  # refuses what the ranking itself could not use
    found: list[Comparison] = []
    for criterion in criteria[1:]:
        rest = _credits(decisions, [name for name in criteria if name != criterion])
        x = sides.of(f"Elo with {criterion}", whole, share)
        found += compare(f"with and without {criterion}", x, sides.of(f"Elo without {criterion}", rest, share))
    cut = share or USUAL_CUT
    uncut = sides.of("Elo, no pair cut", whole, 0.0)
    found += compare("with and without the cut", sides.cut(f"Elo, hardest {100 * cut:.3g} % cut", whole, cut), uncut)
    elo = sides.of("Bradley-Terry Elo", whole, share)
    score = replace(elo, label="EIP score", method="eip")
    found += compare("bradley-terry against eip", elo, score, eip_options=eip_options)
    if pointwise is not None:
        mine, theirs = _in_common(decisions, pointwise, criteria)
        x = sides.of("pairwise Elo", mine, share)
        found += compare("pairwise against pointwise", x, sides.of("pointwise Elo", theirs, share))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """How credits are curated and divided into groups."""

    flagged: Collection[str]
    cut_ties: CutTies
    by: str | None

    def of(self, label: str, matrix: Credits | str, share: float) -> RatedSide:
        """Return one side of a comparison; `matrix` may be the reason why there is none."""
        if isinstance(matrix, str):
            return RatedSide(label=label, credits={}, reason=matrix)
        marks = np.array([pair in self.flagged for pair in matrix.pairs], np.bool_)
        try:
            kept = curate(matrix, share=share, cut_ties=self.cut_ties, flagged=marks).kept
        except UsageError as error:
            return RatedSide(label=label, credits={}, reason=str(error).rstrip("."))
        return RatedSide(label=label, credits=dict(self._groups(kept)))

    def cut(self, label: str, matrix: Credits, share: float) -> RatedSide:
        """Return the side with the hardest pairs cut; without credits where the cut takes no pair."""
        side, uncut = self.of(label, matrix, share), self.of(label, matrix, 0.0)
        if side.reason is None and side.credits[None].pairs == uncut.credits[None].pairs:
            reason = "the cut takes no pair: the hardest are tied, or too few"
            return RatedSide(label=label, credits={}, reason=reason)
        return side

    def _groups(self, matrix: Credits) -> Iterator[tuple[str | None, Credits]]:
        yield None, matrix
        if self.by is not None:
            yield from matrix.groups(self.by).items()


def _credits(decisions: Decisions, criteria: Sequence[str]) -> Credits | str:
    """Return the credits, or why there are none."""
    try:
        return credits_of(decisions, criteria)
    except UsageError as error:
        return str(error).rstrip(".")


def _in_common(
    decisions: Decisions, pointwise: Decisions, criteria: Sequence[str]
) -> tuple[Credits | str, Credits | str]:
    """Return both credits on the criteria, judges and pairs that both have, with the columns of the first."""
    shared = [name for name in criteria if name in pointwise.criteria]
    whole, theirs = _credits(decisions, shared or criteria), _credits(pointwise, shared)  # no name in common: all
    if isinstance(whole, str) or isinstance(theirs, str):
        reason = whole if isinstance(whole, str) else str(theirs)
        return reason, reason
    judges = [name for name in whole.judges if name in theirs.judges]
    pairs = frozenset(whole.pairs) & frozenset(theirs.pairs)
    if not judges or not pairs:
        kind = "pair" if judges else "judge"
        reason = f"no {kind} is in both logs under the same name"
        return reason, reason
    mine, other = (_only(side.of_judges(judges), pairs) for side in (whole, theirs))
    places = {pair: place for place, pair in enumerate(mine.pairs)}
    columns: Mapping[str, tuple[str | float | None, ...]] = {
        name: tuple(values[places[pair]] for pair in other.pairs) for name, values in mine.columns.items()
    }
    return mine, replace(other, columns=columns)


def _only(matrix: Credits, pairs: Collection[str]) -> Credits:
    return matrix.of_pairs(np.array([pair in pairs for pair in matrix.pairs], np.bool_))


FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_MOST_CONDITIONAL = 20  # judges: a fit of 65 takes 0.3 s where cells are missing, and every draw is one
_TOP = 5
_BOUNDS = (2.5, 97.5)  # percentiles


@dataclass(frozen=True, kw_only=True)
class StabilityPoint:
    """Rankings of a `fraction` of the matches, `draws` times, held against the ranking of all of them.

    `unrated` draws could not rank the judges together (or the whole cannot) and are in none of the numbers; in `placed`
    ones some judge won or lost whatever it was compared by, and stands first or last without a rating. `spearman` and
    `kendall` (tau-b): means over draws, from the 2.5th (`low`) to the 97.5th percentile (`high`). `top5`: mean share of
    the first five judges that stay (ties: see `top_overlap`); None with five judges or fewer. `method`: what both were
    ranked by.
    """

    method: Method
    group: str | None
    fraction: float
    draws: int
    unrated: int
    placed: int
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    kendall: float | None
    kendall_low: float | None
    kendall_high: float | None
    top5: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON keeps it."""
        return asdict(self)


def stability(
    matrix: Credits,
    *,
    method: Method,
    fractions: Sequence[float] = FRACTIONS,
    draws: int = 50,
    seed: int = 0,
    by: str | None = None,
    eip_options: EipOptions | None = None,
) -> tuple[StabilityPoint, ...]:
    """Rank judges by drawn matches, without replacement, and correlate each ranking with that of all matches.

    A match is a judge on a pair that is not unanimous. EIP needs every judge on every pair, so that for it pairs are
    drawn, not matches. With more than 20 judges Bradley-Terry stands in for conditional maximum likelihood, whole and
    draws alike: missing cells make that slow, and the more judges, the less the two orders differ.

    Args:
        matrix: pairs x judges.
        method: what to rank by.
        fractions: of the matches, above 0 and up to 1.
        draws: for each fraction.
        seed: of the draws; each group and fraction has draws of its own.
        by: a column; after all data, the matches of each of its values are drawn from and held against their own whole.
        eip_options: parameters of EIP.

    Returns:
        A point for each group and fraction, all data (`group` None) first.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.
        UsageError: a fraction or the number of draws is out of range.

    """
    if not all(0 < fraction <= 1 for fraction in fractions):
        raise UsageError(f"fractions of matches must be above 0 and at most 1, not {', '.join(map(str, fractions))}.")
    if draws < 1:
        raise UsageError(f"stability needs at least 1 draw, not {draws}.")
    if method == "conditional" and len(matrix.judges) > _MOST_CONDITIONAL:
        method = "bradley-terry"
    groups: dict[str | None, Credits] = {None: matrix}
    if by is not None:
        groups.update(matrix.groups(by))
    points: list[StabilityPoint] = []
    with one_thread():
        for group, mine in groups.items():
            kept = mine.of_pairs(~mine.unanimous)
            whole = standing_of(kept, method=method, eip_options=eip_options)
            for place, fraction in enumerate(fractions):
                rng = np.random.default_rng([seed, zlib.crc32((group or "").encode()), place])
                drawn = (_drawn(kept, fraction, rng, method) for _ in range(draws))
                found = [] if whole is None else _found(whole, drawn, method, eip_options)
                points.append(_point(method, group, fraction, draws, found))
    return tuple(points)


def _drawn(matrix: Credits, fraction: float, rng: np.random.Generator, method: Method) -> Credits:
    """Return the credits of drawn matches; of drawn pairs for EIP."""
    if method == "eip":
        pairs = len(matrix.pairs)
        chosen = np.zeros(pairs, np.bool_)
        chosen[rng.choice(pairs, _size(fraction, pairs), replace=False)] = True
        return matrix.of_pairs(chosen)
    matches = np.flatnonzero(matrix.seen)
    places = rng.choice(matches, _size(fraction, len(matches)), replace=False)
    values = np.full(matrix.values.shape, np.nan)
    values.flat[places] = matrix.values.flat[places]
    return replace(matrix, values=values)


def _size(fraction: float, whole: int) -> int:
    return max(1, round(fraction * whole))


def _found(
    whole: Standing, drawn: Iterable[Credits], method: Method, eip_options: EipOptions | None
) -> list[tuple[RankCorrelation, int]]:
    """Return the correlations of the draws that rank the judges, and how many judges have no rating there."""
    standings = (standing_of(matrix, method=method, eip_options=eip_options) for matrix in drawn)
    ranked = (standing for standing in standings if standing is not None)
    found = [(correlate(whole.order, one.order, labels=("all", "drawn")), one.placed) for one in ranked]
    return [entry for entry in found if entry[0].spearman is not None]


def _point(
    method: Method, group: str | None, fraction: float, draws: int, found: Sequence[tuple[RankCorrelation, int]]
) -> StabilityPoint:
    rho = np.array([entry.spearman for entry, _ in found], np.float64)
    tau = np.array([entry.kendall for entry, _ in found], np.float64)
    tops = [share for entry, _ in found for k, share in entry.top if k == _TOP]
    spearman, kendall = _summary(rho), _summary(tau)
    return StabilityPoint(
        method=method,
        group=group,
        fraction=fraction,
        draws=draws,
        unrated=draws - len(found),
        placed=sum(placed > 0 for _, placed in found),
        spearman=spearman[0],
        spearman_low=spearman[1],
        spearman_high=spearman[2],
        kendall=kendall[0],
        kendall_low=kendall[1],
        kendall_high=kendall[2],
        top5=float(np.mean(tops)) if tops else None,
    )


def _summary(values: Floats) -> tuple[float | None, float | None, float | None]:
    """Return mean and both percentiles; None without a draw."""
    if not len(values):
        return None, None, None
    low, high = np.percentile(values, _BOUNDS)
    return float(values.mean()), float(low), float(high)
