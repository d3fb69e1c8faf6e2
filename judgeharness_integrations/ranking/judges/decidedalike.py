"""How often two judges decide the same."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.correctness.codes import NOT_ASKED
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions

__all__ = ["decided_alike"]


def decided_alike(criteria: Iterable[CriterionDecisions], judges: int) -> Floats:
    """Return (judges, judges): share of pairs asked of both that both decided, and alike; NaN where there is none.

    A failed answer and no decision are equal to nothing, so they count against it; criteria count one by one.
    """
    alike = np.zeros((judges, judges))
    asked = np.zeros((judges, judges))
    for entry in criteria:
        seen = (entry.codes != NOT_ASKED).astype(np.float64)
        asked += seen.T @ seen
        decided = entry.codes >= 0
        for judge in range(judges):
            mine = entry.codes[:, judge]
            alike[judge] += ((entry.codes == mine[:, None]) & decided).sum(axis=0)
    return np.where(asked > 0, alike / np.maximum(asked, 1), np.nan)
