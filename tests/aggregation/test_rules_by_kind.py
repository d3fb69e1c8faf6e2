from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import sampled

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.aggregation.rules import deciding_rule
from judgeharness_integrations.testing import ScriptedJudge

NAME = "supermajority(2/3) | median(pass_at=0.5)"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("majority|median", "majority | median"),
        (" supermajority  |  trimmed_mean(0.1) ", "supermajority(2/3) | trimmed_mean(0.1)"),
        (NAME, NAME),
    ],
)
def test_its_name_reads_back_to_the_same_rule(spec: str, name: str) -> None:
    built = rule(spec)
    assert built.name == name
    assert rule(built.name) == built
    assert (built.kind, built.both_orders) == ("any", False)


@given(st.lists(st.sampled_from(["PASS", "FAIL", None]), min_size=1).filter(any))
def test_labels_are_folded_as_the_first_rule_folds_them(verdicts: list[str | None]) -> None:
    rows = sampled(verdicts)
    assert rule("supermajority(2/3) | median").decide(rows) == rule("supermajority(2/3)").decide(rows)


@given(st.lists(st.none() | st.integers(0, 10), min_size=1).filter(lambda found: any(v is not None for v in found)))
def test_scores_are_folded_as_the_second_rule_folds_them(verdicts: list[int | None]) -> None:
    rows = sampled(verdicts)
    assert rule("majority | median").decide(rows) == rule("median").decide(rows)


@pytest.mark.parametrize("spec", ["median | majority", "majority | majority", "swap_consensus | median", "a|b|c", "|"])
def test_anything_but_a_label_rule_and_a_score_rule_is_refused(spec: str) -> None:
    with pytest.raises((PlanError, UnknownNameError)):
        rule(spec)


def test_the_refusal_says_how_it_is_written() -> None:
    with pytest.raises(PlanError, match=r"a rule for labels, then one for scores, as in supermajority"):
        rule("median | majority")


def test_criteria_of_both_kinds_are_decided_in_one_measurement() -> None:
    judge = ScriptedJudge([{"polite": True, "score": 0.5}, {"polite": True, "score": 0.75}])
    harness = JudgeHarness(perturbations=["none"], repetitions=4, aggregation_rule="supermajority(2/3) | median")
    result = harness.evaluate(judge, "Hello")
    assert {name: part.verdict for name, part in result.criteria.items()} == {"polite": "PASS", "score": 0.625}
    assert HarnessResult.from_dict(result.to_dict(rows=True)) == result
    assert "aggregation_rule: supermajority(2/3) | median" in result.report()


def test_the_rule_that_decides_about_rows_of_one_kind_is_one_of_both() -> None:
    both, labels = rule("majority | median"), sampled("AAB", criterion="better")
    scores = sampled([1, 2, None], criterion="score")
    found = [deciding_rule(both, rows).name for rows in (labels, scores, [*labels, *scores], sampled([None]))]
    assert found == ["majority", "median", both.name, both.name]
    assert deciding_rule(rule("strict_majority"), scores).name == "strict_majority"
