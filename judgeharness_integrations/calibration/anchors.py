"""The anchors of a calibration: the cases a judge is asked about again, always the same for the same calibration."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.calibration.items import LabelledItem
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

__all__ = ["DEFAULT_ANCHORS", "Place", "anchor_cases", "anchor_items", "by_place"]

DEFAULT_ANCHORS: Final = 50
_BINS: Final = 4

Place: TypeAlias = tuple[str, str]


def anchor_cases(items: Iterable[LabelledItem], count: int = DEFAULT_ANCHORS) -> tuple[str, ...]:
    """Return the ids of the anchor cases, in the order in which they are taken.

    Cases are ordered by a digest of their id within each class of gold labels (scores: quarters of their range of
    ranks), and classes are filled in proportion (Sainte-Lague) once each has one case, the largest first. So the
    choice depends neither on the order of the items nor on the verdicts, and fewer anchors are some of the more.

    Raises:
        UsageError: there is no item, or `count` is below 1.

    """
    if count < 1:
        raise UsageError(f"anchors must be a whole number of at least 1, not {count}.")
    classes = _classes(items)
    if not classes:
        raise UsageError(
            "the calibration holds no items to check again, as an earlier version saved it: calibrate anew."
        )
    sizes = Counter(classes.values())
    ranks: Counter[str] = Counter()
    order: list[tuple[float, int, str, str]] = []
    for digest, case_id in sorted((_digest(case_id), case_id) for case_id in classes):
        rank, size = ranks[classes[case_id]], sizes[classes[case_id]]
        ranks[classes[case_id]] += 1
        order.append(((rank + 0.5) / size, 0, digest, case_id) if rank else (0.0, -size, digest, case_id))
    return tuple(case_id for *_, case_id in sorted(order)[:count])


def anchor_items(items: Sequence[LabelledItem], count: int = DEFAULT_ANCHORS) -> dict[Place, LabelledItem]:
    """Return (case, criterion) -> item of the anchor cases; see `anchor_cases`."""
    chosen = {case_id: number for number, case_id in enumerate(anchor_cases(items, count))}
    found = by_place((item for item in items if item.case_id in chosen), "the calibration")
    return dict(sorted(found.items(), key=lambda entry: (chosen[entry[0][0]], entry[0][1])))


def by_place(items: Iterable[LabelledItem], source: str) -> dict[Place, LabelledItem]:
    """Return (case, criterion) -> item.

    Raises:
        UsageError: two items are of the same case and criterion, as in a log of several runs.

    """
    found: dict[Place, LabelledItem] = {}
    for item in items:
        if found.setdefault((item.case_id, item.criterion), item) is not item:
            raise UsageError(
                f"{source} holds two decisions about {item.criterion!r} of case {item.case_id!r:.80}: keep one run."
            )
    return found


def _digest(case_id: str) -> str:
    return hashlib.sha256(case_id.encode("utf-8", errors=LONE_SURROGATES)).hexdigest()


def _classes(items: Iterable[LabelledItem]) -> dict[str, str]:
    """Return case -> its gold labels of all criteria as one text."""
    items = list(items)
    scores: dict[str, list[float]] = {}
    for item in items:
        if is_number(item.gold):
            scores.setdefault(item.criterion, []).append(float(item.gold))  # type: ignore[arg-type]
    ordered = {criterion: sorted(values) for criterion, values in scores.items()}
    golds: dict[str, list[str]] = {}
    for item in items:
        golds.setdefault(item.case_id, []).append(f"{item.criterion}\0{_class(item, ordered)}")
    return {case_id: "\0\0".join(sorted(parts)) for case_id, parts in golds.items()}


def _class(item: LabelledItem, scores: Mapping[str, Sequence[float]]) -> str:
    if not is_number(item.gold):
        return verdict_text(item.gold)
    values = scores[item.criterion]
    below = bisect_left(values, float(item.gold))  # type: ignore[arg-type]
    return f"quarter {_BINS * below // len(values)}"
