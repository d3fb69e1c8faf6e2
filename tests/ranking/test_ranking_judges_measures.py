"""The judge table, against the replay of the same log and against counts made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from judgeharness_integrations import VerdictRow, read_log
from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    CriterionDecisions,
    Policy,
    credits_of,
    decisions_of,
)
from judgeharness_integrations.analysis.ranking.judgetable import JudgeMeasures, decided_alike, judge_measures
from judgeharness_integrations.analysis.ranking.panels import JudgeFacts
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.statistics.proportions import wilson
from judgeharness_integrations.analysis.usage import Price

LLMBAR = Path(__file__).parents[1] / "data" / "llmbar.csv.gz"
CHOSEN = ("GPT-4/Metrics_Reference", "ChatGPT/CoT", "PaLM2/Vanilla_NoRules", "LLaMA2/Vanilla")


def measured(
    rows: Sequence[VerdictRow], policy: Policy, facts: dict[str, JudgeFacts] | None = None
) -> dict[str, JudgeMeasures]:
    decisions = decisions_of(rows, policy)
    return judge_measures(rows, decisions, credits_of(decisions), facts=facts)


def pair(case_id: str, judge: str, shown: str | None, swapped: str | None, **common: object) -> list[VerdictRow]:
    """A pair asked in both orders; `gold` A unless said."""
    return [
        VerdictRow(
            case_id=case_id,
            judge=judge,
            verdict=verdict,
            outcome="ok" if verdict else "unparsed",
            swapped=swap,
            perturbation="position_swap" if swap else "none",
            **({"gold": "A"} | common),  # type: ignore[arg-type]
        )
        for verdict, swap in ((shown, False), (swapped, True))
    ]


@pytest.fixture(scope="module")
def llmbar() -> list[VerdictRow]:
    return [row for row in read_log(LLMBAR) if row.judge in CHOSEN]


@pytest.mark.slow
def test_recorded_judges_are_measured_as_their_replay_says(llmbar: list[VerdictRow]) -> None:
    found = measured(llmbar, Policy.of("both_orders"))
    replayed = {entry.judge: entry for entry in replay(llmbar, "majority").judges}
    assert list(found) == list(replayed)
    assert len(found) == len(CHOSEN)
    for judge, entry in replayed.items():
        mine = found[judge]
        assert mine.consistency == entry.position_consistency
        assert mine.first_slot_rate == entry.first_slot_rate
        assert (mine.rows, mine.unparsed, mine.failed) == (entry.rows, entry.unparsed, entry.unparsed)
        # one sample an order: both agree, or the majority of the two abstains
        both = [cell for cell in cells(llmbar, judge) if None not in cell]
        assert mine.agreement == pytest.approx(np.mean([one == other for one, other in both]))
        right = sum(set(cell) == {gold} for cell, gold in golds(llmbar, judge))
        assert (mine.credit, mine.pairs, mine.right_of_labelled) == (right, 419, right / 419)
        assert mine.right_of_labelled_ci95 == wilson(right, 419)
        assert (mine.tokens, mine.cost, mine.prefers_longer, mine.prefers_longer_pairs) == (None, None, None, 0)


def golds(rows: Sequence[VerdictRow], judge: str) -> list[tuple[list[object], object]]:
    cases: dict[str, tuple[list[object], object]] = {}
    for row in rows:
        if row.judge == judge:
            cases.setdefault(row.case_id, ([], row.gold))[0].append(row.verdict)
    return list(cases.values())


def cells(rows: Sequence[VerdictRow], judge: str) -> list[list[object]]:
    return [verdicts for verdicts, _ in golds(rows, judge)]


@pytest.mark.slow
def test_each_agrees_with_the_others_as_counted_pair_by_pair(llmbar: list[VerdictRow]) -> None:
    found = measured(llmbar, Policy.of("both_orders"))
    said = {judge: cells(llmbar, judge) for judge in found}
    for judge, mine in said.items():
        shares = [
            np.mean(
                [
                    one == other and len(set(one)) == 1 and None not in one
                    for one, other in zip(mine, theirs, strict=True)
                ]
            )
            for name, theirs in said.items()
            if name != judge
        ]
        assert found[judge].agreement_with_judges == pytest.approx(np.mean(shares))


LOG = [
    *pair("p1", "one", "A", "A", input_tokens=100, output_tokens=10),
    *pair("p2", "one", "A", "B", input_tokens=300, output_tokens=30),
    *pair("p3", "one", "B", None, input_tokens=50),
    *pair("p4", "one", "B", "B"),
    *pair("p5", "one", "TIE", "TIE", output_tokens=7),
    *pair("p1", "two@x", "A", "A"),
    *pair("p2", "two@x", "A", "A"),
    *pair("p4", "two@x", "B", "B", gold=None),
    *pair("p5", "two@x", "A", "A"),
]
LENGTHS = {"p1": (9.0, 4.0), "p2": ("12", "30"), "p4": (5.0, 8.0), "p5": ("many", 1.0)}


def with_lengths(rows: Sequence[VerdictRow], names: tuple[str, str] = ("length_a", "length_b")) -> list[VerdictRow]:
    return [
        replace(row, attributes=dict(zip(names, LENGTHS[row.case_id], strict=True)) if row.case_id in LENGTHS else {})
        for row in rows
    ]


def test_a_small_log_by_hand() -> None:
    facts = {
        "one": JudgeFacts(judge="one", provider="maker", open=False, input_price=1.0, output_price=10.0),
        "two": JudgeFacts(judge="two", open=True),
    }
    found = measured(with_lengths(LOG), Policy.of("both_orders"), facts)
    assert found["one"] == JudgeMeasures(
        judge="one",
        pairs=5,
        credit=1.0,
        right_of_labelled=0.2,
        right_of_labelled_ci95=wilson(1, 5),
        agreement=3 / 4,  # p3 has a single verdict
        consistency=3 / 5,  # a failed sample equals nothing
        first_slot_rate=4 / 7,  # A B, A A, B, B A: first, second; first, first; second; second, first
        prefers_longer=1.0,  # p1 and p4: both times the longer one
        prefers_longer_pairs=2,
        better_longer=1 / 2,  # p1, and not p4
        better_longer_pairs=2,
        agreement_with_judges=2 / 4,  # p1 and p4, of p1, p2, p4, p5
        unparsed=1,
        failed=1,
        rows=10,
        tokens=440.0,  # of p1 and p2
        input_tokens=900 / 3,
        output_tokens=94 / 3,
        cost=pytest.approx((400 * 1 + 40 * 10) / 1e6),
        provider="maker",
        open=False,
    )
    two = found["two@x"]
    assert (two.pairs, two.credit, two.right_of_labelled, two.right_of_labelled_ci95) == (4, 3.0, 0.75, wilson(3, 4))
    assert (two.prefers_longer, two.prefers_longer_pairs) == (2 / 3, 3)
    assert (two.better_longer, two.better_longer_pairs) == (1 / 3, 3)
    assert (two.open, two.provider, two.cost, two.tokens) == (True, None, None, None)


def test_the_first_slot_rate_of_the_small_log_is_that_of_its_replay() -> None:
    found = measured(LOG, Policy.of("both_orders"))
    for entry in replay(LOG, "majority").judges:
        assert found[entry.judge].first_slot_rate == entry.first_slot_rate
        assert found[entry.judge].consistency == entry.position_consistency


def test_lengths_have_two_names_and_must_describe_the_pair() -> None:
    policy = Policy.of("both_orders")
    expected = measured(with_lengths(LOG), policy)["one"].prefers_longer_pairs
    assert measured(with_lengths(LOG, ("length", "length_b")), policy)["one"].prefers_longer_pairs == expected
    assert measured(with_lengths(LOG, ("size", "length_b")), policy)["one"].prefers_longer_pairs == 0
    without_ties = [row for row in with_lengths(LOG) if row.verdict != "TIE"]
    assert measured(without_ties, policy)["one"].prefers_longer_pairs == expected
    even = [replace(row, attributes={"length_a": 3.0, "length_b": "3"}) for row in LOG]
    assert measured(even, policy)["one"].prefers_longer is None
    endless = [replace(row, attributes={"length_a": 3.0, "length_b": "inf"}) for row in LOG]
    assert measured(endless, policy)["one"].prefers_longer_pairs == 0


def test_a_judge_that_is_always_right_prefers_longer_as_often_as_it_is_better() -> None:
    lengths = {f"p{place}": (2.0, 1.0 if place < 6 else 3.0) for place in range(8)}
    rows = [row for name in lengths for row in pair(name, "right", "A", "A", gold=None if name == "p0" else "A")]
    rows = [
        replace(row, attributes=dict(zip(("length_a", "length_b"), lengths[row.case_id], strict=True))) for row in rows
    ]
    found = measured(rows, Policy.of("both_orders"))["right"]
    assert (found.prefers_longer, found.prefers_longer_pairs) == (6 / 8, 8)
    assert (found.better_longer, found.better_longer_pairs) == (5 / 7, 7)  # gold says nothing of the first pair
    labelled = measured([row for row in rows if row.gold], Policy.of("both_orders"))["right"]
    assert labelled.prefers_longer == labelled.better_longer == 5 / 7
    unlabelled = measured([*rows[:2], *pair("p8", "right", "A", "A")], Policy.of("both_orders"))["right"]
    assert (unlabelled.prefers_longer_pairs, unlabelled.better_longer, unlabelled.better_longer_pairs) == (1, None, 0)


def test_fractional_credit_has_students_interval() -> None:
    policy = Policy.of("both_orders", ties="half")
    found = measured(LOG, policy)["one"]
    credit = [1, 0.5, 0, 0, 0.5]
    assert (found.credit, found.pairs) == (2.0, 5)
    reference = stats.t.interval(0.95, 4, np.mean(credit), stats.sem(credit))
    assert found.right_of_labelled_ci95 == pytest.approx((max(0.0, reference[0]), min(1.0, reference[1])))
    ties = [row for case in ("p1", "p2") for row in pair(case, "tied", "TIE", "TIE")]
    assert measured(ties, policy)["tied"].right_of_labelled_ci95 is None


def test_a_judge_asked_about_no_labelled_pair_has_no_share_that_is_right() -> None:
    rows = [*pair("p1", "one", "A", "A"), *pair("p2", "idle", "A", "A", gold=None)]
    idle = measured(rows, Policy.of("both_orders"))["idle"]
    assert (idle.pairs, idle.credit, idle.right_of_labelled, idle.right_of_labelled_ci95) == (0, 0.0, None, None)
    assert idle.agreement_with_judges is None  # it shares no pair with the other
    assert idle.consistency == 1.0


def test_of_several_criteria_the_choice_between_a_and_b_is_looked_at() -> None:
    graded = [
        VerdictRow(case_id=row.case_id, judge=row.judge, criterion="style", verdict="PASS", gold="PASS", repetition=n)
        for row in LOG[::2]
        for n in range(2)
    ]
    found = measured([*graded, *LOG], Policy.of("majority"))
    alone = measured(LOG, Policy.of("majority"))
    for judge, mine in found.items():
        same = ("consistency", "first_slot_rate", "agreement", "unparsed", "prefers_longer")
        assert [getattr(mine, name) for name in same] == [getattr(alone[judge], name) for name in same]
        assert mine.rows == alone[judge].rows + 2 * len([row for row in LOG[::2] if row.judge == judge])
        assert (mine.agreement_with_judges or 0) > (alone[judge].agreement_with_judges or 0)


def test_without_such_a_criterion_nothing_is_said_about_position() -> None:
    rows = [
        VerdictRow(case_id=f"c{case}", criterion=name, verdict=verdict, gold="PASS", repetition=repetition)
        for case in range(3)
        for name in ("style", "facts")
        for repetition, verdict in enumerate(("PASS", "FAIL" if name == "facts" else "PASS"))
    ]
    found = measured(rows, Policy.of("majority"))["judge"]
    assert found.agreement == 0.5  # 1 for each case of style, 0 of facts
    assert (found.consistency, found.first_slot_rate, found.prefers_longer) == (None, None, None)
    assert found.agreement_with_judges is None  # nobody else is there
    single = measured([row for row in rows if row.repetition == 0], Policy.of("majority"))["judge"]
    assert single.agreement is None
    lengths = [replace(row, attributes={"length_a": 1.0, "length_b": 2.0}) for row in rows]
    assert measured(lengths, Policy.of("majority"))["judge"].prefers_longer is None


def test_a_judge_that_never_met_the_pairwise_criterion() -> None:
    rows = [*LOG, VerdictRow(case_id="p1", judge="grader", criterion="style", verdict="PASS", gold="PASS")]
    grader = measured(rows, Policy.of("majority"))["grader"]
    assert (grader.consistency, grader.agreement, grader.rows) == (None, None, 1)


def test_with_early_stopping_samples_are_not_compared() -> None:
    rows = [replace(row, attributes={"planned_samples": 2.0}) for row in LOG]
    found = measured(rows, Policy.of("majority"))["one"]
    assert (found.agreement, found.consistency, found.first_slot_rate) == (None, None, None)
    assert (found.rows, found.pairs) == (10, 5)


def test_measures_as_json() -> None:
    told = measured(LOG, Policy.of("both_orders"))["one"].to_dict()
    assert list(told) == [field.name for field in fields(JudgeMeasures)]
    assert json.loads(json.dumps(told, allow_nan=False))["right_of_labelled_ci95"] == list(wilson(1, 5) or ())


@given(
    st.lists(
        hnp.arrays(np.int32, (6, 3), elements=st.sampled_from([0, 1, 2, ABSTAINED, FAILED, NOT_ASKED])),
        min_size=1,
        max_size=2,
    )
)
def test_shares_of_like_decisions_are_those_of_the_definition(tables: list[np.ndarray]) -> None:
    entries = [
        CriterionDecisions(
            criterion="c", labels=("A", "B", "C"), codes=codes, gold=codes[:, 0], orders=np.stack([codes, codes])
        )
        for codes in tables
    ]
    found = decided_alike(entries, 3)
    rows = np.concatenate(tables)
    for one in range(3):
        for other in range(3):
            asked = [(a, b) for a, b in rows[:, [one, other]].tolist() if NOT_ASKED not in (a, b)]
            expected = np.mean([a == b and a >= 0 for a, b in asked]) if asked else np.nan
            assert found[one, other] == pytest.approx(expected, nan_ok=True)


def test_money_of_a_pair_is_by_the_price_of_what_was_read_and_by_whom_it_was_served() -> None:
    used = {"input_tokens": 2000, "output_tokens": 100, "cached_input_tokens": 1200}
    rows = [*pair("p1", "one", "A", "A", **used), *pair("p2", "one", "A", "B", service_tier="flex", **used)]
    prices = {"input_price": 2.5, "output_price": 10.0}
    tiers = {"flex": Price(input=1.25, output=5, cached_input=0.125)}
    known = JudgeFacts(judge="one", **prices, cached_input_price=0.25, tiers=tiers)  # type: ignore[arg-type]

    def of(facts: JudgeFacts) -> JudgeMeasures:
        return measured(rows, Policy.of("both_orders"), {"one": facts})["one"]

    assert of(known).cost == pytest.approx((2 * 0.0033 + 2 * 0.00165) / 2)
    assert of(known).cost_remarks == ()
    rough = of(JudgeFacts(judge="one", **prices))  # type: ignore[arg-type]
    assert rough.cost == pytest.approx(2 * 0.006)
    assert [remark.partition(" is billed")[0] for remark in rough.cost_remarks] == ["cached input", "tier 'flex'"]
    rows = [replace(row, service_tier="priority") for row in rows]
    assert of(known).cost is None
    assert of(known).cost_remarks == ("tier 'priority' has no price: add it to tiers",)
