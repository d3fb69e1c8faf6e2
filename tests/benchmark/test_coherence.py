from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.verified_pairs import DOCUMENT, Verifier, asked, conditions, material, pair, plans

from judgeharness_integrations.benchmark.asker import UnreadableError
from judgeharness_integrations.benchmark.pair import Blueprint, Blueprints, Pair
from judgeharness_integrations.benchmark.verification import coherence, coherence_prompt, read_conflicts
from judgeharness_integrations.judging.chatmodels import Completion


def planned(**changed: Any) -> Pair:
    return pair(conversations=None, **changed)


def test_plans_without_a_conflict_pass_after_one_call(tmp_path: Path) -> None:
    verifier = Verifier()
    result = asked(tmp_path, coherence, planned(), verifier)
    assert (result.layer, result.status, result.reasons) == ("coherence", "passed", ())
    assert result.counts == {"conflicts": 0}
    assert verifier.steps == {"coherence": 1}


def test_every_conflict_is_a_reason_with_the_verifiers_words(tmp_path: Path) -> None:
    conflicts = [
        {"what": "behaviour, worse plan, round 1", "reason": "the user jumps\nto  dogs"},
        {"what": "flaw", "reason": ""},
        {"what": "", "reason": "the fact is not there"},
    ]
    result = asked(tmp_path, coherence, planned(), Verifier({"coherence": {"coherent": False, "conflicts": conflicts}}))
    assert result.status == "failed"
    assert result.reasons == (
        "behaviour, worse plan, round 1: the user jumps to dogs",
        "flaw",
        "conflict: the fact is not there",
    )


def test_a_chunk_the_pair_does_not_have_fails_without_a_call(tmp_path: Path) -> None:
    verifier = Verifier()
    result = asked(tmp_path, coherence, planned(blueprints=plans(chunk="library#9")), verifier)
    assert result.status == "failed"
    assert result.reasons[0] == "plan cites chunk library#9 that the pair does not have (round 1 of the better one)"
    assert len(result.reasons) == 6
    assert not verifier.prompts


def test_a_round_that_draws_on_no_chunk_is_no_conflict(tmp_path: Path) -> None:
    assert asked(tmp_path, coherence, planned(blueprints=plans(chunk=None)), Verifier()).status == "passed"


def test_a_pair_without_plans_is_not_looked_at(tmp_path: Path) -> None:
    verifier = Verifier()
    result = asked(tmp_path, coherence, pair(blueprints=None), verifier)
    assert (result.status, result.reasons) == ("not_run", ("the pair has no plans",))
    assert not verifier.prompts


def test_plans_without_rounds_are_not_looked_at(tmp_path: Path) -> None:
    verifier, texts = Verifier(), Blueprint(rounds=(), sketch="explain")
    result = asked(tmp_path, coherence, pair(blueprints=Blueprints(better=texts, worse=texts)), verifier)
    assert (result.status, result.reasons) == ("not_run", ("the plans do not say what each round holds",))
    assert not verifier.prompts


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"conflicts": []}, "the answer does not say true or false for 'coherent'"),
        ({"coherent": "yes", "conflicts": []}, "the answer does not say true or false for 'coherent'"),
        ({"coherent": True}, "the answer has no list 'conflicts'"),
        ({"coherent": True, "conflicts": "none"}, "the answer has no list 'conflicts'"),
        ({"coherent": False, "conflicts": ["flaw"]}, "entry 1 of 'conflicts' is no object"),
        ({"coherent": False, "conflicts": [{"what": "flaw"}]}, "entry 1 of 'conflicts' has no text 'reason'"),
        ({"coherent": False, "conflicts": []}, "the answer calls the plans incoherent and names no conflict"),
        (
            {"coherent": True, "conflicts": [{"what": "flaw", "reason": "so"}]},
            "the answer calls the plans coherent and names conflicts",
        ),
    ],
)
def test_an_answer_that_does_not_say_what_was_asked_is_asked_again_and_then_unread(
    tmp_path: Path, answer: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UnreadableError, match="^" + reason.replace("(", r"\(") + "$"):
        read_conflicts(answer)
    verifier = Verifier({"coherence": answer})
    result = asked(tmp_path, coherence, planned(), verifier)
    assert (result.status, result.reasons) == ("unread", (reason,))
    assert verifier.steps == {"coherence": 3}


def test_a_refusal_is_unread(tmp_path: Path) -> None:
    refused = Completion(text="I would rather not.", ended="refused")
    result = asked(tmp_path, coherence, planned(), Verifier({"coherence": refused}))
    assert (result.status, result.reasons) == ("unread", ("the model refused",))


def test_words_are_cut_and_cleaned(tmp_path: Path) -> None:
    hostile = "\ud800\0\x1b[31m" + "word " * 200
    answer = {"coherent": False, "conflicts": [{"what": hostile, "reason": hostile}]}
    (reason,) = asked(tmp_path, coherence, planned(), Verifier({"coherence": answer})).reasons
    assert len(reason) <= 602
    assert reason.endswith("…")
    assert "\0" not in reason
    reason.encode()


def test_the_verifier_sees_labels_plans_and_documents() -> None:
    blueprints = plans()
    prompt = coherence_prompt(blueprints, material(conditions()))
    assert prompt.step == "coherence"
    for title in ("Conditions>>", "Documents>>", "Plans>>"):
        assert title in prompt.user
    assert DOCUMENT.chunks[4].text in prompt.user
    assert "do evasion" in prompt.user
    assert "avoid evasion" in prompt.user
    assert "better answer 3" in prompt.user
    assert "round 2" in prompt.system
    assert "{{" not in prompt.system
    assert prompt.schema["required"] == ["conflicts", "coherent"]
