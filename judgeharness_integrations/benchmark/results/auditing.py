"""What people found when they looked at pairs, as the results tell it."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from judgeharness_integrations.audit.assigning import Assignment
from judgeharness_integrations.audit.consensus import Labels, consensus
from judgeharness_integrations.audit.noiserate import noise_rate
from judgeharness_integrations.benchmark.records import Record

__all__ = ["AnnotatorPair", "Audited", "audited_of"]


class AnnotatorPair(Record):
    """How two annotators agree on the pairs that both labelled; `kappa` is None where it is undefined."""

    annotators: tuple[str, str]
    pairs: int = Field(ge=0)
    agreed: int = Field(ge=0)
    kappa: float | None


class Audited(Record):
    """Pairs by what everybody who labelled them agreed on, which sum to `pairs`.

    `noise_rate` is `sampled_noise` of `sampled`, the pairs of the uniform sample that were labelled by those they were
    assigned to, with its 95 % interval; None without an assignment, since nobody knows how the labelled pairs were
    chosen.
    """

    annotators: tuple[str, ...]
    pairs: int = Field(ge=0)
    clean: int = Field(ge=0)
    ambiguous: int = Field(ge=0)
    noise: int = Field(ge=0)
    sampled: int = Field(ge=0)
    sampled_noise: int = Field(ge=0)
    noise_rate: float | None = Field(ge=0, le=1)
    noise_low: float | None = Field(ge=0, le=1)
    noise_high: float | None = Field(ge=0, le=1)
    agreement: tuple[AnnotatorPair, ...]


def audited_of(labels: Labels, assignment: Assignment | None) -> Audited | None:
    """Return what people found; None where nobody labelled anything.

    Args:
        labels: annotator -> pair id -> the last label of it.
        assignment: which pairs are the uniform sample; None where nobody was assigned any.

    """
    if not labels:
        return None
    found, agreed = noise_rate(labels, assignment), consensus(labels)
    counts, rate = Counter(agreed.values()), found.noise
    return Audited(
        annotators=tuple(sorted(labels)),
        pairs=sum(label is not None for label in agreed.values()),
        clean=counts["clean"],
        ambiguous=counts["ambiguous"],
        noise=counts["noise"],
        sampled=0 if rate is None else rate.trials,
        sampled_noise=0 if rate is None else rate.successes,
        noise_rate=None if rate is None else rate.value,
        noise_low=None if rate is None else rate.low,
        noise_high=None if rate is None else rate.high,
        agreement=tuple(
            AnnotatorPair(
                annotators=one.annotators,
                pairs=one.items,
                agreed=one.agreed,
                kappa=None if one.kappa is None else one.kappa.value,
            )
            for one in found.agreement
        ),
    )
