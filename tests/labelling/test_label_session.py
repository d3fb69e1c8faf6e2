"""The labelling loop: what is typed, what is shown, what is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.labelling import LabelLog, Progress, Session, parse_answers, questions
from judgeharness_integrations.labelling.questions import question_lines

CASES = [AnswerCase(case_id=f"c{place}", output=f"text {place}") for place in range(4)]


class Terminal:
    """Lines somebody types, and everything that is shown."""

    def __init__(self, *lines: str) -> None:
        self.lines: Iterator[str] = iter(lines)
        self.shown = ""

    def read(self) -> str:
        return next((f"{line}\n" for line in self.lines), "")

    def write(self, text: str) -> None:
        self.shown += text


def sit(path: Path, *lines: str, cases: Any = CASES, answers: str | None = None, **options: Any) -> tuple[Any, str]:
    """Return the progress of one sitting, and what was shown."""
    terminal = Terminal(*lines)
    asked = questions(cases, annotator="anna", answers=None if answers is None else parse_answers(answers), **options)
    session = Session(
        asked, LabelLog(path), annotator="anna", read=terminal.read, write=terminal.write, now=lambda: "now"
    )
    return session.run(), terminal.shown


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def verdicts(path: Path) -> list[Any]:
    return [row.verdict for row in LabelLog(path).rows()]


def order() -> list[str]:
    return [question.case_id for question in questions(CASES, annotator="anna")]


def test_every_answer_is_written_as_a_row_of_the_annotator(path: Path) -> None:
    progress, shown_ = sit(path, "p", "FAIL", "pass", "f")
    assert progress == Progress(annotator="anna", questions=4, labelled=4, added=4, skipped=0)
    assert progress.complete
    rows = LabelLog(path).rows()
    assert [(row.case_id, row.verdict) for row in rows] == list(
        zip(order(), ["PASS", "FAIL", "PASS", "FAIL"], strict=True)
    )
    assert {(row.judge, row.criterion, row.asked_at, row.reasoning) for row in rows} == {
        ("anna", "verdict", "now", None)
    }
    assert "4 of 4" in shown_
    assert "c1" not in shown_


@pytest.mark.parametrize("end", [("q",), ()])
def test_quitting_or_the_end_of_input_loses_nothing_and_the_next_sitting_goes_on(
    path: Path, end: tuple[str, ...]
) -> None:
    progress, _ = sit(path, "p", "f", *end)
    assert (progress.labelled, progress.complete) == (2, False)
    progress, shown_ = sit(path, "f", "p")
    assert (progress.labelled, progress.added, progress.complete) == (4, 2, True)
    assert shown_.startswith("2 of 4 are labelled.\n\n3 of 4\n")
    assert verdicts(path) == ["PASS", "FAIL", "FAIL", "PASS"]


def test_skipped_questions_come_again_in_the_next_sitting(path: Path) -> None:
    progress, _ = sit(path, "s", "p", "p", "p")
    assert (progress.labelled, progress.skipped) == (3, 1)
    progress, shown_ = sit(path, "f")
    assert progress.complete
    assert "\n1 of 4\n" in shown_
    assert LabelLog(path).rows()[-1].case_id == order()[0]


def test_going_back_takes_the_last_answer_back(path: Path) -> None:
    progress, shown_ = sit(path, "p", "b", "f", "p", "b", "b", "p", "q")
    assert verdicts(path) == ["PASS"]
    assert (progress.labelled, progress.added) == (1, 1)
    assert shown_.count("the last answer is taken back.") == 3


def test_going_back_returns_to_what_was_skipped(path: Path) -> None:
    progress, _ = sit(path, "s", "b", "p", "q")
    assert (progress.labelled, progress.skipped) == (1, 0)
    assert LabelLog(path).rows()[0].case_id == order()[0]


def test_going_back_reaches_answers_of_an_earlier_sitting_and_ends_at_the_first(path: Path) -> None:
    sit(path, "p", "p", "q")
    progress, shown_ = sit(path, "b", "b", "b", "f", "q")
    assert (progress.labelled, progress.added) == (1, 1)
    assert "there is nothing to go back to." in shown_
    assert verdicts(path) == ["FAIL"]


def test_the_last_answer_can_be_taken_back_too(path: Path) -> None:
    progress, shown_ = sit(path, "p", "p", "p", "p", "b", "f", "")
    assert progress.complete
    assert shown_.count("nothing is left to ask (b back, Enter ends) > ") == 2
    assert verdicts(path) == ["PASS"] * 3 + ["FAIL"]


def test_a_comment_stands_beside_its_answer_alone(path: Path) -> None:
    sit(path, "c", "a \x1b[31mtypo", "p", "f", "q")
    assert [row.reasoning for row in LabelLog(path).rows()] == ["a [31mtypo", None]


def test_a_comment_is_confirmed_and_the_question_asked_again(path: Path) -> None:
    _, shown_ = sit(path, "c", "a typo", "p", "q")
    assert "comment > the comment will stand beside your answer.\nPASS / FAIL (" in shown_
    _, shown_ = sit(path, "c", "", "p", "q")
    assert "comment > no comment.\nPASS / FAIL (" in shown_


def test_input_that_ends_in_a_comment_ends_the_sitting(path: Path) -> None:
    progress, _ = sit(path, "c")
    assert progress.labelled == 0


def test_what_is_no_answer_is_said_and_asked_again(path: Path) -> None:
    progress, shown_ = sit(path, "maybe \x1b[2J", "", "p", "q")
    assert progress.labelled == 1
    assert "maybe [2J is not an answer: write PASS / FAIL.\n" in shown_
    assert "\nwrite PASS / FAIL." in shown_ or "> write PASS / FAIL." in shown_
    assert "\x1b" not in shown_


def test_criteria_are_named_and_described(path: Path) -> None:
    criteria = [Criterion(name="tone", description="Is it polite?"), Criterion(name="facts", scale=(1, 5))]
    _, shown_ = sit(path, "p", "4", "q", cases=CASES[:1], criteria=criteria)
    assert "1 of 2, tone\nIs it polite?\nanswer:\n  | text 0\n" in shown_
    assert "a number from 1 to 5" in shown_
    assert verdicts(path) == ["PASS", 4]


def test_labels_of_one_criterion_are_of_one_kind(path: Path) -> None:
    progress, shown_ = sit(path, "7", "good", "8", "/q", answers="any")
    assert progress.labelled == 2
    assert "good is not an answer: your other answers about this are numbers." in shown_
    progress, _ = sit(path, "/b", "/b", "good", "/q", answers="any")
    assert verdicts(path) == ["good"]
    with pytest.raises(UsageError, match="holds labels of 'anna' for 'verdict', which a number from 1 to 5 does not"):
        sit(path, answers="1..5")


def test_sets_of_labels_are_gone_on_with(path: Path) -> None:
    sit(path, "toxic; spam", ";", "q", answers="toxic;spam")
    progress, _ = sit(path, "t", "q", answers="toxic;spam")
    assert progress.labelled == 3
    assert verdicts(path) == [frozenset({"toxic", "spam"}), frozenset(), frozenset({"toxic"})]


def test_rows_about_other_cases_and_of_others_are_left_alone(path: Path) -> None:
    sit(path, "p", "q", cases=[AnswerCase(case_id="other", output="x")])
    progress, _ = sit(path, "p", "q")
    assert (progress.questions, progress.labelled) == (4, 1)
    assert len(LabelLog(path).rows()) == 2


# What is shown


HOSTILE = "a\x1b[2J\x1b]0;title\x07\nPASS / FAIL > \r12 of 80\u202eesrever\ttab\x00"


def test_hostile_texts_cannot_steer_the_terminal_or_pass_for_ours(path: Path) -> None:
    case = PairwiseCase(case_id="c", input=HOSTILE, output=HOSTILE, output_b="", context=HOSTILE)
    _, shown_ = sit(path, "?", "q", cases=[case], criteria=[Criterion(name=HOSTILE, description=HOSTILE)])
    assert all(c.isprintable() or c == "\n" for c in shown_)
    margin = [line for line in shown_.splitlines() if "esrever" in line and not line.startswith(("  | ", "1 of 1"))]
    assert [line for line in margin if not line.startswith("a [2J")] == []


@given(st.text(max_size=300), st.integers(20, 120))
def test_no_line_is_wider_than_the_terminal(text: str, width: int) -> None:
    [question] = questions([AnswerCase(case_id="c", output=text)], annotator="anna")
    lines = list(question_lines(question, width=width, whole=True))
    assert lines[0] == "answer:"
    for line in lines[1:]:
        assert line.startswith("  | ")
        assert len(line) <= max(width, 24)
        assert all(c.isprintable() for c in line)


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["one", "two", "日本語" * 9]), max_size=60))
def test_shown_whole_no_word_is_lost(words: list[str]) -> None:
    [question] = questions([AnswerCase(case_id="c", output=" ".join(words))], annotator="anna")
    text = "".join(line.removeprefix("  | ") for line in list(question_lines(question, width=40, whole=True))[1:])
    assert text.replace(" ", "") == "".join(words)


def test_long_texts_are_cut_until_asked_for(path: Path) -> None:
    text = "\n".join(f"line {place}" for place in range(100))
    _, shown_ = sit(path, "q", cases=[AnswerCase(case_id="c", output=text)])
    assert "line 15" in shown_
    assert "line 16" not in shown_
    assert "... cut here, 789 characters in all: ? shows them" in shown_
    _, shown_ = sit(path, "?", "q", cases=[AnswerCase(case_id="c", output=text)])
    assert "line 99" in shown_
    just = "\n".join(f"line {place}" for place in range(16))
    _, shown_ = sit(path, "q", cases=[AnswerCase(case_id="c", output=just)])
    assert "line 15" in shown_
    assert "cut here" not in shown_


def test_without_questions_a_sitting_is_over_at_once(path: Path) -> None:
    terminal = Terminal()
    session = Session([], LabelLog(path), annotator="a", read=terminal.read, write=terminal.write, now=lambda: "now")
    assert session.run().questions == 0
    assert terminal.shown == ""
