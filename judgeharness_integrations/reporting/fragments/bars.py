"""The bar of a sample distribution: one part a verdict, and one for samples that hold none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.reporting.figures import COLOURS, GREY
from judgeharness_integrations.result import Distribution
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["Part", "parts_of"]

# one colour a verdict that everybody uses, so that two results side by side can be compared
_FIXED: Final = {"PASS": COLOURS[2], "FAIL": COLOURS[1], "A": COLOURS[0], "B": COLOURS[4], "TIE": COLOURS[5]}
_OTHERS: Final = (COLOURS[3], COLOURS[6], COLOURS[7], COLOURS[0], COLOURS[4], COLOURS[5])
_FAINTEST: Final = 0.45
_MOST: Final = 8
_LONGEST: Final = 40


@dataclass(frozen=True, kw_only=True)
class Part:
    """`count` samples that say `label`: `width` percent of the bar, in a colour and its opacity."""

    label: str
    count: int
    width: str
    colour: str
    opacity: str = "1"


def parts_of(distribution: Distribution, *, failed: int = 0, planned: int | None = None) -> tuple[Part, ...]:
    """Return the parts of a bar: labels by frequency, scores by size; beyond eight verdicts the rarest are one part.

    Args:
        distribution: verdict -> valid samples.
        failed: samples that hold no verdict.
        planned: samples the whole bar stands for, where more were planned than asked.

    """
    numeric = all(map(is_number, distribution))
    kept = dict(list(distribution.items())[:_MOST])
    others = sum(distribution.values()) - sum(kept.values())
    verdicts = sorted(kept, key=_value) if numeric else list(kept)
    total = max(sum(distribution.values()) + failed, planned or 0) or 1
    found = [
        _part(verdict_text(verdict)[:_LONGEST], kept[verdict], total, *_look(verdict, place, len(verdicts)))
        for place, verdict in enumerate(verdicts)
    ]
    found += [_part("other verdicts", others, total, GREY)] if others else []
    return (*found, *([_part("without a verdict", failed, total, GREY, 0.35)] if failed else []))


def _part(label: str, count: int, total: int, colour: str, opacity: float = 1.0) -> Part:
    return Part(label=label, count=count, width=f"{100 * count / total:.3f}", colour=colour, opacity=f"{opacity:.2f}")


def _value(verdict: Verdict) -> float:
    return float(verdict) if isinstance(verdict, (int, float)) else 0.0


def _look(verdict: Verdict, place: int, count: int) -> tuple[str, float]:
    """Return colour and opacity; scores are one colour that grows with the score."""
    if is_number(verdict):
        return COLOURS[0], _FAINTEST + (1 - _FAINTEST) * (place / (count - 1) if count > 1 else 1.0)
    return _FIXED.get(str(verdict), _OTHERS[place % len(_OTHERS)]), 1.0
