"""Labelled items: what people said, what the rule decided, and the words both are read from."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.aggregation.decision import Status
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text, verdict_to_json


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
    listed = sorted(map(verdict_text, cases))
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    labels = ", ".join(f"{label:.40}" for label in listed[:_MOST_NAMED]) + more
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
