"""One test a sentence: it is there when the fact is, and only then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.measured import EXPIRED, TOLD, VALID, calibration, measured, pattern, shapes
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.calibration import measure_calibration
from judgeharness_integrations.analysis.result import HarnessResult, boundary

EVERY_PROBE = ("none", "position_swap", "format_change", "paraphrase")
VARIED = [replace(row, raw=f"text {n}") for n, row in enumerate(sampled(["PASS"] * 4))]


def whole(rows: list | None = None, **facts: Any) -> HarnessResult:
    """A result about which nothing is left to say."""
    complete: dict[str, Any] = {
        "perturbations": EVERY_PROBE,
        "calibration": calibration(*TOLD),
        "calibration_state": VALID,
        "model_families": ("openai", "anthropic"),
    }
    return measured(VARIED if rows is None else rows, **complete | facts)


def test_what_was_measured_needs_no_sentence() -> None:
    assert boundary(whole()) == ()


SENTENCES: list[tuple[str, HarnessResult]] = [
    ("uncalibrated: how often this rule is right was not measured", whole(calibration=None, calibration_state=None)),
    (
        "uncalibrated: the calibration on human_labeled_set_v1 is expired: rule changed",
        whole(calibration_state=EXPIRED),
    ),
    (
        "uncalibrated: agreement with o3, the labels are a model's, not people's",
        whole(calibration=calibration(source="model:o3")),
    ),
    (
        "verdict is uncalibrated: human_labeled_set_v1 holds no label for it",
        whole(calibration=calibration(criteria={"tone": measure_calibration([])})),
    ),
    ("rule chosen after the samples: exploratory", whole(rule_fixed="after")),
    (
        "position bias was not measured: the order of the answers was never swapped",
        whole([replace(row, verdict="TIE") for row in VARIED], perturbations=("none", "format_change", "paraphrase")),
    ),
    ("sensitivity to formatting was not measured", whole(perturbations=("none", "paraphrase"))),
    ("sensitivity to wording was not measured", whole(perturbations=("none", "format_change"))),
    ("typography was skipped: there are no quotes", whole(skipped={"typography": "there are no quotes."})),
    ("the judge's own noise was not measured: one sample per perturbation", whole(repetitions=1)),
    ("one sample: neither noise nor bias of the judge was measured", whole(VARIED[:1], repetitions=1)),
    ("the run did not finish: budget exhausted", whole(state="budget_exhausted")),
    ("the run did not finish: interrupted", whole(state="interrupted")),
    ("1 of 5 samples of verdict hold no verdict", whole([*VARIED, *sampled([None], perturbation="paraphrase")])),
    ("1 of 5 samples of verdict hold no verdict", whole(planned=5)),
    (
        "repetitions collapsed (identical long texts): 1 effective of 4 samples",
        whole([replace(row, raw="long" * 100) for row in VARIED]),
    ),
    (
        "whether the repetitions are independent cannot be told from short identical or missing texts",
        whole([replace(row, raw=None) for row in VARIED]),
    ),
    (
        "the evaluator's own parser read 2 answers differently",
        whole([*VARIED[:2], *(replace(row, attributes={"parser_conflict": 1}) for row in VARIED[2:])]),
    ),
    (
        "judge and author share a model family (openai): self-preference was not measured",
        whole(model_families=("openai", "anthropic", "openai")),
    ),
]


@pytest.mark.parametrize(("sentence", "result"), SENTENCES, ids=[sentence for sentence, _ in SENTENCES])
def test_a_fact_gives_its_sentence_and_no_other(sentence: str, result: HarnessResult) -> None:
    assert boundary(result) == (sentence,)


def test_a_swapped_pair_needs_no_sentence_about_position() -> None:
    pairs = [replace(row, raw=f"{n}") for n, row in enumerate(both_orders("AAB", "AAA"))]
    assert boundary(whole(pairs, calibration=calibration(*[("A", "A"), ("B", "B")] * 8))) == ()
    never_swapped = boundary(whole(VARIED, perturbations=("none", "format_change", "paraphrase")))
    assert never_swapped == ()  # PASS and FAIL have no position


@pytest.mark.parametrize("name", ["format_change", "whitespace", "typography", "whitespace+position_swap"])
def test_any_change_of_form_measures_formatting(name: str) -> None:
    assert boundary(whole(perturbations=("none", "paraphrase", name))) == ()


@pytest.mark.parametrize(
    "name", ["paraphrase", "prompt_variant", "prompt_variant(2)", "position_swap+prompt_variant(1)"]
)
def test_any_rewording_measures_wording(name: str) -> None:
    assert boundary(whole(perturbations=("none", "format_change", name))) == ()


def test_a_skipped_change_was_not_measured() -> None:
    sentences = boundary(whole(skipped={"format_change": "no Markdown"}))
    assert sentences == ("sensitivity to formatting was not measured", "format_change was skipped: no Markdown")


def test_more_rows_than_planned_are_no_failure() -> None:
    assert boundary(whole(planned=3)) == ()


def test_unknown_families_share_nothing() -> None:
    assert boundary(whole(model_families=(None, None))) == ()
    assert boundary(whole(model_families=("openai",))) == ()
    assert boundary(whole(model_families=())) == ()


def test_a_sentence_about_several_criteria_stands_once() -> None:
    rows = [*sampled(["PASS", "PASS"], criterion="a"), *sampled(["PASS", "PASS"], criterion="b")]
    told = calibration(*TOLD).criteria["verdict"]
    both = calibration(criteria={"a": told, "b": told})
    assert boundary(whole(rows, calibration=both)) == (
        "whether the repetitions are independent cannot be told from short identical or missing texts",
    )


def test_the_document_and_the_report_carry_the_same_sentences() -> None:
    for result in shapes().values():
        sentences = boundary(result)
        assert result.to_dict()["not_measured"] == list(sentences)
        assert all(f"  - {sentence}" in result.report() for sentence in sentences)
    why = "every label is 'PASS', and of other items they say nothing"
    assert boundary(pattern()) == (
        f"the labels cannot tell this judge from a constant one: {why}",
        "whether the repetitions are independent cannot be told from short identical or missing texts",
    )
