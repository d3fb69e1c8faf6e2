"""Position: the lean to one slot, and flips with the order beyond those under repetition."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.checklogs import checked, first, logged

from judgeharness_integrations.analysis.statistics.paired import mcnemar_detectable, tango_interval
from judgeharness_integrations.analysis.statistics.proportions import sign_test


def test_a_judge_that_always_takes_the_first_leans() -> None:
    found = checked(logged(40, {"none": "AAA", "position_swap": "B"}), "position")
    assert (found.status, found.effect, found.rate, found.baseline) == ("fail", 1.0, 1.0, 0.0)
    assert found.p_value == pytest.approx(2 / 3**40, rel=1e-9)  # of 3 further samples the one in the other order flips
    assert found.effect_interval == pytest.approx(tango_interval(40, 0, 40))
    assert "40 lean to the first slot and 0 to the second, net +100.0 points" in found.reason
    assert found.reason.endswith("judged by the lean: more than chance explains (p <.001)")


def test_a_lean_to_the_second_slot_is_negative() -> None:
    found = checked(logged(40, {"none": "B", "position_swap": "A"}), "position")
    assert found.smallest_effect == pytest.approx(mcnemar_detectable(40, alpha=0.05 / 3 / 2))
    assert (found.status, found.effect) == ("fail", -1.0)
    assert found.p_value == pytest.approx(2 * (sign_test(0, 40) or 0), rel=1e-9)


def test_the_worst_cases_of_a_lean_are_those_that_lean() -> None:
    rows = logged(40, {"none": first(2, "BB", "AA"), "position_swap": first(2, "A", "B")})
    found = checked(rows, "position")
    assert [(worst.case_id, worst.before, worst.after) for worst in found.worst] == [
        (f"c{number:03}", "A", "B") for number in (2, 3, 4)
    ]


def test_flips_in_both_directions_are_no_lean_but_depend_on_the_order() -> None:
    rows = logged(40, {"none": first(20, "AAAA", "BBBB"), "position_swap": first(20, "BB", "AA")})
    found = checked(rows, "position")
    assert (found.status, found.effect, found.p_value) == ("fail", 1.0, pytest.approx(2 / 10**40, rel=0.1))
    assert "judged by the flips" in found.reason
    assert "20 lean to the first slot and 20 to the second" in found.reason
    assert (found.asked, found.valid) == (80, 80)


def test_a_judge_that_looks_at_the_answers_passes() -> None:
    found = checked(logged(60, {"none": first(30, "AAA", "BBB"), "position_swap": first(30, "A", "B")}), "position")
    assert (found.status, found.effect, found.p_value) == ("pass", 0.0, 1.0)
    assert "judged by" not in found.reason


def test_noise_is_no_position_bias() -> None:
    noisy = {"none": lambda case: "AABB"[case % 4] + "ABAB"[case % 4], "position_swap": lambda case: "ABBA"[case % 4]}
    found = checked(logged(400, noisy), "position")
    assert (found.rate, found.baseline, found.effect, found.p_value) == (0.5, 0.5, 0.0, 1.0)
    assert found.status == "pass"


def test_without_repetitions_a_lean_is_seen_and_flips_are_not_judged() -> None:
    balanced = {"none": first(100, "A", "B"), "position_swap": lambda case: "BA"[case < 90 or 100 <= case < 110]}
    found = checked(logged(200, balanced), "position")
    assert (found.status, found.effect, found.baseline) == ("inconclusive", 0.0, None)
    assert found.reason.endswith("without repetitions of the cases as they are, a flip and noise look the same")
    assert found.more_calls is not None
    assert found.more_calls >= 200


def test_a_lean_that_is_open_itself_wants_more_than_a_repetition() -> None:
    found = checked(logged(8, {"none": first(2, "A", "B"), "position_swap": "B"}), "position")
    assert found.status == "inconclusive"
    assert found.reason.endswith("the effect of the order is neither within 10 points nor more than chance explains")
    assert found.more_cases
    assert (found.more_calls or 0) > 8


def test_a_lean_proven_to_be_small_fails_nothing_however_significant() -> None:
    answers = {"none": lambda case: "B" if 60 <= case < 90 else "A", "position_swap": first(60, "B", "A")}
    found = checked(logged(1000, answers), "position")
    assert (found.status, found.effect, found.rate) == ("inconclusive", pytest.approx(0.03), 0.09)
    assert found.adjusted_p is not None
    assert found.adjusted_p < 0.05
    assert found.reason.endswith("a flip and noise look the same")


def test_failed_samples_leave_no_other_without_its_partner() -> None:
    found = checked(logged(40, {"none": ["refused", "A"], "position_swap": "B"}), "position")
    assert found.effect == 1.0


def test_ties_are_no_lean() -> None:
    found = checked(logged(40, {"none": ["TIE", "TIE"], "position_swap": "A"}), "position")
    assert (found.effect, found.status) == (1.0, "fail")
    assert "judged by the flips" in found.reason


def test_scores_and_grades_in_another_order_have_flips_alone() -> None:
    found = checked(logged(40, {"none": [3, 3], "position_swap": [8]}), "position")
    assert (found.status, found.effect) == ("fail", 1.0)
    assert "lean" not in found.reason


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"none": "AB"}, "no sample under position_swap"),
        ({"none": "A", "position_swap": ["unparsed"]}, "no case has a verdict in both orders"),
    ],
)
def test_one_order_alone_shows_nothing(answers: dict[str, list[str]], reason: str) -> None:
    found = checked(logged(4, answers), "position")
    assert (found.status, found.reason) == ("not_checked", reason)


def test_few_cases_are_inconclusive_and_both_questions_want_settling() -> None:
    found = checked(logged(8, {"none": first(3, "AA", "BB"), "position_swap": first(2, "B", "B")}), "position")
    assert found.status == "inconclusive"
    assert found.more_cases is not None
    assert found.reason.endswith("the effect of the order is neither within 10 points nor more than chance explains")


def test_three_cases_with_many_samples_each_are_too_few_to_fail() -> None:
    answers = {"none": first(1, "BBB", "AAA"), "position_swap": first(1, "AAA", "BBB")}
    few = checked(logged(3, answers), "position")
    assert (few.status, few.effect) == ("inconclusive", 1.0)
    assert few.adjusted_p == pytest.approx(0.008)
    assert few.effect_interval is not None
    assert few.effect_interval[0] < 0
    assert few.reason.endswith(
        "significant, but in too few cases to speak of others: the interval of the effect holds 0 (p .008)"
    )
    assert (few.more_cases, few.more_calls) == (1, 6)
    assert checked(logged(4, answers), "position").status == "fail"
    assert checked(logged(3, answers), "position", foresee=False).more_cases is None


def test_a_lean_that_is_proven_to_be_small_does_not_speak_louder() -> None:
    swapped = logged(
        400, {"none": "A", "position_swap": lambda case: "B" if case < 15 else "T" if case >= 360 else "A"}
    )
    rows = [replace(row, verdict="TIE") if row.verdict == "T" else row for row in swapped]
    found = checked(rows, "position")
    assert found.status == "inconclusive"
    assert "without repetitions" in found.reason
    assert "louder" not in found.reason
