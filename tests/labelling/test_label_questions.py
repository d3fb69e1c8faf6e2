"""What annotators are asked, and what they may say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.labelling import Question, parse_answers, questions
from judgeharness_integrations.labelling.questions import command_keys, command_of, verdict_of
from judgeharness_integrations.labelling.resultsheets import Answers

PAIRS = [
    PairwiseCase(case_id=f"c{place}", input="q", output="one", output_b="two", author="gpt", author_b="me", gold="A")
    for place in range(40)
]
SINGLE = AnswerCase(case_id="x", output="text", author="gpt", gold="PASS", attributes={"subset": "gpt"})


def test_nothing_of_author_gold_or_attributes_is_in_a_question() -> None:
    [question] = questions([SINGLE], annotator="anna")
    assert question == Question(
        case_id="x",
        criterion="verdict",
        answers=Answers(kind="words", words=("PASS", "FAIL")),
        texts={"output": "text"},
    )
    assert all("gpt" not in text for one in questions(PAIRS, annotator="anna") for text in one.texts.values())


def test_two_answers_stand_in_an_order_of_the_annotator_and_labels_in_the_canonical_one() -> None:
    asked = questions(PAIRS, annotator="anna")
    assert 8 < sum(question.swapped for question in asked) < 32
    for question in asked:
        first = "A" if question.texts["output"] == "one" else "B"
        row = question.row("A", annotator="anna")
        assert (row.verdict, row.swapped) == (first, question.swapped)
        assert row.perturbation == ("position_swap" if question.swapped else "none")
        assert question.row("TIE", annotator="anna").verdict == "TIE"


@pytest.mark.parametrize("change", [{"annotator": "ben"}, {"seed": 1}])
def test_the_same_annotator_and_seed_give_the_same_questions_and_others_do_not(change: dict[str, Any]) -> None:
    asked = questions(PAIRS, annotator="anna")
    assert questions(PAIRS, annotator="anna") == asked
    other = questions(PAIRS, **{"annotator": "anna"} | change)
    assert [one.case_id for one in other] != [one.case_id for one in asked]
    assert sorted(one.case_id for one in other) == sorted(one.case_id for one in asked)
    places = {one.case_id: one.swapped for one in asked}
    assert any(places[one.case_id] != one.swapped for one in other)


def test_more_cases_move_no_answer_of_those_there_were() -> None:
    few = {one.case_id: one.swapped for one in questions(PAIRS[:10], annotator="anna")}
    assert few == {one.case_id: one.swapped for one in questions(PAIRS, annotator="anna") if one.case_id in few}


def test_criteria_of_a_case_are_asked_one_after_the_other() -> None:
    own = AnswerCase(case_id="own", output="text", criteria=(Criterion(name="facts", labels=("yes", "no")),))
    asked = questions([own, SINGLE], annotator="a", criteria=[Criterion(name="tone", scale=(1, 5), description="?")])
    assert [(one.criterion, str(one.answers)) for one in asked if one.case_id == "own"] == [
        ("facts", "yes / no"),
        ("tone", "a number from 1 to 5"),
    ]
    places = [place for place, one in enumerate(asked) if one.case_id == "own"]
    assert places in ([0, 1], [1, 2])


def test_a_criterion_is_asked_about_once() -> None:
    own = AnswerCase(case_id="own", output="text", criteria=(Criterion(name="tone"),))
    [question] = questions([own], annotator="a", criteria=[Criterion(name="tone", scale=(1, 5))])
    assert str(question.answers) == "a number from 1 to 5"


def test_answers_that_do_not_name_a_and_b_leave_the_order() -> None:
    for answers in ("1..10", "any", "good,bad", "A,B,neither"):
        asked = questions(PAIRS, annotator="anna", answers=parse_answers(answers))
        assert not any(question.swapped for question in asked)
    assert any(one.swapped for one in questions(PAIRS, annotator="anna", answers=parse_answers("A,B")))


def test_cases_of_any_kind_may_be_labelled() -> None:
    asked = questions(["a text", {"case_id": "m", "output": "b", "gold": "PASS"}], annotator="anna")
    assert {tuple(one.texts.items()) for one in asked} == {(("output", "a text"),), (("output", "b"),)}
    [own] = questions([{"question": "q", "gold": "PASS", "author": "gpt", "author_b": "me"}], annotator="anna")
    assert own.texts == {"output": "q"}


@pytest.mark.parametrize(
    ("cases", "annotator", "sentence"),
    [
        ([], "anna", "there is no case to label"),
        ([SINGLE, SINGLE], "anna", "case 'x' stands twice"),
        ([SINGLE], " ", "an annotator needs a name"),
    ],
)
def test_what_cannot_be_asked(cases: list[Any], annotator: str, sentence: str) -> None:
    with pytest.raises((CaseError, UsageError), match=sentence):
        questions(cases, annotator=annotator)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("PASS,FAIL", Answers(kind="words", words=("PASS", "FAIL"))),
        (" good , bad,n/a ", Answers(kind="words", words=("good", "bad", "n/a"))),
        ("toxic;spam", Answers(kind="labels", words=("toxic", "spam"))),
        ("1..10", Answers(kind="number", scale=(1, 10))),
        ("-0.5..+1.5", Answers(kind="number", scale=(-0.5, 1.5))),
        ("number", Answers(kind="number")),
        ("any", Answers(kind="any")),
    ],
)
def test_answers_of_the_option(text: str, answers: Answers) -> None:
    assert parse_answers(text) == answers
    assert Answers.parse(str(answers)) == answers


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("PASS", "two or more different labels"),
        ("", "two or more different labels"),
        ("yes,Yes", "two or more different labels"),
        ("10..1", "from its lower end to its upper one"),
        ("1,2,3", "are a scale, as 1..5"),
        ("PASS,abstain", "who cannot tell skips"),
        ("a / b,c", "who cannot tell skips"),
    ],
)
def test_answers_that_cannot_be(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_answers(text)


@pytest.mark.parametrize(
    ("answers", "said", "verdict"),
    [
        ("PASS,FAIL", "p", "PASS"),
        ("PASS,FAIL", "Fail", "FAIL"),
        ("PASS,FAIL", "yes", "PASS"),
        ("PASS,FAIL", "x", None),
        ("PASS,FAIL", "  ", None),
        ("PASS,FAIL", "abstain", None),
        ("good,gold,go", "g", None),
        ("good,gold,go", "GO", "go"),
        ("good,gold,go", "goo", "good"),
        ("toxic;spam", "t; S", frozenset({"toxic", "spam"})),
        ("toxic;spam", "toxic", frozenset({"toxic"})),
        ("toxic;spam", ";", frozenset()),
        ("toxic;spam", "toxic; rude", None),
        ("1..10", "7", 7),
        ("1..10", "7.5", 7.5),
        ("1..10", "11", None),
        ("1..10", "seven", None),
        ("any", "seven", "seven"),
        ("any", "7", 7),
    ],
)
def test_what_a_line_answers(answers: str, said: str, verdict: Any) -> None:
    assert verdict_of(f"{said}\n", parse_answers(answers)) == verdict


def test_letters_that_could_be_answers_need_a_slash_to_be_commands() -> None:
    assert list(command_keys(parse_answers("PASS,FAIL"))) == ["?", "s", "b", "c", "q"]
    assert list(command_keys(parse_answers("A,B,TIE"))) == ["?", "s", "/b", "c", "q"]
    assert list(command_keys(parse_answers("any"))) == ["?", "/s", "/b", "/c", "/q"]
    assert list(command_keys(parse_answers("1..5"))) == ["?", "s", "b", "c", "q"]
    assert command_of("b", parse_answers("A,B")) is None
    assert command_of("/B\n", parse_answers("A,B")) == command_of("b", parse_answers("1..5")) == "back"
    assert command_of("/q", parse_answers("PASS,FAIL")) == "quit"
    assert command_of("/x", parse_answers("PASS,FAIL")) is None


@given(st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=5), st.text(max_size=8))
def test_what_a_line_answers_is_always_one_of_the_words(words: list[str], said: str) -> None:
    answers = Answers(kind="words", words=tuple(words))
    verdict = verdict_of(said, answers)
    assert verdict is None or verdict in (*words, "PASS", "FAIL")


def test_a_set_of_words_is_read_back_as_it_is_written() -> None:
    answers = Answers(kind="labels", words=("toxic", "spam"))
    assert str(answers) == "some of, separated by semicolons: toxic; spam"
    assert answers.read("SPAM") == frozenset({"spam"})
    assert answers.read("rude") is None
    assert Answers(kind="labels").read("rude; x") == frozenset({"rude", "x"})
