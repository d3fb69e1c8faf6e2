"""The audit: people label pairs and cases on a page; their labels, who labels what, and the noise rate."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.audit.assigning import Assignment, assign
    from judgeharness_integrations.audit.consensus import audit_columns
    from judgeharness_integrations.audit.labels import AuditLabel, AuditLog, read_labels
    from judgeharness_integrations.audit.noiserate import NoiseRate, noise_rate
    from judgeharness_integrations.audit.suspicion import Suspect, by_joint_correctness, strong_miss_weak_hit

__all__ = [
    "Assignment",
    "AuditLabel",
    "AuditLog",
    "NoiseRate",
    "Suspect",
    "assign",
    "audit_columns",
    "by_joint_correctness",
    "noise_rate",
    "read_labels",
    "strong_miss_weak_hit",
]

# Loaded at first use: records bring pydantic, rates bring scipy.
__getattr__ = lazy(
    __name__,
    {
        "Assignment": "assigning",
        "AuditLabel": "labels",
        "AuditLog": "labels",
        "NoiseRate": "noiserate",
        "Suspect": "suspicion",
        "assign": "assigning",
        "audit_columns": "consensus",
        "by_joint_correctness": "suspicion",
        "noise_rate": "noiserate",
        "read_labels": "labels",
        "strong_miss_weak_hit": "suspicion",
    },
)
