"""Anytime-valid inference: evidence that may be looked at after every case, as often as one likes."""

from judgeharness_integrations.analysis.sequential.intervals import mean_interval, rate_interval
from judgeharness_integrations.analysis.sequential.processes import (
    drift_evidence,
    log_e_mean,
    log_e_rate,
    log_e_shift,
    log_e_signs,
    move_evidence,
    wrong_evidence,
)

__all__ = [
    "drift_evidence",
    "log_e_mean",
    "log_e_rate",
    "log_e_shift",
    "log_e_signs",
    "mean_interval",
    "move_evidence",
    "rate_interval",
    "wrong_evidence",
]
