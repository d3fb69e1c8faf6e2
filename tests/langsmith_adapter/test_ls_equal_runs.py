"""Runs that answered alike are one case, asked once in a named run of a log; one run has one evaluator for each key."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from langsmith import aevaluate, evaluate
from support.langsmith_people import a_run
from support.langsmith_server import LangSmithServer

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.execution.preparing import content_digest
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_langsmith import HarnessRunEvaluator
from judgeharness_langsmith.evaluating import Turns
from judgeharness_langsmith.feedback import Writers

Serve = Callable[..., LangSmithServer]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlLog]:
    with SqlLog(f"sqlite:///{tmp_path}/log.db") as log:
        yield log


class Counting:
    """A function of values that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, outputs: dict[str, Any], example: Any = None) -> bool:
        self.calls += 1
        await asyncio.sleep(0.02)
        return "*" in outputs["answer"]


def harnessed(judge: Any, log: SqlLog, run: str | None = "nightly") -> HarnessRunEvaluator:
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    return HarnessRunEvaluator(judge, JudgeHarness(**design, log=log, run=run, observers=[]), key="starred")


def scores(answers: list[Any]) -> list[Any]:
    return [answer["results"][0].score for answer in answers]


def test_equal_runs_of_one_loop_are_asked_once(log: SqlLog) -> None:
    judge = Counting()
    evaluator = harnessed(judge, log)

    async def run() -> list[Any]:
        return await asyncio.gather(*(evaluator.aevaluate_run(a_run()) for _ in range(3)))

    assert scores(asyncio.run(run())) == [True] * 3
    assert judge.calls == 2
    assert len(evaluator.results) == 3


def test_equal_runs_of_several_threads_are_asked_once(log: SqlLog) -> None:
    judge = Counting()
    evaluator = harnessed(judge, log)
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(evaluator.evaluate_run, [a_run() for _ in range(3)]))
    assert scores(answers) == [True] * 3
    assert judge.calls == 2
    assert {row.attributes["run_id"] for one in evaluator.results.values() for row in one.rows} <= set(
        evaluator.results
    )


@pytest.mark.slow
def test_a_named_run_goes_on_with_new_runs_that_answered_alike(log: SqlLog) -> None:
    judge = Counting()
    first = harnessed(judge, log).evaluate_run(a_run())
    again = harnessed(judge, log).evaluate_run(a_run())
    assert (scores([first, again]), judge.calls) == ([True, True], 2)
    other = a_run().model_copy(update={"tags": ["other"]})  # which a function of an example may read

    def of_runs(run: Any, example: Any) -> bool:
        return bool(run.tags or example)

    reading = harnessed(of_runs, log, "reading")
    reading.evaluate_run(a_run())
    with pytest.raises(UsageError, match="holds another answer"):
        reading.evaluate_run(other)


def test_without_a_name_every_run_is_asked(log: SqlLog) -> None:
    judge = Counting()
    evaluator = harnessed(judge, log, None)

    async def run() -> list[Any]:
        return await asyncio.gather(*(evaluator.aevaluate_run(a_run()) for _ in range(2)))

    assert scores(asyncio.run(run())) == [True] * 2
    assert judge.calls == 4


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_repetition_of_an_experiment_gets_feedback(
    langsmith_server: Serve, log: SqlLog, *, asynchronous: bool
) -> None:
    server = langsmith_server()
    client = server.client()
    made = client.create_dataset("capitals")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"q": "Peru?"}}])
    judge = Counting()
    options: dict[str, Any] = {"data": "capitals", "client": client, "num_repetitions": 3}
    evaluators = [harnessed(judge, log)]
    if asynchronous:

        async def application(inputs: dict[str, Any]) -> dict[str, Any]:
            return {"answer": f"*{inputs['q']}*"}

        async def run() -> list[Any]:
            return [row async for row in await aevaluate(application, evaluators=evaluators, **options)]

        rows = asyncio.run(run())
    else:
        rows = list(evaluate(lambda inputs: {"answer": f"*{inputs['q']}*"}, evaluators=evaluators, **options))
    assert [row["evaluation_results"]["results"][0].score for row in rows] == [True] * 3
    assert judge.calls == 2
    heads = [row for row in server.arrived(9) if row["key"] == "starred"]
    assert len({row["run_id"] for row in heads}) == 3


def test_turns_do_not_stop_a_loop_that_waits_for_itself() -> None:
    turns, told = Turns(needed=True), list[str]()

    async def run() -> None:
        async with turns.aof("a"):
            with turns.of("a"):  # LangSmith's sync evaluators may be called inside a loop
                told.append("both")

    asyncio.run(run())
    done = threading.Event()
    with turns.of("a"):
        waiting = threading.Thread(target=lambda: [turns.of("a").__enter__(), done.set()])
        waiting.start()
        assert not done.wait(0.05)
    assert done.wait(10)
    waiting.join()
    assert told == ["both"]


def test_where_a_case_came_from_is_none_of_its_content() -> None:
    def case(**attributes: Any) -> AnswerCase:
        return AnswerCase(case_id="a", output="x", attributes=attributes)

    assert content_digest(case(run_id="1")) == content_digest(case(run_id="2")) == content_digest(case())
    assert content_digest(case(subset="1")) != content_digest(case(subset="2"))


CLASH = "another evaluator writes feedback 'starred' of run .*: give one of them a key= of its own"


def graded(key: str = "starred", judge: Any = None) -> HarnessRunEvaluator:
    return HarnessRunEvaluator(judge or (lambda case: "*" in case.output), JudgeHarness.single("any"), key=key)


def test_a_second_evaluator_of_one_key_is_refused_before_it_asks() -> None:
    run, judge, first = a_run(), Counting(), graded()
    first.evaluate_run(run, evaluator_run_id=uuid4())
    with pytest.raises(UsageError, match=CLASH):
        graded(judge=judge).evaluate_run(run, evaluator_run_id=uuid4())
    assert judge.calls == 0


def test_two_at_once_are_not_both_taken() -> None:
    run = a_run()

    async def both() -> list[Any]:
        evaluators = [graded(judge=Counting()) for _ in range(2)]
        asked = (one.aevaluate_run(run, evaluator_run_id=uuid4()) for one in evaluators)
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [isinstance(answer, UsageError) for answer in asyncio.run(both())] == [False, True]


def test_a_key_that_only_an_answer_names_is_refused_too_and_what_was_paid_is_kept() -> None:
    def names(outputs: dict[str, Any]) -> dict[str, Any]:
        return {f"star{'red'}": "*" in outputs["answer"]}

    run = a_run()
    kept, second = graded(), HarnessRunEvaluator(names, JudgeHarness.single("any"))
    kept.evaluate_run(run, evaluator_run_id=uuid4())
    with pytest.raises(UsageError, match=CLASH):
        second.evaluate_run(run, evaluator_run_id=uuid4())
    assert second.results[str(run.id)].verdict == "PASS"


@pytest.mark.parametrize("key", ["other", "starred.other"])
def test_evaluators_of_different_keys_share_a_run(key: str) -> None:
    run = a_run()
    found = [graded(one).evaluate_run(run, evaluator_run_id=uuid4()) for one in ("starred", key)]
    assert scores(found) == [True, True]


def test_one_evaluator_may_evaluate_a_run_again() -> None:
    run, evaluator = a_run(), graded()
    assert scores([evaluator.evaluate_run(run, evaluator_run_id=uuid4()) for _ in range(2)]) == [True, True]


def test_who_calls_evaluators_by_hand_keeps_the_feedback_apart() -> None:
    run = a_run()
    assert scores([graded().evaluate_run(run) for _ in range(2)]) == [True, True]


@pytest.mark.slow
def test_runs_and_evaluators_that_are_gone_are_forgotten() -> None:
    writers, run = Writers(), a_run()
    writers.enter(graded(), run, ["starred"])  # who is gone at once
    writers.enter(kept := graded(), run, ["starred"])
    del run
    gc.collect()
    assert (writers._of_runs, kept.family.key) == ({}, "starred")


def test_what_stands_in_for_a_run_is_not_known_again() -> None:
    writers: Any = Writers()
    for _ in range(2):
        writers.enter(graded(), SimpleNamespace(id=1), ["starred"])
    assert writers._of_runs == {}


def test_evaluate_notes_the_refusal_under_the_key(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    made = client.create_dataset("cities")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"q": "Hi?"}}])
    both = [graded(), graded()]
    [row] = evaluate(lambda inputs: {"answer": "*Hi*"}, data="cities", evaluators=both, client=client)
    noted = {one.score: one.comment for one in row["evaluation_results"]["results"] if one.key == "starred"}
    assert (set(noted), "another evaluator writes feedback 'starred'" in str(noted[None])) == ({True, None}, True)
