from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.verified_pairs import conditions, conversations, plans

from judgeharness_integrations.benchmark.pair import Blueprint, Blueprints, Conversation, Conversations, LayerResult
from judgeharness_integrations.benchmark.results.checks import MOST_TIMES_LONGER, form_result


def of(
    blueprints: Blueprints | None = None, said: Conversations | None = None, reason: str | None = None
) -> LayerResult:
    return form_result(blueprints, said, conditions(), reason=reason)


def test_plans_and_conversations_of_the_rounds_asked_for_pass_with_their_lengths() -> None:
    result = of(plans(), conversations())
    assert (result.layer, result.status, result.reasons) == ("form", "passed", ())
    assert result.counts == {"characters_better": 128, "characters_worse": 113}


def test_plans_alone_pass_before_the_conversations_are_written() -> None:
    assert of(plans()).status == "passed"


def test_a_pair_from_elsewhere_needs_no_plans() -> None:
    assert of(None, conversations()).status == "passed"


def test_plans_from_elsewhere_may_be_texts_beside_conversations() -> None:
    texts = Blueprints(better=Blueprint(rounds=(), sketch="explain"), worse=Blueprint(rounds=(), sketch=""))
    assert of(texts, conversations()).status == "passed"
    assert of(texts).status == "failed"
    half = Blueprints(better=plans().better, worse=texts.worse)
    assert "the worse plan has 0 rounds, 3 were asked for" in of(half, conversations()).reasons


def test_what_could_not_be_read_is_the_reason() -> None:
    result = of(reason="the answer is no JSON object")
    assert (result.status, result.reasons) == ("failed", ("the answer is no JSON object",))


def test_nothing_at_all_fails() -> None:
    assert of().reasons == ("nothing was written",)


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_another_number_of_rounds_fails_in_plans_and_in_conversations(rounds: int) -> None:
    many = "1 round" if rounds == 1 else f"{rounds} rounds"
    wrong = f"has {many}, 3 were asked for"
    assert of(plans(rounds)).reasons == (f"the better plan {wrong}", f"the worse plan {wrong}")
    reasons = of(None, conversations(rounds)).reasons
    assert reasons[:2] == (f"the better conversation {wrong}", f"the worse conversation {wrong}")


def test_rounds_must_be_numbered_from_one() -> None:
    said = conversations()
    turned = Conversation(turns=(said.better.turns[0], said.better.turns[2], said.better.turns[1]))
    reasons = of(None, said.model_copy(update={"better": turned})).reasons
    assert reasons == ("the rounds of the better conversation are numbered 1, 3, 2",)


def test_an_empty_text_fails_and_says_where() -> None:
    said = conversations(flaw=" \n ")
    assert of(None, said).reasons == ("the assistant says nothing in round 2 of the worse conversation",)
    blueprints = plans()
    silent = blueprints.better.rounds[0].model_copy(update={"user": ""})
    better = blueprints.better.model_copy(update={"rounds": (silent, *blueprints.better.rounds[1:]), "sketch": " "})
    assert of(blueprints.model_copy(update={"better": better})).reasons == (
        "the user says nothing in round 1 of the better plan",
        "the better plan has no sketch",
    )


@pytest.mark.parametrize("who", ["User", "Assistant"])
def test_a_turn_that_begins_another_round_fails(who: str) -> None:
    reasons = of(None, conversations(flaw=f"It closes at six.\n  [Round 3] {who}: And on Sunday?")).reasons
    assert reasons == ("what the assistant says in round 2 of the worse conversation begins another round",)
    assert of(None, conversations(flaw=f"It closes at six, see [Round 3] {who}: there.")).status == "passed"


def test_two_of_the_same_fail() -> None:
    blueprints, said = plans(), conversations()
    same = blueprints.better.model_copy(update={"sketch": "another sketch"})
    assert of(blueprints.model_copy(update={"worse": same})).reasons == ("both plans are the same",)
    assert of(None, said.model_copy(update={"worse": said.better})).reasons == ("both conversations are the same",)


def test_a_conversation_much_longer_than_the_other_fails() -> None:
    reasons = of(None, conversations(flaw="It depends. " * 40)).reasons
    assert reasons == ("the worse conversation is 4.4 times as long as the other one (565 and 128 characters)",)


def test_a_conversation_without_a_word_fails_for_its_texts_and_not_for_its_length() -> None:
    said = conversations()
    silent = tuple(turn.model_copy(update={"user": "", "assistant": ""}) for turn in said.worse.turns)
    reasons = of(None, said.model_copy(update={"worse": Conversation(turns=silent)})).reasons
    assert len(reasons) == 6
    assert not any("as long" in reason for reason in reasons)


@given(st.integers(0, 2000))
def test_length_alone_fails_beyond_the_limit_and_not_at_it(extra: int) -> None:
    said = conversations(flaw="x" * (extra + 1))
    result = of(None, said)
    longer = max(result.counts.values()) > MOST_TIMES_LONGER * min(result.counts.values())
    assert (result.status == "failed") == longer
