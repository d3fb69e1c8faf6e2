"""How much more often a judge gives a label than it is right."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.credit_matrices import answers, decided, logs
from support.rows import both_orders

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import Failures, Policy, decisions_of
from judgeharness_integrations.analysis.ranking.families import NO_DECISION, ClassBias, class_bias
from judgeharness_integrations.analysis.statistics.paired import tango_interval
from judgeharness_integrations.verdictlog.row import VerdictRow

LLMBAR = Path(__file__).parents[1] / "data" / "llmbar.csv.gz"
GOLD = {"p": "A", "q": "A", "r": "B", "s": "B", "t": None}
GIVEN = {"one": ["A", "A", "A", None, "A"], "two": ["B", "A", "-", "TIE", "B"]}


def table(found: tuple[ClassBias, ...]) -> dict[tuple[str | None, str, str], tuple[int, int, int]]:
    return {(one.group, one.judge, one.label): (one.n, one.predicted, one.true) for one in found}


def test_shares_are_of_the_labelled_pairs_that_the_judge_was_asked_about() -> None:
    found = class_bias(decided(GOLD, GIVEN), "verdict")
    assert table(found) == {
        (None, "one", "A"): (4, 3, 2),
        (None, "one", "B"): (4, 0, 2),
        (None, "one", "TIE"): (4, 0, 0),
        (None, "one", NO_DECISION): (4, 1, 0),
        (None, "two", "A"): (3, 1, 2),
        (None, "two", "B"): (3, 1, 1),
        (None, "two", "TIE"): (3, 1, 0),
        (None, "two", NO_DECISION): (3, 0, 0),
    }
    first = found[0]
    assert (first.criterion, first.predicted_share, first.true_share, first.bias) == ("verdict", 0.75, 0.5, 0.25)


def test_a_failed_answer_is_not_asked_where_the_policy_says_so() -> None:
    found = class_bias(decided(GOLD, GIVEN, policy=Policy.of("one_order", failures="missing")), "verdict")
    assert table(found)[None, "one", "A"] == (3, 3, 2)
    assert table(found)[None, "two", "A"] == (3, 1, 2)


def test_no_decision_is_what_the_classes_lack() -> None:
    rows = [row for case in ("p", "q") for row in both_orders(["A"], ["B"], case_id=case, gold="A")]
    for failures in ("wrong", "missing"):
        policy = Policy.of("both_orders", failures=failures)  # type: ignore[arg-type]
        assert table(class_bias(decisions_of(rows, policy), "verdict")) == {
            (None, "judge", "A"): (2, 0, 2),
            (None, "judge", NO_DECISION): (2, 2, 0),
        }


def test_the_interval_is_of_paired_shares() -> None:
    gold = {f"p{number}": "A" if number < 6 else "B" for number in range(20)}
    found = class_bias(decided(gold, {"one": ["A"] * 4 + ["B"] * 2 + ["A"] * 5 + ["B"] * 9}), "verdict")[0]
    differences = np.array([0] * 4 + [-1] * 2 + [1] * 5 + [0] * 9)
    assert found.bias == pytest.approx(differences.mean())
    assert found.se == pytest.approx(differences.std(ddof=1) / np.sqrt(20))
    assert found.ci95 == tango_interval(5, 2, 20)
    assert found.ci95[0] < found.bias < found.ci95[1]


def test_perfect_answers_have_no_error_and_yet_an_interval() -> None:
    found = class_bias(decided({"p": "A", "q": "B"}, {"one": ["A", "B"]}), "verdict")[0]
    assert (found.bias, found.se) == (0, 0)
    assert found.ci95 is not None
    assert found.ci95[0] < -0.3
    assert found.ci95[1] > 0.3


def test_one_pair_has_no_standard_error_and_none_has_nothing() -> None:
    one, none = class_bias(decided({"p": "A", "q": None}, {"one": ["A", "-"], "none": ["-", "A"]}), "verdict")
    assert (one.n, one.bias, one.se) == (1, 0, None)
    assert (none.n, none.predicted, none.true) == (0, 0, 0)
    assert {none.predicted_share, none.true_share, none.bias, none.se, none.ci95} == {None}


def test_without_gold_there_is_no_bias() -> None:
    assert class_bias(decided({"p": None}, {"one": ["A"]}), "verdict") == ()


def test_groups_follow_all_pairs_and_leave_out_pairs_without_a_value() -> None:
    decisions = decided(GOLD, GIVEN, domain=["law", "art", "", "law", "law"])
    found = class_bias(decisions, "verdict", by="domain")
    assert found[:8] == class_bias(decisions, "verdict")
    assert list(dict.fromkeys(one.group for one in found)) == [None, "art", "law"]
    assert table(found)["law", "one", "A"] == (2, 1, 1)
    assert table(found)["art", "two", "TIE"] == (1, 0, 0)


def test_columns_that_group_no_pairs_are_refused() -> None:
    rows = answers({"p": "A"}, {"one": ["A"], "two": ["A"]}, domain=["law"])
    rows.append(VerdictRow(case_id="p", judge="three", verdict="A", attributes={"domain": "law", "price": 1.0}))
    rows.append(VerdictRow(case_id="p", judge="four", verdict="A", attributes={"price": 2.0}))
    decisions = decisions_of(rows, Policy.of("one_order"))
    with pytest.raises(UsageError, match="column 'price' differs between the rows of one pair"):
        class_bias(decisions, "verdict", by="price")
    with pytest.raises(UnknownNameError, match="unknown column 'domian': did you mean 'domain'"):
        class_bias(decisions, "verdict", by="domian")
    with pytest.raises(UnknownNameError, match="unknown criterion"):
        class_bias(decisions, "winner")


@given(rows=logs(), failures=st.sampled_from(["wrong", "missing"]))
def test_biases_of_a_judge_sum_to_0_with_no_decision_as_one_of_them(rows: list[VerdictRow], failures: Failures) -> None:
    if not rows:
        return
    found = class_bias(decisions_of(rows, Policy.of("one_order", failures=failures)), "verdict")
    for judge in {one.judge for one in found}:
        mine = [one for one in found if one.judge == judge]
        about = [row for row in rows if row.judge == judge and row.gold is not None and (row.ok or failures == "wrong")]
        assert {one.n for one in mine} == {len(about)}
        assert sum(one.true for one in mine) == len(about)
        assert sum(one.bias or 0 for one in mine) == pytest.approx(0)
        undecided = [one.predicted for one in mine if one.label == NO_DECISION]
        assert sum(undecided) == sum(not row.ok for row in about)


@given(rows=logs())
def test_json_holds_every_field_and_nothing_that_json_has_not(rows: list[VerdictRow]) -> None:
    if not rows:
        return
    for one in class_bias(decisions_of(rows, Policy.of("one_order")), "verdict"):
        written = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert list(written) == list(ClassBias.__dataclass_fields__)
        assert written["ci95"] == (None if one.ci95 is None else list(one.ci95))
        assert written["bias"] == one.bias


@pytest.mark.slow
def test_recorded_judges_lean_to_a_slot_as_counted_from_the_file_itself() -> None:
    with gzip.open(LLMBAR, "rt", newline="") as file:
        mine = [
            cells
            for cells in csv.DictReader(file)
            if cells["judge"] in ("ChatGPT-0301/CoT", "GPT-4/Vanilla") and cells["perturbation"] == "none"
        ]
    rows = [
        VerdictRow(
            case_id=cells["case_id"],
            judge=cells["judge"],
            verdict=cells["verdict"] or None,
            outcome="ok" if cells["verdict"] else "unparsed",
            gold=cells["gold"],
            attributes={"subset": cells["subset"]},
        )
        for cells in mine
    ]
    decisions = decisions_of(rows, Policy.of("one_order"))
    found = {(one.judge, one.group): one for one in class_bias(decisions, "verdict", by="subset") if one.label == "A"}
    assert len(found) == 2 * 6
    for (judge, group), one in found.items():
        chosen = [cells for cells in mine if cells["judge"] == judge and group in (None, cells["subset"])]
        said, gold = (sum(cells[name] == "A" for cells in chosen) for name in ("verdict", "gold"))
        assert (one.n, one.predicted, one.true) == (len(chosen), said, gold)
        assert one.bias == pytest.approx((said - gold) / len(chosen))
