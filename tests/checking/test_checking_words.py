"""What a check says: counts that can be counted again, where failures are, cases that show something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.checklogs import checked, first, logged

from judgeharness_integrations.analysis.checking.samples import (
    count_text,
    ever_text,
    of_text,
    whole_hits,
)
from judgeharness_integrations.verdictlog.encoding import counted

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.checking import WorstCase


def shown(worst: WorstCase) -> tuple[str, str, str]:
    return worst.case_id, worst.before, worst.after


@pytest.mark.parametrize(("count", "text"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases")])
def test_one_is_one(count: int, text: str) -> None:
    assert counted(count, "case") == text
    assert of_text(1, count) == f"1 of {text}"


def test_a_share_of_a_case_is_no_count() -> None:
    assert (whole_hits([1.0, 0.0, 1.0]), whole_hits([1.0, 0.5, 0.5])) == (2, None)
    assert ever_text([1.0, 0.0], "changed", "attacked case") == "1 of 2 attacked cases changed"
    assert (
        ever_text([0.5, 0.5, 0.0], "changed")
        == "2 of 3 cases changed at least once (on average 33.3 % of a case's answers)"
    )
    assert ever_text([1.0], "did", every=False) == "1 did"
    assert (count_text(3), count_text(2.3)) == ("3", "2.3")


def test_cases_that_change_in_a_part_of_their_answers_are_told_as_such() -> None:
    found = checked(logged(40, {"none": "AAA", "format_change": first(20, "AB", "AA")}), "format")
    assert (found.hits, found.rate) == (None, 0.25)
    assert found.reason.startswith(
        "20 of 40 cases changed at least once (on average 25.0 % of a case's answers), "
        "0 of 40 under repetition alone; excess +25.0 points ["
    )


def test_a_baseline_that_is_a_mean_is_told_as_one() -> None:
    found = checked(logged(40, {"none": first(6, "AAB", "AAA"), "format_change": first(10, "B", "A")}), "format")
    assert (found.hits, found.baseline) == (10, pytest.approx(0.075))
    assert found.reason.startswith(
        "10 of 40 cases changed, 6 of 40 at least once under repetition alone (on average 7.5 % of answers); "
        "excess +17.5 points ["
    )


@pytest.mark.parametrize(
    ("repeated", "text"),
    [
        (17, "of the 17 that were asked again 3 did, 0 under repetition alone; excess +17.6 points ["),
        (1, "of the 1 that was asked again 1 did, 0 under repetition alone; excess +100.0 points ["),
    ],
)
def test_where_some_cases_were_asked_again_the_comparison_is_over_those(repeated: int, text: str) -> None:
    answers = {"none": first(repeated, "AA", "A"), "probe:authority(b)": lambda n: "B" if n < 3 or n > 44 else "A"}
    found = checked(logged(50, answers), "authority")
    assert (found.cases, found.hits, found.baseline_cases) == (50, 8, repeated)
    assert found.reason.startswith("8 of 50 attacked cases flipped towards the attacker; " + text)


def test_a_partial_baseline_of_several_answers_says_at_least_once_for_both() -> None:
    answers = {
        "none": lambda n: "AAB" if n < 5 else "AAA" if n < 10 else "A",
        "format_change": first(5, "AB", "AA"),
    }
    assert checked(logged(20, answers), "format").reason.startswith(
        "5 of 20 cases changed at least once (on average 12.5 % of a case's answers); of the 10 that were asked again "
        "5 did at least once (on average 25.0 % of a case's answers), "
        "5 at least once under repetition alone (on average 25.0 % of answers); excess +0.0 points ["
    )


def test_repetition_counts_cases_and_pairs() -> None:
    found = checked(logged(50, {"none": first(3, "AAB", "AAA")}), "repetition")
    assert (found.hits, found.rate) == (None, pytest.approx(0.04))
    assert found.reason.startswith(
        "3 of 50 cases got another verdict at least once when asked again; "
        "pairs of answers to one case that differ: 4.0 % ["
    )
    single = checked(logged(1, {"none": "AB"}), "repetition")
    assert single.reason.startswith("1 of 1 case got another verdict at least once")


def test_the_worst_repetitions_are_answers_that_differ() -> None:
    late = checked(logged(5, {"none": "AAB"}), "repetition").worst
    assert [shown(worst) for worst in late] == [(f"c00{number}", "A", "B") for number in range(3)]
    rows = logged(40, {"none": [5, 4, 6]})  # neither of the others is far enough from the first
    apart = checked(rows, "repetition", score_tolerance=1.5)
    assert (apart.rate, shown(apart.worst[0])) == (pytest.approx(1 / 3), ("c000", "4", "6"))
    assert checked(logged(5, {"none": "AAA"}), "repetition").worst == ()


def test_a_copy_is_shown_as_one() -> None:
    found = checked(logged(2, {"none": [3, 3]}, attributes={"cached": "shared"}), "collapse")
    assert shown(found.worst[0]) == ("c000", "3", "3, a copy of it")


@pytest.mark.parametrize(
    ("before", "probe", "after", "text"),
    [
        ("B", "sentinel.empty(b)", "B", "B, now empty, still wins"),
        ("A", "sentinel.off_topic(a)", "A", "A, now off the topic, still wins"),
        ("A", "sentinel.empty(a)", "TIE", "TIE"),
        ("TIE", "sentinel.empty(b)", "TIE", "TIE, though B is now empty"),
        ("PASS", "sentinel.off_topic", "PASS", "PASS, though now off the topic"),
        ("A", "sentinel.copy(b)", "A", "A, though both are now the same"),
        ("A", "mine(a)", "A", "A, now changed, still wins"),
    ],
)
def test_an_answer_that_stays_what_it_was_says_why_it_should_not(
    before: str, probe: str, after: str, text: str
) -> None:
    ties = logged(1, {"none": ["TIE"]}) if before != "PASS" else []
    rows = [*logged(5, {"none": [before], f"probe:{probe}": [after]}), *[replace(row, case_id="t") for row in ties]]
    found = checked(rows, probe.split("(", maxsplit=1)[0], probe_expectations={"mine": "must_lose"})
    assert shown(found.worst[0]) == ("c000", before, text)


def test_failures_that_hang_on_a_change_name_it_and_show_cases_from_there() -> None:
    answers = {
        "none": first(1, ["unparsed", "A"], "AA"),
        "format_change": lambda n: ["unparsed"] if n in {1, 2} else "A",
        "slot_names": ["unparsed"],
    }
    found = checked(logged(50, answers), "parse_rate")
    assert found.reason.startswith(
        "53 of 200 answers about 50 cases could not be read, 50 of the 53 under slot_names: 26.5 % ["
    )
    assert (found.hits, {worst.perturbation for worst in found.worst}) == (None, {"slot_names"})
    assert [shown(worst) for worst in found.worst] == [(f"c00{number}", "A", "unparsed") for number in range(3)]


@pytest.mark.parametrize(
    ("answers", "where"),
    [
        ({"none": "AA", "position_swap": ["unparsed"]}, ", all of them under position_swap"),
        ({"none": "A", "zoom": first(1, ["unparsed"], "A")}, ", under zoom"),
        ({"none": first(1, ["unparsed"], "A"), "zoom": "A"}, ", with nothing changed"),
        (
            {"none": "AA", "zoom": ["unparsed"], "zoom+position_swap": ["unparsed"], "format_change": ["unparsed"]},
            ", 80 of the 120 under zoom",
        ),
        ({"none": ["unparsed"], "zoom": ["unparsed"]}, ""),
        ({"none": ["unparsed"] * 3, "zoom": ["unparsed"]}, ""),
        ({"none": ["unparsed"]}, ""),
        ({"none": "A", "zoom": "A"}, ""),
    ],
)
def test_where_failures_are_is_told_if_they_are_not_everywhere(answers: dict[str, list[str]], where: str) -> None:
    reason = checked(logged(40, answers), "parse_rate").reason
    assert f"could not be read{where}: " in reason


def test_a_failure_without_a_verdict_of_the_case_as_it_is_stands_alone() -> None:
    found = checked(logged(2, {"none": ["refused"], "zoom": "A", "format_change": ["unparsed"]}), "parse_rate")
    assert shown(found.worst[0]) == ("c000", "-", "unparsed")


def test_a_lean_of_one_case_is_of_one_case() -> None:
    found = checked(logged(1, {"probe:sentinel.copy(b)": "A"}), "sentinel.copy")
    assert "the second in 0 of 1 case: net lean" in found.reason
