"""The judges of a benchmark on its parallel set as text: changes of Elo, what they are worth, self-preference."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.cli._agreement_printing import Row, limits, number, titled
from judgeharness_integrations.cli._printing import console, safe
from judgeharness_integrations.ranking.bradleyterry.contrasts import LEVEL
from judgeharness_integrations.ranking.comparing.against import Against, Slope
from judgeharness_integrations.ranking.comparing.changes import EloChange, OwnSet

__all__ = ["print_against"]

_LONGEST, _SENTENCE = 40, 600
_LEAST_P = 0.001  # that is shown


def print_against(one: Against, *, parallel: int, scores: bool) -> None:
    """Print both rankings beside each other.

    Args:
        one: the rankings.
        parallel: pairs that were judged in both sets and drawn alike.
        scores: the ratings are EIP scores, from 0 to 1, rather than Elo.

    """
    screen = console()
    changes = {change.judge: change for change in one.changes}
    digits, unit = (3, "EIP") if scores else (0, "Elo")
    rows = [_row(slope, changes.get(slope.judge), digits) for slope in one.slopes]
    columns = ("judge", "rank", "there", unit, "there", "change", "95 %", "p", "wrote")
    found = sum(change.significant for change in one.changes)
    told = f", {found} of {len(changes)} changes significant" if changes else ""
    screen.print(titled(safe(f"{one.name} against {one.name_against}{told}", 2 * _SENTENCE).plain, columns, rows))
    for line in _lines(one, parallel):
        screen.print(safe(f"- {line}", _SENTENCE), soft_wrap=True)


def _row(slope: Slope, change: EloChange | None, digits: int) -> Row:
    moved = slope.elo_against - slope.elo if change is None else change.change
    return [
        safe(slope.judge, _LONGEST),
        str(slope.rank),
        str(slope.rank_against),
        number(slope.elo, digits),
        number(slope.elo_against, digits),
        f"{moved:+.{digits}f}",
        "-" if change is None or change.p is None else limits(change.ci95, digits),
        "-" if change is None else _p(change.p_adjusted),
        safe(", ".join(slope.wrote), _LONGEST),
    ]


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<.001" if value < _LEAST_P else f"{value:.3f}".removeprefix("0")


def _lines(one: Against, parallel: int) -> Iterator[str]:
    if one.changes:
        yield (
            "change: with the mean of these judges held; p: adjusted for all of them (Benjamini-Hochberg), significant "
            f"up to {LEVEL:g}"
        )
    yield f"{parallel} pairs that were judged in both sets were drawn alike" + (
        "; both sets are taken as independent all the same, which makes intervals rather too wide"
        if one.changes
        else ""
    )
    if one.own_sets:
        for own in one.own_sets:
            yield _preference(own)
    elif one.changes:
        yield "self-preference: cannot be said, no judge of both sets wrote one of them"


def _preference(one: OwnSet) -> str:
    if one.gain is None:
        return f"self-preference of {one.judge}: cannot be said, {one.reason}"
    judges = "1 judge" if one.others == 1 else f"{one.others} judges"
    told = f"self-preference of {one.judge}: {one.gain:+.0f} Elo towards its own set ({one.own}) beside the mean change"
    if one.ci95 is None:
        return f"{told} of {judges} that wrote neither; no interval, for want of any spread"
    low, high = one.ci95
    worth = "which is no more than chance gives" if low <= 0 <= high else "which chance hardly gives"
    return f"{told} of {judges} that wrote neither, 95 % {low:+.0f} to {high:+.0f}, {worth}"
