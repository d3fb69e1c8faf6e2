"""Answers with probabilities as rows: every option goes where its verdict goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from judgeharness_integrations import Criterion, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.judging.perturbations import Perturbation
from judgeharness_integrations.testing import RecordedJudge

PAIR = PairwiseCase(case_id="pair", input="Which?", output="first", output_b="second")


class Deciding:
    """Answers with the same probabilities about the slots it is shown."""

    name = "deciding"
    identity = None
    retested = 0.05

    def __init__(self, *answers: Answer, criteria: tuple[Criterion, ...] | None = None) -> None:
        self.answers, self.criteria = answers, criteria
        self.asked: list[tuple[str, str, int]] = []

    async def judge(self, probe: Probe) -> Judgment:
        self.asked.append((probe.case_id, probe.perturbation.name, probe.repetition))
        return Judgment(answers=self.answers)


def likely(shares: Mapping[str, float], verdict: Any, **facts: Any) -> Answer:
    return Answer(verdict=verdict, probabilities=shares, **facts)


def measured(answer: Answer, perturbations: Sequence[str | Perturbation] = ("none",), **options: Any) -> HarnessResult:
    arguments: dict[str, Any] = {"repetitions": 1, "aggregation_rule": "majority"}
    judge = Deciding(answer)
    return JudgeHarness(perturbations=perturbations, **(arguments | options)).evaluate(judge, PAIR)


def test_a_swap_takes_each_probability_to_its_answer() -> None:
    result = measured(likely({"A": 0.7, "B": 0.2, "TIE": 0.1}, "A"), ["none", "position_swap"])
    shown, swapped = result.rows
    assert (shown.verdict, shown.probabilities) == ("A", {"A": 0.7, "B": 0.2, "TIE": 0.1})
    assert (swapped.verdict, swapped.probabilities) == ("B", {"B": 0.7, "A": 0.2, "TIE": 0.1})


def test_swapping_twice_changes_nothing() -> None:
    result = measured(likely({"A": 0.7, "B": 0.3}, "A"), ["position_swap+position_swap"])
    assert result.rows[0].probabilities == {"A": 0.7, "B": 0.3}


def test_levels_of_a_score_stay_where_they_are() -> None:
    result = measured(likely({"1": 0.5, "2": 0.5}, 1.5), ["position_swap"], aggregation_rule="median")
    assert (result.rows[0].verdict, result.rows[0].probabilities) == (1.5, {"1": 0.5, "2": 0.5})


def test_a_reversed_scale_takes_levels_back_as_numbers() -> None:
    reversed_scale = Perturbation("reversed", lambda case: case, restore=lambda verdict, _: 6 - verdict)  # type: ignore[operator]
    result = measured(likely({"1": 0.25, "5": 0.75}, 4.0), [reversed_scale], aggregation_rule="median")
    assert (result.rows[0].verdict, result.rows[0].probabilities) == (2.0, {"5": 0.25, "1": 0.75})


def test_two_options_that_are_restored_to_one_are_a_failed_call() -> None:
    merged = Perturbation("merged", lambda case: case, restore=lambda _verdict, _: "A")
    row = measured(likely({"A": 0.7, "B": 0.3}, "A"), [merged]).rows[0]
    assert row.outcome == "error"
    assert "restored two options to one" in str(row.error)


def test_without_a_most_probable_label_the_row_answers_without_a_verdict() -> None:
    result = measured(likely({"A": 0.5, "B": 0.5}, None))
    row = result.rows[0]
    assert (row.outcome, row.verdict, row.ok, row.answered) == ("ok", None, False, True)
    assert result.status == "abstained"
    assert result.reason == "no sample holds a verdict"


def test_a_refusal_keeps_no_probabilities() -> None:
    row = measured(likely({"A": 0.5, "B": 0.5}, None, outcome="refused")).rows[0]
    assert (row.outcome, row.probabilities) == ("refused", None)


def test_malformed_probabilities_are_a_failed_call() -> None:
    row = measured(likely({"A": 0.5, "B": 0.1}, "A")).rows[0]
    assert row.outcome == "error"
    assert "must sum to 1" in str(row.error)


def test_options_in_lower_case_change_places_too() -> None:
    shown, swapped = measured(likely({"a": 0.9, "b": 0.1}, "a"), ["none", "position_swap"]).rows
    assert (shown.verdict, shown.probabilities) == ("A", {"A": 0.9, "B": 0.1})
    assert (swapped.verdict, swapped.probabilities) == ("B", {"B": 0.9, "A": 0.1})
    even = measured(likely({"a": 0.5, "b": 0.5}, None), ["position_swap"]).rows[0]
    assert (even.criterion, even.outcome, even.probabilities) == ("verdict", "ok", {"B": 0.5, "A": 0.5})


def test_options_that_no_swap_can_undo_are_no_answer() -> None:
    for shares in ({"left": 0.9, "right": 0.1}, {"A": 0.6, "a": 0.3, "b": 0.1, "none": 0.0}):
        row = measured(likely(shares, "A"), ["position_swap"]).rows[0]
        assert (row.outcome, row.probabilities) == ("unparsed", None)
        assert "which is not A, B or TIE" in str(row.reasoning)
    twice = measured(likely({"A": 0.6, "a": 0.4}, "A"), ["position_swap"]).rows[0]
    assert (twice.outcome, twice.reasoning) == ("unparsed", "answered about one option twice: A, a")


@pytest.mark.parametrize(
    ("criterion", "answer"),
    [
        (Criterion(name="verdict", labels=("PASS", "FAIL")), likely({"A": 0.9, "B": 0.1}, "PASS")),
        (Criterion(name="verdict", labels=("PASS", "FAIL")), likely({"A": 0.5, "B": 0.5}, None)),
        (Criterion(name="verdict", scale=(1, 5)), likely({"1": 0.5, "99": 0.5}, 3)),
        (Criterion(name="verdict", scale=(1, 5)), likely({"good": 0.5, "bad": 0.5}, 3)),
    ],
)
def test_options_that_were_not_declared_are_no_answer(criterion: Criterion, answer: Answer) -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority | median")
    row = harness.evaluate(Deciding(answer, criteria=(criterion,)), PAIR).rows[0]
    assert (row.verdict, row.outcome, row.probabilities) == (None, "unparsed", None)
    assert "which is not declared" in str(row.reasoning)


def test_a_hundred_zeros_are_no_probabilities() -> None:
    criterion = Criterion(name="verdict", scale=(0, 100))
    zeros = likely({str(level): 0.0 for level in range(101)}, 3)
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="expected_score")
    row = harness.evaluate(Deciding(zeros, criteria=(criterion,)), PAIR).rows[0]
    assert row.outcome == "error"
    assert "must sum to 1, not 0" in str(row.error)


def test_a_recorded_judge_answers_with_them_in_the_frame_shown() -> None:
    harness = JudgeHarness(perturbations=["none", "position_swap"], repetitions=1, aggregation_rule="majority")
    first = harness.evaluate(Deciding(likely({"A": 0.7, "B": 0.3}, "A")), PAIR)
    again = harness.evaluate(RecordedJudge(first.rows, name="deciding"), PAIR)
    assert [row.probabilities for row in again.rows] == [row.probabilities for row in first.rows]


def test_a_result_is_rebuilt_with_its_probabilities() -> None:
    result = measured(likely({"A": 0.5, "B": 0.5}, None), ["none", "position_swap"])
    assert HarnessResult.from_dict(result.to_dict(rows=True)) == result


def test_a_preset_asks_once_a_perturbation_and_one_case_in_twenty_again() -> None:
    judge = Deciding(likely({"PASS": 0.9, "FAIL": 0.1}, "PASS"))
    cases = [{"case_id": f"c{n}"} for n in range(1, 61)]
    harness = JudgeHarness.standard("labels", on_unfit="skip")
    results = list(harness.evaluate_many(judge, cases))
    assert {case for case, name, _ in judge.asked if name == "retest"} == {"c20", "c40", "c60"}
    assert {repetition for *_, repetition in judge.asked} == {0}
    assert {len(result.rows) for result in results} == {1}
    assert {result.design.retested for result in results} == {0.05}
    assert {result.design.repetitions for result in results} == {1}


def test_repetitions_that_somebody_wrote_win() -> None:
    judge = Deciding(likely({"PASS": 0.9, "FAIL": 0.1}, "PASS"))
    JudgeHarness.standard("labels", repetitions=2, on_unfit="skip").evaluate(judge, {"case_id": "c"})
    assert judge.asked == [("c", "none", 0), ("c", "none", 1)]


def test_whether_a_single_case_is_asked_again_is_drawn_by_its_id() -> None:
    judge = Deciding(likely({"PASS": 0.9, "FAIL": 0.1}, "PASS"))
    harness = JudgeHarness.standard("labels", on_unfit="skip")
    for number in range(400):
        harness.evaluate(judge, {"case_id": f"c{number}"})
    again = sum(name == "retest" for _, name, _ in judge.asked)
    assert 8 <= again <= 36  # 20 are expected


def test_a_retest_that_was_asked_for_is_not_added_twice() -> None:
    judge = Deciding(likely({"PASS": 0.9, "FAIL": 0.1}, "PASS"))
    cases = [{"case_id": f"c{n}"} for n in range(1, 21)]
    harness = JudgeHarness.standard("labels", perturbations=["none", "retest"])
    list(harness.evaluate_many(judge, cases))
    assert len(judge.asked) == 40


def test_a_quorum_is_no_more_than_what_is_asked() -> None:
    judge = Deciding(likely({"PASS": 0.9, "FAIL": 0.1}, "PASS"))
    design = JudgeHarness.standard("labels", min_valid=4).design_for(judge)
    assert (design.min_valid, design.repetitions, design.retested) == (2, 1, 0.05)
    assert JudgeHarness.standard("labels", curtail=True).design_for(judge).retested == 0


def test_identical_repeats_count_as_one_sample() -> None:
    result = measured(likely({"A": 0.7, "B": 0.3}, "A"), repetitions=3)
    assert result.only.independence.status == "collapsed"
    assert result.only.independence.effective == 1
    assert result.only.independence.evidence == ("identical probabilities",)


@pytest.mark.parametrize(
    ("said", "verdict", "shares"),
    [
        ({"probabilities": {"PASS": 0.8, "FAIL": 0.2}}, "PASS", {"PASS": 0.8, "FAIL": 0.2}),
        ({"verdict": "PASS", "probabilities": {"PASS": 0.4, "FAIL": 0.6}}, "PASS", {"PASS": 0.4, "FAIL": 0.6}),
        ({"probabilities": {"1": 0.5, "4": 0.5}, "reasoning": "so"}, 2.5, {"1": 0.5, "4": 0.5}),
        ({"probabilities": {"PASS": 0.8}}, None, None),
        ({"verdict": None, "probabilities": None}, None, None),
    ],
)
def test_a_plain_function_answers_with_probabilities(said: Any, verdict: Any, shares: Any) -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority | median")
    (row,) = harness.evaluate(lambda _: said, {"case_id": "c"}).rows
    assert (row.verdict, row.probabilities) == (verdict, shares)
    assert row.outcome == ("unparsed" if verdict is None else "ok")


def test_probabilities_beside_other_fields_are_each_criterion_s_own() -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    said = {"tone": {"probabilities": {"PASS": 0.9, "FAIL": 0.1}}, "fact": "FAIL"}
    rows = harness.evaluate(lambda _: said, {"case_id": "c"}).rows
    found = {row.criterion: (row.verdict, row.probabilities) for row in rows}
    assert found == {"tone": ("PASS", {"PASS": 0.9, "FAIL": 0.1}), "fact": ("FAIL", None)}


@pytest.mark.parametrize("name", ["none", "retest"])
def test_names_of_unchanged_cases_round_trip(name: str) -> None:
    harness = JudgeHarness(perturbations=[name, "position_swap"], repetitions=1, aggregation_rule="majority")
    assert harness.design.perturbations == (name, "position_swap")
