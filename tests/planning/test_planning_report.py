"""A whole plan, and its advice."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.planning import (
    Components,
    Facts,
    Goal,
    Limits,
    Pilot,
    PlanningReport,
    advise,
    pilot_of,
    planned,
)
from judgeharness_integrations.planning.report import Wanted

PARTS = Components(cases=0.1, perturbations=0.04, repetitions=0.06)
PILOT = pilot_of(
    [row for n in range(40) for row in sampled("AAAA" if n % 3 else "BBAB", case_id=f"c{n}", input_tokens=5)]
)


def told(facts: Facts) -> list[str]:
    return [str(one) for one in advise(facts)]


def test_without_facts_there_is_no_advice() -> None:
    assert advise(Facts()) == ()
    assert told(Facts(labels="human", budget=20, cases=10, temperature=0.7, components=PARTS, fewest_cases=3)) == []
    assert told(Facts(components=Components(cases=0.0))) == []


UNANCHORED = "there are no labels: a harness can only say how consistent the judge is, not how right; label"
EXECUTABLE = "the labels come from an executable check: run the check on every case; a harness around a judge is"
TOO_FEW = "19 calls for 10 cases are fewer than two samples a case: take one sample a case and call it informal,"
FAR_TOO_FEW = "10 calls for 20 cases are fewer than two samples a case: judge fewer cases: 5 with two samples each."
OF_TWO = "39 calls for 10 cases of 2 systems are fewer than two samples a case: take one sample a case and call it"
NONE_AT_ALL = "1 call is too few for any interval: two cases with two samples each take 4; allow that many or more."
COLD = "the judge's temperature is 0: repetitions measure nothing; use one repetition under several"
QUIET = "repetitions hold 0.1 % of the variance: ask fewer repetitions and more cases or perturbations."
FLOOR = "the variance between cases alone takes 30 cases, and there are 20: find more cases: no number of"


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (Facts(labels="none", labels_needed=245), f"{UNANCHORED} 245 items first."),
        (Facts(labels="none"), f"{UNANCHORED} some items first."),
        (Facts(labels="executable"), f"{EXECUTABLE} the wrong tool for it."),
        (
            Facts(budget=19, cases=10),
            f"{TOO_FEW} without a harness, or judge fewer cases: 9 with two samples each.",
        ),
        (Facts(budget=10, cases=20), FAR_TOO_FEW),
        (
            Facts(budget=39, cases=10, systems=2),
            f"{OF_TWO} informal, without a harness, or judge fewer cases: 9 with two samples each.",
        ),
        (Facts(budget=1), NONE_AT_ALL),
        (Facts(budget=7, systems=2), NONE_AT_ALL.replace("1 call is", "7 calls of 2 systems are").replace("4;", "8;")),
        (Facts(temperature=0.0), f"{COLD} perturbations."),
        (Facts(components=Components(cases=1.0, repetitions=0.001)), QUIET),
        (
            Facts(components=PARTS, fewest_cases=30, cases=20),
            f"{FLOOR} repetitions or perturbations reaches the goal.",
        ),
    ],
)
def test_advice_follows_from_one_fact(facts: Facts, sentence: str) -> None:
    assert told(facts) == [sentence]


def test_what_was_not_measured_gives_no_advice() -> None:
    assert told(Facts(components=replace(PARTS, repetitions=None))) == []
    assert told(Facts(budget=4)) == told(Facts(budget=40, cases=10, systems=2)) == []
    assert told(Facts(components=Components.of_rate(0.5), fewest_cases=300, cases=20)) == []
    once = pilot_of([row for n in range(9) for row in sampled([n], case_id=f"c{n}")])
    assert [(one.perturbations, one.repetitions) for one in plan(pilot=once).designs] == [(1, 1)]


def test_one_repetition_is_few_enough() -> None:
    assert told(Facts(components=Components(cases=1.0), repetitions=1)) == []


def plan(wanted: Wanted | None = None, **options: Any) -> PlanningReport:
    report = planned(wanted or Wanted(), **options)
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["schema"] == "judgeharness.plan/1"
    assert (document["cheapest"] is None) == (report.cheapest is None)
    return report


def test_without_a_pilot_nothing_is_said_about_repetitions() -> None:
    report = plan()
    assert [(one.perturbations, one.repetitions, one.cases) for one in report.designs] == [(1, 1, 249)]
    assert (report.fewest_cases, report.labels, report.label_width, report.majority) == (249, 245, 0.1, ())
    assert report.components.notes[0].startswith("no pilot: a rate of 0.8 is assumed")
    assert (report.components.perturbations, report.components.repetitions) == (None, None)
    configured = plan(Wanted(present=(2, 3)))
    assert [(one.perturbations, one.repetitions) for one in configured.designs] == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert configured.cheapest == configured.designs[0]


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
        {"wanted": Wanted(rate=1.0, present=(2, 2))},
        {"wanted": Wanted(rate=0.0)},
        {"components": Components(cases=0.0)},
        {"pilot": pilot_of([row for n in range(9) for row in sampled(["PASS", "PASS"], case_id=f"c{n}")])},
    ],
)
def test_without_variance_nothing_is_promised(options: dict[str, Any]) -> None:
    report = plan(**options, limits=Limits(cases=20, calls=100))
    assert (report.designs, report.cheapest, report.present, report.attainable) == ((), None, None, None)
    assert (report.fewest_cases, report.majority) == (None, ())


def test_declared_components_give_a_grid_and_the_present_design() -> None:
    report = plan(Wanted(present=(2, 6)), components=PARTS, limits=Limits(cases=100))
    assert {(one.perturbations, one.repetitions) for one in report.designs} >= {(1, 1), (2, 6), (4, 8)}
    assert report.present is not None
    assert (report.present.cases, report.present.calls) == (100, 1200)
    assert report.fewest_cases == Goal().cases(PARTS.cases)
    fixed = plan(Wanted(perturbations=3), components=PARTS)
    assert {one.perturbations for one in fixed.designs} == {3}
    assert fixed.present is None


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


def test_the_width_of_labels_is_that_of_a_share() -> None:
    scores = replace(PILOT, labels=None, positive=None)
    assert plan(Wanted(goal=Goal(value=0.5)), pilot=scores).label_width == 0.1
    assert plan(Wanted(goal=Goal(value=0.5)), pilot=PILOT).label_width == 0.5
    assert plan(Wanted(goal=Goal(value=3)), components=PARTS).label_width == 0.1
    assert plan(Wanted(goal=Goal(kind="difference", value=0.05))).label_width == 0.1
    assert plan(Wanted(label_width=0.07)).label_width == 0.07


def test_labels_of_a_corrected_rate() -> None:
    wanted = Wanted(sensitivity=0.9, specificity=0.8, rate=0.6)
    assert plan(wanted).corrected is None  # how many cases are judged is not known
    found = plan(wanted, limits=Limits(cases=5000)).corrected
    assert found is not None
    assert found.judged_rate == pytest.approx(0.6 * 0.9 + 0.4 * 0.2)
    piloted = plan(wanted, pilot=PILOT, limits=Limits(cases=5000)).corrected
    assert piloted is not None
    assert piloted.judged_rate == pytest.approx(PILOT.mean)
    chance = plan(replace(wanted, specificity=0.1), pilot=PILOT, limits=Limits(cases=5000)).corrected
    assert chance is not None
    assert chance.fewest_cases is None


def test_advice_uses_what_the_plan_found() -> None:
    report = plan(pilot=PILOT, limits=Limits(cases=20, calls=30), facts=Facts(labels="none", temperature=0))
    assert [one.fact for one in report.advice] == [
        "there are no labels",
        "30 calls for 20 cases are fewer than two samples a case",
        "the judge's temperature is 0",
        f"the variance between cases alone takes {report.fewest_cases} cases, and there are 20",
    ]


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"rate must lie between 0 and 1, not 1\.2"):
        plan(Wanted(rate=1.2))
