"""Who agrees with whom: humans with each other, candidates with humans and with their majority."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.agreement import Panel, read_panel
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap, alpha, cohen, fleiss, gwet
from judgeharness_integrations.analysis.agreement.kappatable import agreement_table
from judgeharness_integrations.analysis.agreement.ratings import Ratings, human_consensus
from judgeharness_integrations.verdictlog import VerdictRow

DATA = Path(__file__).parents[1] / "data"
WITHOUT = Bootstrap(replicates=0)
FEW = Bootstrap(replicates=200)


def panel_of(**said: str) -> Panel:
    """Raters whose answers are one letter an item, a dot where there is none."""
    return Panel.from_annotations(
        {rater: {str(item): label for item, label in enumerate(text) if label != "."} for rater, text in said.items()}
    )


@pytest.fixture(scope="module")
def pandalm() -> Panel:
    return read_panel(DATA / "pandalm.csv.gz")


@pytest.mark.slow
def test_pandalm_table_holds_every_golden(pandalm: Panel) -> None:
    golden = json.loads((DATA / "golden" / "pandalm.json").read_text())
    humans = pandalm.select(["annotator*"])
    table = agreement_table(pandalm, humans=humans, candidates=["gpt-3.5-turbo", "pandalm-7b"])
    kappas = [pair.coefficient.value for pair in table.pairs if pair.role == "human"]
    assert kappas == pytest.approx(golden["kappas"], abs=1e-12)
    assert table.human_mean == pytest.approx(np.mean(golden["kappas"]), abs=1e-12)
    against = {row.candidate: row for row in table.consensus}
    for judge in ("gpt-3.5-turbo", "pandalm-7b"):
        metrics = golden["metrics"][f"{judge}|unparseable=drop"]
        assert against[judge].coefficient.value == pytest.approx(metrics["kappa"], abs=1e-12)
        assert against[judge].coefficient.items == metrics["n"]
        assert (against[judge].consensus, against[judge].ties) == (999, 0)
    assert [round(group.value or 0, 5) for group in table.groups] == [0.86418, 0.86422, 0.88644]
    rows = {row.rater: row for row in table.raters}
    assert (rows["gpt-3.5-turbo"].answers, rows["gpt-3.5-turbo"].failed) == (974, 25)
    assert (table.humans, table.candidates) == (humans, ("gpt-3.5-turbo", "pandalm-7b"))


def test_a_rater_has_the_mean_of_its_kappas_with_the_other_humans(pandalm: Panel) -> None:
    humans = pandalm.select(["annotator*"])
    table = agreement_table(pandalm, humans=humans, candidates=["pandalm-7b"], bootstrap=FEW)
    for row in table.raters:
        others = [human for human in humans if human != row.rater]
        values = [pair.value for other in others if (pair := table.pair(row.rater, other)) and pair.value is not None]
        assert row.mean == pytest.approx(np.mean(values), abs=1e-12)
        assert row.humans == len(others)
        assert row.interval is not None
        assert row.interval[0] < row.mean < row.interval[1]
    assert table.pair("pandalm-7b", "annotator2") == table.pair("annotator2", "pandalm-7b")
    assert table.pair("annotator2", "nobody") is None


@given(answers=hnp.arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 8)), elements=st.integers(-1, 3)))
def test_the_majority_is_the_only_most_frequent_answer(answers: Any) -> None:
    found = human_consensus(answers)
    ties = 0
    for item, column in enumerate(answers.T.tolist()):
        counts = {code: column.count(code) for code in column if code >= 0}
        best = [code for code, count in counts.items() if count == max(counts.values())]
        ties += len(best) > 1
        assert found.answers[item] == (best[0] if len(best) == 1 else -1)
    assert (found.rule, found.ties) == ("majority", ties)


@given(
    answers=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 5), st.integers(1, 8)), elements=st.sampled_from([1, 2, 4, np.nan])
    )
)
def test_the_consensus_of_numbers_is_their_median(answers: Any) -> None:
    found = human_consensus(answers)
    for item, column in enumerate(answers.T):
        said = column[~np.isnan(column)]
        assert found.answers[item] == (
            pytest.approx(np.median(said)) if len(said) else pytest.approx(np.nan, nan_ok=True)
        )
    assert (found.rule, found.ties) == ("median", 0)


def test_ties_of_the_humans_are_left_out_and_counted() -> None:
    panel = panel_of(a="ABAB", b="ABBA", judge="ABAA")
    found = agreement_table(panel, humans=["a", "b"], candidates=["judge"], bootstrap=WITHOUT).consensus[0]
    assert (found.ties, found.consensus, found.coefficient.items, found.coefficient.value) == (2, 2, 2, 1.0)


def test_categories_are_those_of_the_humans_and_the_candidate_beside_them() -> None:
    panel = panel_of(a="ABABAB", b="ABABBB", odd="ABABXB", same="ABABAB")
    table = agreement_table(panel, humans=["a", "b"], candidates=["odd", "same"], bootstrap=WITHOUT)
    assert {group.categories for group in table.groups} == {2}
    assert {pair.second: pair.coefficient.categories for pair in table.pairs} == {"b": 2, "odd": 3, "same": 2}


def test_one_human_has_no_fellow_and_no_group() -> None:
    table = agreement_table(panel_of(a="ABAB", judge="ABBB"), humans=["a"], candidates=["judge"], bootstrap=FEW)
    human, judge = table.raters
    assert (human.mean, human.humans, human.reason) == (None, 0, "there is no other human")
    assert (table.human_mean, table.human_interval, table.groups) == (None, None, ())
    assert judge.mean == table.pairs[0].coefficient.value == 0.5


def test_who_is_compared_without_candidates_is_a_rater() -> None:
    table = agreement_table(panel_of(a="ABAB", b="ABBB"), humans=["a", "b"], bootstrap=WITHOUT)
    assert [row.role for row in table.raters] == ["rater", "rater"]
    assert (table.humans, table.candidates, table.consensus) == (("a", "b"), (), ())


def test_an_undefined_pair_is_left_out_of_the_mean_and_said() -> None:
    panel = panel_of(a="ABABAB", b="ABABBB", constant="AAAAAA")
    table = agreement_table(panel, humans=["a", "b", "constant"], bootstrap=FEW)
    rows = {row.rater: row for row in table.raters}
    assert (rows["constant"].mean, rows["constant"].humans) == (None, 0)
    assert rows["constant"].reason == "no coefficient with another human is defined"
    assert rows["a"].humans == 1
    assert rows["a"].mean == table.human_mean == table.pairs[0].coefficient.value


def test_items_nobody_shares_leave_nothing_to_compare() -> None:
    table = agreement_table(panel_of(a="AB..", b="..AB"), humans=["a", "b"], bootstrap=FEW)
    assert table.pairs[0].coefficient.reason == "no item was answered by two of them"
    assert table.human_mean is None


def test_numbers_are_weighted_and_their_alpha_is_of_intervals() -> None:
    generator = np.random.default_rng(9)
    grid = generator.normal(size=40) + generator.normal(size=(4, 40))
    names = ("a", "b", "c", "judge")
    panel = Panel.from_annotations(
        {
            name: dict(zip(map(str, range(40)), map(float, row), strict=True))
            for name, row in zip(names, grid, strict=True)
        }
    )
    table = agreement_table(panel, humans=names[:3], candidates=["judge"], bootstrap=FEW)
    assert (table.kind, table.weights) == ("numbers", "quadratic")
    assert table.pairs[0].coefficient.value == pytest.approx(
        cohen(Ratings.of_numbers(grid[:2]), weights="quadratic").value
    )
    titles = [group.title for group in table.groups]
    assert titles[1:3] == ["Krippendorff's alpha, ordinal", "Krippendorff's alpha, interval"]
    assert table.groups[2].value == alpha(Ratings.of_numbers(grid[:3]), metric="interval", bootstrap=WITHOUT).value
    median = np.stack([np.median(grid[:3], axis=0), grid[3]])
    assert table.consensus[0].rule == "median"
    assert table.consensus[0].coefficient.value == pytest.approx(
        cohen(Ratings.of_numbers(median), weights="quadratic").value
    )


def test_a_declared_scale_of_numbers_may_have_a_median_between_its_values() -> None:
    panel = Panel.from_annotations(
        {"a": {"1": 1, "2": 2, "3": 3}, "b": {"1": 2, "2": 2, "3": 3}, "judge": {"1": 1, "2": 2, "3": 5}}
    )
    table = agreement_table(
        panel, humans=["a", "b"], candidates=["judge"], order=["1", "2", "3", "4", "5"], bootstrap=WITHOUT
    )
    assert {group.categories for group in table.groups} == {5}
    assert table.consensus[0].coefficient.categories == 6
    expected = cohen(Ratings.of_numbers([[1.5, 2, 3], [1, 2, 5]]), weights="quadratic").value
    assert table.consensus[0].coefficient.value == pytest.approx(expected)


def test_labels_that_are_numbers_are_weighted_by_their_distance() -> None:
    panel = panel_of(a="1121313", b="1221333")
    table = agreement_table(panel, humans=["a", "b"], weights="linear", bootstrap=WITHOUT)
    numbers = [[1, 1, 2, 1, 3, 1, 3], [1, 2, 2, 1, 3, 3, 3]]
    assert table.pairs[0].coefficient.value == cohen(Ratings.of_numbers(numbers), weights="linear").value


def test_a_declared_order_places_labels_and_counts_those_nobody_used() -> None:
    panel = panel_of(a="LMHLMH", b="LMHMHH")
    table = agreement_table(
        panel, humans=["a", "b"], weights="quadratic", order=["N", "L", "M", "H"], bootstrap=WITHOUT
    )
    codes = Ratings.of_labels([[1, 2, 3, 1, 2, 3], [1, 2, 3, 2, 3, 3]], categories=4)
    assert table.pairs[0].coefficient.value == pytest.approx(cohen(codes, weights="quadratic").value)
    assert table.groups[-1].value == pytest.approx(gwet(codes, weights="quadratic").value)
    assert (table.groups[-1].categories, table.order) == (4, ("N", "L", "M", "H"))


@pytest.fixture
def sets() -> Panel:
    return Panel.from_annotations(
        {
            "a": {"1": ["x"], "2": ["x", "y"], "3": [], "4": ["y"]},
            "b": {"1": ["x"], "2": ["y"], "3": [], "4": ["y", "x"]},
            "judge": {"1": ["x"], "2": ["y"], "3": ["x"]},
        }
    )


def test_sets_agree_when_they_are_the_same_and_each_label_has_its_table(sets: Panel) -> None:
    table = agreement_table(sets, humans=["a", "b"], candidates=["judge"], bootstrap=WITHOUT)
    assert table.pairs[0].coefficient.observed == 0.5
    assert sorted(table.per_label) == ["x", "y"]
    of_x = table.per_label["x"]
    codes = Ratings.of_labels([[1, 1, 0, 0], [1, 0, 0, 1]], categories=2)
    assert of_x.pairs[0].coefficient.value == cohen(codes).value
    assert of_x.groups[0].value == fleiss(codes, bootstrap=WITHOUT).value
    assert of_x.groups[0].categories == 2
    assert [pair.coefficient.items for pair in of_x.pairs] == [4, 3, 3]


def test_what_json_keeps_is_plain_and_complete(sets: Panel) -> None:
    table = agreement_table(sets, humans=["a", "b"], candidates=["judge"], bootstrap=FEW)
    kept = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert kept["schema"] == "judgeharness.kappa/1"
    assert kept["intervals"] == "95 %, BCa bootstrap of 200 resamples by item, seed 0"
    assert kept["bootstrap"] == {"replicates": 200, "seed": 0, "level": 0.95}
    assert {"rater", "role", "answers", "failed", "folded", "undecided", "mean", "interval"} <= kept["raters"][0].keys()
    assert kept["pairs"][0]["coefficient"]["items"] == 4
    assert sorted(kept["per_label"]) == ["x", "y"]


def test_repeated_and_failed_answers_are_counted() -> None:
    rows = [
        VerdictRow(case_id=str(item), judge="a", verdict="AB"[item % 2], repetition=again)
        for item in range(4)
        for again in range(2)
    ]
    rows += [
        VerdictRow(case_id=str(item), judge="b", verdict="AB"[again], repetition=again)
        for item in range(4)
        for again in range(2)
    ]
    rows += [VerdictRow(case_id="9", judge="b", verdict=None, outcome="unparsed")]
    table = agreement_table(Panel.from_rows(rows), humans=["a", "b"], bootstrap=WITHOUT)
    counts = [(row.answers, row.failed, row.folded, row.undecided) for row in table.raters]
    assert counts == [(4, 0, 4, 0), (0, 1, 4, 4)]


def test_clusters_are_what_resamples_draw() -> None:
    rows = [
        VerdictRow(
            case_id=str(item), judge=judge, verdict="AB"[(item * step) % 7 % 2], attributes={"text": f"t{item // 4}"}
        )
        for item in range(40)
        for judge, step in (("a", 3), ("b", 5))
    ]
    table = agreement_table(Panel.from_rows(rows, cluster="text"), humans=["a", "b"], bootstrap=FEW)
    assert (table.cluster, table.clusters) == ("text", 10)
    free = agreement_table(Panel.from_rows(rows), humans=["a", "b"], bootstrap=FEW)
    assert (free.cluster, free.clusters) == (None, None)
    assert table.pairs[0].coefficient.value == free.pairs[0].coefficient.value
    assert table.pairs[0].coefficient.interval != free.pairs[0].coefficient.interval


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"humans": []}, "agreement needs two raters, and 0 was chosen"),
        ({"humans": ["a"]}, "agreement needs two raters, and 1 was chosen"),
        ({"humans": [], "candidates": ["a", "b"]}, "agreement needs two raters"),
        ({"humans": ["a", "b"], "candidates": ["b"]}, "'b' is named twice"),
        ({"humans": ["a", "zoe"]}, "unknown human 'zoe'"),
        ({"humans": ["a", "b"], "coefficient": "kendall"}, "unknown coefficient 'kendall'"),
        ({"humans": ["a", "b"], "weights": "linear"}, "linear weights need the order of the labels"),
        (
            {"humans": ["a", "b"], "weights": "linear", "order": ["A", "C"]},
            "the label 'B' is missing from the declared",
        ),
        ({"humans": ["a", "b"], "order": ["A", "B", "A"]}, "the order names a label twice"),
    ],
)
def test_who_and_how_that_cannot_be_is_one_sentence(chosen: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        agreement_table(panel_of(a="ABAB", b="ABBB"), **chosen)


@pytest.mark.parametrize("chosen", [{"weights": "linear"}, {"order": ["x", "y"]}])
def test_sets_have_no_order(sets: Panel, chosen: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="sets of labels have no order"):
        agreement_table(sets, humans=["a", "b"], **chosen)


@pytest.mark.parametrize("order", [["low", "high"], ["1", "nan"]])
def test_the_order_of_numbers_is_of_numbers(order: list[str]) -> None:
    panel = Panel.from_annotations({"a": {"1": 1, "2": 2}, "b": {"1": 1, "2": 2}})
    with pytest.raises(UsageError, match="the answers are numbers, so the order is of numbers"):
        agreement_table(panel, humans=["a", "b"], order=order)
