"""Reasons in words: counts with their denominators, shares in per cent, differences in points."""

from __future__ import annotations

from collections.abc import Collection
from statistics import fmean
from typing import Final

__all__ = [
    "UNREPEATED",
    "count_text",
    "effect_text",
    "ever_text",
    "number_of",
    "of_text",
    "p_text",
    "percent",
    "points",
    "whole_hits",
]

_SMALL: Final = 0.001
UNREPEATED: Final = "no case has two valid answers to one and the same question"


def count_text(count: float) -> str:
    """Return `3`, or `2.3` of cases that count by a share of their samples."""
    return f"{count:.0f}" if abs(count - round(count)) < _SMALL else f"{count:.1f}"


def of_text(hits: float, cases: int, noun: str = "case") -> str:
    """Return `3 of 48 cases`."""
    return f"{count_text(hits)} of {number_of(cases, noun)}"


def number_of(count: int, noun: str = "case") -> str:
    """Return `1 case`, `3 cases`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def whole_hits(shares: Collection[float]) -> float | None:
    """Return how many cases show an event; None where some do in a part of their samples: a sum is no count then."""
    return sum(shares) if all(share in {0, 1} for share in shares) else None


def ever_text(shares: Collection[float], told: str, noun: str = "case", *, every: bool = True) -> str:
    """Return `3 of 48 cases changed`; where a case has several samples, how many changed at least once, and the mean.

    Args:
        shares: of each case, the share of its samples with the event; at least one.
        told: what they did: `changed`.
        noun: what is counted: `case`, `attacked case`.
        every: whether their number is told as well: `3 changed`.

    """
    ever = sum(share > 0 for share in shares)
    seen = f"{of_text(ever, len(shares), noun)} {told}" if every else f"{ever} {told}"
    if whole_hits(shares) is not None:
        return seen
    return f"{seen} at least once (on average {percent(fmean(shares))} of a case's answers)"


def percent(share: float) -> str:
    """Return `7.1 %`."""
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    """Return `10 points`, `7.1 points`."""
    return f"{100 * difference:.3g} points"


def effect_text(effect: float, interval: tuple[float, float]) -> str:
    """Return `+4.2 points [-3.1, +12.2]`."""
    return f"{100 * effect:+.1f} points [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"


def p_text(p: float) -> str:
    """Return `p .031`, or `p <.001`."""
    return "p <.001" if p < _SMALL else f"p {p:.3f}".replace("0.", ".")
