"""Texts of judges and numbers, made safe and short for people."""

from __future__ import annotations

import re
from collections.abc import Mapping

from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

SENTENCE = 2_000  # characters: no sentence of ours is cut, only what a judge or a name made endless
_SMALLEST_P = 0.001  # that is shown
_SPLIT_SECOND = re.compile(r"(?<=[T ][0-9]{2}:[0-9]{2}:[0-9]{2})[.,][0-9]+")


def safe_text(text: str, limit: int = 400) -> str:
    """Return a text on one line without control and bidi characters, cut at `limit` characters."""
    given = text[: 4 * limit]
    if not given.isprintable():
        given = "".join(c if c.isprintable() else " " for c in given)
    shown = " ".join(given.split())
    return shown if len(shown) <= limit and len(text) <= 4 * limit else shown[: limit - 1] + "…"


def counted(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 case`, `2,000 cases`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def number_text(value: float | None) -> str:
    """Return a rate with up to three decimals (`0.625`, `1.0`), `none` when it was not measured."""
    if value is None:
        return "none"
    return f"{value:.3f}".rstrip("0") + ("0" if f"{value:.3f}".endswith(".000") else "")


def fixed(value: float | None, digits: int = 3) -> str:
    """Return `0.120`, `-` for what was not measured, and never a zero with a minus."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as `83.1`, `-` for what was not measured."""
    return fixed(None if value is None else 100 * value, 1)


def share(part: int, whole: int) -> str:
    """Return `89.3 of 419`: a share of a number of things, in per cent."""
    return f"{percent(part / whole if whole else None)} of {whole}"


def ends(interval: tuple[float | None, float | None] | None, digits: int = 3, *, scale: float = 1) -> str:
    """Return an interval as `[0.050, 0.130]`, `-` where there is none."""
    low, high = interval or (None, None)
    return "-" if low is None or high is None else f"[{fixed(scale * low, digits)}, {fixed(scale * high, digits)}]"


def p_text(value: float | None, *, none: str = "-") -> str:
    """Return a p-value as `.031`, `1.000` or `<.001`; `none` when there is none."""
    if value is None:
        return none
    return "<.001" if value < _SMALLEST_P else f"{value:.3f}".removeprefix("0")


def time_text(written: str) -> str:
    """Return an ISO 8601 time to the second, as people read it; any other text as it is."""
    return _SPLIT_SECOND.sub("", written)


def distribution_text(distribution: Mapping[Verdict, int]) -> str:
    """Return `{PASS: 5, FAIL: 3}`."""
    return (
        "{"
        + ", ".join(f"{safe_text(verdict_text(verdict), 60)}: {count}" for verdict, count in distribution.items())
        + "}"
    )
