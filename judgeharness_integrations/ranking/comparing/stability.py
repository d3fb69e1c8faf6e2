"""How far the ranking depends on how much was asked: rankings of drawn matches held against the whole one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.comparing.correlation import RankCorrelation, correlate
from judgeharness_integrations.ranking.comparing.standing import Standing, standing_of
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.eip import EipOptions
from judgeharness_integrations.ranking.onethread import one_thread
from judgeharness_integrations.ranking.rating import Method

__all__ = ["FRACTIONS", "StabilityPoint", "stability"]

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
