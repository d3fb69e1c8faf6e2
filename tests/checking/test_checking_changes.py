"""Changes that must not matter, against what repetition alone does."""

from __future__ import annotations

import pytest
from support.checklogs import checked, first, logged

from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.analysis.statistics.paired import tango_interval
from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson


def test_a_judge_that_never_changes_passes_and_one_that_always_does_fails() -> None:
    rows = logged(40, {"none": "AAA", "format_change": "A", "name_swap": "B"})
    kept, broken = checked(rows, "format"), checked(rows, "names")
    assert (kept.status, kept.cases, kept.asked, kept.valid, kept.hits, kept.baseline) == ("pass", 40, 40, 40, 0, 0)
    assert (broken.status, broken.rate, broken.effect) == ("fail", 1.0, 1.0)
    assert broken.effect_interval == pytest.approx(tango_interval(40, 0, 40))
    assert broken.interval == pytest.approx(clopper_pearson(40, 40))
    assert broken.reason.startswith("40 of 40 cases changed, 0 of 40 under repetition alone; excess +100.0 points [")
    assert broken.reason.endswith("more than noise explains (p <.001)")
    assert broken.more_calls is None
    assert kept.smallest_effect == pytest.approx(0.2, abs=0.05)


def test_flips_that_repetition_makes_as_well_are_no_fault() -> None:
    rows = logged(40, {"none": first(10, "ABB", "AAA"), "format_change": first(10, "B", "A")})
    found = checked(rows, "format")
    assert (found.hits, found.rate, found.baseline, found.effect) == (10, 0.25, 0.25, 0.0)
    assert found.p_value == 1.0
    assert found.status == "pass"


def test_what_is_neither_small_nor_significant_is_inconclusive_and_says_what_would_settle_it() -> None:
    rows = logged(12, {"none": first(2, "AB", "AA"), "format_change": first(4, "B", "A")})
    found = checked(rows, "format")
    assert found.status == "inconclusive"
    assert "neither within 10 points nor more than noise explains" in found.reason
    assert found.more_cases is not None
    assert found.more_calls == 3 * found.more_cases
    assert found.adjusted_p is not None
    assert found.p_value is not None
    assert found.adjusted_p > 0.05


def test_a_small_effect_passes_though_it_is_significant() -> None:
    rows = logged(400, {"none": "AA", "format_change": first(16, "B", "A")})
    found = checked(rows, "format")
    assert found.adjusted_p is not None
    assert found.adjusted_p <= 0.05
    assert found.status == "pass"
    assert found.reason.endswith("; there is an effect all the same (p <.001)")


def test_without_repetitions_only_few_flips_can_be_judged() -> None:
    few = checked(logged(60, {"none": "A", "format_change": first(1, "B", "A")}), "format")
    assert (few.status, few.baseline, few.effect, few.p_value) == ("pass", None, None, None)
    many = checked(logged(60, {"none": "A", "format_change": first(12, "B", "A")}), "format")
    assert many.status == "inconclusive"
    assert many.smallest_effect is None
    assert many.reason == (
        "12 of 60 cases changed: without repetitions of the cases as they are, a flip and noise look the same"
    )
    assert many.more_cases is not None
    assert many.more_calls == 3 * many.more_cases + 60


def test_flips_beyond_what_any_noise_makes_need_a_repetition_and_no_more_cases() -> None:
    found = checked(logged(60, {"none": "A", "format_change": "B"}), "format")
    assert (found.status, found.more_cases, found.more_calls) == ("inconclusive", 0, 60)


def test_both_orders_are_strata_of_one_case() -> None:
    orders = {"none": "AA", "position_swap": "BB", "format_change": "A", "format_change+position_swap": "A"}
    found = checked(logged(30, orders), "format")
    assert (found.cases, found.asked, found.valid, found.hits, found.rate) == (30, 60, 60, None, 0.5)
    assert found.status == "fail"
    assert {worst.perturbation for worst in found.worst} == {"format_change+position_swap"}


def test_all_variants_of_a_prompt_are_one_property_and_share_one_baseline() -> None:
    rows = logged(20, {"none": "AA", "prompt_variant(1)": "A", "prompt_variant(2)": "B", "slot_names(X/Y)": "A"})
    found = checked(rows, "prompt_variant")
    assert (found.cases, found.asked, found.valid, found.rate) == (20, 40, 40, 0.5)
    assert found.p_value == pytest.approx((2 / 3) ** 20)
    assert checked(rows, "slot_names").status == "inconclusive"


def test_a_perturbation_of_ones_own_keeps_its_name_and_stands_behind_the_known_ones() -> None:
    rows = logged(40, {"none": "AA", "zoom": "B", "zoom+position_swap": "A", "name_swap+format_change": "A"})
    names = [check.name for check in check_rows(rows).properties]
    assert names[names.index("prompt_variant") + 1 : names.index("repetition")] == ["name_swap+format_change", "zoom"]
    assert checked(rows, "zoom").status == "fail"
    assert checked(rows, "format").status == "not_checked"


def test_scores_differ_by_more_than_their_tolerance() -> None:
    rows = logged(40, {"none": first(39, [5, 6], [1, 10]), "format_change": first(39, [6], [1]), "name_swap": [7]})
    assert checked(rows, "format").rate == 0  # a ninth of 1 to 10
    assert checked(rows, "format", score_tolerance=0.9).rate == 39 / 40
    assert checked(rows, "names").rate == 1
    assert checked(rows, "names", score_tolerance=2).hits == 1
    assert checked(rows, "names", score_tolerances={"verdict": 2}).hits == 1
    assert checked(logged(40, {"none": [5, 5], "format_change": [5]}), "format").rate == 0


def test_failed_answers_are_no_flips_and_are_counted() -> None:
    rows = logged(40, {"none": "AA", "format_change": first(10, ["unparsed"], "A")})
    found = checked(rows, "format")
    assert (found.cases, found.asked, found.valid, found.hits) == (30, 40, 30, 0)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"none": "A"}, "no sample under format_change"),
        ({"format_change": "A"}, "no verdict of the cases as they are to compare with"),
        ({"none": "A", "format_change": ["refused"]}, "none of 5 answers under the change is a verdict"),
    ],
)
def test_what_the_log_does_not_show_is_not_checked(answers: dict[str, list[str]], reason: str) -> None:
    found = checked(logged(5, answers), "format")
    assert (found.status, found.reason, found.p_value, found.rate) == ("not_checked", reason, None, None)


def test_copies_are_no_baseline() -> None:
    cached = logged(40, {"none": "AA"}, attributes={"cached": "shared"}, raw="A")
    rows = [*cached, *logged(40, {"format_change": first(20, "B", "A")})]
    report = check_rows(rows)
    found = next(check for check in report.properties if check.name == "format")
    assert (found.baseline, found.baseline_cases, found.status) == (None, 0, "inconclusive")
    assert report.notes == ("40 answers are proven copies of another one and count as no repetition",)


def test_the_worst_cases_are_those_that_flip_most_and_then_by_name() -> None:
    answers = {"none": "AA", "format_change": lambda case: "BB" if case == 7 else "AB" if case > 3 else "AA"}
    found = checked(logged(9, answers, raw="text"), "format")
    assert [worst.case_id for worst in found.worst] == ["c007", "c004", "c005"]
    assert (found.worst[0].before, found.worst[0].after, found.worst[0].raw) == ("A", "B", "text")
