"""A whole plan, and its advice."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.planning import (
    Components,
    Facts,
    Goal,
    Limits,
    Pilot,
    PlanningReport,
    advise,
    gstudy,
    pilot_of,
    planned,
)
from judgeharness_integrations.analysis.planning.report import Wanted
from judgeharness_integrations.verdictlog import VerdictRow

PARTS = Components(cases=0.1, perturbations=0.04, repetitions=0.06)
PILOT = pilot_of(
    [row for n in range(40) for row in sampled("AAAA" if n % 3 else "BBAB", case_id=f"c{n}", input_tokens=5)]
)


def told(facts: Facts) -> list[str]:
    return [str(one) for one in advise(facts)]


def test_without_facts_there_is_no_advice() -> None:
    assert advise(Facts()) == ()
    assert told(Facts(labels="human", budget=20, cases=10, temperature=0.7, components=PARTS, fewest_cases=3)) == []


UNANCHORED = "there are no labels: a harness can only say how consistent the judge is, not how right; label"
EXECUTABLE = "the labels come from an executable check: run the check on every case; a harness around a judge is"
TOO_FEW = "19 calls for 10 cases are fewer than two samples a case: ask each case once, which is informal and"
FAR_TOO_FEW = "10 calls for 20 cases are fewer than two samples a case: judge fewer cases: 5 with two samples each."
OF_TWO = "39 calls for 10 cases of 2 systems are fewer than two samples a case: ask each case once,"
NONE_AT_ALL = "1 call is too few for any interval: two cases with two samples each take 4; allow that many or more."
COLD = "the judge's temperature is 0: repetitions measure nothing; use one repetition under several"
FLOOR = "the goal takes 30 cases under any design tried, and there are 20: find more cases; no number of"


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (Facts(labels="none", labels_needed=245), f"{UNANCHORED} 245 items first."),
        (Facts(labels="none"), f"{UNANCHORED} some items first."),
        (Facts(labels="executable"), f"{EXECUTABLE} the wrong tool for it."),
        (
            Facts(budget=19, cases=10),
            f"{TOO_FEW} needs no harness, or judge fewer cases: 9 with two samples each.",
        ),
        (Facts(budget=10, cases=20), FAR_TOO_FEW),
        (
            Facts(budget=39, cases=10, systems=2),
            f"{OF_TWO} which is informal and needs no harness, or judge fewer cases: 9 with two samples each.",
        ),
        (Facts(budget=1), NONE_AT_ALL),
        (Facts(budget=7, systems=2), NONE_AT_ALL.replace("1 call is", "7 calls of 2 systems are").replace("4;", "8;")),
        (Facts(temperature=0.0), f"{COLD} perturbations."),
        (
            Facts(components=PARTS, fewest_cases=30, cases=20),
            f"{FLOOR} repetitions or perturbations makes up for them.",
        ),
    ],
)
def test_advice_follows_from_one_fact(facts: Facts, sentence: str) -> None:
    assert told(facts) == [sentence]


def test_what_was_not_measured_gives_no_advice() -> None:
    assert told(Facts(budget=4)) == told(Facts(budget=40, cases=10, systems=2)) == []
    once = pilot_of([row for n in range(9) for row in sampled([n], case_id=f"c{n}")])
    assert [(one.perturbations, one.repetitions) for one in plan(pilot=once).designs] == [(1, 1)]


def plan(wanted: Wanted | None = None, **options: Any) -> PlanningReport:
    report = planned(wanted or Wanted(), **options)
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["schema"] == "judgeharness.plan/1"
    assert (document["cheapest"] is None) == (report.cheapest is None)
    return report


def test_without_a_pilot_nothing_is_said_about_repetitions() -> None:
    report = plan()
    assert [(one.perturbations, one.repetitions, one.cases) for one in report.designs] == [(1, 1, 263)]
    assert (report.fewest_cases, report.labels, report.label_width, report.majority) == (263, 263, 0.1, ())
    assert report.components.notes[0].startswith("no pilot: a rate of 0.8 is assumed")
    assert (report.components.perturbations, report.components.repetitions) == (None, None)
    configured = plan(Wanted(present=(2, 3)))
    assert [(one.perturbations, one.repetitions) for one in configured.designs] == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert configured.cheapest == configured.designs[0]


@pytest.mark.slow
def test_numbers_of_what_was_not_measured_are_not_tried() -> None:
    unperturbed = pilot_of([row for n in range(30) for row in sampled([n, n + n % 5], case_id=f"c{n}")])
    assert {one.perturbations for one in plan(pilot=unperturbed).designs} == {1}
    assert {one.repetitions for one in plan(pilot=unperturbed).designs} == {1, 2, 3, 5, 8}
    assert {one.perturbations for one in plan(Wanted(present=(3, 1)), pilot=unperturbed).designs} == {1, 3}
    once = [
        row
        for n in range(30)
        for name, score in (("none", n), ("typo", n + n % 3 - 1))
        for row in sampled([score], case_id=f"c{n}", perturbation=name)
    ]
    assert {one.repetitions for one in plan(pilot=pilot_of(once)).designs} == {1}


@pytest.mark.parametrize(
    "options",
    [
        {"wanted": Wanted(rule="mean", present=(2, 2)), "components": Components(cases=0.0)},
        {"pilot": pilot_of([row for n in range(9) for row in sampled([3, 3], case_id=f"c{n}")])},
    ],
)
def test_without_variance_of_scores_nothing_is_promised(options: dict[str, Any]) -> None:
    report = plan(**options, limits=Limits(cases=20, calls=100))
    assert (report.designs, report.cheapest, report.present, report.attainable) == ((), None, None, None)
    assert (report.fewest_cases, report.majority) == (None, ())


def test_declared_components_give_a_grid_and_the_present_design() -> None:
    report = plan(Wanted(present=(2, 6)), components=PARTS, limits=Limits(cases=100))
    assert {(one.perturbations, one.repetitions) for one in report.designs} >= {(1, 1), (2, 6), (4, 8)}
    assert report.present is not None
    assert (report.present.cases, report.present.calls) == (100, 1200)
    assert report.fewest_cases == min(one.cases or 0 for one in report.designs)
    fixed = plan(Wanted(perturbations=3), components=PARTS)
    assert {one.perturbations for one in fixed.designs} == {3}
    assert fixed.present is None


@pytest.mark.slow
def test_a_pilot_gives_components_tokens_and_the_risk_of_majorities() -> None:
    report = plan(pilot=PILOT)
    assert report.components == PILOT.components
    assert report.limits.tokens_per_call == 5
    assert [one.samples for one in report.majority] == [1, 3, 4, 5, 9]
    assert plan(pilot=PILOT, limits=Limits(tokens_per_call=9)).limits.tokens_per_call == 9
    assert plan(pilot=PILOT, components=PARTS).components == PARTS


@pytest.mark.parametrize("changes", [{"labels": 3}, {"labels": None, "positive": None}, {"agreement": None}])
def test_without_two_labels_there_is_no_risk_of_majorities(changes: dict[str, Any]) -> None:
    pilot: Pilot = replace(PILOT, **changes)
    assert plan(pilot=pilot).majority == ()


@pytest.mark.slow
def test_the_width_of_labels_is_that_of_a_share() -> None:
    scores = replace(PILOT, labels=None, positive=None)
    assert plan(Wanted(goal=Goal(value=0.5)), pilot=scores).label_width == 0.1
    assert plan(Wanted(goal=Goal(value=0.5)), pilot=PILOT).label_width == 0.5
    assert plan(Wanted(goal=Goal(value=3), rule="median"), components=PARTS).label_width == 0.1
    assert plan(Wanted(goal=Goal(kind="difference", value=0.05))).label_width == 0.1
    assert plan(Wanted(label_width=0.07)).label_width == 0.07


@pytest.mark.slow
def test_labels_of_a_corrected_rate() -> None:
    wanted = Wanted(sensitivity=0.9, specificity=0.8, rate=0.6)
    assert plan(wanted).corrected is None  # how many cases are judged is not known
    found = plan(wanted, limits=Limits(cases=5000)).corrected
    assert found is not None
    assert found.judged_rate == pytest.approx(0.6 * 0.9 + 0.4 * 0.2)
    piloted = plan(wanted, pilot=PILOT, limits=Limits(cases=5000)).corrected
    assert piloted is not None
    assert piloted.judged_rate == pytest.approx(PILOT.mean, abs=0.03)
    certain = plan(replace(wanted, goal=Goal(value=0.1, assurance=None)), pilot=PILOT, limits=Limits(cases=5000))
    assert certain.corrected is not None
    # a pilot that is taken for certain leaves one rate to plan for, and asks for fewer labels
    assert (certain.corrected.positives or 0) < (piloted.positives or 0)
    chance = plan(replace(wanted, specificity=0.1), pilot=PILOT, limits=Limits(cases=5000)).corrected
    assert chance is not None
    assert chance.fewest_cases is None


def test_advice_uses_what_the_plan_found() -> None:
    report = plan(pilot=PILOT, limits=Limits(cases=20, calls=30), facts=Facts(labels="none", temperature=0))
    assert [one.fact for one in report.advice] == [
        "there are no labels",
        "30 calls for 20 cases are fewer than two samples a case",
        "the judge's temperature is 0",
        f"the goal takes {report.fewest_cases} cases under any design tried, and there are 20",
    ]


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"rate must lie between 0 and 1, not 1\.2"):
        plan(Wanted(rate=1.2))


@pytest.mark.slow
def test_cases_that_are_all_decided_alike_are_planned_by_what_they_leave_open() -> None:
    same = pilot_of([row for n in range(9) for row in sampled(["PASS", "PASS"], case_id=f"c{n}")])
    few, more = (plan(pilot=replace(same, cases=cases)).fewest_cases for cases in (9, 90))
    certain = plan(Wanted(rate=1.0)).fewest_cases
    assert certain is not None
    assert (few or 0) > (more or 0) >= certain


@pytest.mark.slow
def test_the_plan_is_one_of_decisions_under_the_rule() -> None:
    found = {name: plan(Wanted(rule=name), pilot=PILOT) for name in (None, "supermajority(2/3)")}
    assert {name: report.rule for name, report in found.items()} == {
        None: "majority",
        "supermajority(2/3)": "supermajority(2/3)",
    }
    many = [next(d.cases for d in r.designs if d.repetitions == 8) for r in found.values()]
    assert many[0] != many[1]
    graded = pilot_of([row for n in range(20) for row in sampled([n % 9, n % 7], case_id=f"c{n}")], pass_at=Fraction(4))
    assert plan(Wanted(rule="median(pass_at=4)"), pilot=graded).rule == "median(pass_at=4)"
    both = plan(Wanted(rule="majority | median(pass_at=4)"), pilot=graded)
    assert both.rule == "majority | median(pass_at=4)"
    with pytest.raises(UsageError, match="folds numbers"):
        plan(Wanted(rule="mean"), pilot=PILOT)
    assert plan(Wanted(rule="majority"), components=Components(cases=0.3)).designs
    assert plan(Wanted(rule="median(pass_at=4)"), components=PARTS).rule == "median(pass_at=4)"


@pytest.mark.slow
def test_a_rule_over_both_orders_is_tried_with_both() -> None:
    pairs = [
        row
        for n in range(30)
        for name in ("none", "position_swap")
        for row in sampled(
            "AB" if n % 5 == 0 else "BB" if n % 3 else "AA", case_id=f"c{n}", perturbation=name, swapped=name != "none"
        )
    ]
    report = plan(Wanted(rule="swap_consensus"), pilot=pilot_of(pairs))
    assert {one.perturbations for one in report.designs} == {2, 4}
    assert report.cheapest is not None
    assert (report.cheapest.perturbations, report.cheapest.repetitions) == (2, 1)
    assert plan(Wanted(rule="swap_consensus")).designs[0].perturbations == 2


@pytest.mark.slow
def test_scores_under_other_rules_than_the_mean_gain_less_by_repetition() -> None:
    parts = Components(cases=1.0, perturbations=0.1, repetitions=3.0)
    cases = {
        name: [one.cases or 0 for one in plan(Wanted(rule=name, goal=Goal(value=1.0)), components=parts).designs]
        for name in ("mean", "median", "mode")
    }
    assert cases["mean"][0] == cases["median"][0] == cases["mode"][0]
    assert cases["mean"][4] < cases["median"][4] < cases["mode"][4]


def test_pilots_of_scores_leave_variances_open() -> None:
    rows = [row for n in range(12) for row in sampled([n % 5, n % 4, n % 3], case_id=f"c{n}")]
    small = pilot_of(rows)
    wanted = Wanted(goal=Goal(value=1.5))
    open_, certain = plan(wanted, pilot=small), plan(Wanted(goal=Goal(value=1.5, assurance=None)), pilot=small)
    assert (open_.fewest_cases or 0) > (certain.fewest_cases or 0)
    shared = [replace(row, attributes={"cluster": int(row.case_id[1:]) // 3}) for row in rows]
    clustered = plan(wanted, pilot=pilot_of(shared))
    assert (clustered.fewest_cases or 0) > 0


@pytest.mark.slow
def test_clusters_take_more_cases() -> None:
    rows = [row for n in range(40) for row in sampled("AAAA" if n // 4 % 2 else "BBAB", case_id=f"c{n}")]
    shared = [replace(row, attributes={"cluster": int(row.case_id[1:]) // 4}) for row in rows]
    for goal in (Goal(value=0.2), Goal(value=0.2, assurance=None), Goal(kind="difference", value=0.2)):
        alone, together = (plan(Wanted(goal=goal), pilot=pilot_of(one)).designs[0] for one in (rows, shared))
        assert (together.cases or 10**8) > 2 * (alone.cases or 0)


@pytest.mark.slow
def test_repetitions_that_take_more_cases_save_none() -> None:
    noise = Components(cases=0.2, perturbations=0.0, repetitions=1e-6)
    wanted = Wanted(goal=Goal(kind="difference", value=0.1, assurance=None), rule="majority")
    report = planned(wanted, components=noise, limits=Limits())
    alone = [design for design in report.designs if design.perturbations == 1]
    one, most = (pick(alone, key=lambda design: design.repetitions) for pick in (min, max))
    assert (most.cases or 0) >= (one.cases or 0) > 0
    assert [note.advice.split(":")[0] for note in report.advice if "save" in note.advice] == [
        "repetitions save neither cases nor calls"
    ]


@pytest.mark.slow
def test_what_repetitions_buy_is_said() -> None:
    said = {one.fact.split(":")[0]: one.advice for one in plan(pilot=PILOT).advice}
    assert any("which are 0 or 1 however many samples are behind them" in advice for advice in said.values())
    difference = plan(Wanted(goal=Goal(kind="difference", value=0.2)), pilot=PILOT)
    assert any("repetitions save cases, not calls" in one.advice for one in difference.advice)
    [one] = [design for design in difference.designs if design.perturbations * design.repetitions == 1]
    tight = plan(
        Wanted(goal=Goal(kind="difference", value=0.2)), pilot=PILOT, limits=Limits(cases=(one.cases or 0) - 1)
    )
    assert tight.cheapest is not None
    assert tight.cheapest.repetitions > 1
    assert any("only repetitions reach the goal" in one.advice for one in tight.advice)


@pytest.mark.slow
def test_the_best_split_stays_within_the_limits() -> None:
    rows = [row for n in range(40) for row in sampled("AAAA" if n % 3 else "BBAB", case_id=f"c{n}")]
    report = plan(pilot=PILOT, variances=gstudy(rows, positive="A"), limits=Limits(calls=100, cases=20))
    assert report.split is not None
    assert report.split.cases <= 20
    assert report.split.calls <= 100
    assert plan(pilot=PILOT, variances=report.variances).split is None


def test_perturbations_below_one_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1, not 0"):
        plan(Wanted(perturbations=0))


def test_a_pilot_of_labels_that_was_asked_once_is_planned_by_its_rate() -> None:
    once = pilot_of([row for n in range(40) for row in sampled(["PASS" if n % 4 else "FAIL"], case_id=f"c{n}")])
    report = plan(pilot=once)
    assert [(one.perturbations, one.repetitions) for one in report.designs] == [(1, 1)]
    assert report.designs[0].cases is not None


ONE_SAMPLE = pilot_of([VerdictRow(case_id=f"c{case}", verdict="PASS" if case < 25 else "FAIL") for case in range(60)])
APART = Goal(kind="difference", value=0.17, assurance=0.9)


def test_a_pilot_of_one_sample_a_case_plans_a_difference_without_pairing() -> None:
    found, high = (plan(Wanted(goal=goal), pilot=ONE_SAMPLE) for goal in (APART, replace(APART, correlation=0.9)))
    assert found.goal.correlation == 0
    assert found.fewest_cases == found.uncorrelated == high.fewest_cases
    assert "taken to save nothing" in found.components.notes[-1]


def test_a_pilot_of_one_sample_a_case_promises_a_lower_bound_and_names_the_upper_one() -> None:
    found, even, none = (plan(Wanted(goal=replace(APART, correlation=c)), pilot=ONE_SAMPLE) for c in (0.5, 1.0, 0.0))
    assert found.at_least
    assert even.at_least
    assert 0.9 < (found.up_to or 0) < (even.up_to or 0) <= 1
    assert (none.at_least, none.up_to) == (True, None)


@pytest.mark.slow
def test_what_is_measured_or_expected_is_no_lower_bound() -> None:
    expected = plan(Wanted(goal=replace(APART, assurance=None)), pilot=ONE_SAMPLE)
    repeated, width = plan(Wanted(goal=APART), pilot=PILOT), plan(pilot=ONE_SAMPLE)
    assert [one.at_least for one in (expected, repeated, width)] == [False] * 3
    assert [one.up_to for one in (repeated, width)] == [None] * 2


def says_any_noise(found: PlanningReport) -> bool:
    return any("hold whatever it is" in note for note in found.components.notes)


@pytest.mark.slow
def test_a_plan_says_where_designs_hold_whatever_the_noise_is() -> None:
    by_perturbation = pilot_of([row for n in range(40) for row in sampled("AB" if n % 3 else "AA", case_id=f"c{n}")])
    told = {
        "one sample": plan(Wanted(present=(1, 2)), pilot=ONE_SAMPLE),
        "no pilot": plan(Wanted(present=(2, 1))),
        "alone": plan(pilot=ONE_SAMPLE),
        "repeated": plan(Wanted(present=(1, 3)), pilot=by_perturbation),
    }
    assert {name: says_any_noise(found) for name, found in told.items()} == {
        "one sample": True,
        "no pilot": True,
        "alone": False,
        "repeated": False,
    }


@pytest.mark.slow
def test_a_pilot_of_perturbations_does_not_tell_what_repetitions_do() -> None:
    rows = [
        VerdictRow(case_id=f"c{n}", perturbation=name, verdict="PASS" if n % every else "FAIL")
        for n in range(40)
        for name, every in (("none", 4), ("typo", 8))
    ]
    found = plan(Wanted(present=(2, 2)), pilot=pilot_of(rows))
    cases = {(one.perturbations, one.repetitions): one.cases or 0 for one in found.designs}
    assert says_any_noise(found)
    assert cases[2, 2] >= cases[2, 1]
    assert cases[1, 2] >= cases[1, 1]


@pytest.mark.slow
def test_no_upper_bound_is_named_of_a_design_whose_rule_needs_both_orders() -> None:
    once = pilot_of([VerdictRow(case_id=f"c{case}", verdict="A" if case < 25 else "B") for case in range(60)])
    found = plan(Wanted(goal=APART, rule="swap_consensus"), pilot=once)
    assert (found.at_least, found.up_to) == (True, None)


def test_a_difference_out_of_reach_has_no_upper_bound() -> None:
    found = plan(Wanted(goal=replace(APART, value=0.9)), pilot=ONE_SAMPLE)
    assert (found.fewest_cases, found.up_to) == (None, None)


@pytest.mark.slow
def test_the_plan_of_a_difference_says_what_it_takes_without_pairing() -> None:
    found, apart = (plan(Wanted(goal=goal), pilot=PILOT) for goal in (APART, replace(APART, correlation=0.0)))
    cheapest = found.cheapest
    assert cheapest is not None
    same = [one.cases for one in apart.designs if (one.perturbations, one.repetitions) == (cheapest.perturbations, 1)]
    assert [found.uncorrelated] == same
    assert (found.uncorrelated or 0) > (cheapest.cases or 0)


def test_the_plan_of_a_width_has_no_systems_to_pair() -> None:
    assert plan(pilot=PILOT).uncorrelated is None
