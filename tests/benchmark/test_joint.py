from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benchmark_results import judged, make_benchmark
from support.rows import sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.judgments import (
    JointTable,
    Judgment,
    Said,
    gold_of,
    in_one_order,
    joined,
    joint_table,
    judged_rows,
    judgments_of,
    order_rule,
)
from judgeharness_integrations.benchmark.verdicts import write_judgments
from judgeharness_integrations.verdictlog.row import VerdictRow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    return make_benchmark(tmp_path_factory.mktemp("joint") / "b", n=8)


@pytest.fixture(scope="module")
def pairs(folder: BenchmarkFolder) -> list[Pair]:
    return folder.pairs()


def said(pair: Pair, judge: str = "j", orders: tuple[dict[str, Any], ...] = ({}, {})) -> list[VerdictRow]:
    """Rows about a pair: right, but for what each order says otherwise; None could not be parsed, ... was left out."""
    rows = []
    for swapped, changes in enumerate(orders):
        for criterion, label in (gold_of(pair) | changes).items():
            if label is not ...:
                perturbation = "position_swap" if swapped else "none"
                common = {"case_id": pair.pair_id, "judge": judge, "criterion": criterion}
                call = f"{judge}{pair.pair_id}{swapped}"
                rows += sampled([label], perturbation=perturbation, swapped=bool(swapped), call_id=call, **common)
    return rows


def cell(pair: Pair, rows: list[VerdictRow]) -> Any:
    return joint_table(joined(rows, [pair])).cell("j", pair.pair_id)


def other(pair: Pair) -> str:
    return pair.worse_side


def test_both_orders_need_both_of_every_judge(pairs: list[Pair]) -> None:
    both, one = said(pairs[0]), said(pairs[0], "k", ({},))
    rows = joined([*both, *one], pairs[:1])
    assert (order_rule(joined(both, pairs)), order_rule(rows), order_rule([])) == (
        "both_orders",
        "one_order",
        "one_order",
    )
    assert in_one_order(rows) == ("k",)
    table = joint_table(rows)
    assert table.rule == "one_order"
    assert [table.joint(judge, pairs[0].pair_id) for judge in ("j", "k")] == [True, True]
    begun = joined([*said(pairs[0]), *said(pairs[1], orders=({},))], pairs[:2])
    assert joint_table(begun).rule == "both_orders"  # the second order of one pair is still to come
    assert joint_table(begun).joint("j", pairs[1].pair_id) is None


def test_right_about_all_three_is_jointly_right(pairs: list[Pair]) -> None:
    found = cell(pairs[0], said(pairs[0]))
    assert found.joint is True
    assert found.verdict == Said(label=pairs[0].conditions.better, status="decided", correct=True)
    assert found.turn.label == f"turn {pairs[0].conditions.flawed_round}"


@pytest.mark.parametrize(("criterion", "label"), [("verdict", other), ("turn", "turn 9"), ("type", "evasive")])
def test_wrong_about_one_is_jointly_wrong(pairs: list[Pair], criterion: str, label: Any) -> None:
    wrong = label(pairs[0]) if isinstance(label, Callable) else label
    found = cell(pairs[0], said(pairs[0], orders=({criterion: wrong}, {criterion: wrong})))
    assert found.joint is False
    assert getattr(found, criterion) == Said(label=wrong, status="decided", correct=False)
    assert [getattr(found, name).correct for name in ("verdict", "turn", "type")].count(False) == 1


def test_orders_that_disagree_abstain_and_are_wrong(pairs: list[Pair]) -> None:
    found = cell(pairs[0], said(pairs[0], orders=({}, {"turn": "turn 9"})))
    assert found.turn == Said(label=None, status="abstained", correct=False)
    assert (found.verdict.correct, found.joint) == (True, False)


def test_an_answer_that_failed_is_wrong_and_no_verdict(pairs: list[Pair]) -> None:
    found = cell(pairs[0], said(pairs[0], orders=({"type": None}, {})))
    assert found.type == Said(label=None, status="failed", correct=False)
    assert found.joint is False


def test_a_criterion_that_was_left_out_is_wrong(pairs: list[Pair]) -> None:
    found = cell(pairs[0], said(pairs[0], orders=({"type": ...}, {"type": ...})))
    assert found.joint is not True
    rows = [*said(pairs[0], orders=({"type": ...}, {})), *said(pairs[1])]
    table = joint_table(joined(rows, pairs))
    assert table.joint("j", pairs[0].pair_id) is False
    assert table.joint("j", pairs[1].pair_id) is True


def test_an_order_that_is_still_missing_tells_nothing(pairs: list[Pair]) -> None:
    rows = [*said(pairs[0], orders=({},)), *said(pairs[1])]
    found = joint_table(joined(rows, pairs)).cell("j", pairs[0].pair_id)
    assert found is not None
    assert found.joint is None
    assert found.verdict == Said(label=None, status="not_asked", correct=None)


def test_one_order_alone_is_judged_by_that(pairs: list[Pair]) -> None:
    table = joint_table(joined(said(pairs[0], orders=({},)), pairs))
    assert (table.rule, table.joint("j", pairs[0].pair_id)) == ("one_order", True)
    strict = joint_table(joined(said(pairs[0], orders=({},)), pairs), rule="both_orders")
    assert (strict.rule, strict.joint("j", pairs[0].pair_id)) == ("both_orders", None)


def test_a_judge_that_was_not_asked_has_no_cell(pairs: list[Pair]) -> None:
    table = joint_table(joined([*said(pairs[0]), *said(pairs[1], "k")], pairs))
    lines = list(judgments_of([("pointwise", table)]))
    assert [(one.mode, one.judge, one.pair_id) for one in lines] == [
        ("pointwise", "j", pairs[0].pair_id),
        ("pointwise", "k", pairs[1].pair_id),
    ]
    assert table.cell("j", pairs[1].pair_id) is None
    assert table.joint("j", pairs[1].pair_id) is None
    assert table.matrix() == {"j": {pairs[0].pair_id: True}, "k": {pairs[1].pair_id: True}}


def test_without_rows_the_table_is_empty() -> None:
    assert joint_table([]) == JointTable(judges=(), pairs=(), rule="one_order", cells={})


def test_a_refused_answer_is_wrong_and_a_call_that_failed_is_none(pairs: list[Pair]) -> None:
    refused = [replace(row, verdict=None, outcome="refused") for row in said(pairs[0])]
    failed = [replace(row, verdict=None, outcome="error") for row in said(pairs[1])]
    rows = joined([*refused, *failed], pairs)
    assert {(row.case_id, row.outcome) for row in rows} == {(pairs[0].pair_id, "refused")}
    slim = judged_rows([*refused, *failed], {pair.pair_id: pair for pair in pairs})
    assert [(*row.key, row.outcome, row.gold) for row in slim] == [(*row.key, row.outcome, row.gold) for row in rows]
    found = joint_table(rows).cell(rows[0].judge, pairs[0].pair_id)
    assert found is not None
    assert {found.verdict.status, found.turn.status, found.type.status} == {"failed"}
    assert found.joint is False


def test_rows_get_the_columns_and_the_gold_of_their_pair(pairs: list[Pair]) -> None:
    stale = [replace(row, gold="B", attributes={"domain": "old", "length_a": 7}) for row in said(pairs[2])]
    rows = joined(stale, pairs)
    conditions = pairs[2].conditions
    assert {row.criterion: row.gold for row in rows} == gold_of(pairs[2])
    assert {row.attributes["domain"] for row in rows} == {conditions.domain}
    assert {row.attributes["length_a"] for row in rows} == {7}
    assert {row.attributes["author"] for row in rows} == {"writer"}
    assert not any("noise" in row.attributes for row in rows)


def test_what_people_agreed_on_becomes_columns(pairs: list[Pair]) -> None:
    audit = {pairs[0].pair_id: "noise", pairs[1].pair_id: "clean", pairs[2].pair_id: None}
    rows = joined([row for pair in pairs[:4] for row in said(pair)], pairs, audit=audit)
    found = {row.case_id: (row.attributes["noise"], row.attributes.get("audit")) for row in rows}
    assert list(found.values()) == [("1", "noise"), ("0", "clean"), ("0", None), ("0", None)]


def test_rows_about_other_pairs_are_left_out(pairs: list[Pair]) -> None:
    assert {row.case_id for row in joined([*said(pairs[0]), *said(pairs[1])], pairs[1:])} == {pairs[1].pair_id}


@pytest.mark.slow
@settings(max_examples=8)
@given(st.randoms(use_true_random=False))
def test_the_order_rows_came_in_changes_nothing(pairs: list[Pair], rng: Any) -> None:
    rows = list(judged(pairs))
    first = joint_table(joined(rows, pairs))
    rng.shuffle(rows)
    again = joint_table(joined(rows, pairs))
    assert (again.cells, again.pairs, again.judges) == (first.cells, first.pairs, first.judges)
    assert [one.to_line() for one in judgments_of([("pairwise", again)])] == [
        one.to_line() for one in judgments_of([("pairwise", first)])
    ]


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_joint_is_right_about_each(pairs: list[Pair], seed: int) -> None:
    table = joint_table(joined(judged(pairs, seed=seed), pairs))
    for found in table.cells.values():
        assert found.joint == all(part.correct for part in (found.verdict, found.turn, found.type))
    assert len(table.cells) == 3 * len(pairs)


def test_judgments_stand_by_pair_and_judge_without_a_clock(folder: BenchmarkFolder, pairs: list[Pair]) -> None:
    with folder.log() as log:
        log.append(replace(row, latency_s=1.0, asked_at="2020-01-01") for row in judged(pairs))
    results = read_results(folder)
    write_judgments(results, folder)
    lines = (folder.path / "judgments.jsonl").read_text("utf-8").splitlines(keepends=True)
    found = [Judgment.from_dict(json.loads(line), where="here") for line in lines]
    assert [(one.pair_id, one.judge) for one in found] == sorted((one.pair_id, one.judge) for one in found)
    assert len(found) == 3 * len(pairs)
    assert {(one.mode, one.rule) for one in found} == {("pairwise", "both_orders")}
    assert not any("2020" in line for line in lines)


def test_a_mode_in_which_nobody_was_asked_names_the_other(tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=2)
    with pytest.raises(UsageError, match=r"no pair .* was judged pairwise: ask judges with judgeharness benchmark"):
        read_results(folder).of_mode("pairwise")
    with folder.log() as log:
        log.append(judged(folder.pairs()))
    results = read_results(folder)
    assert results.mode(None) == "pairwise"
    with pytest.raises(
        UsageError, match=r"no pair .* was judged pointwise; it was judged pairwise: give --mode pairwi"
    ):
        results.of_mode("pointwise")
    with pytest.raises(UsageError, match="unknown mode 'pointwize': did you mean 'pointwise'"):
        results.mode("pointwize")
