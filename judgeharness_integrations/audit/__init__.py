"""The audit: people label pairs and cases on a page; their labels, who labels what, and the noise rate."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.benchmark.results.curation import Suspect, by_joint_correctness, strong_miss_weak_hit

    from .labels import Assignment, AuditLabel, AuditLog, NoiseRate, assign, audit_columns, noise_rate, read_labels

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

# Loaded at first use: records bring pydantic.
__getattr__ = lazy(
    __name__,
    {
        "Assignment": "labels",
        "AuditLabel": "labels",
        "AuditLog": "labels",
        "NoiseRate": "labels",
        "Suspect": ".benchmark.results.curation",
        "assign": "labels",
        "audit_columns": "labels",
        "by_joint_correctness": ".benchmark.results.curation",
        "noise_rate": "labels",
        "read_labels": "labels",
        "strong_miss_weak_hit": ".benchmark.results.curation",
    },
)
