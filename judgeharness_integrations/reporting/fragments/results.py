"""A result as a fragment: verdict and status, one line, the distribution, what perturbations changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.analysis.result import CriterionResult, Distribution, HarnessResult, boundary
from judgeharness_integrations.verdictlog.encoding import distribution_text, number_text, safe_text
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

from ..figures import COLOURS, GREY
from ..text import dissent, headline, shown_order
from . import rendered

# one colour a verdict that everybody uses, so that two results side by side can be compared
_FIXED: Final = {"PASS": COLOURS[2], "FAIL": COLOURS[1], "A": COLOURS[0], "B": COLOURS[4], "TIE": COLOURS[5]}
_OTHERS: Final = (COLOURS[3], COLOURS[6], COLOURS[7], COLOURS[0], COLOURS[4], COLOURS[5])
_FAINTEST: Final = 0.45
_MOST: Final = 8
_BARS_LONGEST: Final = 40


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
        _part(verdict_text(verdict)[:_BARS_LONGEST], kept[verdict], total, *_look(verdict, place, len(verdicts)))
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


_MOST_CRITERIA: Final = 12
_LONGEST_REASONS: Final = 500
_STATUS: Final = {"decided": COLOURS[2], "abstained": COLOURS[4], "not_graded": GREY}


@dataclass(frozen=True, kw_only=True)
class _Perturbed:
    """One row of the table of perturbations."""

    name: str
    valid: str
    distribution: str
    flips: str
    moved: str


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """One criterion as the template shows it."""

    name: str
    verdict: str
    status: str
    colour: str
    line: str
    parts: tuple[Part, ...]
    words: str
    perturbations: tuple[_Perturbed, ...]
    dissent: str
    said: str


def result_fragment(result: HarnessResult) -> str:
    """Return the result as HTML that stands by itself; texts of judges and cases are escaped."""
    names = list(result.criteria)
    return rendered(
        "result.html",
        case_id=result.case_id,
        judge=result.judge if result.judge_model in (None, result.judge) else f"{result.judge} ({result.judge_model})",
        criteria=[_criterion_lines(result, name) for name in names[:_MOST_CRITERIA]],
        alone=len(names) == 1,
        more=max(0, len(names) - _MOST_CRITERIA),
        state="" if result.state == "complete" else result.state.replace("_", " "),
        warnings=result.warnings,
        boundary=boundary(result),
    )


def _criterion_lines(result: HarnessResult, name: str) -> _Shown:
    measured = result.criteria[name]
    against = dissent(result, name)
    failed = measured.taken - measured.valid
    parts = parts_of(measured.sample_distribution, failed=failed, planned=measured.planned)
    return _Shown(
        name=name,
        verdict="-" if measured.verdict is None else safe_text(verdict_text(measured.verdict), 60),
        status="informal" if result.informal and measured.status == "decided" else measured.status.replace("_", " "),
        colour=_STATUS[measured.status],
        line=headline(result, name),
        parts=parts,
        words=", ".join(f"{part.count} {part.label}" for part in parts) or "no sample",
        perturbations=_perturbations(measured),
        dissent="" if against is None else verdict_text(against.verdict) + shown_order(against),
        said="" if against is None else safe_text(against.reasoning or against.raw or "", _LONGEST_REASONS),
    )


def _perturbations(measured: CriterionResult) -> tuple[_Perturbed, ...]:
    return tuple(
        _Perturbed(
            name=one.name,
            valid=f"{one.valid}/{one.asked}",
            distribution=distribution_text(one.sample_distribution),
            flips="-" if one.flip_rate is None else number_text(one.flip_rate),
            moved="" if one.probability_change is None else number_text(one.probability_change),
        )
        for one in measured.perturbations
    )
