"""Results and reports as pieces of HTML that a notebook shows: no script, nothing to fetch, the colours around them."""

from judgeharness_integrations.reporting.fragments.reports import (
    calibration_fragment,
    replay_fragment,
    report_fragment,
)
from judgeharness_integrations.reporting.fragments.results import result_fragment

__all__ = [
    "calibration_fragment",
    "replay_fragment",
    "report_fragment",
    "result_fragment",
]
