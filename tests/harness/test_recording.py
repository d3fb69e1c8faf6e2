"""Every result of a process, whoever measured it, in one file that `report` reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from judgeharness_integrations import AnswerCase, CalibrationSet, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.judging.recording import RECORD, case_texts, ready, recording, to_file
from judgeharness_integrations.testing import ScriptedJudge

PROGRAM = """
import sys
from judgeharness_integrations import AnswerCase, JudgeHarness
for number in range(5):
    case = AnswerCase(case_id=sys.argv[1] + str(number), input="why?", output="because")
    JudgeHarness.single("labels").evaluate(lambda case: "PASS", case)
"""


def test_a_listener_is_told_every_result_and_what_was_judged() -> None:
    told: list[tuple[HarnessResult, Mapping[str, str]]] = []
    pair = PairwiseCase(case_id="p", input="?", output="one", output_b="two")
    with recording(lambda result, texts: told.append((result, texts))):
        measured = JudgeHarness.quick("pairwise").evaluate(ScriptedJudge(["A"]), pair)
        JudgeHarness.single("labels").evaluate(ScriptedJudge(["PASS"]), "a text of its own")
    JudgeHarness.single("labels").evaluate(ScriptedJudge(["FAIL"]), "after the block")
    assert told[0][0] is measured
    assert [texts for _, texts in told] == [
        {"input": "?", "output": "one", "output_b": "two"},
        {"case": "a text of its own"},
    ]


def test_labelled_cases_of_a_calibration_are_not_recorded() -> None:
    told: list[str] = []
    labels = CalibrationSet("people", ((AnswerCase(case_id="labelled", output="x"), "PASS"),))
    with recording(lambda result, texts: told.append(result.case_id)):
        harness = JudgeHarness(
            perturbations=["none"], repetitions=1, aggregation_rule="majority", calibration_set=labels
        )
        harness.evaluate(ScriptedJudge(["PASS"]), AnswerCase(case_id="asked", output="x"))
    assert told == ["asked"]


def test_what_was_judged_is_kept_only_where_texts_are() -> None:
    told: list[Mapping[str, str]] = []
    with recording(lambda result, texts: told.append(texts)):
        harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", keep="hash")
        harness.evaluate(ScriptedJudge(["PASS"]), "secret")
    assert told == [{}]


def test_a_case_of_the_callers_own_kind_is_shown_as_it_prints() -> None:
    assert case_texts({"question": 1}) == {"case": "{'question': 1}"}


def test_recorded_results_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "runs" / "today.jsonl"
    results = []
    with recording(to_file(file)):
        for name, answers in {"a": ["PASS"], "b": ["PASS", "FAIL"]}.items():
            case = AnswerCase(case_id=name, input="why?", output="**because**")
            results.append(JudgeHarness.standard("labels").evaluate(ScriptedJudge(answers), case))
    report = read_report(file)
    assert report.results == tuple(results)
    assert report.case_texts["b"] == {"input": "why?", "output": "**because**"}
    assert read_report(file, judges=["scripted"]).case_texts == report.case_texts


def test_a_record_says_which_test_asked(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, harness = tmp_path / "today.jsonl", JudgeHarness.single("labels")
    with recording(to_file(file)):
        measured = harness.evaluate(ScriptedJudge(["PASS"]), "asked in a test")
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
        harness.evaluate(ScriptedJudge(["PASS"]), "asked in none")
    asked, other = read_report(file).results
    assert (asked.test, other.test) == (request.node.nodeid, None)
    assert HarnessResult.from_dict(asked.to_dict(rows=True)).test == request.node.nodeid
    assert "test" not in other.to_dict()
    assert measured == asked


def test_a_line_that_was_cut_off_is_left_out_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "today.jsonl"
    with recording(to_file(file)):
        for name in "ab":
            JudgeHarness.single("labels").evaluate(ScriptedJudge(["PASS"]), AnswerCase(case_id=name, output="x"))
    text = file.read_text(encoding="utf-8")
    file.write_text(text[:-30], encoding="utf-8")
    assert [result.case_id for result in read_report(file).results] == ["a"]
    first, second = text.splitlines()
    file.write_text(f"{first[:-30]}\n{second}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1 is damaged"):
        read_report(file)
    other = json.dumps({"schema": "judgeharness.recorded/2"})
    file.write_text(f"{first}\n{other}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="not a record of schema"):
        read_report(file)


@pytest.mark.parametrize("place", ["file/below.jsonl", "folder", "locked.jsonl"])
def test_a_file_that_cannot_be_written_is_one_sentence_before_anything_is_asked(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked.jsonl.lock").mkdir()
    asked: list[str] = []

    def judge(case: AnswerCase) -> str:
        asked.append(case.case_id)
        return "PASS"

    harness, case = JudgeHarness.standard("labels"), AnswerCase(case_id="a", output="x")
    with recording(to_file(tmp_path / place)):
        for measure in (lambda: harness.evaluate(judge, case), lambda: list(harness.evaluate_many(judge, [case]))):
            with pytest.raises(ConfigError, match=f"give {RECORD} another file; nothing was asked"):
                measure()
    assert asked == []


def test_whether_a_file_can_be_written_is_looked_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "today.jsonl"
    listener = to_file(file)
    with recording(listener):
        ready()
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "new").write_text("", encoding="utf-8")
        ready()
    with recording(to_file(file)), pytest.raises(ConfigError):
        ready()
    (tmp_path / "there.jsonl").write_text("", encoding="utf-8")
    with recording(to_file(tmp_path / "there.jsonl")):
        ready()
    assert (tmp_path / "there.jsonl").read_text(encoding="utf-8") == ""


def test_a_result_is_not_lost_with_a_listener_that_fails_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, told = tmp_path / "folder" / "today.jsonl", []
    with recording(to_file(file)), recording(lambda result, texts: told.append(result.case_id)):
        ready()
        (tmp_path / "folder").write_text("", encoding="utf-8")  # a file, where the folder was to be
        for name in "ab":
            result = JudgeHarness.single("labels").evaluate(
                ScriptedJudge(["PASS"]), AnswerCase(case_id=name, output="x")
            )
            assert result.verdict == "PASS"
    assert told == ["a", "b"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"results are no longer recorded in {file} (" in said


def test_a_listener_of_ones_own_may_refuse_before_anything_is_asked_and_loses_nothing_later(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def ready(self) -> None:
            raise ConfigError("the store is full.")

        def __call__(self, result: HarnessResult, texts: Mapping[str, str]) -> None:
            raise ValueError("no")

    with recording(Full()), pytest.raises(ConfigError, match="the store is full"):
        JudgeHarness.single("labels").evaluate(ScriptedJudge([]), "x")
    monkeypatch.setattr(sys, "stderr", None)  # as programs without a console have it
    monkeypatch.setattr(Full, "ready", lambda self: None)
    with recording(Full()):
        assert JudgeHarness.single("labels").evaluate(ScriptedJudge(["PASS"]), "x").verdict == "PASS"


@pytest.mark.slow
def test_processes_record_into_one_file(tmp_path: Path) -> None:
    environment = {**os.environ, RECORD: str(tmp_path / "all.jsonl")}
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, name], env=environment)  # noqa: S603 - our own program
        for name in ("first", "second", "third")
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    found = sorted(result.case_id for result in read_report(tmp_path / "all.jsonl").results)
    assert found == sorted(f"{name}{number}" for name in ("first", "second", "third") for number in range(5))
