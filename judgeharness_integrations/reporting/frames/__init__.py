"""Results, rows and reports as pandas data frames: one row a thing, typed columns, NA for what was not measured."""

from judgeharness_integrations.reporting.frames.agreements import agreement_frame, alttest_frame
from judgeharness_integrations.reporting.frames.calibrations import calibration_frame
from judgeharness_integrations.reporting.frames.judges import rank_frame, replay_frame
from judgeharness_integrations.reporting.frames.results import results_frame
from judgeharness_integrations.reporting.frames.rows import rows_frame

__all__ = [
    "agreement_frame",
    "alttest_frame",
    "calibration_frame",
    "rank_frame",
    "replay_frame",
    "results_frame",
    "rows_frame",
]
