"""Changes of anchors, before and now: stable, drifted or inconclusive, with what so few anchors can tell at all."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

from ..sequential import drift_evidence
from ..statistics import means, paired, proportions
from ..statistics.proportions import holm, sign_test
from .items import LabelledItem, graded_label, read_golds

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


Day: TypeAlias = "Mapping[tuple[str, str], float]"  # (case, criterion) -> how bad it was

Answer: TypeAlias = Literal["stable", "drifted", "inconclusive"]
Interval: TypeAlias = "tuple[float, float] | None"

_SAME = 1e-9
_CONSTANT = "whether it still tells one from another takes anchors of each kind"


@dataclass(frozen=True, kw_only=True)
class _Paired:
    """What of a criterion's changes the answer follows from."""

    kind: Kind
    n: int
    worse: int
    better: int
    correct: tuple[int | None, int | None]
    difference: float | None
    interval: Interval
    constant: Verdict | None  # the only decision now, where there were others before: it finds none of those any more
    unit: float  # what a margin of 1 is in units of the difference
    spread: float  # standard deviation of the change, in units of the difference
    answered: Interval  # of the change in the share of anchors that have a score

    @property
    def p(self) -> float:
        """The exact sign test; 1 where nothing changed for better or worse."""
        return _sign_p(self.worse, self.better)

    @property
    def exchange(self) -> float:
        """The share that changes in either direction all the same."""
        return min(self.worse, self.better) / self.n


@dataclass(frozen=True, kw_only=True)
class _Looks:
    """What is known of all checks: `evidence` of change, and how much of it is `needed`, where one of many is meant."""

    alpha: float  # of the test today
    days: int | None = None
    evidence: float | None = None
    needed: float | None = None
    varied: bool = True  # whether any anchor was ever decided otherwise

    @property
    def earlier(self) -> bool:
        """Whether there were checks before: the evidence of all of them decides then, not the test of today."""
        return self.days is not None and self.days > 1


def compared(
    changes: Mapping[str, Sequence[Change]], *, margin: float, alpha: float, past: Sequence[Day] | None = None
) -> dict[str, dict[str, Any]]:
    """Return criterion -> the fields of `CriterionDrift`.

    With the days of the `past` the level holds for all checks together, however many there are: half of it goes to the
    test on the first one, the other half to the evidence on all that follow.
    """
    found = {name: _paired(mine) for name, mine in changes.items()}
    sequence = None if past is None else _sequence_confidence(len(past) + 1)
    adjusted = holm([one.p for one in found.values()])
    tested = alpha if past is None else alpha / 2
    level = tested / len(found)  # Holm's first step: what a single criterion has to reach
    looks = {
        name: _Looks(alpha=alpha) if past is None else _looks(name, mine, past, alpha=tested, needed=1 / level)
        for name, mine in changes.items()
    }
    return {
        name: _facts(name, changes[name], found[name], looks[name], p_adjusted=p, margin=margin, level=level)
        | _always(changes[name], sequence)
        for name, p in zip(found, adjusted, strict=True)
    }


def _sequence_confidence(day: int) -> float:
    """Return the confidence of the interval of one day, where those of all days are to hold together at 95 %.

    Day d has .05 / (d (d + 1)) of the error, which adds up to .05 (a union bound).
    """
    return 1 - 0.05 / (day * (day + 1))


def _always(changes: Sequence[Change], confidence: float | None) -> dict[str, float | None]:
    """Return the ends of the interval of today in a confidence sequence; None where no earlier checks are known."""
    found = None if confidence is None else _paired(changes, confidence).interval
    low, high = found or (None, None)
    return {"always_low": low, "always_high": high}


def _looks(name: str, changes: Sequence[Change], past: Sequence[Day], *, alpha: float, needed: float) -> _Looks:
    """Return the evidence of all days: the baseline, those of the past, and today."""
    before, now = badness(changes)
    places = [(change.before.case_id, name) for change in changes]
    between = [[day.get(place, math.nan) for place in places] for day in past]
    days = np.array([before, *between, now])
    varied = bool(np.any(~np.isnan(days) & (days != days[0])))
    evidence = float(drift_evidence(days)[-1])
    return _Looks(alpha=alpha, days=len(past) + 1, evidence=evidence, needed=needed, varied=varied)


def _sign_p(worse: int, better: int) -> float:
    p = sign_test(worse, better)
    return 1.0 if p is None else p


def _paired(changes: Sequence[Change], confidence: float = 0.95) -> _Paired:
    return _scores(changes, confidence) if kind_of(changes) == "numbers" else _labels(changes, confidence)


def _labels(changes: Sequence[Change], confidence: float) -> _Paired:
    before, now = rights(changes)
    n = len(changes)
    worse = sum(was and not is_ for was, is_ in zip(before, now, strict=True))
    better = sum(is_ and not was for was, is_ in zip(before, now, strict=True))
    difference = (better - worse) / n
    interval = paired.tango_interval(better, worse, n, confidence=confidence)
    return _Paired(
        kind="labels",
        n=n,
        worse=worse,
        better=better,
        correct=(sum(before), sum(now)),
        difference=difference,
        interval=paired.with_zero(interval, _sign_p(worse, better), confidence=confidence),
        constant=_constant(changes),
        unit=1.0,
        spread=math.sqrt(max(0.0, (better + worse) / n - difference**2)),
        answered=None,
    )


def _scores(changes: Sequence[Change], confidence: float) -> _Paired:
    before, now = (np.array(values) for values in distances(changes))
    both = np.isfinite(before) & np.isfinite(now)
    change = now[both] - before[both]
    apart = ~np.isclose(before, now, rtol=_SAME, atol=_SAME)  # two infinite distances are the same
    seen = (value for c in changes for value in (c.gold, c.before.verdict, c.now.verdict))
    numbers = [float(value) for value in seen if is_number(value)]  # type: ignore[arg-type]
    span = max(numbers) - min(numbers) or 1.0
    lost, gained = (
        int(np.sum(~np.isfinite(now) & np.isfinite(before))),
        int(np.sum(~np.isfinite(before) & np.isfinite(now))),
    )
    return _Paired(
        kind="numbers",
        n=len(changes),
        worse=int(np.sum(apart & (now > before))),
        better=int(np.sum(apart & (now < before))),
        correct=(None, None),
        difference=float(change.mean()) if change.size else None,
        interval=_mean_interval(change, span, confidence),
        constant=_constant(changes),
        unit=span,
        spread=float(change.std(ddof=1)) if change.size > 1 else 0.0,
        answered=paired.tango_interval(gained, lost, len(changes)),
    )


def _constant(changes: Sequence[Change]) -> Verdict | None:
    """Return the only decision that is left of several; None where there are several still, or were none before."""
    before, now = (
        {item.verdict for item in side if item.status == "decided" and item.verdict is not None}
        for side in zip(*((change.before, change.now) for change in changes), strict=True)
    )
    return next(iter(now)) if len(now) == 1 < len(before) else None


def _mean_interval(change: np.ndarray[Any, np.dtype[np.float64]], span: float, confidence: float) -> Interval:
    if not change.size:
        return None
    found = means.mean_interval(change, confidence=confidence)
    if found is not None:
        return found
    center, unseen = float(change[0]), proportions.unchanged_bound(change.size, confidence=confidence) * span
    return center - unseen, center + unseen


def _facts(
    criterion: str,
    changes: Sequence[Change],
    found: _Paired,
    looks: _Looks,
    *,
    p_adjusted: float,
    margin: float,
    level: float,
) -> dict[str, Any]:
    answer = _answer(found, looks, p_adjusted=p_adjusted, margin=margin)
    smallest = paired.mcnemar_detectable(found.n, exchange=found.exchange, alpha=level)
    near = _inside(found.interval, margin * found.unit)
    unclear = answer == "inconclusive" and not (near and found.constant is not None)  # which no number of them mends
    needed = _needed(found, margin=margin, level=level) if unclear else None
    low, high = found.interval or (None, None)
    return {
        "criterion": criterion,
        "kind": found.kind,
        "answer": answer,
        "reason": _reason(found, looks, answer, margin=margin, p_adjusted=p_adjusted),
        "n": found.n,
        "correct_before": found.correct[0],
        "correct_now": found.correct[1],
        "changed": sum(change.changed for change in changes),
        "worse": found.worse,
        "better": found.better,
        "difference": found.difference,
        "low": low,
        "high": high,
        "margin": margin * found.unit,
        "p": found.p,
        "p_adjusted": p_adjusted,
        "minimum_detectable": smallest,
        "anchors_needed": needed,
        "abstained_before": sum(change.before.status == "abstained" for change in changes),
        "abstained_now": sum(change.now.status == "abstained" for change in changes),
        "not_graded_before": sum(change.before.status == "not_graded" for change in changes),
        "not_graded_now": sum(change.now.status == "not_graded" for change in changes),
        "checks": looks.days,
        "evidence": looks.evidence,
        "evidence_needed": looks.needed,
        "varied": looks.varied,
        "decisions": _decisions(changes),
    }


def _inside(interval: Interval, margin: float) -> bool:
    return interval is not None and -margin <= interval[0] and interval[1] <= margin


def _decisions(changes: Sequence[Change]) -> dict[str, float | None]:
    """Return case -> how bad it is now; None where it has no score."""
    _, now = badness(changes)
    return {
        change.before.case_id: value if math.isfinite(value) else None
        for change, value in zip(changes, now, strict=True)
    }


def _answer(found: _Paired, looks: _Looks, *, p_adjusted: float, margin: float) -> Answer:
    drifted = p_adjusted <= looks.alpha
    if looks.earlier and looks.evidence is not None and looks.needed is not None:
        drifted = looks.evidence >= looks.needed
    if drifted:
        return "drifted"
    near = _inside(found.interval, margin * found.unit) and (found.kind == "labels" or _inside(found.answered, margin))
    near = near and found.constant is None
    return "stable" if near else "inconclusive"


def _reason(found: _Paired, looks: _Looks, answer: Answer, *, margin: float, p_adjusted: float) -> str:
    allowed = f"-+{margin * found.unit:.3g}"
    short = answer != "drifted"
    tested = f"p {p_adjusted:.3g} is {'above' if short else 'at most'} {looks.alpha:g}"
    if looks.earlier:
        tested = f"the evidence of {looks.days} checks, {looks.evidence:.3g} to 1, "
        tested += f"is {'below' if short else 'at least'} {looks.needed:.3g} to 1"
    if answer == "drifted":
        small = f", by less than {allowed} all the same" if _inside(found.interval, margin * found.unit) else ""
        return f"{tested}{small}"
    if answer == "stable":
        return f"the 95 % interval of the difference lies within {allowed}"
    if found.constant is not None:
        return f"every anchor is decided {verdict_text(found.constant)} now, which they were not before: {_CONSTANT}"
    if found.interval is None:
        return "no anchor has a score before and now"
    if _inside(found.interval, margin * found.unit):
        return f"too few anchors have a score to tell that as many have one as before, within {allowed}"
    return f"the 95 % interval of the difference reaches beyond {allowed}, and {tested}"


def _needed(found: _Paired, *, margin: float, level: float) -> int | None:
    """Return how many anchors would find a change of `margin`, and show an unchanged judge to be stable."""
    to_find = paired.mcnemar_items(margin, exchange=found.exchange, alpha=level)
    if to_find is None:
        return None
    needed = max(to_find, paired.items_to_confirm(margin, exchange=found.exchange))
    allowed = margin * found.unit
    if found.kind == "numbers":
        needed = max(needed, means.items_for_mean(allowed, found.spread))
    if needed <= found.n:  # enough for a clear case, but this one lies near the margin
        gap = max(abs(allowed - abs(found.difference or 0.0)), allowed / 100)
        needed = max(found.n + 1, means.items_for_mean(gap, found.spread))
    return needed if needed <= paired.MOST_ITEMS else None


DEFAULT_ANCHORS: Final = 50
_BINS: Final = 4

Place: TypeAlias = tuple[str, str]


def anchor_cases(items: Iterable[LabelledItem], count: int = DEFAULT_ANCHORS) -> tuple[str, ...]:
    """Return the ids of the anchor cases, in the order in which they are taken.

    Cases are ordered by a digest of their id within each class of gold labels (scores: quarters of their range of
    ranks), and classes are filled in proportion (Sainte-Lague) once each has one case, the largest first. So the
    choice depends neither on the order of the items nor on the verdicts, and fewer anchors are some of the more. Of
    the cases of a cluster one is taken, as the tests are those of independent anchors.

    Raises:
        UsageError: there is no item, or `count` is below 1.

    """
    if count < 1:
        raise UsageError(f"anchors must be a whole number of at least 1, not {count}.")
    classes = _classes(_apart(items))
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


def _apart(items: Iterable[LabelledItem]) -> list[LabelledItem]:
    """Return the items of one case of each cluster, the first one by its digest."""
    items = list(items)
    chosen: dict[str, str] = {}
    for item in items:
        if item.cluster is not None:
            before = chosen.setdefault(item.cluster, item.case_id)
            chosen[item.cluster] = min(before, item.case_id, key=_digest)
    return [item for item in items if item.cluster is None or chosen[item.cluster] == item.case_id]


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
