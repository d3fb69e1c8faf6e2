"""Comparisons that may be looked at as often as one likes while cases are added."""

from __future__ import annotations

import numpy as np
import pytest
from support.gated import case, scores

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.comparison import ComparisonReport, compare
from judgeharness_integrations.analysis.comparison.difference import compared_shares
from judgeharness_integrations.analysis.comparison.values import anytime
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.sequential import log_e_signs


def graded(verdicts: str, *, cluster: int | None = None) -> RunReport:
    """A report of cases: P passed, F failed, in this order."""
    words = {"P": "PASS", "F": "FAIL"}
    return run_report(
        [
            case(f"c{n}", [words[one]] * 3, cluster=None if cluster is None else f"k{n // cluster}")
            for n, one in enumerate(verdicts)
        ]
    )


def sequential(before: RunReport, after: RunReport, **options: object) -> ComparisonReport:
    return compare(before, after, sequential=True, **options)  # type: ignore[arg-type]


def test_the_evidence_of_discordant_pairs_is_the_test() -> None:
    report = sequential(graded("P" * 40), graded("F" * 9 + "P" * 31))
    (one,) = report.criteria
    assert (one.answer, report.sequential) == ("worse", True)
    assert one.main is not None
    assert one.main.p == pytest.approx(np.exp(-log_e_signs(0, 9)))
    assert -1 < (one.main.low or 0) < -9 / 40 < (one.main.high or 0) < 0.01
    assert one.noise.p is None
    assert "a test of a fixed number of cases" in one.noise.reason
    page = report.to_markdown()
    assert "mixture e-process of signs, betting e-process and confidence sequence" in page
    assert "at every look at once, about the population the cases are from" in page


def test_what_is_not_found_may_still_be() -> None:
    (one,) = sequential(graded("P" * 40), graded("F" * 4 + "P" * 36)).criteria
    assert one.answer == "no difference found"
    assert "further cases may still show one" in one.reason


def test_clusters_are_the_units() -> None:
    alone, together = (
        sequential(graded("P" * 60, cluster=size), graded("F" * 12 + "P" * 48, cluster=size)).criteria[0]
        for size in (1, 12)
    )
    assert (alone.answer, together.answer) == ("worse", "no difference found")
    assert together.main is not None
    assert together.main.method.startswith("betting e-process")


def test_scores_need_the_ends_of_their_scale() -> None:
    before, after = scores([8.0, 7.0] * 30), scores([5.0, 6.0] * 30)
    (without,) = sequential(before, after).criteria
    assert (without.answer, without.reason) == (
        "cannot tell",
        "a sequential comparison of scores needs the ends of their scale: give --scale 1:10",
    )
    (one,) = sequential(before, after, scale=(1, 10)).criteria
    assert one.main is not None
    assert (one.answer, one.main.difference) == ("worse", pytest.approx(-2.0))
    assert (one.main.low or 0) < -2 < (one.main.high or 0) < 0
    with pytest.raises(UsageError, match="outside the scale 1:7"):
        sequential(before, after, scale=(1, 7))


def test_shares_of_labels_are_weighed_label_by_label() -> None:
    def topics(shift: int) -> RunReport:
        names = ["art", "law", "sea"]
        return run_report([case(f"c{n}", [names[(n + (shift if n < 40 else 0)) % 3]] * 3) for n in range(60)])

    moved = run_report([case(f"c{n}", ["art"] * 3) for n in range(60)])
    (one,) = sequential(topics(0), moved).criteria
    assert one.main is not None
    assert (one.answer, one.main.method) == ("different", "betting e-processes of all labels")
    assert sequential(topics(0), topics(1)).criteria[0].answer == "no difference found"


@pytest.mark.slow
def test_two_runs_of_one_judge_differ_no_more_often_than_the_level_with_a_look_after_every_case() -> None:
    random = np.random.default_rng(31)
    moves = random.choice([-1, 0, 0, 0, 1], (4000, 300))
    rose, fell = (np.cumsum(moves == side, axis=-1) for side in (1, -1))
    assert (log_e_signs(rose, fell) >= np.log(20)).any(axis=-1).mean() <= 0.05


def test_no_case_is_no_difference() -> None:
    found = compared_shares("right_of_labelled", [], [], [])
    assert anytime(found, [], [], span=1.0).p is None


def test_clusters_of_unequal_size_are_not_compared_sequentially() -> None:
    """The largest cluster so far is no bound of what one can weigh."""

    def clustered(verdict: str, labels: tuple[str, str] = ("PASS", "FAIL")) -> RunReport:
        sizes = [1] * 40 + [5]
        return run_report(
            [
                case(f"c{place}-{n}", [labels["PF".index(verdict)]] * 3, cluster=f"k{place}")
                for place, size in enumerate(sizes)
                for n in range(size)
            ]
        )

    for labels in (("PASS", "FAIL"), ("art", "law")):
        (one,) = sequential(clustered("P", labels), clustered("F", labels)).criteria
        assert one.answer == "cannot tell"
        assert one.reason.startswith("clusters hold from 1 to 5 cases, and how large one of the population can be is")
        assert one.reason.endswith("compare runs of equally many cases a cluster, or without --sequential")
    assert compare(clustered("P"), clustered("F"), permutations=20).criteria[0].answer == "worse"


def test_a_cluster_of_which_some_cases_have_gold_is_still_one_of_its_size() -> None:
    def run(verdict: str) -> RunReport:
        return run_report(
            [
                case(f"c{n}", [verdict] * 3, cluster=f"k{n // 2}", gold="PASS" if n % 2 or n % 3 else None)
                for n in range(80)
            ]
        )

    (one,) = sequential(run("PASS"), run("FAIL"), measure="gold").criteria
    assert one.main is not None
    assert (one.answer, one.main.measure) == ("worse", "right_of_labelled")
