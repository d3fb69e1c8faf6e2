"""Changes that must not matter: names, formatting, wording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from judgeharness_integrations.checking.properties.excess import excess_finding, excess_of, strata_of
from judgeharness_integrations.checking.properties.finding import Finding, missing
from judgeharness_integrations.checking.properties.samples import UNCHANGED, Place, Samples
from judgeharness_integrations.verdictlog.probenames import is_probe
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["NOTHING_AS_IT_IS", "PERTURBED", "merged", "perturbed", "property_of"]

PERTURBED: Final = ("names", "slot_names", "format", "whitespace", "typography", "paraphrase", "prompt_variant")
NOTHING_AS_IT_IS: Final = "no verdict of the cases as they are to compare with"
_NAMES: Final = {"name_swap": "names", "format_change": "format"}
_PERTURBATIONS: Final = {"names": "name_swap", "format": "format_change"}


def property_of(perturbation: str) -> str | None:
    """Return the property a perturbation is of, whatever the order; None for no change and for probes."""
    perturbation = _unswapped(perturbation)
    if perturbation == UNCHANGED or is_probe(perturbation):
        return None
    if "+" in perturbation:
        return perturbation
    plain = perturbation.split("(", 1)[0]
    plain = plain if plain in PERTURBED else perturbation
    return _NAMES.get(plain, plain)


def perturbed(samples: Samples, name: str, *, tolerance: float) -> Finding:
    """Return whether a change that must not matter changes verdicts, beyond what repetition alone does."""
    changed = [perturbation for perturbation in sorted(samples.placed) if property_of(perturbation) == name]
    asked = sum(count for each, count in samples.asked.items() if property_of(each) == name)
    if not asked:
        return missing(name, samples.criterion, f"no sample under {_PERTURBATIONS.get(name, name)}")
    strata = list(strata_of(samples, merged(samples, changed)))
    found = excess_of(strata, lambda base, other: samples.differ(base.verdict, other.verdict))
    valid = sum(len(stratum.changed) for stratum in strata)
    if found is None:
        reason = NOTHING_AS_IT_IS if changed else f"none of {asked} answers under the change is a verdict"
        return missing(name, samples.criterion, reason, asked=asked)
    return excess_finding(
        found,
        name=name,
        samples=samples,
        tolerance=tolerance,
        told="changed",
        noun="case",
        asked=asked,
        valid=valid,
    )


def _unswapped(perturbation: str) -> str:
    return "+".join(part for part in perturbation.split("+") if part != "position_swap") or UNCHANGED


def merged(samples: Samples, perturbations: Iterable[str]) -> dict[Place, tuple[VerdictRow, ...]]:
    """Return the samples of several perturbations of one property together, by place."""
    places: dict[Place, tuple[VerdictRow, ...]] = {}
    for name in perturbations:
        for place, rows in samples.placed[name].items():
            places[place] = (*places.get(place, ()), *rows)
    return places
