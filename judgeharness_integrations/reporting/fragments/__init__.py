"""Results and reports as pieces of HTML that a notebook shows: no script, nothing to fetch, the colours around them."""

from judgeharness_integrations.reporting.fragments.reports import (
    calibration_fragment,
    rank_fragment,
)
from judgeharness_integrations.reporting.fragments.results import result_fragment

__all__ = [
    "calibration_fragment",
    "rank_fragment",
    "result_fragment",
]
