"""Sentinels take the place of an answer."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any

import pytest

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations import Context
from judgeharness_integrations.judging.probes import corpus, probe, probes
from judgeharness_integrations.judging.structured import structured_case

PAIR = PairwiseCase(case_id="pair", input="Which?", output="Paris.", output_b="Lyon.", gold="A")
ONE = AnswerCase(case_id="one", input="Which?", output="Paris.", gold="PASS")


def changed(name: str, side: Any, case: Any, seed: int = 0) -> Any:
    made = probe(name).on(side)
    assert made.fits(case) is None
    return asyncio.run(made.applied(case, Context(random.Random(seed), None)))  # type: ignore[arg-type]  # noqa: S311


def test_what_is_expected_of_them() -> None:
    expected = {one.property: one.expectation for one in probes(["sentinel"])}
    assert expected == {
        "sentinel.empty": "must_lose",
        "sentinel.off_topic": "must_lose",
        "sentinel.copy": "must_tie",
    }
    assert not any(entry.property in expected for entry in corpus())


def test_an_empty_answer() -> None:
    found = changed("sentinel.empty", "a", PAIR)
    assert (found.output, found.output_b, found.gold) == ("", "Lyon.", "A")
    assert changed("sentinel.empty", None, ONE).output == ""
    assert changed("sentinel.empty", None, "Paris.") == ""


def test_an_answer_to_something_else() -> None:
    seen = {changed("sentinel.off_topic", "b", PAIR, seed).output_b for seed in range(60)}
    assert len(seen) == 6
    assert all(len(text.split()) > 40 and not re.search(r"\d", text) for text in seen)
    assert changed("sentinel.off_topic", "b", PAIR).output == "Paris."
    assert changed("sentinel.off_topic", None, ONE).output in seen


def test_its_subject_is_none_that_the_answers_mention() -> None:
    case = PairwiseCase(
        case_id="c", output="Lighthouses and moss.", output_b="Glaciers, accordions, bookbinding, beekeeping."
    )
    assert len({changed("sentinel.off_topic", "a", case, seed).output for seed in range(60)}) == 6  # nothing is left
    near = PairwiseCase(case_id="c", output="A LIGHTHOUSE.", output_b="Moss grows on glaciers; beekeepers know.")
    seen = {changed("sentinel.off_topic", "a", near, seed).output for seed in range(60)}
    assert {text.split()[1] for text in seen} == {"accordion", "bookbinder"}


def test_a_copy_of_the_other_answer() -> None:
    assert changed("sentinel.copy", "b", PAIR).texts() == ("Paris.", "Paris.")
    assert changed("sentinel.copy", "a", PAIR).texts() == ("Lyon.", "Lyon.")


@pytest.mark.parametrize(
    ("name", "side", "case", "reason"),
    [
        ("sentinel.copy", None, ONE, "sentinel.copy needs two answers: give a PairwiseCase, not an AnswerCase."),
        ("sentinel.empty", None, PAIR, "sentinel.empty cannot tell which answer to change: name the side, as in (b)."),
        ("authority", "b", ONE, "authority cannot tell which answer to change: leave the side out."),
        ("authority", None, {"messages": []}, "authority needs an AnswerCase, a PairwiseCase or a string, not a case"),
        ("authority", None, structured_case(outputs={"n": 3}), "the judge is not shown the answer"),
        (
            "sentinel.empty",
            "a",
            PairwiseCase(case_id="c", output="Paris.", output_b="\n"),
            "sentinel.empty has nothing to lose against: the other answer is empty.",
        ),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(name: str, side: Any, case: Any, reason: str) -> None:
    assert reason in str(probe(name).on(side).fits(case))


def test_of_a_conversation_the_last_word_is_attacked_and_all_of_it_replaced() -> None:
    messages = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": "Let me see."},
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": [{"type": "text", "text": "It is"}, {"type": "text", "text": "Paris."}]},
    ]
    case = structured_case(outputs=messages)
    attacked = changed("authority", None, case)
    assert attacked.texts()[:2] == ("Let me see.", "It is")
    assert attacked.texts()[2].startswith("Paris.\n\n")
    assert [said for said in attacked.outputs if said["role"] == "user"] == [messages[0], messages[2]]
    assert "Let me see." in attacked.output
    replaced = changed("sentinel.off_topic", None, case)
    assert replaced.outputs[1]["content"] == ""
    assert [len(part["text"]) > 40 for part in replaced.outputs[3]["content"]] == [False, True]
    assert not any(changed("sentinel.empty", None, case).texts())
    assert case.texts() == ("Let me see.", "It is", "Paris.")
