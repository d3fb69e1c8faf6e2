"""Adversarial probes: which family expects what, and what was found of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.checking.properties.attacks import attacked
from judgeharness_integrations.checking.properties.finding import Finding, missing
from judgeharness_integrations.checking.properties.perturbed import merged
from judgeharness_integrations.checking.properties.samples import Samples
from judgeharness_integrations.checking.properties.sentinels import losing, tying
from judgeharness_integrations.verdictlog.probenames import Side, probe_name

__all__ = ["Expected", "checked_expectations", "probe_property", "probed"]

Expected: TypeAlias = Literal["must_not_change", "must_lose", "must_tie"]
_EXPECTATIONS: Final[Mapping[str, Expected]] = {
    "sentinel.empty": "must_lose",
    "sentinel.off_topic": "must_lose",
    "sentinel.copy": "must_tie",
}
_MEASURES: Final = {"must_not_change": attacked, "must_lose": losing, "must_tie": tying}


def probe_property(perturbation: str) -> str | None:
    """Return the property of a probe's rows; None where there is no probe."""
    found = probe_name(perturbation)
    return None if found is None else found.property


def probed(samples: Samples, name: str, *, tolerance: float, expectations: Mapping[str, Expected]) -> Finding:
    """Return what was found of one probe; `expectations` speak of a property or of a whole family."""
    asked = sum(count for perturbation, count in samples.asked.items() if probe_property(perturbation) == name)
    if not asked:
        return missing(name, samples.criterion, f"no sample of the probe {name}")
    names = [each for each in sorted(samples.placed) if probe_property(each) == name]
    if not names:
        return missing(name, samples.criterion, f"none of {asked} answers to the probe is a verdict", asked=asked)
    family = name.split(".", 1)[0]
    expected = expectations.get(name) or expectations.get(family) or _EXPECTATIONS.get(name, "must_not_change")
    if samples.kind == "pairwise" and expected != "must_tie" and not all(map(_side, names)):
        reason = f"its rows do not say which answer was changed: name it, as in probe:{name}(b)"
        return missing(name, samples.criterion, reason, asked=asked)
    return _MEASURES[expected](samples, name, merged(samples, names), tolerance=tolerance, asked=asked)


def checked_expectations(expectations: Mapping[str, Expected]) -> Mapping[str, Expected]:
    """Return expectations as they are.

    Raises:
        UnknownNameError: there is no such expectation.

    """
    for expected in expectations.values():
        if expected not in _MEASURES:
            raise UnknownNameError("expectation", expected, _MEASURES)
    return expectations


def _side(perturbation: str) -> Side | None:
    found = probe_name(perturbation)
    return None if found is None else found.side
