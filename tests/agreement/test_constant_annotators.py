"""An annotator who reads nothing and always says the same, beside candidates and humans."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.alttests import examine

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement.alttestreport import AltTestReport
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap, CoefficientName
from judgeharness_integrations.analysis.agreement.kappatable import AgreementTable, agreement_table
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import VerdictRow

HUMANS = ("h0", "h1", "h2")
FEW = Bootstrap(replicates=200)


def panel(size: int = 80, *, common: float = 0.8, noise: float = 0.1, seed: int = 5) -> dict[str, dict[str, Any]]:
    """Three humans who mostly agree that most items are good, a judge like them and one that always says good."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    truth = ["good" if dice.random() < common else "bad" for _ in range(size)]

    def read(label: str) -> str:
        return label if dice.random() >= noise else {"good": "bad", "bad": "good"}[label]

    readers = {name: {f"i{n}": read(label) for n, label in enumerate(truth)} for name in (*HUMANS, "m1")}
    return readers | {"m2": {f"i{n}": "good" for n in range(size)}}


def checked(report: AltTestReport | AgreementTable) -> list[str]:
    """The sentences, of a report that follows its schema."""
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    name = document["schema"].removeprefix("judgeharness.").replace("/", "-")
    assert [error.message for error in Draft202012Validator(schema(name)).iter_errors(document)] == []
    return list(report.controls())


def test_the_constant_is_tested_as_a_candidate_that_says_the_same_is() -> None:
    report = examine(panel(120, common=0.6, noise=0.05), epsilons=(0.1, 0.2, 0.4, 0.6))
    mine = [test for test in report.candidates if test.candidate == "m2"]
    assert [test.candidate for test in report.constants] == ["always good"] * 4
    assert [(one.rho, one.omega, one.passed) for one in report.constants] == [
        (one.rho, one.omega, one.passed) for one in mine
    ]
    first, second = report.beside_constants
    assert (first.first, second.first, second.difference) == ("m1", "m2", 0.0)
    said = checked(report)
    assert said[0].startswith("an annotator who reads nothing, always good (accuracy): rho 0.")
    assert "passes at epsilon 0.6" in said[0]
    assert said[0].endswith("; better than it by rho: m1")
    same = "rho +0.000 no interval on the same 120 instances (accuracy)"
    assert said[1:] == [f"m2: not better than always good, which reads nothing: {same}"]
    assert "m2: not better than always good" in report._repr_html_()


def test_a_candidate_that_is_hardly_better_is_not_shown_to_be() -> None:
    said = checked(examine(panel(40, common=0.9), epsilons=0))
    assert "does not pass" in said[0]
    assert said[1].startswith("m1: not shown to be better than always good, which reads nothing: rho +0.")


@pytest.mark.slow
def test_numbers_have_their_median_and_sets_the_commonest_set() -> None:
    numbers = {name: {f"i{n}": float((n + shift) % 5) for n in range(40)} for shift, name in enumerate((*HUMANS, "m"))}
    assert checked(examine(numbers))[0].startswith("an annotator who reads nothing, always 2 (neg_rmse): rho ")
    sets = {name: {f"i{n}": ["b", "a"] if n % 3 else ["c"] for n in range(40)} for name in (*HUMANS, "m")}
    assert checked(examine(sets))[0].startswith("an annotator who reads nothing, always {a, b} (jaccard): rho ")
    for said, told in ((numbers, "always 2"), (sets, "always {a, b}")):
        table = agreement_table(Panel.from_annotations(said), humans=HUMANS, candidates=["m"], bootstrap=FEW)
        assert table.constant is not None
        assert table.constant.says == told


def test_nothing_is_said_of_a_constant_that_nobody_could_be_tested_against() -> None:
    report = examine(panel(10))
    assert (report.constants[0].rho, checked(report)) == (None, [])


@pytest.mark.parametrize(("coefficient", "value"), [("cohen", 0.0), ("gwet", None)])
def test_a_constant_agrees_often_and_hardly_beyond_chance(coefficient: CoefficientName, value: float | None) -> None:
    said = Panel.from_annotations(panel())
    table = agreement_table(said, humans=HUMANS, candidates=["m1", "m2"], coefficient=coefficient, bootstrap=FEW)
    assert table.constant is not None
    mine = [table.pair(human, "m2") for human in HUMANS]
    assert table.constant.observed == pytest.approx(sum(one.observed or 0 for one in mine if one) / 3)
    assert table.constant.value == (value if value is not None else table.raters[-1].mean)
    told = checked(table)
    assert told[0].startswith("an annotator who reads nothing, always good: agrees with the humans about 7")
    assert told[0].endswith(f"mean coefficient {table.constant.value:.3f}")
    if value is None:
        assert told[-1].startswith("m2: not better than always good, which reads nothing: 0.")
        assert "m2: not better than always good" in table._repr_html_()


def test_a_candidate_that_is_hardly_beyond_chance_is_said_to_be() -> None:
    said = Panel.from_annotations(panel(30, noise=0.35))
    told = checked(agreement_table(said, humans=HUMANS, candidates=["m1"], bootstrap=FEW))
    assert any(line.startswith("m1: not shown to be better than always good, which reads nothing: 0.") for line in told)
    unsure = agreement_table(said, humans=HUMANS, candidates=["m1"], bootstrap=Bootstrap(replicates=0))
    assert checked(unsure)[1].endswith("no interval")


def test_raters_alone_have_the_constant_beside_them() -> None:
    said = Panel.from_annotations(panel())
    (line,) = checked(agreement_table(said, humans=(*HUMANS, "m1"), bootstrap=FEW))
    assert "agrees with the raters about" in line


def test_where_nobody_varies_or_answers_there_is_no_coefficient() -> None:
    same = Panel.from_annotations({name: dict.fromkeys("abcdef", "x") for name in (*HUMANS, "m")})
    table = agreement_table(same, humans=HUMANS, candidates=["m"], bootstrap=FEW)
    assert table.constant is not None
    assert (table.constant.value, table.constant.humans, checked(table)) == (None, 0, [])


def test_humans_without_any_answer_have_no_constant_beside_them() -> None:
    rows = [VerdictRow(case_id=f"c{n}", judge=name, verdict=None, outcome="unparsed") for n in "123" for name in "ab"]
    rows += [VerdictRow(case_id=f"c{n}", judge="m", verdict="good") for n in "123"]
    table = agreement_table(Panel.from_rows(rows), humans=["a", "b"], candidates=["m"], bootstrap=FEW)
    assert (table.constant, checked(table)) == (None, [])
