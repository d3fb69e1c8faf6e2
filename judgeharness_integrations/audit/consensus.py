"""What several annotators say about a pair, as one label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from judgeharness_integrations.audit.labels import AuditLabel, PairLabel, read_labels

__all__ = ["RULE", "Consensus", "Labels", "audit_columns", "consensus", "divided"]

Consensus: TypeAlias = "PairLabel | None"
Labels: TypeAlias = Mapping[str, Mapping[str, AuditLabel]]

RULE: Final = "majority"


def consensus(labels: Labels) -> dict[str, Consensus]:
    """Return pair id -> the label most annotators give it; ordered by pair id.

    The rule is `majority`: an even split for the first place is `ambiguous`, which people who disagree show it to be;
    `divided` tells these. None: every label was taken back.

    Args:
        labels: annotator -> pair id -> the last line about it, as `read_labels` returns them.

    """
    return {pair_id: _majority(votes) for pair_id, votes in _votes(labels).items()}


def divided(labels: Labels) -> frozenset[str]:
    """Return the pairs whose annotators are split evenly: `ambiguous` by the rule, not by anybody's majority."""
    return frozenset(pair_id for pair_id, votes in _votes(labels).items() if len(_first(votes)) > 1)


def audit_columns(folder: Path) -> dict[str, Consensus]:
    """Return pair id -> consensus of everybody who labelled in a benchmark's folder; nothing where nobody did.

    Raises:
        CaseError: a file of labels is damaged.

    """
    return consensus(read_labels(folder))


def _votes(labels: Labels) -> dict[str, Counter[PairLabel]]:
    votes: dict[str, Counter[PairLabel]] = {}
    for mine in labels.values():
        for pair_id, said in mine.items():
            counts = votes.setdefault(pair_id, Counter())
            if said.label is not None:
                counts[said.label] += 1
    return dict(sorted(votes.items()))


def _majority(votes: Counter[PairLabel]) -> Consensus:
    first = _first(votes)
    if not first:
        return None
    return first[0] if len(first) == 1 else "ambiguous"


def _first(votes: Counter[PairLabel]) -> list[PairLabel]:
    most = max(votes.values(), default=0)
    return [label for label, count in votes.items() if count == most]
