"""What no match can tell, the level of all abilities, held where it is."""

from __future__ import annotations

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats

__all__ = ["gauge_of"]


def gauge_of(judges: int, size: int) -> Floats:
    """Return (size, size) what keeps the mean of the first `judges` parameters, added to an information."""
    gauge = np.zeros((size, size))
    gauge[:judges, :judges] = 1.0 / judges
    return gauge
