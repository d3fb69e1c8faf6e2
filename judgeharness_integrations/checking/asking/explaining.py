"""Why a check of a judge did not ask something, which its rows alone cannot tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from judgeharness_integrations.checking.properties.perturbed import PERTURBED, property_of
from judgeharness_integrations.checking.report import PropertyCheck
from judgeharness_integrations.verdictlog.probenames import PROBE_PROPERTIES, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.checking.asking.planning import CheckPlan
    from judgeharness_integrations.checking.asking.stages import Asked

__all__ = ["explained", "notes"]

_POSITION = "position"
_KNOWN = (_POSITION, *PERTURBED, *PROBE_PROPERTIES)
_NEEDS = {
    "paraphrase": "not asked: it needs a rewriter",
    "prompt_variant": "not asked: it needs a rewriter, or instructions in other words",
}
_NOTHING_TO_SHOW = "the judge's own verdicts left this probe nothing to show"


def explained(properties: Iterable[PropertyCheck], plan: CheckPlan, asked: Asked) -> tuple[PropertyCheck, ...]:
    """Return the properties, those that are not checked with the reason why nothing was asked about them.

    Perturbations and probes of the caller's own stand there, too, when nothing was asked about them.
    """
    reasons = _reasons(plan, asked)
    found = [
        replace(one, reason=reasons[one.name]) if one.status == "not_checked" and one.name in reasons else one
        for one in properties
    ]
    criteria, known = dict.fromkeys(one.criterion for one in found), {*_KNOWN, *(one.name for one in found)}
    missing = [
        PropertyCheck(name=name, criterion=criterion, status="not_checked", reason=reason)
        for criterion in criteria
        for name, reason in reasons.items()
        if name not in known
    ]
    return (*found, *missing)


def notes(plan: CheckPlan, asked: Asked, *, seed: int) -> Iterator[str]:
    """Yield what is to be known about the samples: which cases were drawn, and why they are not all."""
    if len(plan.cases) < plan.found:
        yield f"{len(plan.cases)} of {plan.found} cases, drawn with seed {seed}"
    if asked.ended is not None:
        yield f"not everything that was planned was asked: {asked.ended}"


def _reasons(plan: CheckPlan, asked: Asked) -> dict[str, str]:
    """Return property -> why there is no answer about it."""
    reasons = {name: _NEEDS.get(name, "not asked") for name in _KNOWN}
    reasons |= {_property(name): reason.rstrip(".") for name, reason in plan.unfit.items()}
    for one in plan.changes:
        reasons.pop(_property(one.name), None)
    for probe in plan.probes:
        reasons[probe.property] = _NOTHING_TO_SHOW
    planned = {_property(one.name) for one in plan.changes} | {probe.property for probe in plan.probes}
    answered = {_property(row.perturbation) for row in asked.rows}
    if asked.ended is not None:
        reasons |= dict.fromkeys(planned, f"not asked any more: {asked.ended}")
    return {name: reason for name, reason in reasons.items() if name not in answered}


def _property(name: str) -> str:
    """Return the property of a perturbation in the log, or of a probe."""
    if (probe := probe_name(name)) is not None:
        return probe.property
    return _POSITION if name == "position_swap" else property_of(name) or name
