"""The whole report: which properties, judges, runs and criteria; facts, notes and the level."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.checklogs import checked, first, logged, one

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.analysis.statistics.proportions import above_test
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES, VerdictRow

SINGLE = ["names", "format", "whitespace", "typography", "paraphrase", "prompt_variant"]
FAILURES = ["repetition", "collapse", "parse_rate", "refusals"]


def test_every_property_that_applies_is_reported() -> None:
    pairs = [check.name for check in check_rows(logged(3, {"none": "A"})).properties]
    assert pairs == ["position", "names", "slot_names", *SINGLE[1:], *FAILURES, *PROBE_PROPERTIES]
    graded = [check.name for check in check_rows(logged(3, {"none": ["PASS"]})).properties]
    assert graded == [*SINGLE, *FAILURES, *PROBE_PROPERTIES[:-1]]
    silent = [check.name for check in check_rows(logged(3, {"none": ["refused"]})).properties]
    assert silent == pairs
    asked = [check.name for check in check_rows(logged(3, {"none": [3], "position_swap": [4]})).properties]
    assert asked[0] == "position"


def test_the_report_counts_what_it_rests_on() -> None:
    rows = logged(10, {"none": ["A", "error"], "format_change": ["unparsed"]}, model="m", judge="j")
    report = check_rows(rows, tolerance=0.2, alpha=0.01)
    assert (report.judge, report.judge_model, report.cases, report.calls) == ("j", "m", 10, 30)
    assert (report.tolerance, report.alpha) == (0.2, 0.01)
    assert report.outcomes == {"error": 10, "ok": 10, "unparsed": 10}
    assert report.notes == ("10 of 30 samples met an error of infrastructure and count in no property",)
    assert json.loads(json.dumps(report.to_dict()))["counts"] == report.counts


def test_rows_of_one_call_are_one_call_and_every_criterion_has_its_properties() -> None:
    rows = [
        row
        for number in range(40)
        for perturbation, verdict in (("none", "PASS"), ("format_change", "FAIL"))
        for row in (
            _row(f"c{number}", "tone", "PASS", perturbation),
            _row(f"c{number}", "facts", verdict, perturbation),
        )
    ]
    rows += [replace(row, repetition=1, call_id=f"{row.call_id}'") for row in rows if row.perturbation == "none"]
    report = check_rows(rows)
    assert report.calls == 120
    assert [(check.criterion, check.name) for check in report.properties if check.status == "fail"] == [
        ("facts", "format")
    ]
    assert [fact["criterion"] for fact in report.facts] == ["facts", "tone"]
    chosen = check_rows(rows, criteria=["tone"])
    assert {check.criterion for check in chosen.properties} == {"tone"}
    with pytest.raises(UnknownNameError, match="tone"):
        check_rows(rows, criteria=["tones"])


def _row(case: str, criterion: str, verdict: str, perturbation: str) -> VerdictRow:
    call = f"{case}/{perturbation}"
    return VerdictRow(case_id=case, criterion=criterion, verdict=verdict, perturbation=perturbation, call_id=call)


def test_the_level_is_that_of_the_whole_report() -> None:
    rows = logged(40, {"none": first(8, "AB", "AA")})
    report = check_rows(rows, tolerance=0.1)
    found = one(report, "repetition")
    assert found.p_value == pytest.approx(above_test(8, 40, 0.1))
    assert found.adjusted_p == pytest.approx(3 * (found.p_value or 0))  # beside parse_rate and refusals
    assert (found.status, found.smallest_effect is not None) == ("inconclusive", True)
    assert one(check_rows(rows, alpha=0.2), "repetition").status == "fail"


def test_what_could_have_been_found_may_be_left_out() -> None:
    found = checked(logged(10, {"none": "AAA"}), "repetition", foresee=False)
    assert (found.status, found.smallest_effect, found.more_cases, found.more_calls) == (
        "inconclusive",
        None,
        None,
        None,
    )


def test_one_judge_and_one_run_are_checked() -> None:
    rows = [*logged(3, {"none": "A"}, judge="one"), *logged(3, {"none": "B"}, judge="two")]
    with pytest.raises(UsageError, match=r"2 judges \('one', 'two'\): choose one"):
        check_rows(rows)
    assert check_rows(rows, judge="two").judge == "two"
    with pytest.raises(UnknownNameError, match="'two'"):
        check_rows(rows, judge="too")
    with pytest.raises(UsageError, match="no rows"):
        check_rows([])
    runs = [*logged(3, {"none": "A"}, run="r1"), *logged(3, {"none": "A"}, run="r2")]
    with pytest.raises(UsageError, match=r"2 runs of the same cases \('r1', 'r2'\): choose one with --run"):
        check_rows(runs)
    apart = [*logged(3, {"none": "A"}, run="r1"), *(replace(row, case_id=f"x{row.case_id}") for row in runs[3:])]
    assert check_rows(apart).cases == 6


@pytest.mark.parametrize("options", [{"tolerance": 0}, {"tolerance": 1.0}, {"alpha": 0.0}, {"alpha": 1}])
def test_levels_lie_between_0_and_1(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must lie between 0 and 1"):
        check_rows(logged(3, {"none": "A"}), **options)


def test_labels_and_scores_do_not_mix() -> None:
    with pytest.raises(UsageError, match="mixes labels and numbers"):
        check_rows(logged(2, {"none": ["A", 3]}))


def test_several_models_under_one_name_are_said() -> None:
    rows = [*logged(2, {"none": "A"}, model="m1"), *logged(2, {"format_change": "A"}, model="m2")]
    report = check_rows(rows)
    assert report.judge_model is None
    assert report.notes == ("2 models answered (m1, m2): what is said here is said of their mix",)


def test_facts_are_consistency_and_accuracy() -> None:
    rows = logged(10, {"none": ["A", "A"], "position_swap": first(4, ["B", "unparsed"], "A")}, gold="A")
    (fact,) = check_rows(rows).facts
    assert (fact["consistency"], fact["consistency_of"], fact["consistency_cases"]) == (0.6, "orders", 10)
    assert (fact["right_of_labelled"], fact["labelled_cases"]) == (pytest.approx(0.8), 10)
    low, high = fact["right_of_labelled_interval"]
    assert low < 0.8 < high
    (repeated,) = check_rows(logged(10, {"none": "AAB"})).facts
    assert (repeated["consistency"], repeated["consistency_of"]) == (pytest.approx(1 / 3), "repetitions")
    assert (repeated["right_of_labelled"], repeated["right_of_labelled_interval"], repeated["labelled_cases"]) == (
        None,
        None,
        0,
    )
    (nothing,) = check_rows(logged(10, {"none": "A"})).facts
    assert (nothing["consistency"], nothing["consistency_of"], nothing["consistency_cases"]) == (None, None, 0)


def test_consistent_is_not_right() -> None:
    rows = logged(40, {"none": "A", "position_swap": "A"}, gold="B")
    note, control = check_rows(rows).notes
    assert control.startswith("verdict: worse than a judge that always answers B: -1.000 [")
    assert note.startswith("verdict: 100.0 % of 40 cases get the same verdict again, but 0.0 % of 40 agree with gold")
    assert note.endswith(": consistent is not right")
    for verdicts, gold, word in (
        ({"none": "A", "position_swap": "A"}, "A", "not better"),
        ({"none": "A", "position_swap": "B"}, "C", "worse"),
    ):
        (control,) = check_rows(logged(40, verdicts, gold=gold)).notes
        assert control.startswith(f"verdict: {word} than a judge that always answers ")


def test_a_judge_stands_beside_judges_that_read_nothing() -> None:
    def rows(answers: str) -> list[VerdictRow]:
        """Rows of 20 pairs, each asked about once in either order, about half of which A wins."""
        return [
            VerdictRow(
                case_id=f"c{n}",
                verdict=said,
                gold="AB"[n % 2],
                perturbation="position_swap" if swapped else "none",
                swapped=swapped,
                attributes={"length_a": 9, "length_b": 3},
            )
            for n in range(20)
            for swapped in (False, True)
            for said in ["AB"[n % 2] if answers == "right" else "AB"[swapped]]
        ]

    (fact,) = check_rows(rows("right")).facts
    controls = fact["controls"]
    assert [one.value for one in controls.listed] == [0.5, 0.5, 0.5, 0.5]
    assert controls.beaten
    report = check_rows(rows("first"))
    assert report.facts[0]["controls"].value == 0.5
    assert report.notes == (
        (
            "verdict: not better than a judge that always answers A: +0.000 [-0.240, +0.240] in the share right over "
            "all labelled cases (20)"
        ),
    )
    assert json.loads(json.dumps(report.to_dict()))["facts"][0]["controls"] == report.facts[0]["controls"].to_dict()
    told = check_rows(rows("right"), longer={f"c{n}": "AB"[n % 2] for n in range(20)})
    assert told.facts[0]["controls"].control("longest answer").value == 1.0


def test_scores_stand_beside_the_constant_that_errs_least() -> None:
    rows = [
        VerdictRow(case_id=f"c{n}", verdict=said, gold=float(n % 5), repetition=k)
        for n in range(20)
        for k, said in enumerate((n % 5, n % 5 + 1 if n < 19 else None))
    ]
    (fact,) = check_rows(rows).facts
    assert (fact["controls"].scored, fact["controls"].value) == (True, pytest.approx(19 / 40))
    assert fact["controls"].control("constant").says == "always 2"
    assert fact["controls"].beaten
    nobody = [VerdictRow(case_id="c", verdict=None, outcome="unparsed", gold=3.0), VerdictRow(case_id="d", verdict=3)]
    (fact,) = check_rows(nobody).facts
    assert fact["controls"] is None


def test_sets_of_labels_are_compared_as_a_whole() -> None:
    both, single = frozenset({"x", "y"}), frozenset({"x"})
    rows = logged(40, {"none": [both, both], "format_change": [single]})
    assert checked(rows, "format").status == "fail"


VERDICTS = st.sampled_from(["A", "B", "TIE", "unparsed", "refused", "error"])
PERTURBATIONS = ("none", "position_swap", "format_change", "probe:authority(b)", "probe:sentinel.copy(b)", "zoom")


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_order_of_rows_changes_nothing(data: st.DataObject) -> None:
    answers = st.lists(VERDICTS, max_size=3)
    drawn = [{name: data.draw(answers) for name in PERTURBATIONS} for _ in range(3)]
    rows = [replace(row, case_id=f"d{number}") for number, one in enumerate(drawn) for row in logged(1, one, gold="A")]
    if rows:
        shuffled = data.draw(st.permutations(rows))
        assert check_rows(shuffled, foresee=False) == check_rows(rows, foresee=False)
