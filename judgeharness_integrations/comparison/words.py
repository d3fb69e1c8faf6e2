"""Comparisons in words: numbers with their units and denominators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from judgeharness_integrations.comparison.difference import Difference, Measure

__all__ = ["change_text", "interval_text", "measure_text", "p_text", "shares", "size_text", "value_text"]

_MEASURES: Final[Mapping[Measure, str]] = {
    "positive_rate": "rate of",
    "accuracy": "accuracy",
    "mean_score": "mean score",
    "mean_error": "mean distance from gold",
    "label_shares": "shares of labels",
    "coverage": "coverage",
    "abstention": "abstention",
    "consistency_rate": "consistency",
}
_SCORES: Final = frozenset({"mean_score", "mean_error"})
_SMALL: Final = 0.001


def shares(one: Difference) -> bool:
    """Whether a measure is a share, told in per cent and its changes in points; scores have units of their own."""
    return one.measure not in _SCORES


def measure_text(one: Difference) -> str:
    """Return what is measured: `rate of PASS`."""
    return _MEASURES[one.measure] + (f" {one.of}" if one.of else "")


def p_text(p: float | None) -> str:
    """Return `.031`, `<.001`, or `-`."""
    if p is None:
        return "-"
    return "<.001" if p < _SMALL else f"{p:.3f}".removeprefix("0")


def value_text(one: Difference, value: float | None) -> str:
    """Return `71.5 %` of shares, `6.125` of scores, `-` of what is not known."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if shares(one) else f"{value:.3f}"


def size_text(one: Difference, size: float) -> str:
    """Return a size without a sign: `8.1 points`, or `0.412`."""
    return f"{100 * size:.1f} points" if shares(one) else f"{size:.3f}"


def interval_text(one: Difference) -> str:
    """Return `[-12.0, -2.1]` in points or units, or `no interval`."""
    if one.low is None or one.high is None:
        return "no interval"
    scale, digits = (100, 1) if shares(one) else (1, 3)
    return f"[{scale * one.low:+.{digits}f}, {scale * one.high:+.{digits}f}]"


def change_text(one: Difference) -> str:
    """Return `rate 71.5 % -> 64.0 % of 200: -7.5 points [-12.0, -2.1]`, or how many labels changed."""
    if one.difference is None:
        return f"{measure_text(one)}: {one.rose} of {one.n} cases changed"
    change = f"{100 * one.difference:+.1f} points" if shares(one) else f"{one.difference:+.3f}"
    sides = f"{value_text(one, one.before)} -> {value_text(one, one.after)} of {one.n}"
    return f"{measure_text(one)} {sides}: {change} {interval_text(one)}"
