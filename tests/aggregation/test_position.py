from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.aggregation import position_bias
from judgeharness_integrations.analysis.aggregation.statistics import base_perturbation
from judgeharness_integrations.verdictlog.row import VerdictRow


def pairs(cells: list[tuple[str | None, str | None]]) -> list[VerdictRow]:
    return [
        row
        for number, (shown, swapped) in enumerate(cells)
        for row in both_orders([shown], [swapped], case_id=f"c{number}")
    ]


def test_slots_are_counted_over_both_orders() -> None:
    bias = position_bias(
        pairs([("A", "A"), ("A", "B"), ("A", "B"), ("B", "A"), ("TIE", "TIE"), ("A", "TIE"), (None, None), ("B", None)])
    )
    assert bias is not None
    assert (bias.pairs, bias.equal) == (8, 2)
    assert (bias.always_first, bias.always_second) == (2, 1)
    # slot 1 wins: shown A, swapped B
    assert (bias.first_wins, bias.second_wins) == (4 + 2, 2 + 2)
    assert bias.consistency == 0.25
    assert bias.first_slot_rate == 0.6
    assert bias.p_value == stats.binomtest(2, 3).pvalue


def test_a_failed_sample_is_equal_to_nothing() -> None:
    bias = position_bias(pairs([(None, None), ("A", "A")]))
    assert bias is not None
    assert bias.consistency == 0.5


def test_what_was_not_measured_is_none() -> None:
    assert position_bias(sampled("AB")) is None
    assert position_bias([]) is None
    ties = position_bias(pairs([("TIE", "TIE")]))
    assert ties is not None
    assert (ties.first_slot_rate, ties.p_value) == (None, None)
    assert replace(ties, pairs=0).consistency is None


def test_pairs_share_run_case_repetition_and_the_other_perturbation() -> None:
    row = VerdictRow(case_id="c", verdict="A", perturbation="format_change")
    partner = replace(row, perturbation="format_change+position_swap", swapped=True, verdict="B")
    assert (base_perturbation(row), base_perturbation(partner)) == ("format_change", "format_change")
    assert base_perturbation(replace(row, perturbation="position_swap", swapped=True)) == "none"
    bias = position_bias([row, partner])
    assert bias is not None
    assert bias.always_first == 1
    for stranger in ({"run": "r"}, {"case_id": "d"}, {"repetition": 1}, {"perturbation": "position_swap"}):
        assert position_bias([row, replace(partner, **stranger)]) is None


@given(st.lists(st.tuples(*[st.sampled_from(["A", "B", "TIE", None])] * 2), min_size=1, max_size=12), st.randoms())
def test_counts_are_conserved_and_exchanging_the_answers_changes_no_slot(cells: list, random: object) -> None:
    rows = pairs(cells)
    bias = position_bias(rows)
    assert bias is not None
    wins = sum(row.verdict in ("A", "B") for row in rows)
    assert bias.first_wins + bias.second_wins == wins
    assert bias.equal + bias.always_first + bias.always_second <= bias.pairs == len(cells)
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert position_bias(rows) == bias
    mirror = {"A": "B", "B": "A", "TIE": "TIE", None: None}
    # naming the answers the other way round turns "shown" into "swapped" and A into B: slots stay
    renamed = pairs([(mirror[swapped], mirror[shown]) for shown, swapped in cells])
    assert position_bias(renamed) == bias
