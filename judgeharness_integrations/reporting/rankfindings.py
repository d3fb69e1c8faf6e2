"""What a ranking opens with: who is first, who cannot be told apart from it, and who costs less for as much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.analysis.ranking.contrasts import LEVEL, NO_SPREAD
from judgeharness_integrations.reporting.findings import Finding
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, listed, percent

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.ranking.rating import Method
    from judgeharness_integrations.analysis.ranking.report import JudgeRank, RankReport

METHODS: Final[dict[Method, str]] = {
    "bradley-terry": "Bradley-Terry",
    "conditional": "conditional maximum likelihood",
    "eip": "EIP",
}
PLACES: Final = {
    "above": "never wrong where another is right, so that no finite Elo exists",
    "below": "never right where another is wrong, so that no finite Elo exists",
}
THOUSAND: Final = 1000  # pairs that money is told of
_NAMED: Final = 4
_CHEAPER: Final = 2  # times, from which a judge of the same Elo is worth a sentence
_BARGAINS: Final = 2
NOBODY: Final = "nobody is ranked: the judges cannot be compared, see below"


def rank_finding(report: RankReport, *, following: str = "") -> Finding:
    """Return what a ranking opens with.

    Args:
        report: the ranking.
        following: the command that comes next.

    """
    first = [one for one in report.judges if one.rank == 1]
    if not first:
        return Finding(answer=NOBODY, next=following)
    names = ", ".join(one.judge for one in first)
    rated = any((one.elo if report.method != "eip" else one.eip) is not None for one in report.judges)
    by = METHODS[report.method] if rated else "labelled cases judged right, since none has a rating"
    return Finding(
        answer=f"first of {counted(len(report.judges), 'judge')} by {by}: {names}",
        reasons=(*_standing(first[0], report.method), *_untold(report, first[0]), *_money(report)),
        next=following,
    )


def elo_interval(ci95: tuple[float, float]) -> str:
    """Return an interval of Elo in words; of answers without any spread there is none."""
    low, high = ci95
    return "no interval, for want of any spread" if high - low < NO_SPREAD else f"95 % {ends(ci95, 0)}"


def _standing(one: JudgeRank, method: str) -> Iterator[str]:
    if one.place in PLACES:
        yield PLACES[one.place]
    elif one.elo is not None and one.ci95 is not None:
        right = f"right about {percent(one.right_of_labelled)} % of {counted(one.n, 'pair')}"
        score = f"EIP {one.eip:.3f}; " if method == "eip" and one.eip is not None else ""
        yield f"{score}Elo {one.elo:.0f}, {elo_interval(one.ci95)}; {right}"


def _untold(report: RankReport, first: JudgeRank) -> Iterator[str]:
    """Yield who cannot be told from the first, by name."""
    if first.rank_range is None or report.method == "eip":
        return
    others, at = first.rank_range[1] - 1, f"at a false discovery rate of {100 * LEVEL:g} %"
    if not others:
        yield f"every other judge is significantly behind it, {at}"
        return
    names = [name for one in report.contrasts if not one.significant for name in _beside(one.judge, one.other, first)]
    named = f": {listed(names, _NAMED)}" if len(names) == others else ""
    yield f"{counted(others, 'other judge')} cannot be told apart from it, {at}{named}"


def _beside(judge: str, other: str, first: JudgeRank) -> Sequence[str]:
    return [other] if judge == first.judge else [judge] if other == first.judge else []


def _money(report: RankReport) -> Iterator[str]:
    """Yield which judges cost much more than one that stands as high: what to buy instead."""
    priced = [(one, one.measures.cost, one.elo) for one in report.judges]
    known = [(one, cost, elo) for one, cost, elo in priced if cost and elo is not None]
    found = []
    for dear, cost, elo in known:
        as_high = [(price, one) for one, price, high in known if round(high) >= round(elo) and price < cost]
        if as_high:
            price, cheap = min(as_high, key=lambda entry: entry[0])
            found.append((cost / price, dear, cheap, cost, price))
    worth = sorted((one for one in found if one[0] >= _CHEAPER), key=lambda one: -one[0])
    for times, dear, cheap, cost, price in worth[:_BARGAINS]:
        elos = f"Elo {fixed(cheap.elo, 0)} against {fixed(dear.elo, 0)}"
        prices = f"{fixed(THOUSAND * price, 2)} against {fixed(THOUSAND * cost, 2)} per 1,000 pairs"
        yield f"{cheap.judge} costs 1/{times:.0f} as much as {dear.judge} and stands as high: {elos}, {prices}"
