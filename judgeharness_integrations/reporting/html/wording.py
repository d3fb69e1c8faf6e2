"""Numbers in words: shares with interval and denominator, counts with their noun."""

from __future__ import annotations

from judgeharness_integrations.reporting.plain import number_text
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

__all__ = ["decision_word", "grouped", "interval_text", "p_text", "percent", "plural"]

_ALMOST_ZERO = 0.001
_NONE = "\u2013"


def percent(share: float | None, *, sign: str = "") -> str:
    """Return `41.7 %`; `0 %` and `100 %` only where they are exact; a dash when it was not measured."""
    if share is None:
        return _NONE
    whole = share in (0, 1, -1)
    return f"{100 * share:{sign}.{0 if whole else 1}f}\u00a0%"


def interval_text(low: float | None, high: float | None, *, scale: float = 100.0) -> str:
    """Return `[24.5, 61.2]`, in percent unless scaled otherwise; nothing where there is none."""
    if low is None or high is None:
        return ""
    digits = 1 if scale == 100.0 else 3  # noqa: PLR2004 - percent
    return f"[{scale * low:.{digits}f}, {scale * high:.{digits}f}]"


def p_text(value: float | None) -> str:
    """Return a p-value with three decimals."""
    return _NONE if value is None else "<0.001" if value < _ALMOST_ZERO else f"{value:.3f}"


def grouped(count: float) -> str:
    """Return a count with its thousands apart: `27,235`."""
    return f"{count:,}" if isinstance(count, int) else number_text(count)


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 case`, `2,000 cases`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def decision_word(verdict: Verdict | None) -> str:
    """Return the decision for people."""
    return "NOT GRADED" if verdict is None else verdict_text(verdict)
