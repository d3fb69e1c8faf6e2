"""How many pairs are noise: over the uniform sample alone, with an interval, and how far annotators agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from judgeharness_integrations.audit.assigning import Assignment
from judgeharness_integrations.audit.consensus import RULE, Labels, consensus, divided
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.labelling.merging import LabelAgreement, label_agreement
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["AuditedSlice", "NoiseRate", "noise_rate"]


@dataclass(frozen=True, kw_only=True)
class AuditedSlice:
    """Pairs of one kind by their consensus; `pairs` are all of them, the three labels sum to `labelled`.

    `divided` of the ambiguous ones are an even split of annotators.
    """

    pairs: int
    clean: int
    ambiguous: int
    noise: int
    divided: int

    @property
    def labelled(self) -> int:
        """Pairs with a consensus."""
        return self.clean + self.ambiguous + self.noise

    @property
    def unlabelled(self) -> int:
        """Pairs nobody labelled yet; they are in no rate."""
        return self.pairs - self.labelled

    def to_dict(self) -> dict[str, int]:
        """Return the counts as JSON keeps them."""
        counts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return counts | {"labelled": self.labelled, "unlabelled": self.unlabelled}


@dataclass(frozen=True, kw_only=True)
class NoiseRate:
    """What people found, by slice.

    Args:
        uniform: the sample that stands for all accepted pairs; None where nothing was assigned.
        suspicious: pairs that were chosen for what judges said; their share of noise stands for nothing else.
        others: labelled pairs that were assigned to nobody.
        agreement: of annotators, over the pairs that every one was to label, since whoever looks at further ones chose
            them; over all where nothing was assigned.
        rule: how several annotators' labels become one.

    """

    uniform: AuditedSlice | None
    suspicious: AuditedSlice | None
    others: AuditedSlice
    agreement: tuple[LabelAgreement, ...] = field(default=())
    rule: str = RULE

    @property
    def noise(self) -> Rate | None:
        """Noise among the labelled pairs of the uniform sample; None where there is none of them.

        Wilson's interval over pairs. That the benchmark's pairs are finitely many is ignored, so that the interval is
        rather too wide where most of them were drawn.
        """
        return None if self.uniform is None else Rate.of(self.uniform.noise, self.uniform.labelled)

    @property
    def ambiguous(self) -> Rate | None:
        """Ambiguous ones among the labelled pairs of the uniform sample, in the same way."""
        return None if self.uniform is None else Rate.of(self.uniform.ambiguous, self.uniform.labelled)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        slices = {name: getattr(self, name) for name in ("uniform", "suspicious", "others")}
        return {
            "rule": self.rule,
            "noise_rate": _rate(self.noise),
            "ambiguous_rate": _rate(self.ambiguous),
            **{name: None if found is None else found.to_dict() for name, found in slices.items()},
            "agreement": [pair.to_dict() for pair in self.agreement],
        }


def noise_rate(labels: Labels, assignment: Assignment | None) -> NoiseRate:
    """Return what people found.

    Args:
        labels: annotator -> pair id -> the last line about it, as `read_labels` returns them.
        assignment: which pairs are the uniform sample and which the suspicious slice; without one there is no rate,
            since nobody knows how the labelled pairs were chosen.

    """
    found, split = consensus(labels), divided(labels)
    labelled = [pair_id for pair_id, label in found.items() if label is not None]
    if assignment is None:
        every = _slice(labelled, found, split)
        return NoiseRate(uniform=None, suspicious=None, others=every, agreement=_agreement(labels, found))
    assigned = {*assignment.uniform, *assignment.suspicious}
    others = [pair_id for pair_id in labelled if pair_id not in assigned]
    return NoiseRate(
        uniform=_slice(assignment.uniform, found, split),
        suspicious=_slice(assignment.suspicious, found, split),
        others=_slice(others, found, split),
        agreement=_agreement(labels, assignment.shared),
    )


def _slice(pairs: Iterable[str], found: dict[str, Any], split: frozenset[str]) -> AuditedSlice:
    chosen = {*pairs}
    counts = Counter(found.get(pair_id) for pair_id in chosen)
    return AuditedSlice(
        pairs=len(chosen),
        clean=counts["clean"],
        ambiguous=counts["ambiguous"],
        noise=counts["noise"],
        divided=len(chosen & split),
    )


def _agreement(labels: Labels, pairs: Iterable[str]) -> tuple[LabelAgreement, ...]:
    chosen = {*pairs}
    rows = [
        VerdictRow(case_id=pair_id, judge=annotator, criterion="audit", verdict=said.label)
        for annotator, mine in labels.items()
        for pair_id, said in mine.items()
        if pair_id in chosen and said.label is not None
    ]
    return tuple(label_agreement(rows))


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    return None if rate is None else {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.trials}
