from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.gates import METRICS, Gate, Gates, parse_expression


@pytest.mark.parametrize(
    ("text", "metric", "argument", "operator", "bar"),
    [
        ("pass_rate>=0.9", "pass_rate", None, ">=", 0.9),
        ("  accuracy  > 85%  ", "accuracy", None, ">", 0.85),
        ("abstention<=.1", "abstention", None, "<=", 0.1),
        ("rate(needs work) < 5 %", "rate", "needs work", "<", 0.05),
        ("rate(a >= b)>=0.5", "rate", "a >= b", ">=", 0.5),
        ("rate(ÄÖ)>=1e-1", "rate", "ÄÖ", ">=", 0.1),
        ("flip_rate(prompt_variant(1)+whitespace)<=0.2", "flip_rate", "prompt_variant(1)+whitespace", "<=", 0.2),
        ("mean_score>=-2.5", "mean_score", None, ">=", -2.5),
        ("mean_score<1e3", "mean_score", None, "<", 1000.0),
    ],
)
def test_an_expression_is_a_metric_an_operator_and_a_bar(
    text: str, metric: str, argument: str | None, operator: str, bar: float
) -> None:
    found = parse_expression(text)
    assert (found.metric, found.argument, found.operator) == (metric, argument, operator)
    assert found.bar == pytest.approx(bar)
    assert found.text == text.strip()
    assert found.name == (metric if argument is None else f"{metric}({argument})")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pas_rate>=0.9", "unknown metric of a gate 'pas_rate': did you mean 'pass_rate'?"),
        ("elo>=0.9", "unknown metric of a gate 'elo': known: abstention"),
        ("pass_rate=0.9", "'pass_rate=0.9' is no gate: write METRIC OP VALUE"),
        ("pass_rate>=", "is no gate"),
        ("pass_rate>=nan", "is no gate"),
        ("pass_rate>=inf", "is no gate"),
        ("pass_rate>=0.9 and more", "is no gate"),
        ("", "'' is no gate"),
        ("pass_rate" + " " * 600 + ">=0.9", "is no gate"),
        ("pass_rate>=90", "pass_rate lies between 0 and 1: write 0.9 or 90%"),
        ("pass_rate>=-0.1", "lies between 0 and 1"),
        ("coverage>=101%", "lies between 0 and 1"),
        ("mean_score>=90%", "mean_score is in units of the score, not a share: leave out the %"),
        ("mean_score>=1e400", "1e400 is too large"),
        ("rate>=0.9", "say of which label, as rate(LABEL)"),
        ("flip_rate( )<=0.1", "say of which perturbation, as flip_rate(PERTURBATION)"),
        ("accuracy(PASS)>=0.9", "accuracy takes nothing in brackets: write accuracy alone"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_expression(text)
    assert sentence in str(caught.value)


@given(st.text(max_size=80))
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    try:
        assert parse_expression(text).metric in METRICS
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 - it need not be raised


@given(st.sampled_from([">=", ">", "<=", "<"]), st.floats(0, 1))
def test_an_operator_is_the_one_of_numbers(operator: str, value: float) -> None:
    bar = 0.5
    expression = parse_expression(f"coverage{operator}{bar}")
    expected = {">=": value >= bar, ">": value > bar, "<=": value <= bar, "<": value < bar}[operator]
    assert expression.holds(value) is expected


@pytest.mark.parametrize("text", ["pass_rate>=1", "pass_rate>=100%", "abstention<=0", "rate(FAIL)<=0%"])
def test_a_bar_no_interval_can_clear_is_refused_unless_the_value_alone_is_looked_at(text: str) -> None:
    with pytest.raises(UsageError, match=r"can never pass: with any number of cases .*--point-estimates"):
        Gates(fail_under=(text,))
    assert Gates(fail_under=(text,), point_estimates=True).listed[0].name == text


def test_a_sequential_gate_that_cannot_pass_is_told_what_can() -> None:
    text = "accuracy>=1"
    with pytest.raises(UsageError, match=r"as accuracy>=0.95, or gate about this suite, .*\(--about suite\)\.$"):
        Gates(fail_under=(text,), sequential=True)
    assert Gates(fail_under=(text,), sequential=True, about="suite").listed[0].name == text


@pytest.mark.parametrize(("text", "why"), [("accuracy>1", "above 1"), ("abstention<0", "below 0")])
def test_a_bar_nothing_can_clear_is_always_refused(text: str, why: str) -> None:
    for points in (False, True):
        with pytest.raises(UsageError, match=f"can never pass: no share is {why}"):
            Gates(fail_under=(text,), point_estimates=points)


def test_a_mean_score_has_no_bounds() -> None:
    assert Gates(fail_under=("mean_score>=1", "mean_score<=0"))


def test_the_limits_are_gates_too() -> None:
    gates = Gates(fail_under=("pass_rate>=0.9",), max_abstention=0.1, min_consistency=0.8)
    assert [gate.name for gate in gates.listed] == ["pass_rate>=0.9", "abstention<=0.1", "consistency>=0.8"]
    assert Gates(fail_under="pass_rate>=0.9").listed == (Gate.of("pass_rate>=0.9"),)  # type: ignore[arg-type]
    for wrong in ({"max_abstention": 10.0}, {"min_consistency": -1.0}):
        with pytest.raises(UsageError, match="is a share from 0 to 1"):
            Gates(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="can never pass"):
        Gates(max_abstention=0)


def test_gates_are_true_where_anything_is_asked() -> None:
    assert not Gates()
    assert not Gates(point_estimates=True)
    assert Gates(require_calibration=True)
    assert Gates(max_abstention=0.5)


def test_options_add_expressions_and_replace_limits() -> None:
    configured = Gates(fail_under=("pass_rate>=0.9",), max_abstention=0.1, require_calibration=True)
    merged = configured.with_options(fail_under=["coverage>=0.5", "pass_rate>=0.9"], max_abstention=0.2)
    assert [gate.name for gate in merged.listed] == ["pass_rate>=0.9", "coverage>=0.5", "abstention<=0.2"]
    assert merged.require_calibration
    assert not configured.with_options(require_calibration=False).require_calibration
    assert configured.with_options() == configured
