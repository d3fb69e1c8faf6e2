"""A result as a fragment: verdict and status, one line, the distribution, what perturbations change, the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.reporting.boundary import boundary
from judgeharness_integrations.reporting.figures import COLOURS, GREY
from judgeharness_integrations.reporting.fragments.bars import Part, parts_of
from judgeharness_integrations.reporting.fragments.rendering import rendered
from judgeharness_integrations.reporting.headline import headline
from judgeharness_integrations.reporting.plain import distribution_text, number_text, safe_text
from judgeharness_integrations.reporting.rationales import dissent, shown_order
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import verdict_text

__all__ = ["result_fragment"]

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
        criteria=[_shown(result, name) for name in names[:_MOST_CRITERIA]],
        alone=len(names) == 1,
        more=max(0, len(names) - _MOST_CRITERIA),
        state="" if result.state == "complete" else result.state.replace("_", " "),
        warnings=result.warnings,
        boundary=boundary(result),
    )


def _shown(result: HarnessResult, name: str) -> _Shown:
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
        )
        for one in measured.perturbations
    )
