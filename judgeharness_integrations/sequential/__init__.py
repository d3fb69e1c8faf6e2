"""Anytime-valid inference: evidence that may be looked at after every case, as often as one likes."""

from judgeharness_integrations.sequential.drift import drift_evidence, wrong_evidence
from judgeharness_integrations.sequential.intervals import mean_interval, rate_interval
from judgeharness_integrations.sequential.mean import log_e_mean
from judgeharness_integrations.sequential.pairs import log_e_shift, log_e_signs
from judgeharness_integrations.sequential.rate import log_e_rate

__all__ = [
    "drift_evidence",
    "log_e_mean",
    "log_e_rate",
    "log_e_shift",
    "log_e_signs",
    "mean_interval",
    "rate_interval",
    "wrong_evidence",
]
