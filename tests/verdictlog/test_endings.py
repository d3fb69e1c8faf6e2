"""How answers ended, and what a run that lost many of them says first."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from judgeharness_integrations import JudgeHarness, Judgment, VerdictRow
from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.judging.judge import Answer
from judgeharness_integrations.reporting.html import html_report
from judgeharness_integrations.reporting.rundocument import report_document
from judgeharness_integrations.reporting.runsection import markdown_report, report_section
from judgeharness_integrations.reporting.terminal import show_section
from judgeharness_integrations.verdictlog import write_log
from judgeharness_integrations.verdictlog.row import CutOff, ending_of

ALERT = "10 of 20 answers were cut off (finish reason length) and hold no verdict: let the judge's model write more"


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        ((None, "", "stop", "STOP", "end_turn", "tool_use", "stop_sequence", "tool_calls", "completed"), "complete"),
        (("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_context_window_exceeded"), "cut_off"),
        (("content_filter", "refusal", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"), "refused"),
        (("OTHER", "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL", "a word of next year"), "cut_off"),
    ],
)
def test_every_providers_word_means_one_of_three_things(words: tuple[str | None, ...], ending: str) -> None:
    assert {ending_of(word) for word in words} == {ending}


def rows(lost: int, of: int) -> list[VerdictRow]:
    asked = [VerdictRow(case_id=str(n // 2), repetition=n % 2, verdict="PASS", finish_reason="stop") for n in range(of)]
    half = {"verdict": None, "outcome": "unparsed", "finish_reason": "length"}
    return [replace(row, **half) if n % of < lost else row for n, row in enumerate(asked)]  # type: ignore[arg-type]


def test_a_few_long_answers_are_no_alert_and_failed_calls_are_no_answers() -> None:
    few, none = CutOff(), CutOff()
    few.add(rows(1, 40))
    none.add([VerdictRow(case_id="c", verdict=None, outcome="error", finish_reason=None)])
    assert (few.alert, none.alert, none.answers) == (None, None, 0)


def test_a_call_about_several_criteria_is_one_answer() -> None:
    cut = CutOff()
    facts = {"verdict": None, "outcome": "unparsed", "finish_reason": "max_tokens", "call_id": "c/j/none/0"}
    cut.add([VerdictRow(case_id="c", criterion=name, **facts) for name in ("tone", "facts")])  # type: ignore[arg-type]
    assert (cut.answers, cut.reasons.total()) == (1, 1)
    assert str(cut.alert).startswith("1 of 1 answers were cut off (finish reason max_tokens)")


def test_a_report_of_lost_answers_says_so_before_any_number(tmp_path: Path) -> None:
    write_log(rows(10, 20), tmp_path / "log.jsonl")
    report = read_report(tmp_path / "log.jsonl", rule="majority")
    assert [alert.startswith(ALERT) for alert in report.judges[0].alerts] == [True]
    screen = Console(file=io.StringIO(), width=400)
    show_section(report_section(report), screen)
    said = screen.file.getvalue()  # type: ignore[attr-defined]
    for text, number in (
        (said, "consis"),
        (markdown_report(report), "| judge |"),
        (html_report(report), 'class="tile'),
    ):
        assert ALERT.partition(":")[0].partition("(")[0] in text
        assert text.index("10 of 20 answers") < text.index(number)
    assert report_document(report)["judges"][0]["alerts"] == list(report.judges[0].alerts)


def test_a_result_says_what_to_do_about_lost_answers() -> None:
    def half(case: str) -> Judgment:
        return Judgment(answers=(Answer(outcome="unparsed"),), finish_reason="length")

    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    assert "warning: 2 of 2 answers were cut off (finish reason length)" in harness.evaluate(half, "case").report()
