"""How many pairs are noise: over the uniform sample alone, with an interval, and how far annotators agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
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

    `divided` of the ambiguous ones are an even split of annotators. `rejected` of all of them were rejected by
    verification since they were drawn, and stay; None where nobody looked.
    """

    pairs: int
    clean: int
    ambiguous: int
    noise: int
    divided: int
    rejected: int | None = None

    @property
    def labelled(self) -> int:
        """Pairs with a consensus."""
        return self.clean + self.ambiguous + self.noise

    @property
    def unlabelled(self) -> int:
        """Pairs nobody labelled yet; they are in no rate."""
        return self.pairs - self.labelled

    def to_dict(self) -> dict[str, int | None]:
        """Return the counts as JSON keeps them."""
        counts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return counts | {"labelled": self.labelled, "unlabelled": self.unlabelled}


@dataclass(frozen=True, kw_only=True)
class NoiseRate:
    """What people found, by slice.

    Args:
        uniform: the sample that stands for all accepted pairs, by the labels of those a pair was assigned to; None
            where nothing was assigned. Whoever looks at further ones chose them, and would move the rate.
        suspicious: pairs that were chosen for what judges said, in the same way; their share of noise stands for
            nothing else.
        others: pairs by the labels of people they were not assigned to. A pair may be in another slice as well, by
            other labels; where nothing was assigned these are all.
        agreement: of annotators, over the pairs that every one was to label; over all where nothing was assigned.
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


def noise_rate(labels: Labels, assignment: Assignment | None, *, rejected: Collection[str] | None = None) -> NoiseRate:
    """Return what people found.

    Args:
        labels: annotator -> pair id -> the last line about it, as `read_labels` returns them.
        assignment: which pairs are the uniform sample and which the suspicious slice, and whose they are; without one
            there is no rate, since nobody knows how the labelled pairs were chosen.
        rejected: ids of pairs that verification rejects by now. The sample was drawn from all that were accepted, so
            they stay in it and are counted.

    """
    if assignment is None:
        return NoiseRate(
            uniform=None, suspicious=None, others=_labelled(labels, rejected), agreement=_agreement(labels)
        )
    theirs = {name: {*bundle} for name, bundle in assignment.bundles.items()}
    due = _part(labels, lambda name, pair_id: pair_id in theirs.get(name, ()))
    chosen = _part(labels, lambda name, pair_id: pair_id not in theirs.get(name, ()))
    shared = {*assignment.shared}
    return NoiseRate(
        uniform=_slice(assignment.uniform, due, rejected),
        suspicious=_slice(assignment.suspicious, due, rejected),
        others=_labelled(chosen, rejected),
        agreement=_agreement(_part(due, lambda _, pair_id: pair_id in shared)),
    )


def _part(labels: Labels, keeps: Callable[[str, str], bool]) -> Labels:
    """Return the labels that are kept by annotator and pair id."""
    return {
        name: {pair_id: said for pair_id, said in mine.items() if keeps(name, pair_id)} for name, mine in labels.items()
    }


def _labelled(labels: Labels, rejected: Collection[str] | None) -> AuditedSlice:
    """Return every pair that has a consensus."""
    return _slice([name for name, label in consensus(labels).items() if label is not None], labels, rejected)


def _slice(pairs: Iterable[str], labels: Labels, rejected: Collection[str] | None) -> AuditedSlice:
    chosen, found = {*pairs}, consensus(labels)
    counts = Counter(found.get(pair_id) for pair_id in chosen)
    return AuditedSlice(
        pairs=len(chosen),
        clean=counts["clean"],
        ambiguous=counts["ambiguous"],
        noise=counts["noise"],
        divided=len(chosen & divided(labels)),
        rejected=None if rejected is None else len(chosen.intersection(rejected)),
    )


def _agreement(labels: Labels) -> tuple[LabelAgreement, ...]:
    rows = [
        VerdictRow(case_id=pair_id, judge=annotator, criterion="audit", verdict=said.label)
        for annotator, mine in labels.items()
        for pair_id, said in mine.items()
        if said.label is not None
    ]
    return tuple(label_agreement(rows))


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    return None if rate is None else {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.trials}
