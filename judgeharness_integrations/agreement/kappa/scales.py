"""The scale a panel's answers stand on: which categories there are, and how far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.agreement.kappa.ratings import Ratings, Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.panels.panel import Panel

__all__ = ["Answers", "Scale", "scale_of"]

Answers: TypeAlias = "NDArray[Any]"  # (raters, items): codes, -1 where missing; numbers, NaN where missing


@dataclass(frozen=True, kw_only=True, eq=False)
class Scale:
    """How a panel's answers become ratings.

    `places` (labels,) is where each label stands; None for numbers, which stand where they are, and for labels
    without an order. `declared` are all places of a declared scale, None where the categories are those that occur.
    """

    panel: Panel
    places: NDArray[np.float64] | None
    declared: tuple[float, ...] | None

    def answers(self, raters: Sequence[str]) -> Answers:
        """Return the answers of raters."""
        return self.panel.numbers_grid(raters) if self.panel.kind == "numbers" else self.panel.grid(raters)

    def ratings(self, answers: Answers) -> Ratings:
        """Return answers as ratings.

        Raises:
            UsageError: an answer is not on the declared scale.

        """
        clusters = self.panel.clusters
        if self.panel.kind == "numbers":
            return Ratings.of_numbers(answers, scale=self.declared, clusters=clusters)
        if self.places is None:
            return Ratings.of_labels(answers, clusters=clusters)
        used = np.unique(answers[answers >= 0])
        strange = [self.panel.labels[code] for code in used.tolist() if np.isnan(self.places[code])]
        if strange:
            raise UsageError(f"the label {strange[0]!r:.60} is missing from the declared order: name every label.")
        places = np.where(answers >= 0, self.places[answers], np.nan)
        return Ratings.of_numbers(places, scale=self.declared, clusters=clusters)


def scale_of(panel: Panel, *, weights: Weights = "none", order: Sequence[str] = ()) -> Scale:
    """Return the scale of a panel's answers.

    Args:
        panel: whose answers.
        weights: with others than `none`, labels need an order.
        order: every label, from one end of the scale to the other, or every number; numbers keep their distances.

    Raises:
        UsageError: weights without an order, or an order that is none.

    """
    if len(set(order)) < len(order):
        raise UsageError(f"the order names a label twice ({', '.join(order)}): name each once.")
    if panel.kind == "sets" and (weights != "none" or order):
        raise UsageError("sets of labels have no order: leave weights and order away, or read one label's 0/1 column.")
    declared = _numbers(order)
    if panel.kind == "numbers":
        if declared is None and order:
            raise UsageError(f"the answers are numbers, so the order is of numbers, not {', '.join(order)!r:.80}.")
        return Scale(panel=panel, places=None, declared=declared or None)
    if order:
        places = dict(zip(order, range(len(order)) if declared is None else declared, strict=True))
        found = [float(places.get(label, np.nan)) for label in panel.labels]
        return Scale(panel=panel, places=np.array(found), declared=tuple(map(float, places.values())))
    if weights == "none":
        return Scale(panel=panel, places=None, declared=None)
    read = _numbers(panel.labels)
    if read is None:
        raise UsageError(
            f"{weights} weights need the order of the labels: give it from one end to the other (--order)."
        )
    return Scale(panel=panel, places=np.array(read), declared=None)


def _numbers(labels: Sequence[str]) -> tuple[float, ...] | None:
    """Return texts as finite numbers; None where one is not."""
    try:
        read = tuple(map(float, labels))
    except ValueError:
        return None
    return read if all(map(np.isfinite, read)) else None
