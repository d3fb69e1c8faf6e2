from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.correctness import Policy, credits_of, decisions_of
from judgeharness_integrations.analysis.ranking.pointwise import has_scored_pairs, pairs_of_scores
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import VerdictRow


def answer(pair: str | float, side: str, score: Any, *, gold: Any = None, **fields: Any) -> VerdictRow:
    """Row of a single answer."""
    attributes = {"pair": pair, "side": side} | fields.pop("attributes", {})
    outcome = fields.pop("outcome", "unparsed" if score is None else "ok")
    fields = {"case_id": f"{pair}-{side}", "judge": "j"} | fields
    return VerdictRow(verdict=score, gold=gold, outcome=outcome, attributes=attributes, **fields)


@pytest.mark.parametrize(("first", "second", "verdict"), [(7, 5, "A"), (2.5, 3, "B"), (4, 4.0, "TIE"), (-1, 0, "B")])
def test_the_higher_score_wins_and_equal_ones_tie(first: float, second: float, verdict: str) -> None:
    (row,) = pairs_of_scores([answer("p", "B", second), answer("p", "A", first)])
    assert (row.case_id, row.judge, row.criterion, row.verdict, row.outcome) == ("p", "j", "verdict", verdict, "ok")
    assert row.error is None


@given(scores=st.dictionaries(st.text(min_size=1, max_size=3), st.tuples(st.integers(1, 5), st.integers(1, 5))))
def test_other_names_for_the_sides_turn_every_verdict(scores: dict[str, tuple[int, int]]) -> None:
    def rows(sides: str) -> list[VerdictRow]:
        return [
            answer(pair, side, score, case_id=f"{pair!r}{place}")
            for pair, both in scores.items()
            for place, (side, score) in enumerate(zip(sides, both, strict=True))
        ]

    turned = {"A": "B", "B": "A", "TIE": "TIE"}
    one, other = ({row.case_id: str(row.verdict) for row in pairs_of_scores(rows(sides))} for sides in ("AB", "BA"))
    assert one == {pair: turned[verdict] for pair, verdict in other.items()}
    assert len(one) == len(scores)


def test_every_judge_criterion_run_and_sample_has_a_row_of_its_own() -> None:
    places = [
        {"judge": judge, "criterion": criterion, "run": run, "perturbation": perturbation, "repetition": repetition}
        for judge in ("j", "k")
        for criterion in ("help", "harm")
        for run in ("r", "s")
        for perturbation in ("none", "format_change")
        for repetition in (0, 1)
    ]
    rows = [answer("p", side, 3, **place) for place in places for side in "AB"]
    found = pairs_of_scores(rows)
    assert sorted(row.key for row in found) == sorted(
        replace(row, case_id="p").key for row in rows if row.attributes["side"] == "A"
    )


@pytest.mark.parametrize("side", ["a", " b ", "B"])
def test_sides_are_read_as_people_write_them(side: str) -> None:
    other = "A" if "b" in side.lower() else "B"
    (row,) = pairs_of_scores([answer(12.0, side, 5), answer(12.0, other, 3)])
    assert (row.case_id, row.verdict) == ("12", side.strip().upper())


@pytest.mark.parametrize(
    ("sides", "lacking"),
    [
        ([("A", 3)], "B"),
        ([("B", 3)], "A"),
        ([("A", 3), ("B", None)], "B"),
        ([("A", None), ("B", None)], "A and B"),
    ],
)
def test_a_side_without_a_score_makes_the_pair_unparsed(sides: list[tuple[str, Any]], lacking: str) -> None:
    whole = [answer("q", "A", 1), answer("q", "B", 2)]
    row, other = pairs_of_scores([answer("p", side, score) for side, score in sides] + whole)
    assert (row.verdict, row.outcome, row.error) == (None, "unparsed", f"no score for side {lacking}")
    assert other.verdict == "B"


def test_a_call_that_failed_for_every_criterion_fails_in_each() -> None:
    rows = [answer("p", "A", 4, criterion=name) for name in ("help", "harm")]
    failed = answer("p", "B", None, criterion="*", outcome="error", input_tokens=9)
    found = pairs_of_scores([*rows, failed])
    assert [(row.criterion, row.outcome) for row in found] == [("help", "unparsed"), ("harm", "unparsed")]
    assert [row.input_tokens for row in found] == [9, None]


def test_what_was_used_adds_up_once_over_both_sides() -> None:
    cost = {"input_tokens": 10, "output_tokens": 2, "latency_s": 0.5, "attempts": 1}
    rows = [
        answer("p", "A", 4, criterion="help", call_id="1", **cost),
        answer("p", "A", 4, criterion="harm", call_id="1"),
        answer("p", "B", 3, criterion="help", call_id="2", **(cost | {"latency_s": None})),
        answer("p", "B", 3, criterion="harm", call_id="2"),
    ]
    help_row, harm_row = pairs_of_scores(rows)
    assert (help_row.input_tokens, help_row.output_tokens, help_row.latency_s, help_row.attempts) == (20, 4, 0.5, 2)
    assert (harm_row.input_tokens, harm_row.output_tokens, harm_row.latency_s, harm_row.attempts) == (None,) * 4


def test_a_pair_whose_sides_were_served_in_two_tiers_has_no_price_for_the_sum() -> None:
    used = {"input_tokens": 10, "cached_input_tokens": 4}
    tiers = [("flex", "flex"), ("flex", None)]
    rows = [
        answer(name, side, 1 + place, service_tier=tier, **used)
        for name, both in zip("pq", tiers, strict=True)
        for place, (side, tier) in enumerate(zip("AB", both, strict=True))
    ]
    found = pairs_of_scores([*rows, answer("r", "A", 1), answer("r", "B", 2)])
    assert [row.service_tier for row in found] == ["flex", "mixed", None]
    assert [row.cached_input_tokens for row in found] == [8, 8, None]


def test_columns_of_a_side_are_kept_apart() -> None:
    rows = [
        answer("p", "A", 4, attributes={"domain": "law", "author": "gpt", "length": 10}),
        answer("p", "B", 3, attributes={"domain": "law", "author": "llama", "length": 30}),
        answer("q", "A", 4, attributes={"domain": "tax", "author": "gpt", "length": 20}),
        answer("q", "B", 3, attributes={"domain": "tax", "author": "gpt", "length": 20}),
        answer("r", "B", 3, attributes={"domain": "tax", "author": "phi", "length": 20}),
    ]
    assert [dict(row.attributes) for row in pairs_of_scores(rows)] == [
        {"domain": "law", "author": "gpt", "author_b": "llama", "length": 10, "length_b": 30},
        {"domain": "tax", "author": "gpt", "author_b": "gpt", "length": 20, "length_b": 20},
        {"domain": "tax", "author_b": "phi", "length_b": 20},
    ]


@pytest.mark.parametrize(
    ("gold_a", "gold_b", "expected"),
    [
        (None, None, None),
        ("A", None, "A"),
        (None, "A", "A"),
        ("b", "B", "B"),
        ("tie", "TIE", "TIE"),
        ("better", "worse", "A"),
        ("Worse", None, "B"),
        (None, "better", "B"),
        (4, 2.5, "A"),
        (1, 2, "B"),
        (3, 3, "TIE"),
        (3, None, None),
        ("PASS", "FAIL", "A"),
        ("FAIL", 1, "B"),
        ("PASS", "PASS", "TIE"),
        ("FAIL", None, None),
    ],
)
def test_gold_names_the_better_side(gold_a: Any, gold_b: Any, expected: str | None) -> None:
    rows = [answer("p", "A", 1, gold=gold_a), answer("p", "B", 2, gold=gold_b)]
    (row,) = pairs_of_scores(rows)
    assert row.gold == expected


def test_gold_of_one_judges_rows_holds_for_all_of_the_criterion() -> None:
    rows = [
        answer("p", "A", 1, gold="better"),
        answer("p", "B", 2),
        answer("p", "A", 1, judge="k"),
        answer("p", "B", 2, judge="k"),
        answer("p", "A", 1, criterion="harm", judge="k"),
        answer("p", "B", 2, criterion="harm", judge="k"),
    ]
    found = {(row.judge, row.criterion): row.gold for row in pairs_of_scores(rows)}
    assert found == {("j", "verdict"): "A", ("k", "verdict"): "A", ("k", "harm"): None}


@pytest.mark.parametrize(
    ("golds", "problem"),
    [
        (("A", "B"), "gold of pair 'p' contradicts itself .A and B.: keep one"),
        (("better", "better"), "contradicts itself"),
        (("fine", None), "pair 'p' has the gold 'fine' on side A: give A, B or TIE"),
    ],
)
def test_gold_that_says_nothing_is_refused(golds: tuple[Any, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        pairs_of_scores([answer("p", "A", 1, gold=golds[0]), answer("p", "B", 2, gold=golds[1])])


def test_two_gold_grades_of_a_side_are_refused() -> None:
    rows = [answer("p", "A", 1, gold=3), answer("p", "A", 1, gold=4, judge="k")]
    with pytest.raises(UsageError, match="side A of pair 'p' has two gold grades"):
        pairs_of_scores(rows)


def test_a_side_is_scored_once_in_a_place() -> None:
    rows = [answer("p", "A", 1, case_id="one"), answer("p", "A", 2, case_id="two")]
    with pytest.raises(UsageError, match="side A of pair 'p' twice: as case 'one' and as case 'two'"):
        pairs_of_scores(rows)


@pytest.mark.parametrize("attributes", [{}, {"pair": "p"}, {"side": "A"}, {"pair": "p", "side": "C"}])
def test_an_answer_outside_pairs_is_refused(attributes: dict[str, str]) -> None:
    stray = VerdictRow(case_id="stray", verdict=3, judge="j", attributes=attributes)
    with pytest.raises(UsageError, match="case 'stray' is a single answer"):
        pairs_of_scores([answer("p", "A", 1), answer("p", "B", 1), stray])


def test_criteria_of_labels_are_left_out_and_mixtures_refused() -> None:
    rows = [answer("p", side, 3, criterion="score") for side in "AB"]
    tones = [answer("p", side, "kind", criterion="tone") for side in "AB"]
    assert [row.criterion for row in pairs_of_scores([*rows, *tones])] == ["score"]
    with pytest.raises(UsageError, match="mixes labels and numbers"):
        pairs_of_scores([*rows, answer("q", "A", "high", criterion="score")])


def test_a_criterion_nobody_answered_stays_as_failures() -> None:
    (row,) = pairs_of_scores([answer("p", side, None) for side in "AB"])
    assert row.outcome == "unparsed"


def test_scored_pairs_are_recognised() -> None:
    assert has_scored_pairs([answer("p", "A", None), answer("p", "A", 3)])
    assert not has_scored_pairs([])
    assert not has_scored_pairs([answer("p", "A", None)])
    assert not has_scored_pairs([answer("p", "A", "B")])  # verdicts on pairs that happen to have such columns
    assert not has_scored_pairs([VerdictRow(case_id="c", verdict=3, attributes={"pair": "p"})])
    assert not has_scored_pairs([VerdictRow(case_id="c", verdict=3, attributes={"side": "A"})])


def test_a_file_of_scores_is_credited_with_half_for_ties(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(
        "case_id,judge,verdict,gold,pair,side\n"
        "1a,good,8,PASS,1,A\n1b,good,5,FAIL,1,B\n2a,good,3,0.5,2,A\n2b,good,6,0.9,2,B\n"
        "1a,even,5,,1,A\n1b,even,5,,1,B\n2a,even,7,0.5,2,A\n2b,even,,0.9,2,B\n"
    )
    rows = read_log(path)
    assert has_scored_pairs(rows)
    matrix = credits_of(decisions_of(pairs_of_scores(rows), Policy.of("one_order", ties="half")))
    assert matrix.judges == ("good", "even")
    assert matrix.pairs == ("1", "2")
    assert matrix.values.tolist() == [[1.0, 0.5], [1.0, 0.0]]
