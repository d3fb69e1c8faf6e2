"""Reports and documents of samples that were stopped early, and of answers that were re-used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure, remeasure
from judgeharness_integrations.analysis.result import HarnessResult, boundary
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.reporting.text import headline
from judgeharness_integrations.verdictlog.row import VerdictRow

SCHEMA = Draft202012Validator(schema("result-1"))


def stopped(rows: list[VerdictRow], name: str = "majority", *, unasked: str = "00", **facts: Any) -> HarnessResult:
    """A result whose last samples were not asked; `unasked` says of each whether it swaps."""
    planned = len(rows) + len(unasked)
    names = ("none", "position_swap") if rule(name).both_orders else ("none",)
    design = Design(perturbations=names, repetitions=max(1, planned // len(names)), rule=rule(name), curtail=True)
    remaining = [flag == "1" for flag in unasked]
    return measure(rows, **{"case_id": "c1", "judge": "j", "design": design, "remaining": remaining} | facts)


REUSED = [
    replace(row, attempts=0, attributes={"reused_from": "monday", "planned_samples": 5})
    for row in sampled(["PASS", "PASS", "PASS", "PASS", "FAIL"])
]
TWO_LABELS = stopped(sampled(["FAIL", "PASS", "PASS", "PASS"]), unasked="0")
SHAPES = {
    "two labels": TWO_LABELS,
    "three labels": stopped(sampled(["A", "A", "TIE"]), unasked="", label_counts={"verdict": 3}),
    "pairs": stopped(both_orders("AAA", "AA"), "swap_consensus", unasked="1"),
    "scores": stopped(sampled([7, 7.0, 7]), "median"),
    "pass_at": stopped(sampled([7, 8, 9]), "median(pass_at=5)"),
    "abstained": stopped(sampled(["PASS", "FAIL"]), "abstain_on_disagreement", unasked="00"),
    "no quorum": stopped(sampled([None] * 3)),
    "interrupted": stopped(sampled(["PASS"]), unasked="0000", state="interrupted"),
    "interrupted before the first": stopped([], unasked="00000", state="budget_exhausted", planned=5),
    "another rule": remeasure(TWO_LABELS, "strict_majority"),
    "another rule that needs more": remeasure(TWO_LABELS, "supermajority(1)"),
    "a rule without bounds": remeasure(stopped(sampled([7, 7, 7]), "median"), "mean"),
    "reused": stopped(REUSED, unasked=""),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stopped_result_comes_back_equal_and_follows_the_schema(shape: str) -> None:
    result = SHAPES[shape]
    document = json.loads(json.dumps(result.to_dict(rows=True), allow_nan=False))
    SCHEMA.validate(document)
    SCHEMA.validate(result.to_dict())
    again = HarnessResult.from_dict(document)
    assert again == result
    assert str(again) == str(result)
    assert again.to_dict(rows=True) == document


@given(st.lists(st.sampled_from(["A", "B", "TIE", None]), min_size=1, max_size=6), st.text("01", max_size=4), st.data())
def test_whatever_was_stopped_comes_back_equal(verdicts: Any, unasked: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["majority", "swap_consensus", "net_preference", "supermajority(2/3) | median"]))
    flags = data.draw(st.lists(st.booleans(), min_size=len(verdicts), max_size=len(verdicts)))
    rows = [replace(row, swapped=flag) for row, flag in zip(sampled(verdicts), flags, strict=True)]
    result = stopped(rows, name, unasked=unasked)
    assert HarnessResult.from_dict(json.loads(json.dumps(result.to_dict(rows=True)))) == result


def test_documents_from_before_there_was_early_stopping_are_read() -> None:
    result = measure(
        sampled("AAB"),
        case_id="c",
        judge="j",
        design=Design(perturbations=("none",), repetitions=3, rule=rule("majority")),
    )
    document = json.loads(json.dumps(result.to_dict(rows=True)))
    assert "unasked" not in document
    for name in ("taken", "censored", "unbiased_rate"):
        del document["criteria"]["verdict"][name]
    for name in ("curtail", "stopping_rule"):
        del document["design"][name]
    del document["usage"]["reused"]
    SCHEMA.validate(document)
    assert HarnessResult.from_dict(document) == result


def test_the_document_says_what_was_left_out() -> None:
    document = SHAPES["pairs"].to_dict()
    assert document["unasked"] == [True]
    criterion = document["criteria"]["verdict"]
    assert (criterion["planned"], criterion["taken"], criterion["censored"]) == (6, 5, True)
    assert (criterion["chance_consistency"], criterion["agreement"]) == (None, None)
    assert TWO_LABELS.to_dict()["criteria"]["verdict"]["unbiased_rate"] == 2 / 3
    assert SHAPES["another rule"].to_dict()["design"]["stopping_rule"] == "majority"


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("unasked",), []),
        (("unasked",), [0]),
        (("criteria", "verdict", "agreement"), 0.5),
        (("criteria", "verdict", "chance_consistency"), 0.5),
        (("criteria", "verdict", "unbiased_rate"), 1.5),
        (("design", "curtail"), "yes"),
        (("usage", "reused"), -1),
    ],
)
def test_the_schema_refuses_what_a_stopped_result_cannot_be(place: tuple[str, ...], wrong: Any) -> None:
    document = json.loads(json.dumps(TWO_LABELS.to_dict(rows=True)))
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = wrong
    with pytest.raises(ValidationError):
        SCHEMA.validate(document)


@pytest.mark.parametrize(
    ("place", "wrong", "named"), [("unasked", [1], "unasked"), ("curtail", 1, "design"), ("stopping_rule", 7, "design")]
)
def test_a_damaged_value_is_named(place: str, wrong: Any, named: str) -> None:
    document = json.loads(json.dumps(TWO_LABELS.to_dict(rows=True)))
    (document if place in document else document["design"])[place] = wrong
    with pytest.raises(ConfigError, match=f"its '{named}' is not what a result holds there"):
        HarnessResult.from_dict(document)


def test_the_report_says_where_sampling_stopped() -> None:
    report = TWO_LABELS.report().splitlines()
    assert "status: decided (3 of 5 samples; settled after 4 of 5 samples)" in report
    assert "stopped early: 4 of 5 planned samples; distribution censored" in report
    assert "unbiased rate of PASS: 0.667" in report
    assert "consistency: 0.75 over 4 valid samples; with early stopping it has no chance level" in report
    assert "unbiased rate of A: 0.667" in stopped(sampled("BAAA"), unasked="0").report()
    whole = SHAPES["three labels"].report()
    assert "stopped early" not in whole
    assert "unbiased" not in whole
    assert "consistency: 0.667 over 3 valid samples; with early stopping it has no chance level" in whole
    assert "consistency: 1.0 of 3 scores within 1.0 of the decision; SD 0.0" in SHAPES["scores"].report()


def test_the_headline_says_where_sampling_stopped() -> None:
    assert headline(TWO_LABELS, "verdict").startswith("3 PASS, 1 FAIL of 5 (stopped early after 4) · majority")
    assert headline(SHAPES["interrupted"], "verdict").startswith("NOT GRADED · 1 PASS of 5 (1 asked) · ")


def test_samples_that_were_not_needed_hold_no_missing_verdict() -> None:
    told = boundary(TWO_LABELS)
    assert "consistency of all 5 samples of verdict: 4 settled the decision" in told
    assert not any("hold no verdict" in sentence for sentence in told)
    assert "3 of 3 samples of verdict hold no verdict" in boundary(SHAPES["no quorum"])
    assert "4 of 5 samples of verdict hold no verdict" in boundary(SHAPES["interrupted"])


def test_reused_calls_are_told_apart_from_calls() -> None:
    usage = next(line for line in SHAPES["reused"].report().splitlines() if line.startswith("usage: "))
    assert usage == "usage: 0 calls, 0 attempts, 0 rewrites, tokens unknown, 5 calls re-used from run monday"
    assert "re-used" not in TWO_LABELS.report()
    other = replace(REUSED[0], repetition=9, attributes={"reused_from": "tue\nsday"})
    several = stopped([REUSED[0], other], unasked="", planned=2).report()
    assert "2 calls re-used from runs monday, tue sday" in several
    assert "1 call re-used from run monday" in stopped(REUSED[:1], unasked="0").report()
