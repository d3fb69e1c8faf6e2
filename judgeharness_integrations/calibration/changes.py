"""One anchor before and now: whether its label is still the same, and whether its decision became better or worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations.calibration.items import LabelledItem
from judgeharness_integrations.calibration.words import graded_label, read_golds
from judgeharness_integrations.verdictlog.row import Verdict, is_number

__all__ = ["Change", "Kind", "badness", "distances", "kind_of", "rights", "same_label"]

Kind: TypeAlias = Literal["labels", "numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An anchor as it was decided before and now; the gold label is that of before."""

    before: LabelledItem
    now: LabelledItem

    @property
    def gold(self) -> Verdict | None:
        """The label both decisions are held against."""
        return self.before.gold

    @property
    def changed(self) -> bool:
        """Whether the decision is another one."""
        return (self.before.status, self.before.verdict) != (self.now.status, self.now.verdict)


def same_label(before: LabelledItem, now: LabelledItem) -> bool:
    """Whether the new gold label is the old one, `yes` and `PASS` being the same; without a new one it is."""
    if now.gold is None or now.gold == before.gold:
        return True
    word = graded_label(now.gold)
    return word is not None and before.gold is not None and word == graded_label(before.gold)


def _decided(changes: Sequence[Change]) -> list[Verdict]:
    items = [item for change in changes for item in (change.before, change.now)]
    return [item.verdict for item in items if item.status == "decided" and item.verdict is not None]


def kind_of(changes: Sequence[Change]) -> Kind:
    """Return whether gold labels and decisions are scores."""
    numeric = all(is_number(change.gold) for change in changes) and any(map(is_number, _decided(changes)))
    return "numbers" if numeric else "labels"


def rights(changes: Sequence[Change]) -> tuple[list[bool], list[bool]]:
    """Return which anchors were correct before, and which are now; labels are read as `read_golds` does."""
    read = read_golds({change.gold for change in changes if change.gold is not None}, _decided(changes))
    golds = [None if change.gold is None else read[change.gold] for change in changes]
    before = [c.before.status == "decided" and c.before.verdict == gold for c, gold in zip(changes, golds, strict=True)]
    now = [c.now.status == "decided" and c.now.verdict == gold for c, gold in zip(changes, golds, strict=True)]
    return before, now


def badness(changes: Sequence[Change]) -> tuple[list[float], list[float]]:
    """Return how bad anchors were before, and are now: 0 or 1 for right and wrong, of scores the distance from gold."""
    if kind_of(changes) == "numbers":
        return distances(changes)
    before, now = rights(changes)
    return [float(not right) for right in before], [float(not right) for right in now]


def distances(changes: Sequence[Change]) -> tuple[list[float], list[float]]:
    """Return how far scores lay from gold before, and how far now; infinitely where nothing was decided."""
    return [_distance(c.before, c.gold) for c in changes], [_distance(c.now, c.gold) for c in changes]


def _distance(item: LabelledItem, gold: Verdict | None) -> float:
    if item.status != "decided" or not is_number(item.verdict):
        return math.inf
    return abs(float(item.verdict) - float(gold))  # type: ignore[arg-type]  # `kind_of` saw that gold is a number
