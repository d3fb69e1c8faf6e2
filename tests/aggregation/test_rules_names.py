from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import sampled

from judgeharness_integrations._errors import PlanError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation import RULE_NAMES, Rule, abstained, rule


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("majority", "majority"),
        ("  majority ( ) ", "majority"),
        ("supermajority", "supermajority(2/3)"),
        ("supermajority()", "supermajority(2/3)"),
        ("supermajority(2/3)", "supermajority(2/3)"),
        ("supermajority( 2 / 3 )", "supermajority(2 / 3)"),
        ("supermajority(0.6667)", "supermajority(0.6667)"),
        ("supermajority(threshold=3/4)", "supermajority(3/4)"),
        ("supermajority(1)", "supermajority(1)"),
        ("trimmed_mean", "trimmed_mean(0.2)"),
        ("trimmed_mean(.1)", "trimmed_mean(.1)"),
        ("trimmed_mean(0, 7)", "trimmed_mean(0, pass_at=7)"),
        ("trimmed_mean(pass_at=7, share=1/4)", "trimmed_mean(1/4, pass_at=7)"),
        ("trimmed_mean(pass_at=-0.5)", "trimmed_mean(0.2, pass_at=-0.5)"),
        ("median", "median"),
        ("median(7)", "median(pass_at=7)"),
        ("mean(pass_at=7/2)", "mean(pass_at=7/2)"),
        ("mode(pass_at=+7)", "mode(pass_at=+7)"),
    ],
)
def test_a_name_is_written_out_and_reads_back_to_the_same_rule(spec: str, name: str) -> None:
    built = rule(spec)
    assert built.name == name
    again = rule(built.name)
    assert again.name == name
    assert again == built
    assert hash(again) == hash(built)


@pytest.mark.parametrize("name", RULE_NAMES)
def test_every_known_rule_stands_under_its_name(name: str) -> None:
    assert rule(name).name.partition("(")[0] == name


def test_the_rules_of_the_pattern_are_known() -> None:
    table = "majority strict_majority supermajority abstain_on_disagreement swap_consensus net_preference"
    numbers = {"median", "mean", "trimmed_mean", "mode", "expected_score"}
    assert set(RULE_NAMES) == {*table.split(), *numbers, "mean_probability"}
    assert {name for name in RULE_NAMES if rule(name).both_orders} == {"swap_consensus", "net_preference"}
    assert {name for name in RULE_NAMES if rule(name).kind == "numbers"} == numbers


def test_parameters_are_kept_as_written_and_compared_exactly() -> None:
    exact, decimal = rule("supermajority(2/3)"), rule("supermajority(0.6667)")
    assert exact != decimal
    assert exact.name != decimal.name
    two_of_three = sampled(["PASS", "PASS", "FAIL"])
    assert exact.decide(two_of_three).verdict == "PASS"
    assert decimal.decide(two_of_three).status == "abstained"
    assert rule("supermajority(0.6666)").decide(two_of_three).verdict == "PASS"


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60))
def test_a_threshold_is_compared_as_a_whole_number_ratio(part: int, whole: int, asked: int) -> None:
    part, count = min(part, whole), min(part, asked)
    rows = sampled(["PASS"] * count + [None] * (asked - count))
    decided = rule(f"supermajority({part}/{whole})").decide(rows).status == "decided"
    assert decided == (Fraction(count, asked) >= Fraction(part, whole))


@pytest.mark.parametrize(
    "spec",
    [
        "supermajority(0)",
        "supermajority(-1/3)",
        "supermajority(1.01)",
        "supermajority(4/3)",
        "trimmed_mean(0.5)",
        "trimmed_mean(-0.1)",
    ],
)
def test_a_parameter_out_of_range_says_the_range(spec: str) -> None:
    with pytest.raises(PlanError, match="out of range: it must be"):
        rule(spec)


@pytest.mark.parametrize(
    "parameter", ["two thirds", "1/0", "2/3/4", "nan", "inf", "1e3", "", "--1", "0x1", "2/", "/3", "9" * 5000]
)
def test_a_parameter_that_is_no_number_says_what_to_write(parameter: str) -> None:
    with pytest.raises(PlanError, match="write a fraction or a decimal"):
        rule(f"supermajority(threshold={parameter})")


def test_a_parameter_cannot_make_reading_a_name_expensive() -> None:
    with pytest.raises(PlanError, match="is not a number"):
        rule("median(pass_at=1e999999999)")


@pytest.mark.parametrize("spec", ["", "supermajority(2/3", "supermajority 2/3)", "supermajority((2/3))", "2/3", "a b"])
def test_a_malformed_name_shows_the_form(spec: str) -> None:
    with pytest.raises(PlanError, match=r"as in supermajority\(2/3\)"):
        rule(spec)


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'supermajority'"):
        rule("supermajorty(2/3)")
    with pytest.raises(UnknownNameError, match="did you mean 'threshold'"):
        rule("supermajority(treshold=2/3)")
    with pytest.raises(UnknownNameError, match="known: none"):
        rule("majority(share=1/2)")
    with pytest.raises(UnknownNameError, match="known: abstain_on_disagreement, expected_score, majority"):
        rule("xyzzy")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("majority(2/3)", "takes 0 parameter"),
        ("supermajority(2/3, 3/4)", "takes 1 parameter"),
        ("supermajority(2/3,)", "takes 1 parameter"),
        ("supermajority(2/3, threshold=3/4)", "is given threshold twice"),
        ("median(,)", "takes 1 parameter"),
    ],
)
def test_too_many_parameters_are_refused(spec: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        rule(spec)


def first_answer(rows: object) -> object:
    return rows[0].verdict  # type: ignore[index]


def test_a_plain_function_is_a_rule_under_its_own_name() -> None:
    built = rule(first_answer)
    assert (built.name, built.kind, built.both_orders) == ("first_answer", "any", False)
    assert built.decide(sampled(["FAIL", "PASS"])).verdict == "FAIL"
    assert rule(built) is built


class _Callable:
    def __call__(self, rows: object) -> str:
        return "PASS"


def test_an_object_that_can_be_called_is_named_by_its_type() -> None:
    assert rule(_Callable()).name == "_Callable"


def test_a_lambda_has_no_name_a_report_could_carry() -> None:
    with pytest.raises(PlanError, match="a lambda has no name"):
        rule(lambda rows: "PASS")


@pytest.mark.parametrize(
    ("answer", "verdict", "status"),
    [
        ("PASS", "PASS", "decided"),
        (True, "PASS", "decided"),
        (7.5, 7.5, "decided"),
        (["b", "a"], frozenset({"a", "b"}), "decided"),
        (None, "ABSTAIN", "abstained"),
        ("ABSTAIN", "ABSTAIN", "abstained"),
        ("", "ABSTAIN", "abstained"),
        (abstained("too close"), "ABSTAIN", "abstained"),
    ],
)
def test_a_rule_of_the_callers_own_may_return_a_bare_verdict(answer: object, verdict: object, status: str) -> None:
    decision = Rule("mine", lambda rows: answer).decide(sampled(["PASS"]))
    assert (decision.verdict, decision.status) == (verdict, status)


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), {"verdict": "PASS"}, [1], object()])
def test_a_rule_that_returns_no_verdict_is_named(answer: object) -> None:
    with pytest.raises(UsageError, match="rule mine returned what cannot be a verdict"):
        Rule("mine", lambda rows: answer).decide(sampled(["PASS"]))


def test_a_rule_that_fails_is_named_with_the_case() -> None:
    with pytest.raises(UsageError, match=r"rule mine failed on case '.*': ZeroDivisionError\('division by zero'\)\."):
        Rule("mine", lambda rows: 1 / 0).decide(sampled(["PASS"]))
