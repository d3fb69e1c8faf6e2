"""Several candidates on one label set, of which one is chosen: intervals that hold for all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.statistics.multiplicity import bonferroni_level, sidak_confidence

__all__ = ["check_candidates", "plain_intervals", "simultaneous_alpha", "simultaneous_level"]

_LEVEL: Final = 0.95
_MOST: Final = 1_000_000
_SHOWN: Final = (
    "precision",
    "recall",
    "specificity",
    "accuracy_decided",
    "balanced_accuracy",
    "kappa",
    "spearman",
    "quadratic_kappa",
)


def check_candidates(candidates: int) -> None:
    """Raise a UsageError for fewer than one candidate, or more than anybody has tried."""
    if not 1 <= candidates <= _MOST:
        raise UsageError(
            f"{candidates} candidates: give how many were tried on these labels in all, at least 1 and at most {_MOST}."
        )


def simultaneous_level(candidates: int) -> float:
    """Return the confidence of each of several intervals that hold together at 95 %: .95^(1/k).

    Sidak 1967. The best of k equally good judges has an interval that covers as often as the worst case of all k: with
    plain 95 % intervals in about .95^k of studies where they err independently of each other. Judges measured on the
    same cases err together, so that .95^(1/k) is, if anything, too careful.
    """
    check_candidates(candidates)
    return sidak_confidence(_LEVEL, candidates)


def simultaneous_alpha(alpha: float, candidates: int) -> float:
    """Return the level of each of several tests of which the chosen candidate's is looked at: alpha / k (Bonferroni).

    Whichever is chosen, and by whatever luck, it is one of k, and any of them rejects in at most k * (alpha / k).
    """
    check_candidates(candidates)
    return bonferroni_level(alpha, candidates)


def plain_intervals(measures: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return measure -> its interval, of those that are printed beside the simultaneous ones."""
    found = {name: measures.get(name) for name in _SHOWN}
    return {name: (one.low, one.high) for name, one in found.items() if one is not None and one.low is not None}
