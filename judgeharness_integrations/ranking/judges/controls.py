"""Judges that read nothing beside those that are ranked: what they get right of the same pairs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from judgeharness_integrations.calibration.controls import Controls, label_controls
from judgeharness_integrations.ranking.arrays import Ints
from judgeharness_integrations.ranking.correctness.decisions import Decisions
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.judges.pairwise import longer_answers

__all__ = ["judge_controls"]


def judge_controls(
    decisions: Decisions, criteria: Sequence[str], matrix: Credits, *, clusters: Ints | None = None
) -> dict[str, Controls | None]:
    """Return judge -> the controls on the labelled pairs it was asked about; None for one asked about none.

    Right is what earns the whole credit. Of several criteria a control answers all of them: the constant gives the
    commonest combination of gold labels, the coin draws one of those that occur.

    Args:
        decisions: what the judges decided.
        criteria: those that are ranked by.
        matrix: credits of the labelled pairs.
        clusters: (pairs,) of `matrix`; each pair stands alone without.

    """
    entries = [decisions.criterion(name) for name in criteria]
    place = {pair: number for number, pair in enumerate(decisions.pairs)}
    kept = [place[pair] for pair in matrix.pairs]
    golds = [" + ".join(entry.labels[entry.gold[number]] for entry in entries) for number in kept]
    choice = len(entries) == 1 and entries[0].pairwise
    labels = frozenset(entries[0].labels if len(entries) == 1 else golds)
    lengths = longer_answers(decisions) if choice else None
    longer = [None] * len(kept) if lengths is None else [_longer(float(lengths[number])) for number in kept]
    keys: Sequence[Hashable] = range(len(kept)) if clusters is None else clusters.tolist()
    found: dict[str, Controls | None] = {}
    for column, judge in enumerate(matrix.judges):
        asked = np.flatnonzero(matrix.seen[:, column])
        found[judge] = label_controls(
            [golds[one] for one in asked],
            [bool(matrix.values[one, column] == 1) for one in asked],
            [keys[one] for one in asked],
            labels=labels,
            longer=[longer[one] for one in asked],
            both_orders=decisions.policy.rule == "both_orders",
        )
    return found


def _longer(value: float) -> str | None:
    return None if np.isnan(value) else "A" if value else "B"
