"""Decisions of a rule against gold labels -> a calibration of one criterion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.aggregation.decision import Status
from judgeharness_integrations.calibration.rates import Kappa, Rate, ScoreErrors, cohen_kappa, score_errors
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["CriterionCalibration", "Judged", "graded_label", "measure_calibration"]

NOT_GRADED = "NOT_GRADED"
_BINARY = frozenset({"PASS", "FAIL"})
_WORDS = {"PASS": "y yes true 1 1.0 pass correct", "FAIL": "n no false 0 0.0 fail incorrect"}
_GRADED = {word: label for label, words in _WORDS.items() for word in words.split()}
_PREFERENCE = frozenset({"A", "B", "TIE"})
_NO_RATES = "scores have no precision and recall; give the rule a threshold (pass_at) or read the errors"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One labelled item: its gold label and what the rule decided."""

    gold: Verdict
    verdict: Verdict | None
    status: Status


@dataclass(frozen=True, kw_only=True)
class CriterionCalibration:
    """How the rule's decision compares with the gold labels of one criterion.

    `n` items carry a gold label. With a `positive` label: precision = true positives / decided positives, recall =
    true positives / positives, abstained and not graded counting as not positive. Without one (pairwise): precision
    = correct / decided, recall = correct / all. `confusion` maps gold -> decision -> count, with columns `ABSTAIN`
    and `NOT_GRADED`. What is undefined is None; `reason` says why for scores.
    """

    criterion: str
    n: int
    positive: str | None
    confusion: Mapping[str, Mapping[str, int]]
    precision: Rate | None
    recall: Rate | None
    accuracy_decided: Rate | None
    coverage: Rate | None
    base_rate: Rate | None
    kappa: Kappa | None
    errors: ScoreErrors | None = None
    reason: str = ""


Confusion: TypeAlias = dict[str, dict[str, int]]


def _column(item: Judged) -> str:
    return NOT_GRADED if item.status == "not_graded" else verdict_text(item.verdict)


def _confusion(items: Iterable[Judged]) -> Confusion:
    table: Confusion = {}
    for item in items:
        row = table.setdefault(verdict_text(item.gold), {})
        row[_column(item)] = row.get(_column(item), 0) + 1
    return table


def _positive(items: Sequence[Judged], declared: str | None) -> str | None:
    labels = {item.gold for item in items}
    if declared is not None:
        graded = labels <= _BINARY and declared in _BINARY  # nobody failed: FAIL is a label all the same
        if not graded and declared not in labels | {item.verdict for item in items}:
            raise CaseError(f"the positive label {declared!r} occurs neither among the labels nor among the decisions.")
        return declared
    return "PASS" if labels and labels <= _BINARY else None


def measure_calibration(
    items: Sequence[Judged], *, criterion: str = "verdict", positive: str | None = None
) -> CriterionCalibration:
    """Measure the decisions of one criterion against gold labels.

    Args:
        items: one a labelled case.
        criterion: its name.
        positive: the label precision and recall are about; PASS when all gold labels are PASS or FAIL, else none.

    Raises:
        CaseError: gold scores against decided labels or the other way round, or an unknown positive label.

    """
    items = _in_graded_words(items)
    decided = [item for item in items if item.status == "decided"]
    for item in decided:
        if is_number(item.gold) != is_number(item.verdict):
            raise CaseError(
                f"criterion {criterion!r}: gold {verdict_text(item.gold)!r} cannot be compared with the decision "
                f"{verdict_text(item.verdict)!r}; labels and decisions must both be labels or both be scores."
            )
    _check_labels(items, decided, criterion)
    if any(is_number(item.gold) for item in items):
        return _scores(items, decided, criterion)
    positive = _positive(items, positive)
    correct = sum(item.verdict == item.gold for item in decided)
    if positive is None:
        precision, recall, base = Rate.of(correct, len(decided)), Rate.of(correct, len(items)), None
    else:
        hits = sum(item.verdict == positive == item.gold for item in decided)
        positives = sum(item.gold == positive for item in items)
        precision = Rate.of(hits, sum(item.verdict == positive for item in decided))
        recall, base = Rate.of(hits, positives), Rate.of(positives, len(items))
    return CriterionCalibration(
        criterion=criterion,
        n=len(items),
        positive=positive,
        confusion=_confusion(items),
        precision=precision,
        recall=recall,
        accuracy_decided=Rate.of(correct, len(decided)),
        coverage=Rate.of(len(decided), len(items)),
        base_rate=base,
        kappa=cohen_kappa(_confusion(decided)),
    )


def graded_label(label: Verdict) -> str | None:
    """Return PASS or FAIL for the words people and frameworks use instead of them, None for any other label."""
    return _GRADED.get(verdict_text(label).casefold())


def _in_graded_words(items: Sequence[Judged]) -> Sequence[Judged]:
    """Return the items with PASS and FAIL for the words people and frameworks use instead of them.

    Only where every decision is PASS or FAIL and every label such a word: a lone `1` may be a score.
    """
    verdicts = {item.verdict for item in items if item.status == "decided"}
    words = [graded_label(item.gold) for item in items]
    if not verdicts or not verdicts <= _BINARY:
        return items
    graded = [replace(item, gold=word) for item, word in zip(items, words, strict=True) if word is not None]
    return graded if len(graded) == len(items) else items


def _check_labels(items: Sequence[Judged], decided: Sequence[Judged], criterion: str) -> None:
    """Refuse labels that no decision could ever match because they are written in other words."""
    golds, verdicts = {item.gold for item in items}, {item.verdict for item in decided}
    texts = [label for label in golds | verdicts if isinstance(label, str)]
    if not golds or not verdicts or not golds.isdisjoint(verdicts) or len(texts) < len(golds | verdicts):
        return
    other_case = len({text.casefold() for text in texts}) < len(texts)
    other_words = any((golds <= words) != (verdicts <= words) for words in (_BINARY, _PREFERENCE))
    if other_case or other_words:
        wanted, given = (", ".join(sorted(map(verdict_text, labels))) for labels in (golds, verdicts))
        raise CaseError(f"criterion {criterion!r}: the labels {wanted} never occur among the decisions ({given}).")


def _scores(items: Sequence[Judged], decided: Sequence[Judged], criterion: str) -> CriterionCalibration:
    pairs = [(float(item.gold), float(item.verdict)) for item in decided]  # type: ignore[arg-type]
    return CriterionCalibration(
        criterion=criterion,
        n=len(items),
        positive=None,
        confusion={},
        precision=None,
        recall=None,
        accuracy_decided=None,
        coverage=Rate.of(len(decided), len(items)),
        base_rate=None,
        kappa=None,
        errors=score_errors(pairs),
        reason=_NO_RATES,
    )
