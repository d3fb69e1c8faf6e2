from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow


def said(judge: str, case_id: str, verdict: Verdict | None, **fields: Any) -> VerdictRow:
    return VerdictRow(
        judge=judge, case_id=case_id, verdict=verdict, outcome="unparsed" if verdict is None else "ok", **fields
    )


def test_cells_are_sorted_and_missing_ones_absent() -> None:
    panel = Panel.from_annotations({"ann": {"2": "B", "1": "A"}, "bob": {"1": "A", "3": None}, "cy": {"2": "C"}})
    assert (panel.raters, panel.items, panel.labels) == (("ann", "bob", "cy"), ("2", "1"), ("A", "B", "C"))
    assert panel.grid(["ann", "bob", "cy"]).tolist() == [[1, 0], [-1, 0], [2, -1]]
    assert panel.rater.tolist() == [0, 0, 1, 2]
    assert panel.values[panel.cells_of("bob")].tolist() == [0]


def test_numbers_keep_their_values_and_codes_tell_them_apart() -> None:
    panel = Panel.from_annotations({"ann": {"1": 1, "2": 2.5}, "bob": {"1": 1.0}})
    assert panel.kind == "numbers"
    assert panel.labels == ()
    assert np.array_equal(panel.numbers_grid(["ann", "bob"]), [[1, 2.5], [1, np.nan]], equal_nan=True)
    assert panel.grid(["bob", "ann"]).tolist() == [[0, -1], [0, 1]]


def test_numbers_read_as_labels_are_texts() -> None:
    panel = Panel.from_annotations({"ann": {"1": 1, "2": "x"}, "bob": {"1": 1.0}}, labels=True)
    assert (panel.kind, panel.labels) == ("labels", ("1", "x"))


def test_sets_are_marks_over_all_labels() -> None:
    panel = Panel.from_annotations({"ann": {"1": ["b", "a"], "2": []}, "bob": {"1": ["a", "b"], "2": ["c"]}})
    assert (panel.kind, panel.labels) == ("sets", ("a", "b", "c"))
    assert panel.values.tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert panel.codes[0] == panel.codes[2] != panel.codes[1] != panel.codes[3]


def test_sets_may_all_be_empty() -> None:
    panel = Panel.from_annotations({"ann": {"1": []}, "bob": {"1": []}})
    assert panel.values.shape == (2, 0)
    assert panel.codes.tolist() == [0, 0]


@given(st.lists(st.frozensets(st.sampled_from("abcdefghij")), min_size=1, max_size=30))
def test_codes_of_sets_are_equal_exactly_where_the_sets_are(sets: list[frozenset[str]]) -> None:
    panel = Panel.from_annotations({"ann": {str(place): one for place, one in enumerate(sets)}})
    assert (panel.codes[:, None] == panel.codes).tolist() == [[one == other for other in sets] for one in sets]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("1", 1, "'ann' answers with a label ('1') and 'bob' with a number ('1')"),
        (["a"], "a", "'ann' answers with a set of labels ('{a}') and 'bob' with a label ('a')"),
    ],
)
def test_labels_of_two_kinds_are_refused(first: object, second: object, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        Panel.from_annotations({"ann": {"1": first}, "bob": {"1": second}})
    assert str(caught.value).startswith(told)


def test_a_panel_without_verdicts_is_refused() -> None:
    with pytest.raises(UsageError, match="no row holds a verdict"):
        Panel.from_rows([said("ann", "1", None)])


def test_failed_answers_are_missing_and_counted() -> None:
    panel = Panel.from_rows([said("ann", "1", "A"), said("bot", "1", None), said("bot", "2", "B")])
    assert panel.grid(["bot"]).tolist() == [[-1, 1]]
    assert panel.failed == {"bot": 1}


def test_repeated_answers_are_folded_by_a_named_rule() -> None:
    rows = [
        *(said("bot", "1", verdict, repetition=place) for place, verdict in enumerate(["A", "B", "A"])),
        *(said("bot", "2", verdict, repetition=place) for place, verdict in enumerate(["A", "B"])),
        *(said("bot", "3", verdict, repetition=place) for place, verdict in enumerate([None, "B"])),
        said("ann", "1", "B"),
    ]
    panel = Panel.from_rows(rows)
    assert panel.grid(["bot", "ann"]).tolist() == [[0, -1, 1], [1, -1, -1]]
    assert (panel.rule, panel.folded, panel.undecided) == ("majority | median", {"bot": 3}, {"bot": 1})
    assert Panel.from_rows(rows, rule="abstain_on_disagreement").undecided == {"bot": 3}


def test_repeated_numbers_become_their_median() -> None:
    panel = Panel.from_rows([said("bot", "1", n, repetition=n) for n in (1, 2, 5)])
    assert panel.values.tolist() == [2.0]


def test_repeated_answers_in_both_orders_can_be_folded_by_a_rule_for_orders() -> None:
    rows = [said("bot", "1", "A"), said("bot", "1", "B", perturbation="position_swap", swapped=True)]
    assert Panel.from_rows([*rows, said("ann", "1", "A")], rule="swap_consensus").undecided == {"bot": 1}


def test_one_of_several_criteria_is_chosen() -> None:
    rows = [said("ann", "1", "A", criterion="tone"), said("ann", "1", 3, criterion="length")]
    with pytest.raises(UsageError, match=r"there are 2 criteria \(length, tone\): choose one with --criterion"):
        Panel.from_rows(rows)
    assert Panel.from_rows(rows, criterion="length").kind == "numbers"
    with pytest.raises(UnknownNameError, match="did you mean 'tone'"):
        Panel.from_rows(rows, criterion="tune")


def test_clusters_come_from_a_column() -> None:
    rows = [said("ann", str(i), "A", attributes={"text": t}) for i, t in enumerate(["x", "y", "x"])]
    panel = Panel.from_rows([*rows, said("bob", "0", "B")], cluster="text")
    assert panel.clusters is not None
    assert panel.clusters.tolist() == [0, 1, 0]
    assert panel.cluster_name == "text"


def test_an_item_without_a_cluster_is_refused() -> None:
    rows = [said("ann", "1", "A", attributes={"text": "x"}), said("ann", "2", "A")]
    with pytest.raises(UsageError, match="item '2' has no value of 'text'"):
        Panel.from_rows(rows, cluster="text")


def test_an_item_in_two_clusters_is_refused() -> None:
    rows = [said("ann", "1", "A", attributes={"text": "x"}), said("bob", "1", "A", attributes={"text": "y"})]
    with pytest.raises(UsageError, match=r"item '1' has two values of 'text' \('x', 'y'\)"):
        Panel.from_rows(rows, cluster="text")


@pytest.fixture
def named() -> Panel:
    names = ["author_1", "author_2", "x,y", "gpt-4o@0.2", "gpt-4o@0.7", "odd[1]"]
    return Panel.from_annotations({name: {"1": "A"} for name in names})


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["author_2,author_1"], ("author_1", "author_2")),
        (["author_2, author_1,"], ("author_1", "author_2")),
        (["author_*", "author_1"], ("author_1", "author_2")),
        (["x,y"], ("x,y",)),
        (["gpt-4o@*,author_1"], ("author_1", "gpt-4o@0.2", "gpt-4o@0.7")),
        (["odd[1]"], ("odd[1]",)),
    ],
)
def test_raters_are_selected_by_names_and_globs(named: Panel, patterns: list[str], names: tuple[str, ...]) -> None:
    assert named.select(patterns) == names


def test_globs_leave_out_who_is_chosen_already(named: Panel) -> None:
    assert named.select(["*"], without=["author_1", "author_2", "x,y"]) == ("gpt-4o@0.2", "gpt-4o@0.7", "odd[1]")
    with pytest.raises(UsageError, match="'author_1' is named twice, as a human and as a candidate"):
        named.select(["author_1"], what="candidate", without=["author_1"])


@pytest.mark.parametrize("pattern", ["author_3", "auther_*"])
def test_a_name_nobody_has_is_refused(named: Panel, pattern: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown rater .* did you mean 'author_"):
        named.select([pattern])


@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing_but_the_order_of_names(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - an order, not a secret
    rows = [said(f"r{j}", f"i{i}", draw.choice("ABC")) for i in range(6) for j in range(4) if draw.random() < 0.7]
    if not rows:
        return
    shuffled = draw.sample(rows, len(rows))
    one, other = Panel.from_rows(rows), Panel.from_rows(shuffled)
    assert sorted(one.raters) == sorted(other.raters)
    places = [other.items.index(item) for item in one.items]
    assert np.array_equal(one.grid(one.raters), other.grid(one.raters)[:, places])


def test_no_glob_takes_whom_the_other_side_names(named: Panel) -> None:
    everybody = set(named.raters)
    humans, candidates = named.roles(humans=["*"], candidates=["gpt-4o@0.2, gpt-4o@0.7"])
    assert candidates == ("gpt-4o@0.2", "gpt-4o@0.7")
    assert set(humans) == everybody - set(candidates)
    assert named.roles(humans=["author_1"], candidates=["*"])[1] == named.raters[1:]
    assert named.roles(humans=["*"], candidates=[]) == (named.raters, ())
    with pytest.raises(UsageError, match="'author_1' is named twice"):
        named.roles(humans=["author_1"], candidates=["author_1"])
    with pytest.raises(UsageError, match="the humans took everybody, so that no candidate is left"):
        named.roles(humans=["*"], candidates=["gpt*"])
