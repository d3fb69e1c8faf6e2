"""Repetition, collapse, answers that cannot be read and answers that are refused."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from support.checklogs import checked, first, logged, one

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.analysis.checking.samples import UNREPEATED
from judgeharness_integrations.analysis.statistics.proportions import above_test, clopper_pearson
from judgeharness_integrations.testing.checking.judge import check_judge
from judgeharness_integrations.verdictlog.row import VerdictRow

LONG = "because " * 40


def test_a_judge_that_repeats_itself_passes_and_one_that_does_not_fails() -> None:
    steady = checked(logged(40, {"none": "AAA"}), "repetition")
    assert (steady.status, steady.rate, steady.cases, steady.valid) == ("pass", 0.0, 40, 120)
    noisy = checked(logged(40, {"none": first(20, "AB", "AA")}), "repetition")
    assert (noisy.status, noisy.hits, noisy.rate) == ("fail", 20, 0.5)
    assert noisy.p_value == pytest.approx(above_test(20, 40, 0.1))
    assert noisy.interval == pytest.approx(clopper_pearson(20, 40))
    assert noisy.reason.startswith(
        "20 of 40 cases got another verdict at least once when asked again; "
        "pairs of answers to one case that differ: 50.0 %"
    )
    assert noisy.reason.endswith("above 10.0 %, not by chance (p <.001)")
    assert noisy.effect is None


def test_repetition_is_the_mean_over_all_that_a_case_was_asked_several_times() -> None:
    found = checked(logged(10, {"none": "AAB", "format_change": "AA", "zoom": "A"}), "repetition")
    assert (found.rate, found.asked) == (pytest.approx(1 / 3), 50)
    assert found.worst[0].perturbation == "none"
    assert (found.worst[0].before, found.worst[0].after) == ("A", "B")


def test_repetitions_of_scores_may_lie_as_far_apart_as_they_are_told() -> None:
    rows = logged(40, {"none": [5, 6, 8]})
    assert checked(rows, "repetition").rate == 1  # a third of a point, of the three seen
    assert checked(rows, "repetition", score_tolerance=1).rate == pytest.approx(2 / 3)
    assert checked(rows, "repetition", score_tolerance=3).rate == 0


def test_probes_are_no_repetitions() -> None:
    found = checked(logged(4, {"none": "A", "probe:authority(b)": "AB"}), "repetition")
    assert (found.status, found.reason) == ("not_checked", UNREPEATED)


def test_repetitions_that_failed_were_asked_and_are_not_there() -> None:
    rows = logged(4, {"none": ["A", "error", "error"]})
    assert [checked(rows, name).reason for name in ("repetition", "collapse")] == [UNREPEATED] * 2


def test_of_few_cases_nothing_is_known_but_how_many_are_missing() -> None:
    found = checked(logged(10, {"none": "AAA"}), "repetition")
    assert (found.status, found.more_cases, found.more_calls) == ("inconclusive", 26, 78)
    assert found.reason.endswith("neither within 10.0 % nor clearly above")


def test_copies_of_an_answer_are_no_repetition_of_it_and_a_fault() -> None:
    rows = logged(3, {"none": "AAA"}, attributes={"response_id": "r1"})
    repetition, collapse = checked(rows, "repetition"), checked(rows, "collapse")
    assert (repetition.status, repetition.reason) == ("not_checked", "every repetition is a copy of the first answer")
    assert (collapse.status, collapse.hits, collapse.cases) == ("fail", 3, 3)
    assert collapse.reason == "in 3 of 3 cases repetitions are copies of one answer (repeated response id in 3)"
    assert collapse.worst[0].case_id == "c000"
    assert collapse.p_value is None


def test_an_id_that_different_answers_share_is_no_proof_of_copies() -> None:
    same = logged(10, {"none": first(4, "AB", "AA")}, attributes={"response_id": "chatcmpl-1"})
    assert checked(same, "repetition").cases == 4
    assert (checked(same, "collapse").hits, checked(same, "collapse").cases) == (6, 10)
    told = [_with(row, raw=f"{row.verdict}, {row.case_id}, {row.repetition}") for row in same]
    assert (checked(told, "repetition").cases, checked(told, "collapse").status) == (10, "pass")
    assert check_rows(told).notes == ()


def test_the_worst_collapse_has_the_most_copies() -> None:
    rows = logged(2, {"none": first(1, "AA", "BBBB")}, attributes={"cached": "shared"})
    collapse = checked(rows, "collapse")
    assert [(worst.case_id, worst.after) for worst in collapse.worst] == [
        ("c001", "B, a copy of it"),
        ("c000", "A, a copy of it"),
    ]


@pytest.mark.parametrize(
    ("common", "temperature", "status"),
    [
        ({"attributes": {"cached": "shared"}}, None, "fail"),
        ({"raw": LONG}, None, "fail"),
        ({"raw": LONG}, 0.0, "inconclusive"),
        ({"raw": "A"}, 0.0, "inconclusive"),
        ({"raw": "A"}, 1.0, "inconclusive"),
        ({"attributes": {"cached": "namespaced"}, "raw": "A"}, None, "inconclusive"),
    ],
)
def test_collapse_needs_evidence_and_temperature_0_is_no_fault(
    common: dict[str, object], temperature: float | None, status: str
) -> None:
    found = checked(logged(3, {"none": "AAA"}, **common), "collapse", temperature=temperature)
    assert found.status == status
    assert ("temperature 0" in found.reason) is (temperature == 0)


def test_answers_that_differ_or_have_ids_of_their_own_are_samples() -> None:
    rows = logged(3, {"none": "AA"})
    differ = [row if row.repetition else _with(row, raw="so") for row in [_with(row, raw="thus") for row in rows]]
    assert checked(differ, "collapse").status == "pass"
    named = [_with(row, attributes={"response_id": str(number)}) for number, row in enumerate(rows)]
    found = checked(named, "collapse")
    assert (found.status, found.reason) == (
        "pass",
        "in 3 of 3 cases repetitions are answers of their own, in none a copy",
    )


def _with(row: VerdictRow, **fields: Any) -> VerdictRow:
    return replace(row, **fields)


def test_what_was_asked_once_shows_no_collapse() -> None:
    assert checked(logged(3, {"none": "A"}), "collapse").status == "not_checked"


def test_unread_and_refused_answers_are_counted_apart_and_errors_not_at_all() -> None:
    rows = logged(
        40,
        {
            "none": first(20, ["unparsed", "A"], ["A", "A"]),
            "format_change": first(3, ["refused"], "A"),
            "probe:authority(b)": ["refused"],
            "name_swap": ["error"],
        },
    )
    unread, refused = checked(rows, "parse_rate"), checked(rows, "refusals")
    assert (unread.rate, unread.asked, unread.valid, unread.status) == (pytest.approx(1 / 6), 120, 97, "inconclusive")
    assert unread.reason.startswith(
        "20 of 120 answers about 40 cases could not be read, all of them with nothing changed: 16.7 % ["
    )
    assert refused.rate == pytest.approx(1 / 40)
    assert refused.reason.startswith("3 of 120 answers about 40 cases were refused")
    assert (unread.worst[0].before, unread.worst[0].after) == ("-", "unparsed")


def test_a_judge_that_cannot_be_read_fails() -> None:
    found = checked(logged(40, {"none": ["unparsed"]}), "parse_rate")
    assert (found.status, found.rate, found.valid) == ("fail", 1.0, 0)


def test_a_judge_whose_calls_all_broke_down_was_not_checked() -> None:
    found = checked(logged(4, {"none": ["error"]}), "parse_rate")
    assert (found.status, found.reason) == ("not_checked", "no answer about the cases as they are")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 5), (0, 100)])
def test_scores_drawn_at_random_do_not_repeat_themselves_on_any_scale(low: float, high: float) -> None:
    drawn = Random(7)  # noqa: S311 - no secret
    rows = logged(40, {"none": lambda _: [drawn.uniform(low, high) for _ in range(3)]})
    found = checked(rows, "repetition")
    assert (found.status, (found.rate or 0) > 0.6) == ("fail", True)
    assert checked(rows, "repetition", score_tolerance=high - low).rate == 0


@pytest.mark.parametrize(("given", "rate"), [(None, 0), (4, 1), (5, 0)])
def test_an_explicit_score_tolerance_is_obeyed_and_a_declared_scale_has_its_own(given: float | None, rate: int) -> None:
    declared = (Criterion(name="verdict", scale=(0, 90)),)
    cases = [AnswerCase(case_id=f"c{n}", input="q", output="o", criteria=declared) for n in range(3)]
    scores = iter([40, 45] * 3)
    report = check_judge(
        lambda case: next(scores), cases, repetitions=2, perturbations=[], probes=[], score_tolerance=given
    )
    assert one(report, "repetition").rate == rate


def test_without_any_verdict_there_was_nothing_to_attack() -> None:
    cases = [PairwiseCase(case_id=f"c{n}", input="q", output="o", output_b="p") for n in range(3)]
    probes = ["authority", "sentinel.empty"]
    silent = check_judge(lambda case: None, cases, perturbations=[], probes=probes)
    for name in probes:
        assert one(silent, name).reason == "the judge gave no verdict of any case as it is: there was nothing to attack"
    assert one(silent, "verbosity").reason == "not asked"
    speaking = check_judge(lambda case: "A", cases, perturbations=[], probes=probes)
    assert "nothing to attack" not in one(speaking, "authority").reason


def test_answers_that_differ_were_drawn_anew_without_any_text() -> None:
    found = checked(logged(10, {"none": first(3, "AB", "AA")}), "collapse")
    assert (found.status, found.reason) == (
        "pass",
        "in 3 of 10 cases repetitions are answers of their own, in none a copy",
    )


def test_a_mean_over_cases_is_called_one_where_it_is_not_the_share_of_answers() -> None:
    rows = [*logged(1, {"none": ["refused"]}), *logged(2, {"none": "AAAA"})[4:]]
    assert checked(rows, "refusals").reason.startswith(
        "1 of 5 answers about 2 cases were refused, on average of a case: 50.0 %"
    )


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf")])
def test_scores_lie_apart_by_a_number(tolerance: float) -> None:
    rows = logged(2, {"none": [5, 6]})
    with pytest.raises(UsageError, match="score_tolerance: two scores may lie apart by a number of at least 0"):
        check_rows(rows, score_tolerance=tolerance)
    with pytest.raises(UsageError, match="verdict: two scores"):
        check_rows(rows, score_tolerances={"verdict": tolerance})
