"""What is counted case by case: labels against gold, scores, and what the order of two answers did."""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from judgeharness_integrations.analysis.aggregation.cases import CaseDecision, center_of, scores_of
from judgeharness_integrations.analysis.aggregation.position import PositionBias, base_perturbation
from judgeharness_integrations.analysis.calibration.controls import (
    Controls,
    controls_of,
    label_controls,
    longer_of,
    unmeasured_controls,
)
from judgeharness_integrations.analysis.calibration.items import read_golds, read_score
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text

_Compared: TypeAlias = "tuple[Verdict, Verdict, str | None, Hashable]"  # gold, decision, longer answer, cluster
_Read: TypeAlias = Mapping[Verdict, "Verdict | None"]


@dataclass(kw_only=True)
class LabelCounts:
    """Counts over the cases of one judge and criterion, by their gold labels: what those mean is known at the end.

    `golds`: gold label -> cases. `compared`: what was decided about decided cases with gold, and their cluster where
    they share one (any other is its own, and no key). `calls`: perturbation, gold label
    and verdict -> calls about cases with gold. Of gold scores, which no label is, all but 0 and 1 are counted as the
    first one (`score`).
    """

    ties: int = 0
    score: Verdict | None = None
    golds: Counter[Verdict] = field(default_factory=Counter)
    asked: dict[str, None] = field(default_factory=dict)
    calls: Counter[tuple[str, Verdict, Verdict | None]] = field(default_factory=Counter)
    compared: Counter[_Compared] = field(default_factory=Counter)

    def add(self, case: CaseDecision, cluster: Hashable = None, *, times: int = 1) -> None:
        """Take in a case, alone or in the cluster it shares, as often as there are such cases (`times`)."""
        gold, verdict = self._kept(case.gold), case.decision.verdict
        decided = case.decision.status == "decided" and verdict is not None
        self.ties += times * (decided and verdict == "TIE")
        asked = self.asked
        for row in case.rows:
            asked[row.perturbation] = None
        if gold is None:
            return
        self.golds[gold] += times
        if decided and verdict is not None:
            longer = longer_of({}, case.rows[0].attributes)
            self.compared[gold, verdict, longer, cluster] += times
        calls = self.calls
        for row in case.rows:  # a failed call about a labelled case is wrong
            calls[row.perturbation, gold, row.verdict] += times

    def _kept(self, gold: Verdict | None) -> Verdict | None:
        if gold is None or not is_number(gold) or gold in (0, 1):
            return gold
        self.score = gold if self.score is None else self.score
        return self.score

    def measured(self, *, pairwise: bool) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about labels."""
        read = self._read()
        known = any(label is not None for label in read.values())
        labelled = sum(count for (gold, *_), count in self.compared.items() if read[gold] is not None)
        correct = sum(count for (gold, verdict, *_), count in self.compared.items() if read[gold] == verdict)
        return {
            "correct": correct if known else None,
            "labelled": labelled,
            "accuracy": correct / labelled if labelled else None,
            "tie_decisions": self.ties if pairwise else None,
            "single_call_accuracy": self._calls(read) if known else None,
            "within_case_sd": None,
            "mean_absolute_error": None,
            "unread": sum(count for gold, count in self.golds.items() if read[gold] is None),
            **self._by_cluster(read),
        }

    def _read(self) -> _Read:
        decided = {verdict for _, verdict, *_ in self.compared}
        return read_golds(self.golds, decided or {verdict for *_, verdict in self.calls if verdict is not None})

    def _calls(self, read: _Read) -> dict[str, float | None]:
        """Return perturbation -> share of right calls; None without any about a case with gold."""
        right, about = dict.fromkeys(self.asked, 0), dict.fromkeys(self.asked, 0)
        for (name, gold, verdict), count in self.calls.items():
            if (label := read[gold]) is not None:
                about[name] += count
                right[name] += count * (label == verdict)
        return {name: right[name] / count if count else None for name, count in about.items()}

    def _by_cluster(self, read: _Read) -> dict[str, Any]:
        """Return what depends on which cases belong together."""
        entries = list(self._entries(read))
        golds, verdicts, longer, clusters, counts = zip(*entries, strict=True) if entries else ((), (), (), (), ())
        right = [gold == verdict for gold, verdict in zip(golds, verdicts, strict=True)]
        shared = len(set(clusters))
        rate = Rate.over(right, clusters) if shared < len(clusters) else None
        return {
            "controls": label_controls(
                golds, right, clusters, labels=frozenset({*golds, *verdicts}), longer=longer, counts=counts
            ),
            "clusters": None if rate is None else shared,
            "accuracy_ends": None if rate is None else (rate.low, rate.high),
        }

    def _entries(self, read: _Read) -> Iterator[tuple[str, str, str | None, Hashable, int]]:
        """Yield gold, decision, longer answer and cluster of decided cases with gold, and for how many each stands.

        Those are one by one where cases share clusters, else as many as are alike.
        """
        known = [(key, count, label) for key, count in self.compared.items() if (label := read[key[0]]) is not None]
        one_by_one = any(cluster is not None for (*_, cluster), _, _ in known)
        for number, ((_, verdict, longer, cluster), count, label) in enumerate(known):
            texts = verdict_text(label), verdict_text(verdict), longer
            for place in range(count if one_by_one else 1):
                yield *texts, (number, place) if cluster is None else cluster, 1 if one_by_one else count


_PAIRWISE: Final = frozenset({"A", "B", "TIE", None})
_ORDERS: Final = 2
_FIRST, _SECOND = ("A", "B"), ("B", "A")  # canonical verdicts, shown and swapped, that name the same slot twice


@dataclass(kw_only=True)
class PositionCounts:
    """Counts over the cases of one judge and criterion, as long as verdicts and gold are A, B and TIE.

    Other verdicts name no slot; ties alone could be anybody's. `pairs` counts (verdict as shown, verdict swapped) of
    samples that differ in the order alone, which `aggregation.position_bias` counts for a whole log at once. `leans`:
    cluster of several cases -> how far they lean to the first slot together.
    """

    used: set[Verdict | None] = field(default_factory=set)
    foreign: bool = False
    pairs: dict[tuple[Any, Any], int] = field(default_factory=dict)
    cases_first: int = 0
    cases_second: int = 0
    leans: Counter[Hashable] = field(default_factory=Counter)
    bases: dict[str, str] = field(default_factory=dict)  # swapped perturbation -> what its partner is called

    def add(self, rows: Sequence[VerdictRow], cluster: Hashable = None, *, times: int = 1) -> None:
        """Take in the rows of a case, alone or in the cluster it shares, as often as there are such cases (`times`)."""
        if self.foreign:
            return
        used, orders = self.used, set()
        for row in rows:
            used.add(row.verdict)
            used.add(row.gold)
            orders.add(row.swapped)
        if not used <= _PAIRWISE:
            self.foreign = True
            self.used, self.pairs = set(), {}
        elif len(orders) == _ORDERS:
            self._pair(rows, cluster, times)

    def _pair(self, rows: Sequence[VerdictRow], cluster: Hashable, times: int) -> None:
        shown: dict[tuple[str, int], Verdict | None] = {}
        swapped: dict[tuple[str, int], Verdict | None] = {}
        for row in rows:
            if not row.swapped:
                shown[row.perturbation, row.repetition] = row.verdict
                continue
            base = self.bases.get(row.perturbation)
            if base is None:
                base = self.bases[row.perturbation] = base_perturbation(row)
            swapped[base, row.repetition] = row.verdict
        lean, pairs = 0, self.pairs
        for key, verdict in shown.items():
            if key in swapped:
                pair = (verdict, swapped[key])
                pairs[pair] = pairs.get(pair, 0) + times
                lean += (pair == _FIRST) - (pair == _SECOND)
        if cluster is not None:
            self.leans[cluster] += lean
            return
        self.cases_first += times * (lean > 0)
        self.cases_second += times * (lean < 0)

    @property
    def pairwise(self) -> bool:
        """Whether all verdicts and gold labels, and at least one, are A, B or TIE."""
        return not self.foreign and bool(self.used - {None})

    def bias(self) -> PositionBias | None:
        """Return the counts; None when nothing was shown in both orders, or verdicts name no slot."""
        if not self.pairs or not self.used & {"A", "B"}:
            return None
        return PositionBias(
            pairs=sum(self.pairs.values()),
            equal=sum(self.pairs.get((verdict, verdict), 0) for verdict in ("A", "B", "TIE")),
            always_first=self.pairs.get(_FIRST, 0),
            always_second=self.pairs.get(_SECOND, 0),
            first_wins=self._wins("A", "B"),
            second_wins=self._wins("B", "A"),
            cases_first=self.cases_first + sum(lean > 0 for lean in self.leans.values()),
            cases_second=self.cases_second + sum(lean < 0 for lean in self.leans.values()),
        )

    def _wins(self, shown: str, swapped: str) -> int:
        """Return how many samples named one slot: its letter as shown, the other one swapped."""
        return sum(count * ((one == shown) + (other == swapped)) for (one, other), count in self.pairs.items())

    def measured(self) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about position."""
        found = self.bias()
        names = ("always_first", "always_second", "first_slot_rate")
        return {
            **{name: getattr(found, name, None) for name in names},
            "position_consistency": None if found is None else found.consistency,
            "position_bias_p": None if found is None else found.p_value,
            "pairs": 0 if found is None else found.pairs,
        }


_UNIT: Final = 1 << 1074  # every float is a whole number of its inverse


class ExactMean:
    """The mean of the values added: their exact sum, rounded once as `math.fsum` does, over their number."""

    __slots__ = ("_sum", "count")

    def __init__(self) -> None:
        """Start without values."""
        self._sum = 0  # times `_UNIT`
        self.count = 0

    def add(self, value: float, *, times: int = 1) -> None:
        """Take in a value so many times."""
        numerator, denominator = value.as_integer_ratio()
        self._sum += times * numerator * (_UNIT // denominator)
        self.count += times

    @property
    def value(self) -> float | None:
        """The mean; None without values."""
        return self._sum / _UNIT / self.count if self.count else None


_MOST_COMPARED: Final = 100_000  # cases whose gold, score and cluster are kept, 24 bytes each: memory stays bounded


def _numbers() -> array[float]:
    return array("d")


def _places() -> array[int]:
    return array("q")


@dataclass(kw_only=True)
class ScoreSums:
    """Sums over the cases of one judge and criterion.

    `golds`: gold label that is no number -> cases; `passed`: such a label and what a rule with `pass_at` decided.
    `scores` and `centers`: gold scores and the numbers decided beside them, as long as these are not too many; they are
    compared with controls. `clusters` says which of them belong together: the place of the first one in the same
    cluster, which `first` keeps of those that are shared.
    """

    golds: Counter[Verdict] = field(default_factory=Counter)
    passed: Counter[tuple[Verdict, Verdict]] = field(default_factory=Counter)
    variance: ExactMean = field(default_factory=ExactMean)
    error: ExactMean = field(default_factory=ExactMean)
    scores: array[float] = field(default_factory=_numbers)
    centers: array[float] = field(default_factory=_numbers)
    clusters: array[int] = field(default_factory=_places)
    first: dict[Hashable, int] = field(default_factory=dict)

    def add(self, case: CaseDecision, cluster: Hashable = None, *, times: int = 1) -> None:
        """Take in a case, alone or in the cluster it shares, as often as there are such cases (`times`)."""
        gold, verdict = case.gold, case.decision.verdict
        score = None if gold is None else read_score(gold)
        if gold is not None and score is None:
            self.golds[gold] += times
            if isinstance(verdict, str) and case.decision.status == "decided":
                self.passed[gold, verdict] += times
        if len(scores := scores_of(case)) > 1:
            self.variance.add(statistics.variance(scores), times=times)
        center = None if _open_center(case) else center_of(case.decision)
        if center is not None and score is not None:
            self._compare(float(score), center, cluster, times)

    def _compare(self, score: float, center: float, cluster: Hashable, times: int) -> None:
        before = self.error.count
        self.error.add(abs(center - score), times=times)
        for place in range(before, min(self.error.count, _MOST_COMPARED)):
            self.scores.append(score)
            self.centers.append(center)
            self.clusters.append(place if cluster is None else self.first.setdefault(cluster, place))

    def measured(self) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about scores."""
        spread = self.variance.value
        decided = {verdict for _, verdict in self.passed}  # none without `pass_at`: no label is a score
        read = read_golds(self.golds, decided, scored=True) if decided else dict.fromkeys(self.golds)
        passed = sum(count for (gold, _), count in self.passed.items() if read[gold] is not None)
        correct = sum(count for (gold, verdict), count in self.passed.items() if read[gold] == verdict)
        return {
            "correct": correct if passed else None,
            "labelled": passed or self.error.count,
            "accuracy": correct / passed if passed else None,
            "unread": sum(count for gold, count in self.golds.items() if read[gold] is None),
            "tie_decisions": None,
            "single_call_accuracy": None,
            "within_case_sd": None if spread is None else math.sqrt(spread),
            "mean_absolute_error": self.error.value,
            "controls": self._controls(),
        }

    def _controls(self) -> Controls | None:
        error, count = self.error.value, self.error.count
        if error is not None and count > _MOST_COMPARED:
            reason = f"only up to {_MOST_COMPARED:,} scores with gold are kept"
            return unmeasured_controls(error, count, reason)
        return controls_of(self.scores, self.centers, self.clusters)


def _open_center(case: CaseDecision) -> bool:
    """Whether further samples could have moved the number behind a decision: early stopping waits for PASS or FAIL."""
    return case.curtailed and isinstance(case.decision.verdict, str)
