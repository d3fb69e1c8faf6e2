"""A held-back part of the labelled cases: candidates are compared on one part, the chosen one measured on the other."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from judgeharness_integrations._errors import UsageError

__all__ = ["Part", "PartName", "cases_of_part"]

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
