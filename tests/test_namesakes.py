"""Functions of one name that nothing tells apart are never pooled without a word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations.analysis.runs.folder import report_of_recorded
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.recording import recording, to_file, warned
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.runfolder import json_lines

CASES = [AnswerCase(case_id=text, output=text) for text in ("an apple", "a plum")]


def harness(**options: Any) -> JudgeHarness:
    return JudgeHarness.quick("labels", observers=[], **options)


def about(word: str, name: str = "evaluator") -> Callable[[AnswerCase], bool]:
    """A function as factories make them: whom it asks is in its closure, and cannot be compared."""
    client = Lock()

    def evaluator(case: AnswerCase) -> bool:
        with client:
            return word in case.output

    evaluator.__name__ = name
    return evaluator


class Grader:
    __slots__ = ("word",)

    def __init__(self, word: str) -> None:
        self.word = word

    def grade(self, case: AnswerCase) -> bool:
        return self.word in case.output


def told(name: str) -> str:
    return f"several functions are called '{name}' and nothing tells their results apart"


@pytest.mark.parametrize("read", ["listened", "file"])
def test_recorded_results_of_two_functions_of_one_name_say_so(tmp_path: Path, read: str) -> None:
    heard: list[HarnessResult] = []

    def listen(result: HarnessResult, _: Mapping[str, str]) -> None:
        heard.append(result)

    path, name = tmp_path / "all.jsonl", f"of_{read}"
    with recording(to_file(path) if read == "file" else listen):
        first, second = about("apple", name), about("plum", name)
        for judge in (first, first, second):
            for result in harness().evaluate_many(judge, CASES):
                assert result.warnings == ()  # each of them is measured well
    if read == "file":
        (section,) = report_of_recorded(json_lines(path), source="s").judges
        assert (section.judge, section.cases) == (name, 6)
        assert section.warnings[0].startswith(told(name))
    else:
        assert [len(one.warnings) for one in heard] == [0, 0, 0, 0, 1, 1]
        assert heard[-1].warnings[0].startswith(told(name))
        assert heard[-1].warnings[0].endswith("which cannot be compared with another one): give each its own name")


def test_a_named_run_says_where_one_function_is_given_the_answers_of_another(tmp_path: Path) -> None:
    with SqlLog(f"sqlite:///{tmp_path}/log.db") as log:
        asking = harness(log=log, run="nightly")
        first, again, other = (asking.evaluate(judge, CASES[0]) for judge in [*2 * [about("apple")], about("plum")])
        assert (first.warnings, again.warnings) == ((), ())
        assert other.verdict == "PASS"  # which is the first one's
        assert other.warnings[0].startswith(told("evaluator"))
        assert harness(log=log).evaluate(about("plum"), CASES[0]).warnings == ()  # a run of its own


def test_methods_are_known_by_their_objects() -> None:
    heard: list[HarnessResult] = []
    one, another = Grader("apple"), Grader("plum")
    with recording(lambda result, _: heard.append(result)):
        for grader in (one, one, another):
            harness().evaluate(grader.grade, CASES[0])
    assert [len(result.warnings) for result in heard] == [0, 0, 1]


def test_judges_with_an_identity_or_of_a_kind_of_their_own_are_told_apart_otherwise() -> None:
    heard: list[HarnessResult] = []

    def known(case: AnswerCase) -> bool:
        return "apple" in case.output

    with recording(lambda result, _: heard.append(result)):
        for judge in (known, ScriptedJudge(["PASS"]), ScriptedJudge(["FAIL"])):
            harness().evaluate(judge, CASES[0])
    assert [result.warnings for result in heard] == [()] * 3


def test_what_a_row_says_already_stays() -> None:
    judge, other = about("apple", "talking"), about("plum", "talking")
    result = harness().evaluate(judge, CASES[0])
    first, *rest = result.rows
    said = replace(result, rows=(replace(first, attributes={"warning": "cut off"}), *rest))
    assert warned(said, as_judge(judge), "here") is said
    assert warned(said, as_judge(other), None) is said
    assert warned(replace(result, rows=()), as_judge(other), "here").warnings == ()
    (warning,) = warned(said, as_judge(other), "here").warnings
    assert warning.startswith("cut off; several functions are called 'talking'")
