"""What a report says about its own numbers: clusters, orders, judges that cannot be rated, labels."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.credit_matrices import answers

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking import RankReport, RankRequest, rank
from judgeharness_integrations.verdictlog import VerdictRow

GOLD = {f"p{place}": "AB"[place % 2] for place in range(40)}


def one_order(seed: int = 0, *, judges: int = 3, pairs: int = 40, **columns: Any) -> list[VerdictRow]:
    """Rows of judges of rising skill about pairs whose better answer alternates."""
    draw = np.random.default_rng(seed)
    gold = dict(list(GOLD.items())[:pairs])
    given = {
        f"j{place}": [truth if draw.random() < skill else "BA"["AB".index(truth)] for truth in gold.values()]
        for place, skill in enumerate(np.linspace(0.4, 0.8, judges))
    }
    return answers(gold, given, **columns)


def swapped(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    return [replace(row, swapped=True, perturbation="position_swap") for row in rows]


def both_orders(**columns: Any) -> list[VerdictRow]:
    return [*one_order(0, **columns), *swapped(one_order(1, **columns))]


def notes(report: RankReport) -> str:
    return " ".join(report.diagnostics.sentences())


# Clusters


def test_clusters_are_those_of_the_pairs_that_rated_judges_differ_about() -> None:
    perfect = [replace(row, judge="best", verdict=row.gold) for row in one_order() if row.judge == "j0"]
    rows = [*one_order(), *perfect]
    alone = rank(rows)
    rated = rank(one_order())
    assert alone.judge("best").place == "above"
    assert alone.n_pairs > rated.n_pairs  # some pairs tell only the best judge from the others
    assert alone.diagnostics.clusters == rated.diagnostics.clusters == rated.n_pairs


def test_clusters_of_a_column_are_counted_in_the_fit() -> None:
    source = [str(place // 4) for place in range(40)]
    report = rank(one_order(source=source), RankRequest(cluster="source"))
    assert (report.diagnostics.cluster, report.diagnostics.clusters) == ("source", 10)
    assert "Errors rest on 10 clusters of pairs (by source); with fewer than 20" in notes(report)


@pytest.mark.slow
def test_a_column_cluster_is_respected_and_said() -> None:
    source = [str(place // 4) for place in range(40)]
    asked, found = rank(one_order(source=source), RankRequest(cluster="source")), rank(one_order(cluster=source))
    assert (found.diagnostics.cluster, found.diagnostics.clusters) == ("cluster", 10)
    assert [one.se for one in found.judges] == [one.se for one in asked.judges]
    assert [one.se for one in found.judges] != [one.se for one in rank(one_order()).judges]
    other = rank(one_order(cluster=source, source=source[::-1]), RankRequest(cluster="source"))
    assert other.diagnostics.cluster == "source"
    empty = rank(one_order(cluster=[""] * 40))
    assert empty.diagnostics.clusters == rank(one_order()).diagnostics.clusters
    with pytest.raises(UsageError, match="column 'cluster' puts all pairs that are ranked by into one cluster"):
        rank(one_order(cluster=["one"] * 40))
    rows = one_order(cluster=source)
    with pytest.raises(UsageError, match="column 'cluster' differs between rows of one pair"):
        rank([*rows[1:], replace(rows[0], attributes={"cluster": "x"})])


def test_few_clusters_are_said() -> None:
    found = replace(rank(one_order()).diagnostics, clusters=19)
    assert any("95 % intervals are too narrow" in note for note in found.sentences())
    enough, unrated = replace(found, clusters=20), replace(found, log_likelihood=None)  # then nobody has an interval
    assert not any("95 % intervals" in note for note in enough.sentences())
    assert not any("95 % intervals" in note for note in unrated.sentences())


def test_few_pairs_are_said_too() -> None:
    report = rank(one_order(pairs=12))
    assert f"Errors rest on {report.n_pairs} pairs; with fewer than 20" in notes(report)


def test_one_cluster_has_no_error() -> None:
    with pytest.raises(UsageError, match="puts all pairs that are ranked by into one cluster"):
        rank(one_order(source=["one"] * 40), RankRequest(cluster="source"))


# Orders


def test_the_order_effect_is_measured_where_both_orders_are_alike() -> None:
    report = rank(both_orders())
    assert report.diagnostics.order_effect is not None
    assert report.diagnostics.one_order == 0
    assert "one order alone" not in notes(report)


def test_the_order_effect_is_not_measured_from_more_samples_of_one_order() -> None:
    again = [replace(row, repetition=1) for row in one_order(2)]
    assert rank([*both_orders(), *again]).diagnostics.order_effect is None


def test_the_order_effect_is_not_measured_where_sampling_stopped_early() -> None:
    early = [replace(row, attributes={"planned_samples": 4}) for row in both_orders()]
    assert rank(early, RankRequest(rule="strict_majority")).diagnostics.order_effect is None


def test_the_order_effect_is_not_told_from_judges_that_saw_one_order_each() -> None:
    rows = one_order(judges=4)
    split = [*(row for row in rows if row.judge < "j2"), *swapped(row for row in rows if row.judge >= "j2")]
    assert rank(split, RankRequest(rule="majority")).diagnostics.order_effect is None


def test_cells_asked_in_one_order_are_left_out_and_said() -> None:
    rows = [row for row in both_orders() if not (row.swapped and row.case_id in ("p0", "p1"))]
    report = rank(rows)
    assert (report.n_unanswered, report.diagnostics.one_order) == (2, 6)
    assert "6 judge-pair cells of pairs with gold left out: answered in one order alone" in notes(report)
    lone = rank([row for row in both_orders() if not (row.swapped and (row.case_id, row.judge) == ("p0", "j0"))])
    assert (lone.n_unanswered, lone.diagnostics.one_order) == (0, 1)
    assert "1 judge-pair cell of pairs with gold left out" in notes(lone)
    as_given = rank(rows, RankRequest(rule="one_order"))
    assert (as_given.n_unanswered, as_given.diagnostics.one_order) == (0, 0)


def test_a_cell_in_one_order_that_other_criteria_answer_is_not_left_out() -> None:
    other = [replace(row, criterion="tone") for row in both_orders()]
    rows = [*both_orders(), *(row for row in other if not (row.swapped and row.case_id == "p0"))]
    report = rank(rows)
    assert report.criteria == ("verdict", "tone")
    assert report.diagnostics.one_order == 0  # wrong about p0: strict


def test_a_criterion_of_one_order_is_refused_under_a_rule_of_both() -> None:
    turn = [replace(row, criterion="turn") for row in one_order()]
    with pytest.raises(UsageError, match="criterion 'turn' was never answered in both orders, and both_orders takes"):
        rank([*both_orders(), *turn])
    assert rank([*both_orders(), *turn], RankRequest(criteria=("verdict",))).criteria == ("verdict",)
    assert rank([*both_orders(), *turn], RankRequest(rule="one_order")).criteria == ("verdict", "turn")


def test_a_rule_of_two_sides_is_refused_for_other_labels() -> None:
    graded = [replace(row, verdict="PASS", gold="FAIL", criterion="style") for row in both_orders()]
    with pytest.raises(UsageError, match="net_preference reads A, B and TIE, but criterion 'style' holds other labels"):
        rank([*both_orders(), *graded], RankRequest(rule="net_preference"))
    report = rank([*both_orders(), *graded], RankRequest(rule="net_preference", criteria=("verdict",)))
    assert report.rule == "net_preference"


def test_a_column_that_differs_within_a_pair_describes_no_pair() -> None:
    rows = [replace(row, attributes={"mood": row.judge}) for row in one_order()]
    with pytest.raises(UsageError, match="column 'mood' differs between rows of one pair"):
        rank(rows, RankRequest(by="mood"))


def test_gold_that_decides_nothing_is_no_gold() -> None:
    more = [
        VerdictRow(case_id="undecided", judge=f"j{place}", verdict="A", gold="ABSTAIN", swapped=turned)
        for place in range(3)
        for turned in (False, True)
    ]
    report = rank([*both_orders(), *more])
    assert (report.n_pairs_total, report.n_unlabelled) == (40, 1)
    assert report.diagnostics.order_effect == rank(both_orders()).diagnostics.order_effect


# Judges


def test_joint_elo_is_explained_without_a_conditional_fit() -> None:
    rows = [replace(row, verdict="TIE") if row.case_id in ("p3", "p8") else row for row in one_order()]
    report = rank(rows, RankRequest(ties="half"))
    assert (report.diagnostics.inflation, report.diagnostics.inflation_expected) == (None, 1.5)
    assert "intervals too narrow." in notes(report)
    assert "Conditional" not in notes(report)
    assert "here joint Elo is spread" in notes(rank(one_order()))


def test_equal_judges_have_no_spread_to_compare() -> None:
    rows = answers({"p0": "A", "p1": "A"}, {"a": ["A", "B"], "b": ["B", "A"]})
    report = rank(rows)
    assert [one.elo for one in report.judges] == pytest.approx([1500, 1500])
    assert report.diagnostics.inflation is None
    json.dumps(report.to_dict(), allow_nan=False)


def test_judges_of_another_scale_are_not_said_to_be_ranked() -> None:
    gold = {f"p{place}": "A" for place in range(7)}
    given = {
        "a": ["A", "B", "A", "A", "-", "-", "-"],
        "b": ["B", "A", "A", "B", "-", "-", "-"],
        "best": ["A", "A", "A", "A", "-", "-", "-"],
        "worst": ["B", "B", "B", "B", "-", "-", "-"],
        "far": ["-", "-", "-", "-", "A", "B", "A"],
    }
    rest = rank(answers(gold, {judge: marks for judge, marks in given.items() if judge != "far"}))
    assert "ranked above by what is right" in notes(rest)
    assert "ranked below by what is right" in notes(rest)
    given["near"] = ["-", "-", "-", "-", "B", "A", "A"]
    report = rank(answers(gold, given | {"c": ["A", "A", "B", "A", "-", "-", "-"]}))
    assert set(report.diagnostics.connections.judges("apart")) == {"far", "near"}
    assert {one.rank for one in report.judges} == {None}
    assert "best: never wrong where a rated judge is right" in notes(report)
    assert "worst: never right where a rated judge is wrong" in notes(report)
    assert "by what is right" not in notes(report)


def test_a_judge_without_an_answer_has_no_rank() -> None:
    silent = [replace(row, judge="silent", verdict=None, outcome="error") for row in one_order() if row.judge == "j0"]
    report = rank([*one_order(), *silent], RankRequest(failures="missing"))
    assert (report.judges[-1].judge, report.judges[-1].place, report.judges[-1].rank) == ("silent", "unseen", None)
    assert "silent: no answer that counts about any pair that is ranked by, so no rank." in notes(report)
    assert report.judge("j2").rank == 1
    with pytest.raises(UnknownNameError, match="unknown judge 'nobody'"):
        report.judge("nobody")


# Labels


def labelled(*labels: str) -> list[VerdictRow]:
    rows = one_order()
    names = {"A": labels[0], "B": labels[1]}
    plain = [replace(row, verdict=names[str(row.verdict)], gold=names[str(row.gold)]) for row in rows]
    return [replace(row, verdict=labels[-1]) if row.case_id == "p7" else row for row in plain]


def test_one_number_written_in_two_ways_is_said() -> None:
    report = rank(labelled("3", "2", "3.0"))
    assert report.diagnostics.same_number == ("3", "3.0")
    assert "labels '3' and '3.0' are one number and count as different labels" in notes(report)


@pytest.mark.parametrize("labels", [("3", "2", "1"), ("good", "poor", "3"), ("nan", "NaN", "inf")])
def test_labels_that_differ_are_not_remarked_on(labels: tuple[str, ...]) -> None:
    report = rank(labelled(*labels))
    assert report.diagnostics.same_number == ()
    assert "one number" not in notes(report)


def test_diagnostics_are_json() -> None:
    plain = rank(both_orders()).diagnostics.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["one_order"], plain["same_number"], plain["connected"]) == (0, [], True)


@pytest.mark.parametrize(("odd", "told"), [(1, "1 gold label cannot"), (2, "2 gold labels cannot")])
def test_gold_labels_that_cannot_be_read_are_counted_and_said(odd: int, told: str) -> None:
    words = {"A": "PASS", "B": "FAIL"}
    graded = [replace(row, verdict=words[str(row.verdict)], gold=words[str(row.gold)]) for row in one_order()]
    scores = {f"p{place}" for place in range(odd)}
    found = rank([replace(row, gold=3 if row.case_id in scores else row.gold) for row in graded])
    assert (found.diagnostics.unread, rank(graded).diagnostics.unread) == (odd, 0)
    assert f"{told} be read beside such answers and count as none." in notes(found)
