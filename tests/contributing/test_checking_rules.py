"""`check_rule` passes every rule of the package, and says what each defect is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from judgeharness_integrations.analysis.aggregation import RULE_NAMES, Rule
from judgeharness_integrations.analysis.aggregation.folds import Decision, abstained, decided
from judgeharness_integrations.testing import check_rule
from judgeharness_integrations.verdictlog import VerdictRow

Rows = Sequence[VerdictRow]


@pytest.mark.parametrize(
    "name", [*RULE_NAMES, "supermajority(1/3)", "trimmed_mean(0.1, pass_at=5)", "strict_majority | median"]
)
def test_the_rules_of_the_package_keep_what_they_promise(name: str) -> None:
    check_rule(name)


@pytest.mark.parametrize("verdicts", [("PASS", "FAIL"), (frozenset("ab"), frozenset("b"))])
def test_other_labels_can_be_folded(verdicts: Any) -> None:
    check_rule("majority", verdicts=verdicts)


def valid(rows: Rows) -> list[Any]:
    return [row.verdict for row in rows if row.ok]


def test_a_rule_that_says_how_it_breaks_ties_passes() -> None:
    def first_by_name(rows: Rows) -> Decision:
        counts = Counter(valid(rows))
        best = max(counts.values())
        return decided(min(label for label, count in counts.items() if count == best), "ties go to the first by name")

    check_rule(first_by_name)


def first(rows: Rows) -> Any:
    return valid(rows)[0]


def other(rows: Rows) -> Any:
    return "B" if set(valid(rows)) == {"A"} else None


def silent(rows: Rows) -> Any:
    counts = Counter(valid(rows))
    return max(sorted(counts), key=counts.__getitem__)


def lax(rows: Rows) -> Any:
    failed = len(rows) - len(valid(rows))
    return None if not failed and len(set(valid(rows))) > 1 else min(valid(rows))


def undecided(rows: Rows) -> Decision:
    del rows
    return Decision(verdict=None, status="decided")


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (first, "first decides A, and B when the rows come in another order"),
        (other, "other makes B of samples that all say A"),
        (silent, "silent decides A where two of four samples say so: abstain, or say why"),
        (lax, "lax abstains, and decides A once 2 samples failed"),
        (undecided, "undecided decides None and calls it decided"),
        (Rule("majority", silent), "the name 'majority' is that of another rule"),
        (Rule(" mine", silent), "a rule's name stands in reports, not ' mine'"),
        (Rule("", silent), "a rule's name stands in reports, not ''"),
    ],
    ids=range(8),
)
def test_a_defect_is_told_in_one_sentence(rule: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_rule(rule)


def test_a_threshold_on_scores_is_no_defect_and_a_wrong_sum_is() -> None:
    def alike(rows: Rows, decision: Any) -> Any:
        return decision if len({*valid(rows)}) == 1 else abstained("they differ")

    check_rule(Rule("cut", lambda rows: alike(rows, decided("PASS", center=valid(rows)[0])), "numbers"))
    twice = Rule("twice", lambda rows: alike(rows, sum(valid(rows))), "numbers")
    with pytest.raises(AssertionError, match="twice makes 8 of samples that all say 2"):
        check_rule(twice)
