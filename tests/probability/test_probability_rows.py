"""Rows with probabilities, read as labelled answers, as repeats, and as changes under perturbations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from judgeharness_integrations import VerdictRow
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability.forecasts import (
    LabelledRows,
    labelled_rows,
    rows_band,
    rows_changes,
)
from judgeharness_integrations.analysis.probability.measuring import question_passports


def row(case_id: str, p: float | None, **more: object) -> VerdictRow:
    if p is None:
        return VerdictRow(case_id=case_id, verdict=None, outcome="refused", **more)  # type: ignore[arg-type]
    answer = {"PASS": p, "FAIL": 1 - p}
    verdict = None if p == 0.5 else max(answer, key=answer.__getitem__)
    return VerdictRow(case_id=case_id, verdict=verdict, probabilities=answer, **more)  # type: ignore[arg-type]


def read(rows: list[VerdictRow], **more: Any) -> LabelledRows:
    found = labelled_rows(rows, **more)
    assert found is not None
    return found


def test_perturbations_that_do_not_vote_are_left_out() -> None:
    rows = [row("a", 0.8, gold="PASS"), row("a", 0.2, gold="PASS", perturbation="negated")]
    assert read(rows, votes={"none"}).forecasts.probabilities[0, 0] == pytest.approx(0.8)
    assert read(rows).forecasts.probabilities[0, 0] == pytest.approx(0.5)


def test_cases_are_read_with_the_mean_of_their_orders_and_their_labels() -> None:
    rows = [
        row("a", 0.8, gold="yes"),
        row("a", 0.6, gold="yes", perturbation="swap", swapped=True),
        row("a", 0.0, gold="yes", perturbation="retest"),
        row("b", 0.5, gold="no"),
        row("c", 0.3),
        row("d", None, gold="yes"),
    ]
    found = labelled_rows(rows)
    assert found is not None
    assert found.places == (("", "a"), ("", "b"))
    assert (found.unlabelled, found.unanswered) == (1, 1)
    assert found.forecasts.options == ("PASS", "FAIL")
    assert found.forecasts.probabilities[:, 0].tolist() == pytest.approx([0.7, 0.5])
    assert found.forecasts.labels[:, 0].tolist() == [1, 0]


def test_labels_of_people_who_disagree_are_soft_and_go_before_gold() -> None:
    rows = [row("a", 0.8, gold="PASS"), row("b", 0.2)]
    found = read(rows, labels={"a": {"PASS": 0.45, "FAIL": 0.55}, "b": {"FAIL": 1.0}})
    assert found.forecasts.labels[:, 0].tolist() == [0.45, 0.0]


def test_soft_labels_are_read_in_any_words_for_an_option() -> None:
    found = read([row("a", 0.8)], labels={"a": {"PASS": 0.25, "yes": 0.2, "no": 0.55}, "b": {"elsewhere": 1.0}})
    assert found.forecasts.labels[0].tolist() == pytest.approx([0.45, 0.55])


def test_cases_of_one_cluster_belong_together() -> None:
    rows = [row(name, 0.8, gold="PASS", attributes={"cluster": "x"}) for name in "abc"] + [row("d", 0.1, gold="FAIL")]
    assert len(set(read(rows).forecasts.clusters)) == 2


def test_levels_of_a_score_are_labelled_with_numbers() -> None:
    levels = {"0": 0.2, "2": 0.3, "3": 0.5}
    rows = [
        VerdictRow(case_id=name, verdict=2.3, probabilities=levels, gold=gold) for name, gold in (("a", 3.0), ("b", 0))
    ]
    assert read(rows).forecasts.labels.tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("gold", ["good", "B"])
def test_a_label_that_is_no_option_is_named(gold: str) -> None:
    with pytest.raises(UsageError, match=f"the label '{gold}' is none of the options PASS, FAIL"):
        labelled_rows([row("a", 0.8, gold="PASS"), row("b", 0.8, gold=gold)])


@pytest.mark.parametrize("rows", [[], [row("a", 0.8)], [VerdictRow(case_id="a", verdict="PASS", gold="PASS")]])
def test_nothing_to_compare_is_none(rows: list[VerdictRow]) -> None:
    assert labelled_rows(rows) is None


def test_two_gold_labels_of_a_case_are_an_error() -> None:
    with pytest.raises(UsageError, match="two gold labels"):
        labelled_rows([row("a", 0.8, gold="PASS"), row("a", 0.7, gold="FAIL", repetition=1)])


def test_the_band_is_made_of_retests_and_repetitions_of_the_very_same() -> None:
    rows = [
        row("a", 0.5),
        row("a", 0.6, perturbation="retest"),
        row("b", 0.5, perturbation="swap", swapped=True),
        row("b", 0.5, perturbation="swap", swapped=True, repetition=1),
        row("b", 0.9),
        row("c", None),
    ]
    band = rows_band(rows)
    assert band is not None
    assert band.n == 2
    assert band.change.value == pytest.approx(0.05)
    assert band.identical.value == 0.5
    assert rows_band(rows[4:]) is None


def test_changes_are_those_beyond_the_band_and_probes_are_none() -> None:
    random = np.random.default_rng(1)
    rows = []
    for case, p in enumerate(random.uniform(0.2, 0.7, 20)):
        rows += [row(f"case {case}", p), row(f"case {case}", p + 0.2, perturbation="paraphrase")]
        rows += [row(f"case {case}", p + random.uniform(0, 0.02), perturbation="retest")]
        rows += [row(f"case {case}", 0.99, perturbation="probe:injection.direct_order(A)")]
    rows += [row("alone", 0.5, perturbation="paraphrase")]
    changes = rows_changes(rows)
    assert list(changes) == ["paraphrase"]
    change = changes["paraphrase"]
    assert (change.n, change.change.value) == (20, pytest.approx(0.2))
    assert change.excess is not None
    assert change.excess.low is not None
    assert 0.15 < change.excess.low <= change.excess.value < 0.2
    order = [rows[place] for place in random.permutation(len(rows))]
    again = rows_changes(order)["paraphrase"].excess
    assert again is not None
    assert (again.value, again.low) == (pytest.approx(change.excess.value), pytest.approx(change.excess.low))


def test_a_passport_names_a_label_that_is_no_option_and_shows_no_form_without_a_band() -> None:
    rows = [row("a", 0.5), row("a", 0.7, perturbation="paraphrase")]
    [question] = question_passports(rows)
    assert (question.noise, question.forms, question.trust) == (None, (), None)
    with pytest.raises(UsageError, match="the label 'TIE' is none of the options PASS, FAIL"):
        question_passports([*rows, row("b", 0.9, gold="TIE")])


def test_without_repeats_the_excess_is_not_measured() -> None:
    rows = [row("a", 0.5), replace(row("a", 0.7), perturbation="paraphrase")]
    change = rows_changes(rows)["paraphrase"]
    assert change.change.value == pytest.approx(0.2)
    assert (change.band, change.excess, change.bound) == (None, None, None)
