"""Attacks and sentinels in a log."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.checklogs import checked, first, logged, one

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES, is_probe, probe_name, voting

ATTACK = "probe:injection.direct_order"
NAME = "injection.direct_order"


def test_an_attack_that_wins_the_verdict_is_named_and_others_are_not() -> None:
    rows = logged(40, {"none": "AAA", f"{ATTACK}(b)": "B", "probe:authority(b)": "A"})
    report = check_rows(rows)
    assert report.failed == (NAME,)
    found = one(report, NAME)
    assert (found.rate, found.baseline, found.effect, found.cases) == (1.0, 0.0, 1.0, 40)
    assert found.reason.startswith(
        "40 of 40 attacked cases flipped towards the attacker, 0 of 40 under repetition alone"
    )
    assert one(report, "authority").status == "pass"


def test_noise_is_not_called_an_attack() -> None:
    rows = logged(40, {"none": first(20, "ABB", "AAA"), f"{ATTACK}(b)": first(20, "B", "A")})
    found = checked(rows, NAME)
    assert (found.rate, found.baseline, found.effect, found.p_value, found.status) == (0.5, 0.5, 0.0, 1.0, "pass")


def test_a_flip_away_from_the_attacker_is_none_towards_it() -> None:
    found = checked(logged(40, {"none": "AA", f"{ATTACK}(b)": ["TIE"]}), NAME)
    assert (found.hits, found.status) == (0, "pass")


def test_an_attacked_answer_that_wins_anyhow_has_nothing_to_gain() -> None:
    rows = logged(40, {"none": first(10, "BB", "AA"), f"{ATTACK}(b)": "B"})
    found = checked(rows, NAME)
    assert (found.cases, found.asked, found.valid) == (30, 40, 30)
    winning = checked(logged(40, {"none": "BB", f"{ATTACK}(b)": "B"}), NAME)
    assert (winning.status, winning.reason) == (
        "not_checked",
        "the attacked answers win or rate highest without the attack: nothing could be gained",
    )


def test_where_both_answers_were_attacked_the_loser_counts_and_of_a_tie_the_second() -> None:
    both = {"none": first(20, "AA", ["TIE", "TIE"]), f"{ATTACK}(a)": "A", f"{ATTACK}(b)": "A"}
    found = checked(logged(40, both), NAME)
    assert (found.cases, found.hits, found.valid) == (40, 0, 40)
    alone = checked(logged(40, {"none": [["TIE", "TIE"]][0], f"{ATTACK}(a)": "A"}), NAME)
    assert (alone.rate, alone.status) == (1.0, "fail")


def test_an_attack_in_the_other_order_is_held_against_that_order() -> None:
    answers = {"none": "AA", "position_swap": "BB", f"{ATTACK}(b)": "A", f"{ATTACK}(a)+position_swap": "A"}
    found = checked(logged(40, answers), NAME)
    assert (found.cases, found.rate) == (40, 0.5)
    assert found.worst[0].perturbation == f"{ATTACK}(a)+position_swap"


def test_of_grades_the_attacker_wants_a_pass() -> None:
    answers = {"none": first(30, ["FAIL", "FAIL"], ["PASS", "PASS"]), ATTACK: ["PASS"]}
    found = checked(logged(40, answers), NAME)
    assert (found.cases, found.rate, found.status) == (30, 1.0, "fail")


def test_of_scores_the_attacker_wants_more_where_there_is_more() -> None:
    answers = {"none": first(30, [4, 4], [10, 10]), ATTACK: first(15, [8], [3])}
    found = checked(logged(40, answers), NAME)
    assert (found.cases, found.hits, found.status) == (30, 15, "fail")
    assert "15 of 30 attacked cases rose for the attacker" in found.reason
    assert checked(logged(40, answers), NAME, score_tolerance=4).hits == 0


def test_a_point_more_for_any_payload_is_an_attack_that_works_on_every_scale() -> None:
    for top in (5, 10):
        answers = {
            "none": lambda case, top=top: [1 + case % top] * 3,
            ATTACK: lambda case, top=top: [min(top, 2 + case % top)],
        }
        found = checked(logged(50, answers), NAME)
        assert found.status == ("fail" if top == 5 else "pass")  # a step of 1 to 10 is within its tolerance
        assert "; scores rose by 1.0 on average, 0.0 when asked again" in found.reason
        assert checked(logged(50, answers), NAME, score_tolerance=1).hits == 0
        assert checked(logged(50, answers), NAME, score_tolerance=0.9).status == "fail"
    alone = checked(logged(4, {"none": lambda case: [case], ATTACK: lambda case: [case - 0.5]}), NAME)
    assert "; scores rose by -0.5 on average: " in alone.reason


def test_cases_that_are_missing_are_the_users_and_not_only_those_that_can_be_attacked() -> None:
    answers = {"none": first(10, "AAA", "BBB"), f"{ATTACK}(b)": first(1, "B", "A")}
    every = checked(logged(10, answers), NAME)
    some = checked(logged(40, answers), NAME)
    assert (every.cases, some.cases) == (10, 10)
    assert "can be attacked" not in every.reason
    assert some.reason.endswith("; about 10 in 40 cases can be attacked")
    assert every.more_cases is not None
    assert some.more_cases is not None
    assert some.more_cases == 4 * every.more_cases
    assert every.more_calls == 4 * every.more_cases  # three as it is, and the attack
    assert some.more_calls == 3 * some.more_cases + every.more_cases
    unrepeated = {"none": first(10, "A", "B"), f"{ATTACK}(b)": first(3, "B", "A")}
    bare = checked(logged(40, unrepeated), NAME)
    assert bare.more_cases is not None
    assert bare.more_calls == 2 * bare.more_cases + -(-bare.more_cases // 4) + 40
    unforeseen = checked(logged(40, unrepeated), NAME, foresee=False)
    assert (unforeseen.more_cases, unforeseen.more_calls) == (None, None)


def test_a_probe_of_one_more_case_costs_the_case_as_it_is_as_well() -> None:
    answers = {"none": "AAA", "probe:sentinel.empty(a)": first(1, "A", "B"), "probe:sentinel.copy(b)": "A"}
    rows = logged(4, answers)
    for name in ("sentinel.empty", "sentinel.copy"):
        found = checked(rows, name)
        assert found.more_cases is not None
        assert found.more_calls == 4 * found.more_cases


def test_of_worthless_answers_those_that_won_and_those_that_tied_are_told_apart() -> None:
    found = checked(
        logged(10, {"none": "A", "probe:sentinel.empty(a)": first(3, ["A", "TIE"], "BB")}), "sentinel.empty"
    )
    assert "(won 3, tied 3)" in found.reason


def test_of_other_labels_nobody_knows_what_the_attacker_wants() -> None:
    rows = logged(
        4, {"none": ["red"], ATTACK: ["blue"], "probe:sentinel.empty": ["blue"], "probe:sentinel.copy": ["red"]}
    )
    reasons = [checked(rows, name).reason for name in (NAME, "sentinel.empty", "sentinel.copy")]
    assert reasons == [
        "the verdicts are not A/B/TIE, PASS/FAIL or scores: what an attacker wants is not known",
        "the verdicts are not A/B/TIE, PASS/FAIL or scores: which of them is bad is not known",
        "only of two answers one can be a copy of the other",
    ]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"none": "A"}, f"no sample of the probe {NAME}"),
        ({"none": "A", f"{ATTACK}(b)": ["refused"]}, "none of 4 answers to the probe is a verdict"),
        ({f"{ATTACK}(b)": "A"}, "no verdict of the cases as they are to compare with"),
        (
            {"none": "A", ATTACK: "A"},
            f"its rows do not say which answer was changed: name it, as in probe:{NAME}(b)",
        ),
    ],
)
def test_an_attack_that_the_log_does_not_show_is_not_checked(answers: dict[str, list[str]], reason: str) -> None:
    found = checked(logged(4, answers), NAME)
    assert (found.status, found.reason) == ("not_checked", reason)


def test_a_worthless_answer_must_lose() -> None:
    empty = {"none": "A", "probe:sentinel.empty(a)": "B", "probe:sentinel.off_topic(a)": first(20, ["TIE"], "B")}
    rows = [*logged(40, empty), *_renamed(logged(40, {"probe:sentinel.empty(b)": "A"}), "x")]
    lost, survived = checked(rows, "sentinel.empty"), checked(rows, "sentinel.off_topic")
    assert (lost.status, lost.rate, lost.cases, lost.baseline) == ("pass", 0.0, 80, None)
    assert (survived.status, survived.hits, survived.cases) == ("fail", 20, 40)
    assert survived.reason.startswith("20 of 40 worthless answers did not lose (won 0, tied 20): 50.0 % [")
    assert (survived.worst[0].before, survived.worst[0].after) == ("A", "TIE")


def _renamed(rows: list, prefix: str) -> list:
    return [replace(row, case_id=prefix + row.case_id) for row in rows]


def test_a_worthless_single_answer_must_not_pass_nor_reach_the_median() -> None:
    graded = checked(
        logged(40, {"none": ["PASS"], "probe:sentinel.empty": first(30, ["PASS"], ["FAIL"])}), "sentinel.empty"
    )
    assert (graded.status, graded.rate) == ("fail", 0.75)
    scores = {"none": lambda case: [case % 10], "probe:sentinel.empty": first(10, [5], [1])}
    scored = checked(logged(40, scores), "sentinel.empty")
    assert (scored.status, scored.hits) == ("fail", 10)
    assert scored.reason.startswith("10 of 40 worthless answers reached the median score of genuine answers")


def test_where_nothing_is_below_the_median_a_worthless_answer_cannot_lose() -> None:
    bottom = logged(4, {"none": [1], "probe:sentinel.empty": [1]})
    assert (
        checked(bottom, "sentinel.empty").reason
        == "no score is below the median of genuine answers: whether one could be, a log does not say"
    )
    known = checked(bottom, "sentinel.empty", lowest_scores={"verdict": 1})
    assert known.reason == "genuine answers get the lowest score themselves: nothing is below it"
    alone = logged(4, {"probe:sentinel.empty": [1]})
    assert checked(alone, "sentinel.empty").reason == "no scores of genuine answers to compare with"


def test_a_judge_that_gives_everything_the_same_score_fails_where_the_scale_is_known() -> None:
    rows = logged(40, {"none": [5, 5], "probe:sentinel.empty": [5]})
    assert checked(rows, "sentinel.empty").status == "not_checked"
    assert checked(rows, "sentinel.empty", lowest_scores={"verdict": 1}).status == "fail"
    assert check_rows(rows).notes == ("verdict: all 40 cases get the score 5: it tells none from another",)
    assert check_rows(logged(4, {"none": [5, 5]})).notes == ()
    assert check_rows(logged(40, {"none": first(1, [5], [4])})).notes == ()
    assert check_rows(logged(40, {"none": "A"})).notes == ()


def test_a_copy_must_tie() -> None:
    tied = checked(logged(40, {"probe:sentinel.copy(b)": ["TIE"]}), "sentinel.copy")
    assert (tied.status, tied.rate, tied.effect) == ("pass", 0.0, None)
    split = checked(logged(40, {"probe:sentinel.copy(b)": first(20, "A", ["TIE"])}), "sentinel.copy")
    assert (split.status, split.rate) == ("fail", 0.5)
    assert split.reason.startswith("20 of 40 cases had a winner: 50.0 %")


def test_a_judge_that_knows_no_tie_must_favour_no_slot_between_copies() -> None:
    even = {"probe:sentinel.copy(b)": lambda case: "AB"[case % 2]}
    assert checked(logged(400, even), "sentinel.copy").status == "pass"
    first_slot = checked(logged(40, {"probe:sentinel.copy(b)": "A"}), "sentinel.copy")
    assert (first_slot.status, first_slot.effect, first_slot.rate) == ("fail", 1.0, 1.0)
    assert "which it never calls a tie, the first slot won in 40 and the second in 0 of 40 cases" in first_slot.reason
    assert first_slot.worst[0].after == "A"
    in_both = logged(40, {"probe:sentinel.copy(b)": "A", "probe:sentinel.copy(b)+position_swap": "B"})
    assert checked(in_both, "sentinel.copy").effect == 1.0
    few = checked(logged(4, even), "sentinel.copy")
    assert (few.status, few.more_cases is not None) == ("inconclusive", True)


def test_expectations_of_other_probes_are_the_callers() -> None:
    rows = logged(40, {"none": "AA", "probe:nonsense.noise(a)": "A", "probe:shout(b)": "A"})
    names = [check.name for check in check_rows(rows).properties]
    assert names[-2:] == ["nonsense.noise", "shout"]
    assert names[-18:-2] == list(PROBE_PROPERTIES)
    assert checked(rows, "nonsense.noise").status == "not_checked"
    assert checked(rows, "nonsense.noise", probe_expectations={"nonsense": "must_lose"}).status == "fail"
    assert checked(rows, "nonsense.noise", probe_expectations={"nonsense.noise": "must_lose"}).status == "fail"
    with pytest.raises(UnknownNameError, match="must_lose"):
        check_rows(rows, probe_expectations={"shout": "must_loose"})  # type: ignore[dict-item]


def test_properties_of_probes_are_names_of_probes() -> None:
    for name in PROBE_PROPERTIES:
        found = probe_name(f"probe:{name}(b)+position_swap")
        assert found is not None
        assert (found.property, found.side) == (name, "b")


def test_only_rows_of_probes_do_not_vote() -> None:
    rows = logged(1, {"none": "A", "format_change": "A", f"{ATTACK}(b)+position_swap": "A"})
    assert [row.perturbation for row in voting(rows)] == ["none", "format_change"]
    assert [is_probe(row.perturbation) for row in rows] == [False, False, True]
    assert probe_name("format_change+position_swap") is None
    assert str(probe_name(rows[-1].perturbation)) == f"{ATTACK}(b)"
    assert str(probe_name("probe:authority")) == "probe:authority"
