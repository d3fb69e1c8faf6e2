"""How many pairs each layer passed, failed, could not read, or never saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judgeharness_integrations.benchmark.pair import LAYERS, Layer, Pair

__all__ = ["LayerTally", "tallies"]


@dataclass(frozen=True, kw_only=True)
class LayerTally:
    """One layer over `pairs`, which passed, failed, unread and not_run sum to.

    `because`: why answers could not be read, with how many pairs, most frequent first.
    """

    layer: Layer
    pairs: int
    passed: int
    failed: int
    unread: int
    not_run: int
    because: tuple[tuple[str, int], ...] = ()


def tallies(pairs: Sequence[Pair]) -> list[LayerTally]:
    """Return a tally of every layer, in their order; a layer that a pair says nothing of has not run."""
    return [_tally(layer, pairs) for layer in LAYERS]


def _tally(layer: Layer, pairs: Sequence[Pair]) -> LayerTally:
    said = [result for pair in pairs for result in pair.verification.layers if result.layer == layer]
    statuses = Counter(result.status for result in said)
    because = Counter(reason for result in said if result.status == "unread" for reason in result.reasons)
    ran = statuses["passed"] + statuses["failed"] + statuses["unread"]
    return LayerTally(
        layer=layer,
        pairs=len(pairs),
        passed=statuses["passed"],
        failed=statuses["failed"],
        unread=statuses["unread"],
        not_run=len(pairs) - ran,
        because=tuple(sorted(because.items(), key=lambda entry: (-entry[1], entry[0]))),
    )
