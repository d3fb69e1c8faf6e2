"""The words of labels and decisions: PASS and FAIL by other names, and labels no decision could ever match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration.judged import Judged
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["BINARY", "check_labels", "graded_label", "in_graded_words"]

BINARY = frozenset({"PASS", "FAIL"})
_WORDS = {"PASS": "y yes true 1 1.0 pass correct", "FAIL": "n no false 0 0.0 fail incorrect"}
_GRADED = {word: label for label, words in _WORDS.items() for word in words.split()}
_PREFERENCE = frozenset({"A", "B", "TIE"})


def graded_label(label: Verdict) -> str | None:
    """Return PASS or FAIL for the words people and frameworks use instead of them, None for any other label."""
    return _GRADED.get(verdict_text(label).casefold())


def in_graded_words(items: Sequence[Judged]) -> Sequence[Judged]:
    """Return the items with PASS and FAIL for the words people and frameworks use instead of them.

    Only where every decision is PASS or FAIL and every label such a word: a lone `1` may be a score.
    """
    verdicts = {item.verdict for item in items if item.status == "decided"}
    words = [graded_label(item.gold) for item in items]
    if not verdicts or not verdicts <= BINARY:
        return items
    graded = [replace(item, gold=word) for item, word in zip(items, words, strict=True) if word is not None]
    return graded if len(graded) == len(items) else items


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
    golds, verdicts = {item.gold for item in items}, {item.verdict for item in decided}
    texts = [label for label in golds | verdicts if isinstance(label, str)]
    if not golds or not verdicts or not golds.isdisjoint(verdicts) or len(texts) < len(golds | verdicts):
        return
    other_case = len({text.casefold() for text in texts}) < len(texts)
    other_words = any((golds <= words) != (verdicts <= words) for words in (BINARY, _PREFERENCE))
    if other_case or other_words:
        wanted, given = (", ".join(sorted(map(verdict_text, labels))) for labels in (golds, verdicts))
        raise CaseError(f"criterion {criterion!r}: the labels {wanted} never occur among the decisions ({given}).")
