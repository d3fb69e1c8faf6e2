"""How far scores lie apart and from gold, summed case by case."""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from judgeharness_integrations.calibration.controls import Controls, controls_of, unmeasured_controls
from judgeharness_integrations.calibration.words import read_golds, read_score
from judgeharness_integrations.replay.deciding import CaseDecision, center_of, scores_of, shared_cluster
from judgeharness_integrations.replay.exactsum import ExactMean
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["ScoreSums"]

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
    cluster, which `first` keeps of those that may be shared (see `shared_cluster`).
    """

    golds: Counter[Verdict] = field(default_factory=Counter)
    passed: Counter[tuple[Verdict, Verdict]] = field(default_factory=Counter)
    variance: ExactMean = field(default_factory=ExactMean)
    error: ExactMean = field(default_factory=ExactMean)
    scores: array[float] = field(default_factory=_numbers)
    centers: array[float] = field(default_factory=_numbers)
    clusters: array[int] = field(default_factory=_places)
    first: dict[Hashable, int] = field(default_factory=dict)

    def add(self, case: CaseDecision, *, recurs: bool = False) -> None:
        """Take in a case, or one that is in several runs (`recurs`)."""
        gold, verdict = case.gold, case.decision.verdict
        score = None if gold is None else read_score(gold)
        if gold is not None and score is None:
            self.golds[gold] += 1
            if isinstance(verdict, str) and case.decision.status == "decided":
                self.passed[gold, verdict] += 1
        if len(scores := scores_of(case)) > 1:
            self.variance.add(statistics.variance(scores))
        center = None if _open_center(case) else center_of(case.decision)
        if center is not None and score is not None:
            self._compare(float(score), center, shared_cluster(case, recurs=recurs))

    def _compare(self, score: float, center: float, cluster: Hashable) -> None:
        self.error.add(abs(center - score))
        if self.error.count <= _MOST_COMPARED:
            self.scores.append(score)
            self.centers.append(center)
            place = self.error.count
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
            "accuracy_decided": correct / passed if passed else None,
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
