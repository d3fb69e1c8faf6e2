from __future__ import annotations

import pytest
from support.rows import sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation import decide, quorum, rule
from judgeharness_integrations.analysis.aggregation.grouping import by_case, by_criterion, by_judge, is_numeric
from judgeharness_integrations.verdictlog.row import VerdictRow

MAJORITY = rule("majority")


@pytest.mark.parametrize(
    ("planned", "min_valid", "needed"),
    [(0, None, 1), (1, None, 1), (2, None, 1), (3, None, 2), (6, None, 3), (8, None, 4), (8, 7, 7), (8, 0, 1)],
)
def test_the_quorum_is_half_of_the_planned_samples_and_at_least_one(
    planned: int, min_valid: int | None, needed: int
) -> None:
    assert quorum(planned, min_valid) == needed


@pytest.mark.parametrize(
    ("verdicts", "min_valid", "status"),
    [
        (["PASS", "PASS", None, None], None, "decided"),
        (["PASS", None, None], None, "not_graded"),
        (["PASS", None, None], 1, "decided"),
        (["PASS", "PASS", "PASS", None], 4, "not_graded"),
        ([None, None], None, "not_graded"),
        ([None, None], 0, "not_graded"),
        ([], None, "not_graded"),
    ],
)
def test_below_the_quorum_nothing_is_graded(verdicts: list, min_valid: int | None, status: str) -> None:
    decision = decide(sampled(verdicts), MAJORITY, min_valid=min_valid)
    assert decision.status == status
    assert (decision.verdict is None) == (status == "not_graded")


def test_not_graded_says_why() -> None:
    assert decide(sampled(["PASS", None, None]), MAJORITY).reason == "1 valid of 3 samples, 2 needed"
    unfinished = decide(sampled(["PASS"] * 5), MAJORITY, planned=6)
    assert (unfinished.status, unfinished.reason) == ("not_graded", "1 of 6 planned samples were not asked")


def test_failures_stand_in_the_denominator() -> None:
    half_failing = sampled(["PASS"] * 3 + [None] * 3)
    assert decide(half_failing, rule("supermajority(2/3)")).status == "abstained"
    assert decide(half_failing, rule("strict_majority")).status == "abstained"
    assert decide(half_failing, rule("abstain_on_disagreement")).status == "abstained"
    assert decide(half_failing, MAJORITY).verdict == "PASS"


def test_a_rule_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="rule median folds numbers, but criterion 'verdict' holds labels"):
        decide(sampled(["PASS"]), rule("median"))
    with pytest.raises(UsageError, match=r"rule majority folds labels, but .* holds numbers: use median"):
        decide(sampled([7]), MAJORITY)
    assert decide(sampled([7, 9]), rule(max_score)).verdict == 9
    assert decide(sampled(["PASS"]), rule("majority"), checked=True).verdict == "PASS"


def max_score(rows: list[VerdictRow]) -> object:
    return max(row.verdict for row in rows)  # type: ignore[type-var]


def test_labels_and_numbers_do_not_mix() -> None:
    mixed = sampled(["PASS", 7])
    with pytest.raises(
        UsageError, match=r"criterion 'verdict' of judge 'judge' mixes labels and numbers \(case 'c1'\)"
    ):
        decide(mixed, MAJORITY)
    assert is_numeric(sampled([None])) is None
    assert is_numeric(sampled([None, 7])) is True
    assert is_numeric(sampled([True])) is False


def test_rows_are_grouped_by_judge_criterion_and_case() -> None:
    rows = [
        VerdictRow(case_id="1", judge="x", criterion="tone", verdict="PASS"),
        VerdictRow(case_id="1", judge="y", criterion="facts", verdict="PASS"),
        VerdictRow(case_id="2", judge="x", criterion="facts", verdict="FAIL", run="r2"),
        VerdictRow(case_id="2", judge="x", criterion="*", verdict=None, outcome="error"),
    ]
    assert {judge: len(group) for judge, group in by_judge(rows).items()} == {"x": 3, "y": 1}
    assert list(by_case(rows)) == [("", "1"), ("r2", "2"), ("", "2")]
    groups = by_criterion(rows)
    assert list(groups) == ["tone", "facts"]
    assert [row.criterion for row in groups["tone"]] == ["tone", "tone"]
    assert [row.outcome for row in groups["facts"]] == ["ok", "ok", "error"]


def test_a_failure_of_every_criterion_counts_for_the_declared_ones() -> None:
    failed = VerdictRow(case_id="1", criterion="*", verdict=None, outcome="error")
    assert {name: len(group) for name, group in by_criterion([failed], ["tone", "facts"]).items()} == {
        "tone": 1,
        "facts": 1,
    }
    assert list(by_criterion([failed])) == ["verdict"]
    assert by_criterion([], ["tone"]) == {"tone": []}
    assert by_criterion([]) == {}
