from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.verified_pairs import Verifier, asked, conditions, conversations, material, pair

from judgeharness_integrations.benchmark.asker import UnreadableError
from judgeharness_integrations.benchmark.verification import (
    adherence,
    adherence_prompt,
    adherence_reasons,
    read_findings,
)

TYPES = ("evasion", "fabricated_answer")


def reasons(**changed: Any) -> tuple[str, ...]:
    findings = read_findings(Verifier.adherence(**changed), n_rounds=3, types=TYPES)
    return tuple(adherence_reasons(findings, conditions()))


def flaw(number: int = 2, kind: str = "evasion", what: str = "no figure") -> dict[str, Any]:
    return {"round": number, "type": kind, "what": what}


def test_the_declared_flaw_alone_passes_after_one_call(tmp_path: Path) -> None:
    verifier = Verifier()
    result = asked(tmp_path, adherence, pair(), verifier)
    assert (result.layer, result.status, result.reasons) == ("adherence", "passed", ())
    assert result.counts == {"worse_flaws": 1, "better_flaws": 0}
    assert verifier.steps == {"adherence": 1}


def test_every_reason_of_an_answer_is_kept(tmp_path: Path) -> None:
    answer = Verifier.adherence(worse_flaws=[], announced=True, same_pressure=False, reason="all is well answered")
    result = asked(tmp_path, adherence, pair(), Verifier({"adherence": answer}))
    assert result.status == "failed"
    assert result.reasons == (
        "no flaw found in the worse conversation: all is well answered",
        "the assistant announces the flaw",
        "the user does not put the same pressure on both assistants in turn 2: all is well answered",
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"worse_flaws": []}, ["no flaw found in the worse conversation"]),
        ({"worse_flaws": [flaw(3)]}, ["the flaw is in turn 3, declared 2: no figure"]),
        (
            {"worse_flaws": [flaw(2, "fabricated_answer", "invents a fee")]},
            ["the flaw is fabricated_answer, declared evasion: invents a fee"],
        ),
        (
            {"worse_flaws": [flaw(1, "fabricated_answer", "")]},
            ["the flaw is in turn 1, declared 2", "the flaw is fabricated_answer, declared evasion"],
        ),
        (
            {"worse_flaws": [flaw(3, "fabricated_answer", "invents"), flaw()]},
            ["two flaws: turn 2 evasion, turn 3 fabricated_answer: no figure; invents"],
        ),
        (
            {"worse_flaws": [flaw(1), flaw(3)]},
            [
                "two flaws: turn 1 evasion, turn 3 evasion: no figure; no figure",
                "none of them is the declared one, turn 2 evasion",
            ],
        ),
        (
            {"worse_flaws": [flaw(1), flaw(2), flaw(3)]},
            ["3 flaws: turn 1 evasion, turn 2 evasion, turn 3 evasion: no figure; no figure; no figure"],
        ),
        ({"better_flaws": [flaw(2)]}, ["the better conversation has a flaw in turn 2: evasion: no figure"]),
        (
            {"announced": True, "announcement": "I leave out the figure on purpose"},
            ["the assistant announces the flaw: I leave out the figure on purpose"],
        ),
        (
            {"behaviour_kept_worse": False, "behaviour_reason": "jumps in round 3"},
            ["the user leaves the behaviour focused (worse conversation): jumps in round 3"],
        ),
        ({"behaviour_kept_better": False}, ["the user leaves the behaviour focused (better conversation)"]),
        (
            {"same_tone_and_length": False, "reason": "one is curt"},
            ["tone or length tells the conversations apart: one is curt"],
        ),
    ],
)
def test_each_planted_defect_has_its_reason(changed: dict[str, Any], expected: list[str]) -> None:
    assert list(reasons(**changed)) == expected


def test_a_flaw_listed_twice_is_one() -> None:
    assert reasons(worse_flaws=[flaw(), flaw(what="again")]) == ()


def test_a_reason_quotes_at_most_300_characters_of_the_verifier() -> None:
    (reason,) = reasons(worse_flaws=[flaw(3, what="x" * 5000)])
    assert len(reason) == len("the flaw is in turn 3, declared 2: ") + 300


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"worse_flaws": [flaw(4)]}, "entry 1 of 'worse_flaws' is in round 4 of 3"),
        ({"worse_flaws": [flaw(0)]}, "entry 1 of 'worse_flaws' is in round 0 of 3"),
        ({"better_flaws": [flaw(kind="rude")]}, "entry 1 of 'better_flaws' is of an unknown type 'rude'"),
        ({"worse_flaws": [{**flaw(), "round": "2"}]}, "entry 1 of 'worse_flaws' has no whole number 'round'"),
        ({"worse_flaws": [{**flaw(), "round": True}]}, "entry 1 of 'worse_flaws' has no whole number 'round'"),
        ({"worse_flaws": None}, "the answer has no list 'worse_flaws'"),
        ({"announced": "no"}, "the answer does not say true or false for 'announced'"),
        ({"reason": 7}, "the answer has no text 'reason'"),
    ],
)
def test_an_answer_that_cannot_be_is_asked_again_and_then_unread(
    tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UnreadableError):
        reasons(**changed)
    verifier = Verifier({"adherence": Verifier.adherence(**changed)})
    result = asked(tmp_path, adherence, pair(), verifier)
    assert (result.status, result.reasons) == ("unread", (reason,))
    assert verifier.steps == {"adherence": 3}


def test_words_may_be_missing(tmp_path: Path) -> None:
    answer = Verifier.adherence(reason=None)
    del answer["announcement"]
    assert asked(tmp_path, adherence, pair(), Verifier({"adherence": answer})).status == "passed"


def test_a_second_answer_that_can_be_read_counts(tmp_path: Path) -> None:
    said = iter([{"nonsense": 1}, Verifier.adherence()])
    verifier = Verifier({"adherence": lambda _: next(said)})
    assert asked(tmp_path, adherence, pair(), verifier).status == "passed"
    assert verifier.steps == {"adherence": 2}


def test_a_pair_without_conversations_is_not_looked_at(tmp_path: Path) -> None:
    verifier = Verifier()
    assert asked(tmp_path, adherence, pair(conversations=None), verifier).status == "not_run"
    assert not verifier.prompts


def test_the_verifier_sees_labels_plans_documents_both_conversations_and_every_definition() -> None:
    whole = pair()
    prompt = adherence_prompt(whole, conversations(), material(whole.conditions))
    for title in ("Conditions>>", "Documents>>", "Plans>>", "Better conversation>>", "Worse conversation>>"):
        assert title in prompt.user
    assert "- fabricated_answer: it is fabricated_answer" in prompt.system
    assert "Plans is what" in prompt.system
    assert "{%" not in prompt.system
    kinds = prompt.schema["properties"]["worse_flaws"]["items"]["properties"]["type"]
    assert kinds == {"type": "string", "enum": ["evasion", "fabricated_answer"]}
    assert set(Verifier.adherence()) == set(prompt.schema["required"])


def test_nothing_is_said_of_plans_where_there_are_none() -> None:
    whole = pair(blueprints=None)
    prompt = adherence_prompt(whole, conversations(), material(whole.conditions))
    assert "Plans" not in prompt.user + prompt.system


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(TYPES)), max_size=6))
def test_only_the_declared_flaw_alone_passes(found: list[tuple[int, str]]) -> None:
    said = reasons(worse_flaws=[flaw(number, kind) for number, kind in found])
    assert (not said) == (set(found) == {(2, "evasion")})
