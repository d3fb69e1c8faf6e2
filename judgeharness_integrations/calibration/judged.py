"""One labelled item: what people said, what the rule decided, and how sure it was."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judgeharness_integrations.aggregation.decision import Status
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["Judged", "cluster_keys"]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One labelled item: its gold label and what the rule decided.

    `confidence` orders decisions for the risk-coverage curve (the consistency of the samples). Items of one `cluster`
    (the case, a document, an author) are not independent of each other; without one an item stands alone. `longer` is
    the longer answer of a pair, A or B. `scored`: the samples are scores, also where a threshold makes PASS or FAIL of
    them.
    """

    gold: Verdict
    verdict: Verdict | None
    status: Status
    confidence: float | None = None
    cluster: Hashable = None
    longer: str | None = None
    scored: bool = False


def cluster_keys(items: Sequence[Judged]) -> list[Hashable]:
    """Return what each item shares with the others of its cluster; its own place where it has none."""
    return [place if item.cluster is None else item.cluster for place, item in enumerate(items)]
