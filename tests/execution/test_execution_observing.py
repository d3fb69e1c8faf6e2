"""Observers see what happens as nested spans; terminals get a progress bar, pipes get nothing."""

from __future__ import annotations

import asyncio
import contextvars
import os
import pty
import re
import subprocess
import sys
from contextlib import aclosing
from itertools import pairwise
from types import SimpleNamespace

import pytest

from judgeharness_integrations import CalibrationSet, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations.judging.execution import limiter as limiting
from judgeharness_integrations.judging.execution import observing
from judgeharness_integrations.judging.execution.limiter import limiter_for
from judgeharness_integrations.judging.execution.observing import ProgressBar, Span, default_observers, model_span
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import Judgment, Probe
from judgeharness_integrations.testing import ScriptedJudge

PAIR = PairwiseCase(case_id="pair", input="Which?", output="first", output_b="second")
TRACE: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="none")


class Recorder:
    """Keeps spans in order of beginning and of ending."""

    def __init__(self) -> None:
        self.begun: list[Span] = []
        self.ended: list[Span] = []

    def begin(self, span: Span) -> object:
        assert span.parent is None or span.parent not in self.ended
        self.begun.append(span)
        TRACE.set(span.name)
        return f"token of {span.name}"

    def end(self, span: Span) -> None:
        assert span.tokens[id(self)] == f"token of {span.name}"
        assert span not in self.ended
        assert not [inner for inner in self.begun if inner.parent is span and inner not in self.ended]
        self.ended.append(span)

    def of(self, kind: str) -> list[Span]:
        return [span for span in self.begun if span.kind == kind]

    def check(self) -> None:
        assert {id(span) for span in self.begun} == {id(span) for span in self.ended}


def harness(*perturbations: str, **options: object) -> JudgeHarness:
    defaults = {"repetitions": 2, "aggregation_rule": "majority", "max_concurrency": 4}
    return JudgeHarness(perturbations=perturbations or ("none",), **(defaults | options))  # type: ignore[arg-type]


def rewriter(text: str) -> str:
    return text.upper()


def test_spans_nest_run_case_call_and_rewrite() -> None:
    recorder = Recorder()
    one = harness("none", "paraphrase", "position_swap", observers=[recorder], rewriter=rewriter, max_concurrency=1)
    results = list(one.evaluate_many(ScriptedJudge(["A"], name="j"), [PAIR]))
    recorder.check()
    (run,), (case,) = recorder.of("run"), recorder.of("case")
    assert (run.name, run.parent, run.facts) == ("j", None, {"calls": 8})
    assert (case.name, case.parent, case.facts) == ("pair", run, {"judge": "j", "case": PAIR, "calls": 6})
    assert case.outcome == {"result": results[0]}
    assert [(span.name, span.parent) for span in recorder.of("rewrite")] == [("rewriter", case)] * 2
    calls = recorder.of("call")
    assert {span.parent is case for span in calls} == {True}
    assert [span.name for span in calls] == [
        f"sample[{name}#{number}]" for name in ("none", "paraphrase", "position_swap") for number in (0, 1)
    ]
    assert calls[-1].facts == {
        "order": "swapped",
        "perturbation": "position_swap",
        "repetition": 1,
        "case_id": "pair",
    }
    assert calls[0].facts["order"] == "original"
    assert sum((span.outcome["rows"] for span in calls), ()) == results[0].rows


def test_what_an_observer_sets_around_a_call_reaches_the_judge() -> None:
    seen: list[str] = []

    def judge(case: object) -> str:
        seen.append(TRACE.get())
        return "PASS"

    harness(observers=[Recorder()]).evaluate(judge, "case")
    assert sorted(seen) == ["sample[none#0]", "sample[none#1]"]


def test_every_observer_is_told_and_the_last_to_begin_ends_first() -> None:
    told: list[str] = []

    class Named(Recorder):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def begin(self, span: Span) -> object:
            told.append(f"{self.name} begins {span.kind}")
            return super().begin(span)

        def end(self, span: Span) -> None:
            super().end(span)
            told.append(f"{self.name} ends {span.kind}")

    harness(observers=[Named("a"), Named("b")], repetitions=1).evaluate(ScriptedJudge(["PASS"]), "case")
    kinds = ("run", "case", "call")
    begins = [f"{name} begins {kind}" for kind in kinds for name in "ab"]
    assert told == begins + [f"{name} ends {kind}" for kind in reversed(kinds) for name in "ba"]


def test_spans_end_on_errors_and_when_the_budget_does() -> None:
    recorder = Recorder()
    one = harness(observers=[recorder], budget=Budget(max_calls=3), prime_cache=False)
    results = list(one.evaluate_many(ScriptedJudge([ValueError("no")]), ["a", "b", "c"]))
    recorder.check()
    assert [result.state for result in results] == ["complete", "budget_exhausted", "budget_exhausted"]
    assert [bool(span.outcome["rows"]) for span in recorder.of("call")].count(True) == 3


def test_spans_end_when_the_run_is_closed_or_cannot_go_on() -> None:
    async def judge(case: object) -> str:
        await asyncio.sleep(0 if case == "quick" else 60)
        return "PASS"

    recorder = Recorder()

    async def closed_early() -> HarnessResult:
        async with aclosing(harness(observers=[recorder]).aevaluate_many(judge, ["quick", "slow"])) as results:
            return await anext(results)

    asyncio.run(closed_early())
    recorder.check()
    assert [span.name for span in recorder.of("run")] == ["judge"]
    assert len(recorder.of("case")) == 2

    with pytest.raises(ZeroDivisionError):
        list(harness(observers=[recorder]).evaluate_many(ScriptedJudge(["A"]), (1 / (1 - n) for n in range(2))))
    recorder.check()


def test_calibrating_is_part_of_the_run_and_a_run_of_its_own_when_asked_for() -> None:
    labelled = CalibrationSet("labels", (("labelled", "PASS"),))
    recorder = Recorder()
    one = harness(observers=[recorder], calibration_set=labelled)
    one.evaluate(ScriptedJudge(["PASS"]), "case")
    (run,) = recorder.of("run")
    assert run.facts == {"calls": 4}
    assert [span.parent for span in recorder.of("case")] == [run, run]
    one.calibrate(ScriptedJudge(["PASS"]), labelled)
    assert [span.facts for span in recorder.of("run")] == [{"calls": 4}, {"calls": 2}]
    recorder.check()


def test_a_generator_of_cases_has_no_known_number_of_calls() -> None:
    recorder = Recorder()
    list(harness(observers=[recorder]).evaluate_many(ScriptedJudge(["PASS"]), iter(["case"])))
    assert recorder.of("run")[0].facts == {"calls": None}


PROGRAM = """
from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.testing import ScriptedJudge
harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
print(len(list(harness.evaluate_many(ScriptedJudge(["PASS"], name="watched"), list("abcdef")))))
print(harness.evaluate(ScriptedJudge(["PASS"], name="single"), "a").verdict)
import sys
print("rich" in sys.modules)
"""


@pytest.mark.slow
def test_a_pipe_gets_no_progress_bar() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)  # noqa: S603
    assert (ran.stdout.split(), ran.stderr) == (["6", "PASS", "False"], "")


@pytest.mark.slow
def test_a_terminal_gets_one_for_runs_of_many_cases() -> None:
    reader, writer = pty.openpty()
    try:
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            stderr=writer,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
            check=True,
        )
        shown = os.read(reader, 100_000).decode()
    finally:
        os.close(writer)
        os.close(reader)
    assert ran.stdout.split() == [b"6", b"PASS", b"True"]
    assert "watched" in shown
    assert "12/12" in shown or "0/12" in shown
    assert "single" not in shown


def test_the_bar_advances_with_calls_and_goes_away_with_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bar = ProgressBar()
    call = Span(kind="call", name="sample", parent=Span(kind="run", name="before"))
    bar.begin(call)
    bar.end(call)  # nothing was drawn: no run has begun
    run = Span(kind="run", name="judge", facts={"calls": 2})
    bar.begin(run)
    progress = bar._progress
    assert progress is not None
    for kind in ("call", "rewrite", "case"):
        bar.end(Span(kind=kind, name=kind))  # type: ignore[arg-type]
    assert progress.tasks[0].completed == 2
    for state, advanced in (("complete", 4), ("interrupted", 2)):
        before = progress.tasks[0].completed
        case = Span(kind="case", name="half of it was asked", facts={"calls": 4})
        case.outcome["result"] = SimpleNamespace(state=state)
        for _ in range(2):
            bar.end(Span(kind="call", name="sample", parent=case))
        bar.end(case)
        assert progress.tasks[0].completed - before == advanced
    bar.end(run)
    assert bar._progress is None
    assert "judge" not in capsys.readouterr().out


@pytest.mark.parametrize(("terminal", "bars"), [(True, 1), (False, 0), (None, 0)])
def test_the_default_is_a_bar_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool | None, bars: int
) -> None:
    class Stream:
        def isatty(self) -> bool:
            return bool(terminal)

    monkeypatch.setattr(observing.sys, "stderr", None if terminal is None else Stream())
    assert [type(observer) for observer in default_observers()] == [ProgressBar] * bars


def test_rows_come_back_in_plan_order_whatever_the_order_of_completion() -> None:
    async def judge(case: object) -> str:
        judge.calls += 1  # type: ignore[attr-defined]
        await asyncio.sleep(0.02 / judge.calls)  # type: ignore[attr-defined]
        return f"L{judge.calls}"  # type: ignore[attr-defined]

    judge.calls = 0  # type: ignore[attr-defined]
    rows = harness("none", repetitions=4).evaluate(judge, "case").rows
    assert all(first.repetition < second.repetition for first, second in pairwise(rows))


class _Modelling(ScriptedJudge):
    """A judge that asks a model nobody else traces."""

    async def judge(self, probe: Probe) -> Judgment:
        with model_span("model-1", provider="test") as outcome:
            judgment = await super().judge(probe)
            outcome["input_tokens"] = 7
        return judgment


def test_a_judge_shows_its_model_calls_inside_its_own() -> None:
    watching = Recorder()
    harness(observers=(watching,)).evaluate(_Modelling(["PASS"]), PAIR)
    watching.check()
    models = watching.of("model")
    assert [(span.name, span.facts["provider"], span.outcome) for span in models] == [
        ("model-1", "test", {"input_tokens": 7})
    ] * 2
    assert [span.parent for span in models] == watching.of("call")


def test_a_model_call_that_fails_says_with_what() -> None:
    watching = Recorder()
    judge = _Modelling([TimeoutError("no answer"), "PASS"])
    harness(observers=(watching,), repetitions=1).evaluate(judge, PAIR)
    assert [span.outcome for span in watching.of("model")] == [{"error": "TimeoutError"}, {"input_tokens": 7}]


def test_model_calls_nobody_watches_leave_no_span() -> None:
    assert harness().evaluate(_Modelling(["A"]), PAIR).verdict == "A"
    with model_span("model-1") as outcome:
        outcome["input_tokens"] = 7


def test_the_bar_says_when_a_server_asked_to_wait() -> None:
    bar, limiter = ProgressBar(), limiter_for("one that asks to wait")
    bar.begin(Span(kind="run", name="judge", facts={"calls": 2}))
    progress = bar._progress
    assert progress is not None
    column, task = progress.columns[-1], progress.tasks[0]
    assert column.render(task).plain == ""  # type: ignore[union-attr]
    with limiter.run(1):
        admission = asyncio.run(limiter.admit())
        limiter.refused(admission, 42.0)
        assert re.fullmatch("the server asked to wait 4[12] s", column.render(task).plain)  # type: ignore[union-attr]
    limiting._limiters.pop("one that asks to wait")
    bar.end(Span(kind="run", name="judge"))
