"""Scores of single conversations as answers about pairs."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.benchmark.results.judgments import pair_rows
from judgeharness_integrations.verdictlog.row import VerdictRow

_OF_PAIR = {"better": "A", "flawed_round": 2, "failure_type": "evasion", "domain": "loans", "author": "writer"}


def side(name: str, said: dict[str, Any], *, pair: str = "p1", **changes: Any) -> list[VerdictRow]:
    """Return the rows of a call; a failed answer is written as its outcome after a colon."""
    rows = []
    for number, criterion in enumerate(("score", "flawed", "turn", "type")):
        answer = said.get(criterion)
        failed = isinstance(answer, str) and answer.startswith(":")
        rows.append(
            VerdictRow(
                case_id=f"{pair}/{name}",
                verdict=None if failed else answer,
                outcome=answer[1:] if failed else "ok",  # type: ignore[index]
                run="pointwise",
                judge="j",
                criterion=criterion,
                call_id=f"{pair}/{name}",
                reasoning="so" if number == 0 else None,
                raw="{}" if number == 0 else None,
                input_tokens=10 if number == 0 else None,
                latency_s=0.5 if number == 0 else None,
                attempts=1 if number == 0 else None,
                error="RateLimitError" if answer == ":error" else None,
                asked_at=f"2026-01-0{'AB'.index(name) + 1}",
                attributes={**_OF_PAIR, "pair": pair, "side": name, "length": 9, "response_id": name},
            )
        )
    return [replace(row, **changes) for row in rows]


GOOD = {"score": 5, "flawed": "sound", "turn": "none", "type": "none"}
BAD = {"score": 2, "flawed": "flawed", "turn": "turn 2", "type": "evasion"}


def told(first: dict[str, Any], second: dict[str, Any]) -> list[Any]:
    rows = pair_rows([*side("A", first), *side("B", second)])
    assert [row.criterion for row in rows] == ["verdict", "turn", "type"]
    return [row.verdict if row.ok else row.outcome for row in rows]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (GOOD, BAD, ["A", "turn 2", "evasion"]),
        (BAD, GOOD, ["B", "turn 2", "evasion"]),
        (GOOD, {**GOOD, "score": 4}, ["A", "none", "none"]),  # the lower side names nothing
        ({**GOOD, "score": 2}, BAD, ["TIE", "turn 2", "evasion"]),  # the one that was called flawed
        ({**BAD, "turn": "turn 1"}, {**GOOD, "score": 2}, ["TIE", "turn 1", "evasion"]),
        (BAD, BAD, ["TIE", "none", "none"]),  # read, and wrong
        (GOOD, GOOD, ["TIE", "none", "none"]),
        (GOOD, {**GOOD, "flawed": ":refused"}, ["TIE", "refused", "refused"]),
        (GOOD, {**BAD, "turn": ":unparsed"}, ["A", "unparsed", "evasion"]),
        (GOOD, {**BAD, "score": ":unparsed"}, ["unparsed"] * 3),
        ({**GOOD, "score": ":refused"}, {**BAD, "score": ":unparsed"}, ["refused"] * 3),
        (dict.fromkeys(GOOD, ":error"), dict.fromkeys(BAD, ":refused"), ["error"] * 3),
    ],
)
def test_the_higher_score_wins_and_the_lower_side_names_the_flaw(
    first: dict[str, Any], second: dict[str, Any], expected: list[str]
) -> None:
    assert told(first, second) == expected


def test_rows_of_a_pair_carry_its_gold_columns_and_what_both_calls_took() -> None:
    verdict, turn, kind = pair_rows([*side("A", GOOD), *side("B", BAD)])
    assert (verdict.gold, turn.gold, kind.gold) == ("A", "turn 2", "evasion")
    assert {row.case_id for row in (verdict, turn, kind)} == {"p1"}
    assert {row.call_id for row in (verdict, turn, kind)} == {"pointwise/p1/j/none/0"}
    assert verdict.attributes == _OF_PAIR
    assert (verdict.input_tokens, verdict.latency_s, verdict.attempts, verdict.output_tokens) == (20, 1.0, 2, None)
    assert (turn.input_tokens, kind.attempts, verdict.raw, verdict.asked_at) == (None, None, None, "2026-01-01")
    failed = pair_rows([*side("A", GOOD), *side("B", dict.fromkeys(BAD, ":error"))])
    assert {row.error for row in failed} == {"RateLimitError"}


def test_a_pair_of_which_one_side_was_asked_says_nothing_yet() -> None:
    assert pair_rows(side("A", GOOD)) == []
    assert pair_rows([]) == []


def test_criteria_that_a_call_left_out_are_unparsed() -> None:
    rows = [*side("A", GOOD), *(row for row in side("B", BAD) if row.criterion in ("score", "flawed"))]
    assert [row.outcome for row in pair_rows(rows)] == ["ok", "unparsed", "unparsed"]
    rows = [*side("A", GOOD), *(row for row in side("B", BAD) if row.criterion != "score")]
    assert [row.outcome for row in pair_rows(rows)] == ["unparsed"] * 3
    tied = [*(row for row in side("A", {**GOOD, "score": 2}) if row.criterion != "flawed"), *side("B", BAD)]
    assert [row.verdict for row in pair_rows(tied)] == ["TIE", "turn 2", "evasion"]


SAID = st.fixed_dictionaries(
    {
        "score": st.sampled_from([1, 3, 5, ":unparsed", ":error"]),
        "flawed": st.sampled_from(["flawed", "sound", ":refused"]),
        "turn": st.sampled_from(["turn 1", "none", ":unparsed"]),
        "type": st.sampled_from(["evasion", "none"]),
    }
)


@given(sides=st.lists(st.tuples(SAID, SAID), max_size=4), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing_and_exchanging_sides_exchanges_verdicts(
    sides: list[tuple[dict[str, Any], dict[str, Any]]], seed: int
) -> None:
    def rows(*, other: bool = False) -> list[VerdictRow]:
        return [
            row
            for number, pair in enumerate(sides)
            for name, said in zip("BA" if other else "AB", pair, strict=True)
            for row in side(name, said, pair=f"p{number}", repetition=number)
        ]

    def verdicts(found: list[VerdictRow]) -> dict[Any, Any]:
        return {(row.case_id, row.criterion): (row.verdict, row.outcome) for row in pair_rows(found)}

    shuffled = rows()
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - no secret
    there, back = verdicts(shuffled), verdicts(rows(other=True))
    assert there == verdicts(rows())
    assert len(there) == 3 * len(sides)
    exchanged = {"A": "B", "B": "A"}
    assert there == {
        key: (exchanged.get(verdict, verdict) if key[1] == "verdict" else verdict, outcome)
        for key, (verdict, outcome) in back.items()
    }
