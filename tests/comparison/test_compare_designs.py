"""Comparisons that are not of one measurement a case under one design: what is paired, and what is said of it."""

from __future__ import annotations

from support.comparisons import a_run, joined

from judgeharness_integrations.analysis.comparison import ComparisonReport, CriterionComparison, compare
from judgeharness_integrations.reporting.comparison import caveats, details, titled

P, F = "PASS", "FAIL"


def only(report: ComparisonReport) -> CriterionComparison:
    assert len(report.criteria) == 1
    return report.criteria[0]


def test_a_case_that_was_measured_twice_is_one_cluster_and_nothing_is_pooled() -> None:
    first = {f"c{i:02}": [P if i % 3 else F] * 3 for i in range(20)}
    second = {case: [F] * 3 if int(case[1:]) < 8 else samples for case, samples in first.items()}
    twice, changed = joined(a_run(first), a_run(first)), joined(a_run(second), a_run(second), a_run({"c00": [P] * 3}))
    one = only(compare(twice, changed))
    assert (one.cases, one.main.n, one.main.clusters) == (40, 40, 20)
    assert (len(one.repeated), one.unpaired) == (20, 1)
    once = only(compare(a_run(first), a_run(second)))
    assert one.main.difference == once.main.difference
    assert one.p_adjusted > once.p_adjusted / 2  # a second look at a case is no second case
    assert [flip.case_id for flip in one.flips if flip.case_id.startswith("c01")] == ["c01", "c01 (measurement 2)"]
    assert all(flip.p is not None for flip in one.flips)
    told = list(details(one))
    assert told[0] == "measurements: 40 in both runs"
    assert told[1].startswith("measured several times, paired in order, one cluster each: 20 (c00, ")
    assert told[1].endswith("; 1 without a partner left out")
    again = only(compare(twice, twice))
    assert (again.answer, again.unpaired) == ("no difference found", 0)
    assert "without a partner" not in list(details(again))[1]


def test_a_change_under_another_design_is_not_called_the_judges() -> None:
    first = {f"c{i:02}": [P if i % 3 else F] * 3 for i in range(60)}
    second = {case: [F] * 5 if int(case[1:]) < 30 else samples + samples[:2] for case, samples in first.items()}
    report = compare(a_run(first), a_run(second))
    assert report.answer == "worse"
    assert "the designs differ (repetitions), which can move the numbers of one and the same" in only(report).reason
    assert "these differ in repetitions" in list(caveats(report))[-1]
    same = compare(a_run(first), a_run({case: samples[:3] for case, samples in second.items()}))
    assert (same.answer, "designs" in only(same).reason) == ("worse", False)
    assert "two runs of one judge different at most 5 % of the time" in list(caveats(same))[-1]
    alike = compare(a_run(first), a_run({case: samples[:2] for case, samples in first.items()}))
    assert (alike.answer, "designs" in only(alike).reason) == ("no difference found", False)


def test_a_judge_and_its_criterion_of_one_name_are_named_once() -> None:
    run = a_run({"c": [P]}, judge="tone", criterion="tone")
    assert titled(only(compare(run, run))) == "tone"
    assert titled(only(compare(run, a_run({"c": [P]}, judge="other", criterion="tone")))) == "tone -> other, tone"
