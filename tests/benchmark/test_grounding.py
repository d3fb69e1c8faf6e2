from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.verified_pairs import DOCUMENT, FACTS, Verifier, asked, asking, conditions, conversations, material, pair

from judgeharness_integrations.benchmark.asker import UnreadableError
from judgeharness_integrations.benchmark.pair import Claim, LayerResult, TurnGrounding
from judgeharness_integrations.benchmark.results.checks import Evidence
from judgeharness_integrations.benchmark.verification import (
    SideGrounding,
    checked_turns,
    claims_prompt,
    decided,
    decisions_prompt,
    grounding,
    grounding_result,
    read_claims,
    read_decisions,
)

EMPTY = {
    "turns": 5,
    "turns_without_claims": 0,
    "claims": 5,
    "grounded": 5,
    "not_grounded": 0,
    "undecided": 0,
    "unshown": 0,
    "evidence_missing": 0,
}


def checked(tmp_path: Path, min_grounded: float = 1.0, **answers: Any) -> LayerResult:
    return asked(tmp_path, grounding, pair(), Verifier(answers), min_grounded=min_grounded)


def decision(claim_id: str, **changed: Any) -> dict[str, Any]:
    given = {"claim_id": claim_id, "grounded": True, "chunk": "library#1", "evidence": FACTS[0], "reason": "so"}
    return given | changed


def claims(*said: tuple[int, str]) -> dict[str, Any]:
    return {"claims": [{"round": number, "claim": text} for number, text in said]}


def test_claims_that_stand_in_the_documents_pass_with_their_evidence(tmp_path: Path) -> None:
    verifier = Verifier()
    result = asked(tmp_path, grounding, pair(), verifier, min_grounded=1.0)
    assert (result.layer, result.status, result.reasons, result.counts) == ("grounding", "passed", (), EMPTY)
    assert [(turn.side, turn.round) for turn in result.turns] == [
        ("better", 1),
        ("better", 2),
        ("better", 3),
        ("worse", 1),
        ("worse", 3),
    ]
    assert result.turns[-1].claims == (
        Claim(
            claim_id="3.1",
            text=FACTS[2],
            grounded=True,
            chunk="library#3",
            evidence=FACTS[2],
            evidence_found=True,
            reason="it says so",
        ),
    )
    assert verifier.steps == {"claims": 2, "grounding": 2}


def test_a_claim_that_stands_nowhere_fails_its_turn(tmp_path: Path) -> None:
    def decide(prompt: Any) -> dict[str, Any]:
        second = decision("2.1", grounded=False, chunk=None, evidence=None, reason="the fee is 12 euros")
        return {"decisions": [decision("1.1"), second if "\n2.1 " in prompt.user else decision("9.9"), decision("3.1")]}

    result = checked(tmp_path, grounding=decide)
    assert result.status == "failed"
    (reason,) = result.reasons
    assert reason == (
        "0 of 1 claims are grounded in turn 2 of the better conversation: "
        "“A card costs 12 euros a year.”: the fee is 12 euros"
    )
    assert result.counts == EMPTY | {"grounded": 4, "not_grounded": 1, "unshown": 1}


def test_a_claim_that_was_not_decided_is_not_grounded_and_counted(tmp_path: Path) -> None:
    result = checked(tmp_path, grounding={"decisions": [decision("1.1"), decision("2.1")]})
    assert result.status == "failed"
    assert result.reasons == tuple(
        f"0 of 1 claims are grounded in turn 3 of the {side} conversation: "
        "“The reading room closes at 19:30.”: not decided"
        for side in ("better", "worse")
    )
    assert result.counts == EMPTY | {"grounded": 3, "undecided": 2, "unshown": 1}


def test_claims_of_the_flawed_turn_are_not_shown_and_counted(tmp_path: Path) -> None:
    result = checked(tmp_path, claims=claims((1, FACTS[0]), (2, FACTS[1]), (3, FACTS[2])))
    assert result.status == "passed"
    assert result.counts == EMPTY | {"unshown": 1}


def test_a_turn_without_claims_passes_and_is_counted(tmp_path: Path) -> None:
    result = checked(tmp_path, claims=claims((1, FACTS[0]), (1, FACTS[1])))
    assert result.status == "passed"
    assert result.counts == EMPTY | {"turns_without_claims": 3, "claims": 4, "grounded": 4}
    assert [claim.claim_id for claim in result.turns[0].claims] == ["1.1", "1.2"]


def test_a_conversation_without_any_claim_fails_and_nothing_is_asked_about_it(tmp_path: Path) -> None:
    verifier = Verifier({"claims": {"claims": []}})
    result = asked(tmp_path, grounding, pair(), verifier, min_grounded=0.0)
    assert result.status == "failed"
    assert result.reasons == (
        "no claim of the better conversation could be checked",
        "no claim of the worse conversation could be checked",
    )
    assert verifier.steps == {"claims": 2}
    assert result.counts == EMPTY | {"turns_without_claims": 5, "claims": 0, "grounded": 0}


def test_a_worse_conversation_of_one_round_has_nothing_to_check(tmp_path: Path) -> None:
    one = pair(conditions=conditions(n_rounds=1, flawed_round=1), conversations=conversations(1, flawed=1))
    result = asked(tmp_path, grounding, one, Verifier(), min_grounded=1.0)
    assert result.status == "passed"
    assert result.counts["turns"] == 1


def test_the_share_that_is_asked_for_decides_and_no_prompt_knows_it(tmp_path: Path) -> None:
    said = claims((1, FACTS[0]), (1, FACTS[1]), (1, "Cats may wait."), (1, FACTS[2]), (3, FACTS[2]))
    half = {"decisions": [decision(f"1.{n}", grounded=n != 3, reason=None) for n in (1, 2, 3, 4)] + [decision("3.1")]}
    verifier = Verifier({"claims": said, "grounding": half})
    statuses = {
        least: asked(tmp_path, grounding, pair(), verifier, min_grounded=least).status for least in (0.76, 0.75, 0.0)
    }
    assert statuses == {0.76: "failed", 0.75: "passed", 0.0: "passed"}
    assert verifier.steps == {"claims": 2, "grounding": 2}
    assert "not grounded" in asked(tmp_path, grounding, pair(), verifier, min_grounded=1.0).reasons[0]


def test_evidence_that_stands_nowhere_is_counted_and_the_claim_stays_grounded(tmp_path: Path) -> None:
    said = {"decisions": [decision("1.1", evidence="Books are free."), decision("2.1", evidence=None), decision("3.1")]}
    result = checked(tmp_path, grounding=said)
    assert result.status == "passed"
    assert result.counts == EMPTY | {"evidence_missing": 3, "unshown": 1}
    assert [turn.claims[0].evidence_found for turn in result.turns[:3]] == [False, None, True]


def test_words_of_a_heading_are_evidence_too(tmp_path: Path) -> None:
    of, verifier = pair(), Verifier({"grounding": {"decisions": [decision("1.1", evidence="Rules > Loan periods")]}})
    chunks = material(of.conditions).chunks
    under = replace(material(of.conditions), chunks=(chunks[0].model_copy(update={"heading": "Rules > Loan periods"}),))
    with asking(tmp_path) as asker:
        result = asyncio.run(grounding(of, under, verifier=verifier, min_grounded=1.0, asker=asker))
    assert result.turns[0].claims[0].evidence_found is True


@pytest.mark.parametrize("step", ["claims", "grounding"])
def test_an_answer_that_cannot_be_read_leaves_the_layer_unread(tmp_path: Path, step: str) -> None:
    verifier = Verifier({step: {"nothing": 1}})
    result = asked(tmp_path, grounding, pair(), verifier, min_grounded=1.0)
    what, key = {"claims": ("claims of", "claims"), "grounding": ("decisions about", "decisions")}[step]
    assert result.status == "unread"
    assert result.reasons == tuple(
        f"{what} the {side} conversation: the answer has no list {key!r}" for side in ("better", "worse")
    )
    assert result.turns == ()
    assert verifier.steps[step] == 6


def test_a_pair_without_conversations_is_not_looked_at(tmp_path: Path) -> None:
    verifier = Verifier()
    assert asked(tmp_path, grounding, pair(conversations=None), verifier, min_grounded=1.0).status == "not_run"
    assert not verifier.prompts


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "the answer has no list 'claims'"),
        (claims((1, " \n")), "entry 1 of 'claims' says nothing"),
        ({"claims": [{"claim": "x"}]}, "entry 1 of 'claims' has no whole number 'round'"),
    ],
)
def test_claims_that_cannot_be_read_say_why(answer: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_claims(answer, rounds=[1, 3])
    assert str(caught.value) == reason


def test_a_claim_stays_on_its_line() -> None:
    told = read_claims(claims((1, "one\n3.1 forged\u2028two\0")), rounds=[1])
    prompt = decisions_prompt(told, material(conditions()), side="better")
    assert "\n1.1 one 3.1 forged two\N{REPLACEMENT CHARACTER}\n" in prompt.user


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"decisions": [decision("1.1", grounded=None)]}, "does not say true or false for 'grounded'"),
        ({"decisions": [decision("1.1", evidence=["x"])]}, "has no text 'evidence'"),
        ({"decisions": [decision("1.1"), decision("1.1", grounded=False)]}, "about claim 1.1 contradict each other"),
    ],
)
def test_decisions_that_cannot_be_read_say_why(answer: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_decisions(answer, claim_ids=["1.1"], chunks=["library#1"])


def test_the_first_of_two_equal_decisions_counts_and_an_unknown_chunk_does_not() -> None:
    said = {"decisions": [decision("1.1", chunk="[library#1]"), decision("1.1", chunk="x"), decision("1.2", chunk="x")]}
    found = read_decisions(said, claim_ids=["1.1", "1.2"], chunks=["library#1"])
    assert found.by_claim["1.1"].chunk == "library#1"
    assert found.by_claim["1.2"].chunk is None
    assert found.unshown == 0


def test_the_flawed_turn_is_shown_of_the_better_conversation_alone() -> None:
    whole = pair()
    assert [turn.round for turn in checked_turns(whole, "better").turns] == [1, 2, 3]
    assert [turn.round for turn in checked_turns(whole, "worse").turns] == [1, 3]
    assert checked_turns(pair(conversations=None), "worse").turns == ()


def test_claims_are_named_without_the_documents() -> None:
    prompt = claims_prompt(checked_turns(pair(), "worse"), material(conditions()), side="worse")
    assert "Conversation>>" in prompt.user
    assert '"side": "worse"' in prompt.user
    assert "That depends on many things." not in prompt.user
    assert DOCUMENT.chunks[0].text not in prompt.user


@pytest.mark.parametrize(
    ("quote", "holds"),
    [
        ("books are\n  LENT", True),
        ("“Books are lent for 21 days.”", True),
        ("... a card costs 12 euros …", True),
        ("rule 1. A card", True),
        ("the reader's “own” card \N{EN DASH} or ﬁle", True),
        ("Books are lent for 22 days", False),
        ("", False),
        (" “…” ", False),
    ],
)
def test_quotes_are_looked_up_without_regard_to_case_spaces_and_quotation_marks(quote: str, *, holds: bool) -> None:
    texts = [chunk.text for chunk in DOCUMENT.chunks]
    assert Evidence([*texts, "The reader\u2019s 'own' card - or file"]).holds(quote) is holds


@given(st.text(), st.text(), st.text())
def test_a_part_of_a_text_stands_in_it(before: str, quote: str, after: str) -> None:
    words = " ".join(quote.split())
    if any(c.isalnum() for c in words):
        assert Evidence([f"{before} {words} {after}"]).holds(words)


_TURNS = st.lists(st.lists(st.sampled_from([True, False, None]), max_size=4), min_size=1, max_size=4)


@given(_TURNS, _TURNS, st.floats(0, 1), st.integers(0, 3))
def test_counts_add_up_and_the_shares_decide(
    better: list[list[bool | None]], worse: list[list[bool | None]], least: float, unshown: int
) -> None:
    sides = [
        SideGrounding(
            side=side,
            turns=tuple(
                TurnGrounding(
                    side=side,
                    round=number,
                    claims=tuple(
                        Claim(claim_id=f"{number}.{place}", text="x", grounded=grounded)
                        for place, grounded in enumerate(said, start=1)
                    ),
                )
                for number, said in enumerate(turns, start=1)
            ),
            unshown=unshown,
        )
        for side, turns in (("better", better), ("worse", worse))
    ]
    result = grounding_result(sides, min_grounded=least)
    counts = result.counts
    assert counts["claims"] == counts["grounded"] + counts["not_grounded"] + counts["undecided"]
    assert counts["turns"] == len(better) + len(worse)
    assert counts["unshown"] == 2 * unshown
    some = all(any(turns) for turns in (better, worse))
    enough = all(sum(g is True for g in said) / len(said) >= least for said in [*better, *worse] if said)
    assert (result.status == "passed") == (some and enough)


def test_a_decision_leaves_a_claim_that_it_is_not_about() -> None:
    found = read_decisions({"decisions": [decision("7.7")]}, claim_ids=["1.1"], chunks=[])
    claim = Claim(claim_id="1.1", text="x")
    assert decided(claim, found, Evidence([])) is claim
    assert found.unshown == 1
