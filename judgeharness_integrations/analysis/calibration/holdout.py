"""Several candidates on one label set: a held-back part, or intervals that hold for all of them at once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.statistics import CONFIDENCE
from judgeharness_integrations.analysis.statistics.multiplicity import bonferroni_level, sidak_confidence

__all__ = [
    "Part",
    "PartName",
    "cases_of_part",
    "check_candidates",
    "confidence_text",
    "plain_intervals",
    "simultaneous_alpha",
    "simultaneous_level",
]


PartName: TypeAlias = Literal["all", "choosing", "held_back"]
_SEED: Final = 0
_FEWEST: Final = 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """Which labelled cases are looked at: `all`, those to choose a candidate on, or those held back for the chosen one.

    `holdout` is the share that is held back, None without one.
    """

    name: PartName = "all"
    holdout: float | None = None

    def __post_init__(self) -> None:
        """Refuse a share that leaves one of the two parts empty, and a part without a share."""
        if self.holdout is not None and not 0 < self.holdout < 1:
            raise UsageError(f"--holdout is the share of labelled cases to hold back, as 0.5, not {self.holdout:g}.")
        if (self.holdout is None) != (self.name == "all"):
            raise UsageError("a part of the labelled cases goes with the share held back: give --holdout SHARE.")

    @property
    def span(self) -> tuple[float, float]:
        """The part as an interval of [0, 1]: held back is always the beginning of the same order of cases."""
        share = 1.0 if self.holdout is None else self.holdout
        return (share, 1.0) if self.name == "choosing" else (0.0, share)

    def meets(self, other: Part) -> bool:
        """Whether two parts have cases in common."""
        (low, high), (lowest, highest) = self.span, other.span
        return low < highest and lowest < high


def cases_of_part(
    part: Part, case_ids: Iterable[str], clusters: Mapping[str, Hashable] | None = None, *, seed: int = _SEED
) -> set[str]:
    """Return the ids of the cases of a part; cases that share a cluster are in the same one.

    The order is that of a digest of seed and cluster: the same cases are held back from every candidate, in whatever
    order they are given, and a smaller share is part of a larger one.

    Args:
        part: which one.
        case_ids: of all labelled cases.
        clusters: what a case shares with others; without, each is its own.
        seed: of the order.

    Raises:
        UsageError: there are too few clusters for two parts.

    """
    ids = list(dict.fromkeys(case_ids))
    if part.holdout is None:
        return set(ids)
    keys = {case_id: str((clusters or {}).get(case_id, case_id)) for case_id in ids}
    order = sorted(set(keys.values()), key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    if len(order) < _FEWEST:
        raise UsageError("one labelled case, or one cluster of them, cannot be split: leave out --holdout.")
    held = set(order[: min(len(order) - 1, max(1, math.floor(part.holdout * len(order) + 0.5)))])
    return {case_id for case_id, key in keys.items() if (key in held) == (part.name == "held_back")}


_MOST: Final = 1_000_000
_SHOWN: Final = (
    "precision",
    "recall",
    "specificity",
    "accuracy",
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
    return sidak_confidence(CONFIDENCE, candidates)


def confidence_text(confidence: float) -> str:
    """Return a confidence with as many digits as tell it from 100 %: `95 %`, `98.30 %`."""
    beyond = math.floor(math.log10(100 * (1 - confidence)))
    digits = 0 if confidence == CONFIDENCE else max(2, 1 - beyond)
    return f"{100 * confidence:.{digits}f} %"


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
