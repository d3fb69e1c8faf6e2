"""Asking until a gate is settled: in random order, whatever is answered first, with what is in flight kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.gated import case as judged_case
from support.measured import measured
from support.rows import sampled

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.gates import Gate, Gates, check_gates
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.judging.cascading import Until, settled
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase


def cases(count: int, *, clusters: int | None = None, failing: int = 10) -> list[AnswerCase]:
    return [
        AnswerCase(
            case_id=f"c{n}",
            input=f"q{n}",
            output="bad" if n % failing == 0 else "good",
            attributes={} if clusters is None else {"cluster": f"k{n % clusters}"},
        )
        for n in range(count)
    ]


def harness(**options: Any) -> JudgeHarness:
    plain: dict[str, Any] = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    return JudgeHarness(**plain | {"observers": ()} | options)


async def judge(case: AnswerCase) -> str:
    await asyncio.sleep(0.02 + 0.01 * (int(case.case_id[1:]) % 3))  # in an order of its own
    return "PASS" if case.output == "good" else "FAIL"


def asked(until: Until, **options: Any) -> list[str]:
    names = []
    for result in harness(**options).evaluate_many(judge, until):
        until.add(result)
        names.append(result.case_id)
    return names


@pytest.mark.slow
def test_asking_ends_when_the_gate_is_settled_and_what_was_begun_is_kept() -> None:
    until = Until(cases(400), ["pass_rate>=0.7"], judge="judge", seed=1)
    names = asked(until, max_concurrency=4)
    (check,) = until.report().checks
    assert check.status == "passed"
    assert check.n == until.units < len(names) == len(until.opened) <= until.units + 16
    beyond = len(names) - until.units
    assert until.ending == (
        f"{len(names)} of 400 cases asked, settled after {until.units} cases in random order; {beyond} cases beyond, "
        "which were in flight or had answers, are kept, and no evidence"
    )
    given = {result.case_id: result for result in harness().evaluate_many(judge, cases(400))}
    alone, followed = (Until(cases(400), ["pass_rate>=0.7"], judge="judge", seed=1) for _ in range(2))
    for case in alone:
        alone.add(given[case.case_id])
    assert alone.ending.endswith("in random order")
    order = iter(followed)
    case = next(order)
    while not followed.settled:
        given_before, case = given[case.case_id], next(order)
        followed.add(given_before)
    assert followed.ending.endswith("; 1 case beyond, which was in flight or had an answer, is kept, and no evidence")


def test_a_judge_that_answers_at_once_is_asked_little_beyond_the_stop() -> None:
    until = Until(cases(400), ["pass_rate>=0.7"], seed=1)
    for result in harness(max_concurrency=4).evaluate_many(
        lambda case: "PASS" if case.output == "good" else "FAIL", until
    ):
        time.sleep(0.005)  # whoever writes results down is slower than such a judge
        until.add(result)
    assert until.settled
    assert len(until.opened) <= until.units + 16


@pytest.mark.slow
def test_the_evidence_is_the_same_whichever_case_is_answered_first() -> None:
    found = {}
    for concurrency in (1, 8):
        until = Until(cases(400), ["pass_rate>=0.7"], seed=1)
        asked(until, max_concurrency=concurrency)
        found[concurrency] = until.report()
    assert found[1].checks == found[8].checks
    orders = [[one.case_id for one in Until(cases(9), ["pass_rate>=0.7"], seed=seed)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_what_is_far_below_the_bar_is_settled_against_it() -> None:
    until = Until(cases(400, failing=2), ["pass_rate>=0.9"], seed=1)
    names = asked(until, max_concurrency=4)
    assert (until.report().checks[0].status, len(names) < 60) == ("failed", True)


def test_unsettled_at_the_end_is_not_passed_and_a_suite_is_settled_there() -> None:
    population = Until(cases(40), ["pass_rate>=0.9"], seed=1)
    assert len(asked(population)) == 40
    assert "not settled" in population.ending
    assert population.report().checks[0].status == "failed"
    suite = Until(cases(40), Gates(fail_under=("pass_rate>=0.9",), sequential=True, about="suite"))
    assert len(asked(suite)) <= 40
    (check,) = suite.report().checks
    assert (check.status, "about this suite of 40 cases" in check.reason) == ("passed", True)


def test_a_cluster_is_asked_and_weighed_as_one() -> None:
    until = Until(cases(300, clusters=100), ["pass_rate>=0.5"], seed=1)
    asked(until)
    (check,) = until.report().checks
    assert (check.status, check.n) == ("passed", 3 * until.units)
    assert f"in {until.units} clusters" in check.reason
    assert "clusters in random order" in until.ending


def test_a_generator_is_refused_unless_its_order_is_declared_random() -> None:
    def stream() -> Iterator[AnswerCase]:
        yield from cases(400)

    with pytest.raises(UsageError, match="cannot be shuffled: give a list"):
        Until(stream(), ["pass_rate>=0.7"])
    declared = Until(stream(), ["pass_rate>=0.7"], in_random_order=True)
    assert len(asked(declared, max_concurrency=4)) < 100
    assert (declared.report().checks[0].status, declared.ending.split(" cases")[0].isdigit()) == ("passed", True)
    with pytest.raises(UsageError, match="how large the suite is"):
        Until(stream(), Gates(fail_under=("pass_rate>=0.7",), about="suite"), in_random_order=True)
    with pytest.raises(UsageError, match="share a cluster"):
        list(Until(iter(cases(4, clusters=2)), ["pass_rate>=0.7"], in_random_order=True))


def test_gates_of_other_judges_and_metrics_that_do_not_fit_ask_everything() -> None:
    elsewhere = Until(cases(60), Gates(fail_under=(Gate.of("pass_rate>=0.1", judge="other"),)), judge="judge")
    assert len(asked(elsewhere)) == 60
    assert elsewhere.report().checks == ()
    scores = Until(cases(60), Gates(fail_under=("mean_score>=1",), scale=(1, 10)))
    assert len(asked(scores)) == 60
    with pytest.raises(UsageError, match="of a calibration"):
        Until(cases(4), ["precision>=0.5"])
    with pytest.raises(UsageError, match="--scale 1:10"):
        Until(cases(4), ["mean_score>=5"])


def test_scores_are_weighed_on_their_scale() -> None:
    def score(case: AnswerCase) -> float:
        return 4.0 if case.output == "bad" else 8.0

    until = Until(cases(200), Gates(fail_under=("mean_score>=6",), scale=(1, 10)), seed=1)
    results = harness(aggregation_rule="median").evaluate_many(score, until)
    count = sum(until.add(result) is None for result in results)
    assert (until.report().checks[0].status, count < 100) == ("passed", True)
    assert 6 < (until.report().checks[0].low or 0) < 7.6
    outside = Until(cases(1, failing=2), Gates(fail_under=("mean_score>=6",), scale=(5, 10)))
    (result,) = harness(aggregation_rule="median").evaluate_many(score, outside)
    with pytest.raises(UsageError, match="outside the scale"):
        outside.add(result)


def test_copies_with_their_answers_exchanged_are_asked_together_as_one_unit() -> None:
    pairs = [
        PairwiseCase(case_id=f"{n}", output=f"a{n}", output_b=f"b{n}", attributes={"cluster": n}) for n in range(9)
    ]
    copies = [replace(one.swapped(), case_id=f"{one.case_id}s", attributes={}) for one in pairs]
    until = Until([*pairs, *copies], ["coverage>=0.5"])
    names = [case.case_id.removesuffix("s") for case in until]
    assert names[::2] == names[1::2]
    assert until.order is not None
    assert (until.order.clusters, until.order.cases) == (9, 18)


def test_a_criterion_that_appears_late_counts_as_not_passed_before() -> None:
    until = Until([AnswerCase(case_id=f"c{n}", input=f"q{n}", output="a") for n in range(6)], ["pass_rate>=0.5"])
    order = [case.case_id for case in until]
    empty = judged_case(order[0], [None, None, None])
    until.add(empty)
    for name in order[1:5]:
        until.add(judged_case(name, ["PASS"] * 3))
    until.add(type(empty)(**{**vars(judged_case(order[5], ["PASS"] * 3)), "rows": ()}))
    (check, *_) = until.report().checks
    assert check.n == 5


def test_criteria_only_some_answers_are_about() -> None:
    until = Until(cases(6), ["pass_rate>=0.5", "not_graded<=0.5", "accuracy>=0.5"])
    order = [case.case_id for case in until]
    for place, name in enumerate(order):
        criterion = "late" if place in {2, 3} else "early"
        rows = [replace(row, gold="PASS") for row in sampled(["PASS"] * 3, case_id=name, criterion=criterion)]
        until.add(measured(rows, case_id=name, perturbations=("none",), repetitions=3))
    found = {(check.gate, check.criterion): (check.n, check.value) for check in until.report().checks}
    assert found["pass_rate>=0.5", "late"] == (6, pytest.approx(2 / 6))
    assert found["not_graded<=0.5", "early"] == (6, pytest.approx(2 / 6))
    assert found["accuracy>=0.5", "early"] == (4, 1.0)


def test_what_a_run_says_of_its_gates_is_the_evidence_when_it_was_stopped() -> None:
    until = Until(cases(100), ["pass_rate>=0.7"], judge="judge", seed=1)
    results = []
    for result in harness().evaluate_many(judge, until):
        until.add(result)
        results.append(result)
    assert len(results) > until.units
    assert settled(run_report(results), {"judge": until}) == until.report()
    elsewhere = [replace(row, criterion="other") for row in sampled(["PASS"], case_id="late")]
    late = measured(elsewhere, case_id="late", perturbations=("none",), repetitions=1)
    found = settled(run_report([*results, late]), {"judge": until})
    assert [(check.criterion, check.status) for check in found.checks] == [
        ("verdict", "passed"),
        ("other", "not_measured"),
    ]
    assert found.checks[1].reason == "pass_rate was not measured: no case that was looked at is about it"


@pytest.mark.parametrize("about", ["population", "suite"])
def test_a_report_looks_at_the_cases_its_run_looked_at_and_at_none_in_flight(about: Any) -> None:
    """Of two gates the one that was settled first looked at fewer; another one looks at all that the run looked at."""
    gates = Gates(fail_under=("pass_rate>=0.5", "pass_rate>=0.7"), sequential=True, about=about)
    until = Until(cases(100), gates, judge="judge", seed=1)
    results = []
    for result in harness().evaluate_many(judge, until):
        until.add(result)
        results.append(replace(result, judge="judge"))
    own = settled(run_report(results), {"judge": until})
    report = replace(run_report(results), gates=own)
    assert len(results) > own.checks[1].n > own.checks[0].n
    assert check_gates(report, gates).checks == own.checks
    (other,) = check_gates(report, replace(gates, fail_under=("coverage>=0.6",))).checks
    assert (other.n, other.looked) == (until.units, until.units)


def test_what_is_not_decided_is_said_of_the_evidence_when_asking_was_stopped() -> None:
    until = Until(cases(100), ["pass_rate>=0.5"], judge="judge", seed=1)
    order = [case.case_id for case in until]
    results = [judged_case(name, [None if n % 5 == 0 else "PASS"] * 3) for n, name in enumerate(order)]
    for result in results:
        until.add(result)
    (check,) = settled(run_report(results), {"judge": until}).checks
    assert check.n == until.units < 100
    assert f"({-(-until.units // 5)} of {until.units} are not decided and count as not PASS)" in check.reason


def test_the_order_is_drawn_where_no_seed_is_given() -> None:
    drawn = [Until(cases(50), ["pass_rate>=0.5"]) for _ in range(2)]
    orders = [[case.case_id for case in until] for until in drawn]
    assert orders[0] != orders[1]
    again = Until(cases(50), ["pass_rate>=0.5"], seed=drawn[0].seed)
    assert [case.case_id for case in again] == orders[0]
    assert drawn[0].order is not None
    assert drawn[0].order.seed == drawn[0].seed < 2**53


def test_clusters_of_unequal_size_are_refused_of_a_population() -> None:
    unequal = cases(10, clusters=3)
    with pytest.raises(UsageError, match=r"clusters hold from 3 to 4 cases, .* nothing was asked"):
        Until(unequal, ["pass_rate>=0.5"])
    suite = Until(unequal, Gates(fail_under=("pass_rate>=0.5",), sequential=True, about="suite"))
    asked(suite)
    assert suite.report().checks[0].status == "passed"


def copies(texts: int, *, twice: int = 0, **attributes: str) -> list[AnswerCase]:
    """Return cases of so many texts, the first few of them twice."""
    return [
        AnswerCase(case_id=f"{name}{n}", output=f"text {n}", attributes=attributes)
        for name, count in (("c", texts), ("again", twice))
        for n in range(count)
    ]


def passing(until: Until) -> None:
    """Ask a judge that passes everything but copies."""
    for case in until:
        until.add(judged_case(case.case_id, ["FAIL" if case.case_id.startswith("again") else "PASS"] * 3))


def test_copies_of_a_case_are_one_unit_of_a_population_by_their_mean() -> None:
    until = Until(copies(60, twice=30), ["pass_rate>=0.5"], judge="judge", seed=3)
    passing(until)
    [check] = until.report().checks
    looked = next(iter(until.looked.values())).evidence
    assert looked is not None
    assert (looked.most, looked.mixed, set(looked.weights)) == (1, True, {1.0})
    assert set(looked.totals) == {0.5, 1.0}
    assert (check.status, check.n, check.looked) == ("passed", len(looked.totals), len(looked.totals))
    assert f"({looked.copies} copies count with what is copied, by the mean)" in check.reason


def test_copies_apart_clusters_of_one_size_are_evidence_about_a_population() -> None:
    clustered = [replace(one, attributes={"cluster": f"k{n % 10}"}) for n, one in enumerate(copies(30))]
    until = Until([*clustered, *copies(0, twice=4)], ["pass_rate>=0.97"], seed=3)
    passing(until)
    looked = next(iter(until.looked.values())).evidence
    assert looked is not None
    assert (looked.most, set(looked.weights)) == (3, {3.0})
    with pytest.raises(
        UsageError, match=r"4 of 34 cases ask word for word .* from 1 to 4 cases.*: leave copies out, gate"
    ):
        Until([*copies(30), *copies(0, twice=4, cluster="k")], ["pass_rate>=0.97"])


def test_copies_in_a_generator_are_asked_and_no_evidence() -> None:
    given = [*copies(3, twice=2), *[AnswerCase(case_id=f"d{n}", output=f"other {n}") for n in range(60)]]
    until = Until(iter(given), ["pass_rate>=0.97"], in_random_order=True)
    passing(until)
    assert until.units == len(until.opened) - 2
    assert until.ending.endswith("cases in random order; 2 of them are copies of earlier ones, and no evidence")
    one = Until(iter([*copies(2, twice=1), *given[5:]]), ["pass_rate>=0.97"], in_random_order=True)
    passing(one)
    assert one.ending.endswith("; 1 of them is a copy of earlier ones, and no evidence")


def test_cases_that_were_answered_before_are_handed_out_after_the_stop() -> None:
    until = Until(cases(200), ["pass_rate>=0.5"], judge="judge", seed=1, answered={"c1", "c2", "c3"})
    names = []
    for case in until:
        names.append(case.case_id)
        until.add(judged_case(case.case_id, ["PASS"] * 3))
    assert {"c1", "c2", "c3"} <= set(names)
    assert len(names) < 20
    order = until.order
    assert order is not None
    assert until.units == order.asked["judge"] < len(names) == len(until.opened)
