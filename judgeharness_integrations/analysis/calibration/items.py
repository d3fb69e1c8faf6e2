"""Labelled items: what people said, what the rule decided, and which of them are held back from choosing."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.verdictlog.encoding import listed
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text, verdict_to_json

from ..aggregation.folds import Status
from ..statistics import CONFIDENCE
from ..statistics.proportions import bonferroni_level, sidak_confidence

__all__ = [
    "Part",
    "PartName",
    "cases_of_part",
    "check_candidates",
    "confidence_text",
    "plain_intervals",
    "simultaneous_alpha",
    "simultaneous_level",
]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One labelled item: its gold label and what the rule decided.

    `confidence` orders decisions for the risk-coverage curve (the consistency of the samples). Items of one `cluster`
    (the case, a document, an author) are not independent of each other; without one an item stands alone. `longer` is
    the longer answer of a pair, A or B. `scored`: the samples are scores, also where a threshold makes PASS or FAIL of
    them.
    """

    gold: Verdict
    verdict: Verdict | None
    status: Status
    confidence: float | None = None
    cluster: Hashable = None
    longer: str | None = None
    scored: bool = False


def cluster_keys(items: Sequence[Judged]) -> list[Hashable]:
    """Return what each item shares with the others of its cluster; its own place where it has none."""
    return [place if item.cluster is None else item.cluster for place, item in enumerate(items)]


ONLY_CRITERION: Final = ""  # of labels that name none: a case has one
BINARY: Final = frozenset({"PASS", "FAIL"})
_WORDS: Final = {"PASS": "y yes true 1 1.0 pass correct", "FAIL": "n no false 0 0.0 fail incorrect"}
_GRADED: Final = {word: label for label, words in _WORDS.items() for word in words.split()}
_PREFERENCE: Final = frozenset({"A", "B", "TIE"})
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_MOST_NAMED: Final = 3


def graded_label(label: Verdict) -> str | None:
    """Return PASS or FAIL for the words people and frameworks use instead of them, None for any other label."""
    return _GRADED.get(verdict_text(label).casefold())


def canonical_label(label: Verdict) -> Verdict:
    """Return a label as decisions are written: `yes` is PASS, `tie` TIE; numbers, also as texts, and others as is."""
    if is_number(label) or read_score(label) is not None:
        return label
    text = verdict_text(label)
    return text.upper() if text.upper() in _PREFERENCE else graded_label(label) or label


def read_golds(
    golds: Iterable[Verdict], verdicts: Iterable[Verdict], *, scored: bool = False
) -> dict[Verdict, Verdict | None]:
    """Return how each gold label of a criterion is read beside its decisions; None where it cannot be.

    * Decisions are scores: a number is itself, also where it is written as text; no label is one.
    * PASS and FAIL: `yes`, `true`, `correct` and the like are PASS, `no`, `false`, `incorrect` FAIL. 1 and 0 are so
      where no other number is among the labels; on a scale, 1 is its worst grade.
    * A, B and TIE: also in small letters. No number is one of them.
    * Other labels are themselves.

    A label in words that no decision could ever be is not read, where that holds for all labels: `good` beside PASS.

    Args:
        golds: every gold label of the criterion.
        verdicts: what was decided about it; without any, labels are themselves.
        scored: decisions are PASS or FAIL by a threshold on scores: 1 and 0 are scores then.

    """
    golds, verdicts = set(golds), set(verdicts)
    if not verdicts:
        return {gold: gold for gold in golds}
    if any(map(is_number, verdicts)):
        return {gold: read_score(gold) for gold in golds}
    if verdicts <= BINARY:
        numbers = {number for gold in golds if (number := read_score(gold)) is not None}
        found = {gold: _as_grade(gold, numbers=not scored and numbers <= {0, 1}) for gold in golds}
    else:
        found = {gold: _as_label(gold, pairwise=verdicts <= _PREFERENCE) for gold in golds}
    if _are_foreign({label for label in found.values() if label is not None}, verdicts):
        return dict.fromkeys(found)
    return found


def read_gold_alone(gold: Verdict, verdict: Verdict | None) -> Verdict | None:
    """Return a gold label beside one decision, where no others are known: a number among them could be a score."""
    if is_number(verdict) or read_score(gold) is not None:
        return read_score(gold) if is_number(verdict) else None
    return (graded_label(gold) or gold) if verdict in BINARY else gold


def read_score(gold: Verdict) -> float | None:
    """Return the number a label is or is written as."""
    if is_number(gold):
        return gold  # type: ignore[return-value]
    return float(gold) if isinstance(gold, str) and _DECIMAL.fullmatch(gold) else None


def _as_grade(gold: Verdict, *, numbers: bool) -> Verdict | None:
    if read_score(gold) is not None and not numbers:
        return None
    return graded_label(gold) or gold


def _as_label(gold: Verdict, *, pairwise: bool) -> Verdict | None:
    if is_number(gold):
        return None
    upper = gold.upper() if pairwise and isinstance(gold, str) else None
    return upper if upper in _PREFERENCE else gold


def _are_foreign(golds: AbstractSet[Verdict], verdicts: AbstractSet[Verdict]) -> bool:
    """Whether labels and decisions are in different words, so that none could ever match."""
    texts = [label for label in golds | verdicts if isinstance(label, str)]
    if not golds or not verdicts or not golds.isdisjoint(verdicts) or len(texts) < len(golds | verdicts):
        return False
    other_case = len({text.casefold() for text in texts}) < len(texts)
    return other_case or any((golds <= words) != (verdicts <= words) for words in (BINARY, _PREFERENCE))


def unread_sentence(cases: Mapping[Verdict, int], verdicts: Iterable[Verdict] = ()) -> str:
    """Return how many cases have a gold label that cannot be read, with some of the labels; empty without any.

    Args:
        cases: label -> cases that have it.
        verdicts: the decisions it cannot be compared with.

    """
    count = sum(cases.values())
    if not count:
        return ""
    labels = listed([f"{label:.40}" for label in sorted(map(verdict_text, cases))], _MOST_NAMED)
    told = "1 case has a gold label" if count == 1 else f"{count} cases have gold labels"
    beside = ", ".join(sorted(map(verdict_text, verdicts))[:_MOST_NAMED])
    return f"{told} that cannot be read ({labels}{f' beside {beside:.80}' if beside else ''}): counted as without one"


def read_labels(items: Sequence[Judged]) -> Sequence[Judged]:
    """Return the items with their gold labels as `read_golds` reads them; what it cannot read is left as it is."""
    verdicts = {item.verdict for item in items if item.status == "decided" and item.verdict is not None}
    found = read_golds((item.gold for item in items), verdicts, scored=any(item.scored for item in items))
    read = [(item, found[item.gold]) for item in items]
    return [item if gold is None else replace(item, gold=gold) for item, gold in read]


def check_labels(items: Sequence[Judged], decided: Sequence[Judged], criterion: str) -> None:
    """Refuse scores against labels, and labels that no decision could ever match: they are written in other words.

    Raises:
        CaseError: naming the criterion and what does not fit.

    """
    for item in decided:
        if is_number(item.gold) != is_number(item.verdict):
            marked = is_number(item.gold) and item.verdict in BINARY
            advice = (
                "write gold as PASS and FAIL" if marked else "labels and decisions must both be labels or both scores"
            )
            raise CaseError(
                f"criterion {criterion!r}: gold {verdict_text(item.gold)!r} cannot be compared with the decision "
                f"{verdict_text(item.verdict)!r}: {advice}."
            )
    golds = {item.gold for item in items}
    verdicts = {item.verdict for item in decided if item.verdict is not None}
    if _are_foreign(golds, verdicts):
        wanted, given = (", ".join(sorted(map(verdict_text, labels))) for labels in (golds, verdicts))
        raise CaseError(f"criterion {criterion!r}: the labels {wanted} never occur among the decisions ({given}).")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """One case and criterion: the gold label as people gave it, and what the rule decided.

    `gold` is None only where answers come without labels, as in a log to be compared with an earlier calibration.
    `cluster` is what its case shares with others; None where it is alone.
    """

    case_id: str
    criterion: str
    gold: Verdict | None
    verdict: Verdict | None
    status: Status
    cluster: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON keeps it: a set of labels is a sorted list, and no cluster is left out."""
        return {
            "case_id": self.case_id,
            "criterion": self.criterion,
            "gold": verdict_to_json(self.gold),
            "verdict": verdict_to_json(self.verdict),
            "status": self.status,
            **({} if self.cluster is None else {"cluster": self.cluster}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LabelledItem:
        """Rebuild an item from `to_dict`."""
        gold, verdict = (_verdict(data[name]) for name in ("gold", "verdict"))
        return cls(
            case_id=data["case_id"],
            criterion=data["criterion"],
            gold=gold,
            verdict=verdict,
            status=data["status"],
            cluster=data.get("cluster"),
        )


def _verdict(value: Any) -> Verdict | None:
    verdict: Verdict | None = frozenset(value) if isinstance(value, list) else value
    return verdict


PartName: TypeAlias = Literal["all", "choosing", "held_back"]
_SEED: Final = 0
_FEWEST: Final = 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """Which labelled cases are looked at: `all`, those to choose a candidate on, or those held back for the chosen one.

    `holdout` is the share that is held back, None without one.
    """

    name: PartName = "all"
    holdout: float | None = None

    def __post_init__(self) -> None:
        """Refuse a share that leaves one of the two parts empty, and a part without a share."""
        if self.holdout is not None and not 0 < self.holdout < 1:
            raise UsageError(f"--holdout is the share of labelled cases to hold back, as 0.5, not {self.holdout:g}.")
        if (self.holdout is None) != (self.name == "all"):
            raise UsageError("a part of the labelled cases goes with the share held back: give --holdout SHARE.")

    @property
    def span(self) -> tuple[float, float]:
        """The part as an interval of [0, 1]: held back is always the beginning of the same order of cases."""
        share = 1.0 if self.holdout is None else self.holdout
        return (share, 1.0) if self.name == "choosing" else (0.0, share)

    def meets(self, other: Part) -> bool:
        """Whether two parts have cases in common."""
        (low, high), (lowest, highest) = self.span, other.span
        return low < highest and lowest < high


def cases_of_part(
    part: Part, case_ids: Iterable[str], clusters: Mapping[str, Hashable] | None = None, *, seed: int = _SEED
) -> set[str]:
    """Return the ids of the cases of a part; cases that share a cluster are in the same one.

    The order is that of a digest of seed and cluster: the same cases are held back from every candidate, in whatever
    order they are given, and a smaller share is part of a larger one.

    Args:
        part: which one.
        case_ids: of all labelled cases.
        clusters: what a case shares with others; without, each is its own.
        seed: of the order.

    Raises:
        UsageError: there are too few clusters for two parts.

    """
    ids = list(dict.fromkeys(case_ids))
    if part.holdout is None:
        return set(ids)
    keys = {case_id: str((clusters or {}).get(case_id, case_id)) for case_id in ids}
    order = sorted(set(keys.values()), key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    if len(order) < _FEWEST:
        raise UsageError("one labelled case, or one cluster of them, cannot be split: leave out --holdout.")
    held = set(order[: min(len(order) - 1, max(1, math.floor(part.holdout * len(order) + 0.5)))])
    return {case_id for case_id, key in keys.items() if (key in held) == (part.name == "held_back")}


_MOST: Final = 1_000_000
_SHOWN: Final = (
    "precision",
    "recall",
    "specificity",
    "accuracy",
    "balanced_accuracy",
    "kappa",
    "spearman",
    "quadratic_kappa",
)


def check_candidates(candidates: int) -> None:
    """Raise a UsageError for fewer than one candidate, or more than anybody has tried."""
    if not 1 <= candidates <= _MOST:
        raise UsageError(
            f"{candidates} candidates: give how many were tried on these labels in all, at least 1 and at most {_MOST}."
        )


def simultaneous_level(candidates: int) -> float:
    """Return the confidence of each of several intervals that hold together at 95 %: .95^(1/k).

    Sidak 1967. The best of k equally good judges has an interval that covers as often as the worst case of all k: with
    plain 95 % intervals in about .95^k of studies where they err independently of each other. Judges measured on the
    same cases err together, so that .95^(1/k) is, if anything, too careful.
    """
    check_candidates(candidates)
    return sidak_confidence(CONFIDENCE, candidates)


def confidence_text(confidence: float) -> str:
    """Return a confidence with as many digits as tell it from 100 %: `95 %`, `98.30 %`."""
    beyond = math.floor(math.log10(100 * (1 - confidence)))
    digits = 0 if confidence == CONFIDENCE else max(2, 1 - beyond)
    return f"{100 * confidence:.{digits}f} %"


def simultaneous_alpha(alpha: float, candidates: int) -> float:
    """Return the level of each of several tests of which the chosen candidate's is looked at: alpha / k (Bonferroni).

    Whichever is chosen, and by whatever luck, it is one of k, and any of them rejects in at most k * (alpha / k).
    """
    check_candidates(candidates)
    return bonferroni_level(alpha, candidates)


def plain_intervals(measures: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return measure -> its interval, of those that are printed beside the simultaneous ones."""
    found = {name: measures.get(name) for name in _SHOWN}
    return {name: (one.low, one.high) for name, one in found.items() if one is not None and one.low is not None}
