"""How often decisions and single calls about labels were right, counted case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from judgeharness_integrations.calibration.controls import label_controls, longer_of
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.calibration.words import read_golds
from judgeharness_integrations.replay.deciding import CaseDecision, shared_cluster
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["LabelCounts"]

_Compared: TypeAlias = "tuple[Verdict, Verdict, str | None, Hashable]"  # gold, decision, longer answer, cluster
_Read: TypeAlias = Mapping[Verdict, "Verdict | None"]


@dataclass(kw_only=True)
class LabelCounts:
    """Counts over the cases of one judge and criterion, by their gold labels: what those mean is known at the end.

    `golds`: gold label -> cases. `compared`: what was decided about decided cases with gold, and their cluster where
    rows name one or the case is in several runs (any other is its own, and no key). `calls`: perturbation, gold label
    and verdict -> calls about cases with gold. Of gold scores, which no label is, all but 0 and 1 are counted as the
    first one (`score`).
    """

    ties: int = 0
    score: Verdict | None = None
    golds: Counter[Verdict] = field(default_factory=Counter)
    asked: dict[str, None] = field(default_factory=dict)
    calls: Counter[tuple[str, Verdict, Verdict | None]] = field(default_factory=Counter)
    compared: Counter[_Compared] = field(default_factory=Counter)

    def add(self, case: CaseDecision, *, recurs: bool = False) -> None:
        """Take in a case, or one that is in several runs (`recurs`)."""
        gold, verdict = self._kept(case.gold), case.decision.verdict
        decided = case.decision.status == "decided" and verdict is not None
        self.ties += decided and verdict == "TIE"
        asked = self.asked
        for row in case.rows:
            asked[row.perturbation] = None
        if gold is None:
            return
        self.golds[gold] += 1
        if decided and verdict is not None:
            longer = longer_of({}, case.rows[0].attributes)
            self.compared[gold, verdict, longer, shared_cluster(case, recurs=recurs)] += 1
        calls = self.calls
        for row in case.rows:  # a failed call about a labelled case is wrong
            calls[row.perturbation, gold, row.verdict] += 1

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
            "accuracy_decided": correct / labelled if labelled else None,
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
