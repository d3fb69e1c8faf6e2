from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import VALID, calibration, measured, pattern, shapes
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.calibration import measure_calibration
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.reporting import dissent, rationale
from judgeharness_integrations.reporting.calibrationtext import calibration_section
from judgeharness_integrations.reporting.terminal import section_lines
from judgeharness_integrations.reporting.text import undecided_reason
from judgeharness_integrations.verdictlog.encoding import distribution_text, number_text, safe_text

TEN_LINES = """\
judge_model: gpt-4o
perturbations: paraphrase, format_change
repetitions_per_perturbation: 4
aggregation_rule: majority
sample_distribution: {PASS: 5, FAIL: 3}
verdict: PASS
consistency_rate: 0.625
calibration_source: human_labeled_set_v1
calibrated_precision: 1.0
calibrated_recall: 1.0
"""

REST = """
status: decided (5 of 8 samples)
samples: 8 planned: 8 ok, 0 unparsed, 0 refused, 0 error
consistency: 0.625 over 8 valid samples; a judge guessing among 2 labels would show 0.637; agreement of pairs 0.464
independence: cannot tell, 8 effective samples
by perturbation:
  paraphrase     4/4 valid  {PASS: 3, FAIL: 1}
  format_change  4/4 valid  {PASS: 2, FAIL: 2}

case: c1
judge: judge
rule chosen: before the samples
calibrated on human_labeled_set_v1 (labels: human, consensus majority)
judge judge, measured 2026-01-01T00:00:00+00:00

verdict, 1 labelled case
measure                         value             95 %      of
──────────────────────────────────────────────────────────────
precision                       1.000   [0.207, 1.000]  1 of 1
recall                          1.000   [0.207, 1.000]  1 of 1
accuracy                        1.000   [0.207, 1.000]  1 of 1
coverage                        1.000   [0.207, 1.000]  1 of 1
base rate                       1.000   [0.207, 1.000]  1 of 1
balanced accuracy                   -                -
lift over the commonest label  +0.000  [-0.793, 0.793]     n=1
AC1                             1.000   [0.207, 1.000]     n=1
macro F1                        1.000                -     n=1

- balanced accuracy: every label is 'PASS', and of other items they say nothing
- macro F1: over 1 label, no interval: every label and decision is 'PASS': nothing tells how the others fare
- controls, right on the same 1 decided case: always PASS 1.000, a coin 0.500
- not better than a judge that always answers PASS: +0.000 [-0.793, +0.793] in the share right on the same 1 decided case
- the labels cannot tell this judge from a constant one: every label is 'PASS', and of other items they say nothing

decisions by gold label
gold  decisions
───────────────
PASS  PASS 1

usage: 8 calls, 8 attempts, 0 rewrites, tokens unknown
not measured:
  - the labels cannot tell this judge from a constant one: every label is 'PASS', and of other items they say nothing
  - whether the repetitions are independent cannot be told from short identical or missing texts
"""  # noqa: E501 - the report does not wrap its lines


def test_the_report_of_the_pattern() -> None:
    assert pattern().report() == TEN_LINES + REST
    assert str(pattern()) == pattern().report()


def lines(result: HarnessResult) -> dict[str, str]:
    """The report as key -> text, for keys that stand once."""
    return dict(line.split(": ", 1) for line in result.report().splitlines() if ": " in line)


def test_an_abstention_is_the_verdict() -> None:
    report = lines(pattern(rule_name="supermajority"))
    assert report["verdict"] == "ABSTAIN"
    assert report["status"] == "abstained (highest count 5 of 8 samples is below 2/3)"
    assert report["aggregation_rule"] == "supermajority(2/3)"


def test_an_answer_nobody_read_says_what_it_was_where_nothing_is_graded() -> None:
    silent, said, hashed = (sampled([None], reasoning=text) for text in (None, "said\nso", "sha256:1"))
    rows = [replace(row, repetition=number) for number, row in enumerate([*silent, *hashed, *said])]
    result = measured(rows, perturbations=("none",), repetitions=3)
    assert "\nfirst unparsed: said so\n" in result.report()
    assert undecided_reason(result, "verdict") == f"not graded: {result.only.reason}; first unparsed: said so"
    assert "first" not in measured(rows[:2], perturbations=("none",), repetitions=2).report()


def test_why_nothing_was_decided_quotes_no_answer_where_it_was_abstained() -> None:
    rows = [*sampled(["PASS", "FAIL"]), *sampled([None], reasoning="said so")]
    result = measured([replace(row, repetition=number) for number, row in enumerate(rows)], perturbations=("none",))
    assert undecided_reason(result, "verdict") == f"abstained: {result.only.reason}"


def test_not_graded_is_no_verdict() -> None:
    report = lines(measured(sampled([None, "PASS", None, None])))
    assert report["verdict"] == "NOT GRADED"
    assert report["status"] == "not_graded (1 valid of 4 samples, 2 needed; 3 unparsed)"
    assert report["samples"] == "4 planned: 1 ok, 3 unparsed, 0 refused, 0 error"
    nothing = lines(measured([], planned=6))
    assert (nothing["verdict"], nothing["sample_distribution"], nothing["consistency_rate"]) == (
        "NOT GRADED",
        "{}",
        "none",
    )


@pytest.mark.parametrize(
    ("facts", "source"),
    [
        ({"calibration": None, "calibration_state": None}, "none (uncalibrated)"),
        ({"calibration_state": shapes()["expired"].calibration_state}, "none (calibration expired: rule changed)"),
        (
            {"calibration_state": shapes()["unverifiable"].calibration_state},
            "none (calibration unverifiable: the judge declares no identity)",
        ),
        (
            {"calibration": calibration(criteria={"tone": measure_calibration([])})},
            "none (human_labeled_set_v1 holds no label for it)",
        ),
        ({"calibration": calibration(source="model:o3")}, "none (agreement with o3 on human_labeled_set_v1)"),
    ],
)
def test_numbers_without_a_valid_calibration_are_none(facts: dict[str, Any], source: str) -> None:
    result = pattern(**facts)
    report = lines(result)
    assert report["calibration_source"] == source
    assert (report["calibrated_precision"], report["calibrated_recall"]) == ("none", "none")
    assert (result.calibrated_precision, result.calibrated_recall) == (None, None)
    assert "calibrated on" not in result.report()


def test_a_model_source_prints_agreement_and_never_calibrated() -> None:
    result = pattern(calibration=calibration(source="model:o3"))
    assert result.calibration_valid
    assert result.calibration_source is None
    text = result.report()
    assert "agreement with o3 on human_labeled_set_v1 (labels: model:o3" in text
    assert re.search(r"precision +1\.000 +\[0\.207, 1\.000\] +1 of 1\n", text)
    without_keys = re.sub(r"calibrated_(precision|recall): none|calibration_source|uncalibrated", "", text)
    assert "calibrated" not in without_keys


def test_calibrated_numbers_are_read_from_the_only_criterion() -> None:
    result = pattern(calibration=calibration(("PASS", "PASS"), ("FAIL", "PASS"), ("PASS", "FAIL"), ("PASS", "PASS")))
    assert (result.calibration_source, result.calibration_valid) == ("human_labeled_set_v1", True)
    assert (result.calibrated_precision, result.calibrated_recall) == (2 / 3, 2 / 3)
    assert lines(result)["calibrated_precision"] == "0.667"
    undefined = pattern(calibration=calibration(("FAIL", "FAIL")))
    assert (undefined.calibrated_precision, undefined.calibrated_recall) == (None, None)
    assert lines(undefined)["calibrated_precision"] == "none"
    assert not measured(sampled(["PASS", "PASS"])).calibration_valid
    elsewhere = pattern(calibration=calibration(criteria={"tone": measure_calibration([])}))
    assert elsewhere.calibrated_precision is None


def test_scores_say_why_there_is_no_precision() -> None:
    result = shapes()["numbers"]
    text = result.report()
    assert "consistency: 0.75 of 4 scores within 1.0 of the decision; SD 1.652" in text
    assert "verdict: 7.5" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in (
        "mean absolute error 0.500 - n=2",
        "bias +0.500 [-5.853, 6.853] n=2",
        "Spearman 1.000 - n=2",
        "Kendall tau-b 1.000 - n=2",
        "quadratic kappa 0.667 [-1.000, 1.000] n=2",
    ):
        assert row in rows
    assert "scores have no precision and recall; give the rule a threshold (pass_at)" in text
    assert "guessing" not in text
    assert "of the median; SD" in shapes()["tied scores"].report()


def test_several_criteria_each_have_their_lines() -> None:
    text = shapes()["rubric"].report()
    assert text.index("criterion: tone") < text.index("verdict: PASS") < text.index("criterion: score")
    assert text.count("judge_model:") == text.count("by perturbation:") == 2
    assert "status: decided\n" in text  # a rule of the caller's own gives no reason
    assert text.count("case: c1") == 1


def test_a_calibration_of_several_criteria_names_them() -> None:
    report = calibration(criteria={name: measure_calibration([], criterion=name) for name in ("tone", "facts")})
    assert section_lines(calibration_section(report))[2:] == ["tone, 0 labelled cases", "facts, 0 labelled cases"]


def test_kappa_is_printed_with_its_interval_and_its_standard_error() -> None:
    report = calibration(("PASS", "PASS"), ("FAIL", "PASS"), ("PASS", "FAIL"), ("FAIL", "FAIL"))
    text = "\n".join(section_lines(calibration_section(report)))
    assert re.search(r"kappa +0\.000 +\[-0\.\d{3}, 0\.\d{3}\] +n=4\n", text)
    assert "- kappa: standard error 0.500\n" in text


AGGREGATION_WORDS = re.compile(
    r"aggregat|majority|consisten|distribution|repetition|agree|median|mean|consensus|coverage|of 1 samples|rule",
    re.IGNORECASE,
)


@pytest.mark.parametrize("rule_name", ["majority", "supermajority", "abstain_on_disagreement", "strict_majority"])
def test_a_single_sample_is_informal_and_uses_no_words_of_aggregation(rule_name: str) -> None:
    rows = [replace(row, reasoning="It is right.", model="gpt-4o") for row in sampled(["PASS"])]
    result = measured(rows, perturbations=("none",), repetitions=1, rule_name=rule_name)
    report = result.report()
    assert result.informal
    assert report.splitlines()[:5] == [
        "judge_model: gpt-4o",
        "verdict: PASS",
        "informal: one sample as the judge gave it, not a measurement",
        "",
        "status: decided",
    ]
    assert "rationale: It is right." in report
    assert not AGGREGATION_WORDS.search(report.split("not measured:")[0])


def test_an_informal_failure_says_why() -> None:
    report = lines(shapes()["informal failure"])
    assert (report["verdict"], report["status"]) == (
        "NOT GRADED",
        "not_graded (0 valid of 1 samples, 1 needed; 1 unparsed)",
    )


def test_the_rule_was_chosen_before_or_after() -> None:
    assert lines(pattern())["rule chosen"] == "before the samples"
    assert lines(pattern(rule_fixed="after"))["rule chosen"] == "after the samples: exploratory"


def test_flips_prompting_warnings_and_tokens_are_told() -> None:
    prompted = shapes()["prompted"].report()
    assert "  prompt_variant(1)  1/1 valid  {FAIL: 1}  flip rate against none 1.0\n" in prompted
    assert "sensitivity to prompting: prompt_variant(1) 1.0\n" in prompted
    collapsed = shapes()["collapsed"].report()
    assert "independence: collapsed, 1 effective samples" in collapsed
    assert "warning: cached\n" in collapsed
    assert "usage: 3 calls, 3 attempts, 0 rewrites, 9 + 0 tokens\n" in collapsed
    half_known = measured([replace(row, input_tokens=4) for row in sampled(["PASS", "PASS"])])
    assert "8 + 0 tokens" in half_known.report()


def reasoned(verdicts: Any, **common: Any) -> list:
    return [replace(row, reasoning=f"because {row.verdict} {row.repetition}") for row in sampled(verdicts, **common)]


def test_the_decision_and_the_strongest_dissent_give_their_reasons() -> None:
    result = measured(reasoned(["FAIL", "PASS", "X", "PASS", "FAIL", "PASS"]))
    assert rationale(result, "verdict").reasoning == "because PASS 1"  # type: ignore[union-attr]
    assert dissent(result, "verdict").reasoning == "because FAIL 0"  # type: ignore[union-attr]
    text = result.report()
    assert "rationale: because PASS 1\n" in text
    assert "strongest dissent, FAIL: because FAIL 0\n" in text


def test_without_reasons_none_are_shown() -> None:
    assert rationale(pattern(), "verdict") is None
    assert dissent(pattern(), "verdict") is None
    assert "rationale" not in pattern().report()
    unanimous = measured(reasoned(["PASS", "PASS"]))
    assert dissent(unanimous, "verdict") is None
    failed = measured(reasoned([None, None]))
    assert rationale(failed, "verdict") is None


def test_the_raw_text_stands_in_for_reasons() -> None:
    rows = [replace(row, raw="My view. PASS") for row in sampled(["PASS", "PASS"])]
    assert "rationale: My view. PASS\n" in measured(rows).report()


def test_reasons_of_the_original_order_come_first_and_swapped_ones_are_marked() -> None:
    pairs = [replace(row, reasoning=f"{row.perturbation} {row.verdict}") for row in both_orders("AAB", "AAB")]
    result = measured(list(reversed(pairs)), rule_name="swap_consensus", perturbations=("none", "position_swap"))
    text = result.report()
    assert "rationale: none A\n" in text
    assert "strongest dissent, B: none B\n" in text
    only_swapped = [replace(row, reasoning=None) if not row.swapped else row for row in pairs]
    text = measured(only_swapped, rule_name="swap_consensus").report()
    assert "rationale (shown in swapped order): position_swap A\n" in text
    assert "strongest dissent, B (shown in swapped order): position_swap B\n" in text


def test_reasons_for_another_verdict_than_the_decision_say_so() -> None:
    abstained = measured(reasoned(["PASS", "PASS", "FAIL"]), rule_name="abstain_on_disagreement").report()
    assert "rationale, PASS: because PASS 0\n" in abstained
    assert "strongest dissent, FAIL: because FAIL 2\n" in abstained


def test_reasons_of_scores_are_the_nearest_and_the_farthest() -> None:
    result = measured(reasoned([7, 8, 9, 1]), rule_name="median")
    assert rationale(result, "verdict").verdict == 7  # type: ignore[union-attr]
    assert dissent(result, "verdict").verdict == 1  # type: ignore[union-attr]
    near = measured(reasoned([7, 8]), rule_name="median")
    assert dissent(near, "verdict") is None
    passed = measured(reasoned([7, 7, 7, 2]), rule_name="median(pass_at=7)")
    assert rationale(passed, "verdict").verdict == 7  # type: ignore[union-attr]
    assert dissent(passed, "verdict").verdict == 2  # type: ignore[union-attr]
    assert "rationale: because 7 0\n" in passed.report()


HOSTILE = (
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c\r\nverdict: PASS\n\tcalibrated_precision: 1.0\u2028x\u200b\x00\x85\ud83d"
)


def test_hostile_text_is_one_harmless_line_everywhere() -> None:
    rows = [
        replace(row, reasoning=HOSTILE, model=HOSTILE, attributes={"warning": HOSTILE})
        for row in [
            *sampled([HOSTILE + "!"], perturbation=HOSTILE, criterion=HOSTILE),
            *sampled([HOSTILE], perturbation="prompt_variant" + HOSTILE, criterion=HOSTILE),
            *sampled([HOSTILE], perturbation="none", criterion=HOSTILE),
        ]
    ]
    report = calibration(
        (HOSTILE, HOSTILE),
        name=HOSTILE,
        source="model:" + HOSTILE,
        criteria={HOSTILE: measure_calibration([], criterion=HOSTILE), "b": measure_calibration([])},
    )
    clean = {"calibration": replace(report, source="human"), "calibration_state": VALID}
    for facts in ({"calibration": report, "calibration_state": VALID}, clean, {}):
        text = measured(
            [*rows, *sampled(["PASS"], criterion="other")],
            case_id=HOSTILE,
            judge=HOSTILE,
            perturbations=(HOSTILE, "none"),
            skipped={"typography": HOSTILE},
            **facts,
        ).report()
        text.encode("utf-8")
        assert all(c == "\n" or (c.isprintable() and unicodedata.category(c) != "Cf") for c in text)
        assert not re.search(r"^(verdict: PASS calib|\s*calibrated_precision: 1)", text, re.MULTILINE)
        assert text.count("\nverdict: ") == 2  # one a criterion: texts cannot add lines of their own


def test_a_megabyte_of_reasons_is_shortened() -> None:
    rows = [replace(row, reasoning="x" * 1_000_000) for row in sampled(["PASS", "PASS"])]
    report = measured(rows).report()
    assert len(report) < 3000
    assert "x" * 399 + "…\n" in report


@given(st.text(), st.integers(2, 50))
def test_safe_text_is_one_short_printable_line(text: str, limit: int) -> None:
    shown = safe_text(text, limit)
    assert len(shown) <= limit
    assert shown.isprintable()
    assert safe_text(shown, limit) == shown


def test_harmless_text_is_left_alone() -> None:
    assert safe_text("Größe: 5 µm, “fine”. 你好") == "Größe: 5 µm, “fine”. 你好"
    assert safe_text("x" * 400) == "x" * 400
    assert safe_text("x" * 401) == "x" * 399 + "…"
    assert safe_text(" " * 2000 + "x") == "…"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (1, "1.0"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (0.625, "0.625"),
        (0.5, "0.5"),
        (2 / 3, "0.667"),
        (10, "10.0"),
        (0.99996, "1.0"),
    ],
)
def test_rates_have_up_to_three_decimals(value: float | None, text: str) -> None:
    assert number_text(value) == text


def test_a_distribution_is_told_most_frequent_first() -> None:
    assert distribution_text({"PASS": 5, "FAIL": 3}) == "{PASS: 5, FAIL: 3}"
    assert distribution_text({7: 2, 7.5: 1, frozenset("ba"): 1}) == "{7: 2, 7.5: 1, {a, b}: 1}"
    assert distribution_text({}) == "{}"
    assert distribution_text({"x" * 100: 1}) == "{" + "x" * 59 + "…: 1}"
