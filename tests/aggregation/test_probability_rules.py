"""Rules over probabilities: `mean_probability` and `expected_score`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.analysis.aggregation.curtailing import curtails
from judgeharness_integrations.analysis.aggregation.folds import Decision, averaged
from judgeharness_integrations.analysis.aggregation.rules import decide, rule
from judgeharness_integrations.verdictlog.row import VerdictRow


def row(shares: Mapping[str, float] | None, verdict: Any = "A", **facts: Any) -> VerdictRow:
    return VerdictRow(case_id="c", verdict=verdict, probabilities=shares, **facts)


def decided(name: str, *rows: VerdictRow) -> Decision:
    return decide(rows, rule(name))


def test_both_orders_weigh_the_same() -> None:
    rows = [row({"A": 0.9, "B": 0.1}), row({"A": 0.7, "B": 0.3}), row({"A": 0.2, "B": 0.8}, swapped=True)]
    assert averaged(rows) == pytest.approx({"A": 0.5, "B": 0.5})


def test_a_label_is_decided_from_its_mean_probability_on() -> None:
    rows = row({"A": 0.9, "B": 0.1}), row({"A": 0.8, "B": 0.2}, swapped=True)
    assert decided("mean_probability(0.85)", *rows) == Decision(
        verdict="A", status="decided", reason="mean probability 0.850 of A"
    )
    below = decided("mean_probability(0.86)", *rows)
    assert (below.status, below.reason) == ("abstained", "mean probability 0.850 of A is below 43/50")


def test_the_default_threshold_is_part_of_the_name() -> None:
    assert rule("mean_probability").name == "mean_probability(0.8)"
    assert rule(rule("expected_score(pass_at=3)").name) == rule("expected_score(pass_at=3)")
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        rule("mean_probability(1.5)")


def test_rounded_probabilities_are_brought_to_one() -> None:
    thirds = {"a": 0.33, "b": 0.33, "c": 0.33}
    assert averaged([row(thirds, "a")]) == pytest.approx(dict.fromkeys("abc", 1 / 3))


def test_labels_that_are_equally_probable_abstain() -> None:
    tie = decided("mean_probability(0.4)", row({"A": 0.5, "B": 0.5}, None))
    assert (tie.status, tie.reason) == ("abstained", "several labels have a mean probability of 0.500")


def test_a_sample_that_failed_makes_no_label_probable() -> None:
    failed = VerdictRow(case_id="c", verdict=None, outcome="refused", swapped=True)
    said = decided("mean_probability(0.8)", row({"A": 0.9, "B": 0.1}), failed)
    assert (said.status, said.reason) == ("abstained", "mean probability 0.450 of A is below 4/5")
    level = row({"1": 0.5, "5": 0.5}, 3.0)
    assert decided("expected_score", level, failed).reason == "expected level 3 over 1 of 2 samples"


@pytest.mark.parametrize(("name", "verdict"), [("mean_probability", "A"), ("expected_score", 3)])
def test_answers_without_probabilities_are_not_graded(name: str, verdict: Any) -> None:
    assert decided(name, row(None, verdict)).status == "not_graded"


def test_no_answer_at_all_has_no_mean() -> None:
    assert averaged([VerdictRow(case_id="c", verdict=None, outcome="error")]) is None


def test_the_expected_score_is_that_of_the_mean_probabilities() -> None:
    rows = row({"1": 0.5, "5": 0.5}, 3.0), row({"1": 0.0, "5": 1.0}, 5.0)
    said = decided("expected_score", *rows)
    assert (said.verdict, said.center, said.reason) == (4.0, 4.0, "expected level 4 over 2 of 2 samples")
    assert decided("expected_score(pass_at=4)", *rows).verdict == "PASS"
    assert decided("expected_score(pass_at=4.1)", *rows).verdict == "FAIL"


def test_no_case_is_cut_short_under_them() -> None:
    assert "every further probability" in str(curtails(rule("mean_probability")))
