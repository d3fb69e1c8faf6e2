"""Evaluators as LangSmith itself takes them, of a run and its example, under the harness."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock
from uuid import uuid4

import pytest
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.evaluation import EvaluationResult, EvaluationResults, run_evaluator
from langsmith.schemas import Example, Run
from support.langsmith_people import a_run
from support.langsmith_server import LangSmithServer

from judgeharness_integrations import AnswerCase, CalibrationSet, HarnessResult, JudgeHarness
from judgeharness_integrations._errors import PlanError, UsageError
from judgeharness_integrations.judging.cases import PairwiseCase
from judgeharness_integrations.judging.execution.preparing import content_digest
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_langsmith import HarnessRunEvaluator

Serve = Callable[..., LangSmithServer]

CITIES = {"Capital of France?": "Paris", "Capital of Peru?": "Lima"}
TWICE: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority | median"}
BOTH: dict[str, Any] = {**TWICE, "perturbations": ["none", "format_change"], "repetitions": 1}


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": f"It is **{CITIES[inputs['question']]}**.", "sources": ["atlas"]}


async def application_later(inputs: dict[str, Any]) -> dict[str, Any]:
    return application(inputs)


def dataset(client: Client) -> str:
    made = client.create_dataset("capitals")
    examples = [{"inputs": {"question": q}, "reference_outputs": {"answer": a}} for q, a in CITIES.items()]
    client.create_examples(dataset_id=made.id, examples=examples)
    return "capitals"


def correct(run: Run, example: Example) -> dict[str, Any]:
    assert run.outputs is not None
    assert example.outputs is not None
    return {"key": "correctness", "score": example.outputs["answer"] in run.outputs["answer"], "comment": "looked"}


async def correct_later(run: Run, example: Example) -> dict[str, Any]:
    return correct(run, example)


def an_example(**attached: Any) -> Example:
    made = a_run()
    return Example(id=made.id, inputs={"q": "Who?"}, outputs={"answer": "Claude said it."}, **attached)


def measured(evaluator: Any, run: Run | None = None, example: Example | None = None, **design: Any) -> HarnessResult:
    harnessed = HarnessRunEvaluator(evaluator, JudgeHarness(**TWICE | {"max_concurrency": 1} | design))
    harnessed.evaluate_run(run or a_run(), example)
    (result,) = harnessed.results.values()
    return result


@pytest.mark.sampled(3)
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("judge", [correct, correct_later])
def test_evaluators_of_run_and_example_are_measured_in_evaluate(
    langsmith_server: Serve, judge: Any, *, asynchronous: bool
) -> None:
    server = langsmith_server()
    client = server.client()
    evaluator = HarnessRunEvaluator(judge, JudgeHarness(**BOTH))
    data = dataset(client)
    if asynchronous:

        async def run() -> list[Any]:
            found = await aevaluate(application_later, data=data, evaluators=[evaluator], client=client)
            return [row async for row in found]

        rows = asyncio.run(run())
    else:
        rows = list(evaluate(application, data=data, evaluators=[evaluator], client=client))
    assert server.unknown == []
    for row in rows:
        verdict, consistency, valid = row["evaluation_results"]["results"]
        assert (verdict.key, verdict.score, consistency.score, valid.score) == ("correctness", True, 1.0, 2)
        assert verdict.comment.startswith("PASS · 2 PASS of 2")
    result = evaluator.results[str(rows[0]["run"].id)]
    assert [row.perturbation for row in result.rows] == ["none", "format_change"]
    assert result.rows[0].reasoning == "looked"
    family = {f"correctness{end}" for end in ("", ".consistency", ".valid_samples")}
    assert {row["key"] for row in server.arrived(3 * len(rows))} == family


def test_perturbations_change_what_the_evaluator_reads_and_nobody_else_s() -> None:
    seen: list[tuple[Any, ...]] = []

    def reading(run: Any, example: Any) -> bool:
        seen.append(copy.deepcopy((run.inputs, run.outputs, example.inputs, example.outputs)))
        run.outputs.clear()
        run.inputs["q"] = example.inputs["q"] = "changed"
        run.extra["metadata"]["mine"] = example.metadata["mine"] = 1
        (run.tags or []).append("mine")
        for child in run.child_runs or ():
            child.inputs["a"].append("mine")
        return True

    inside = a_run(text="inside")
    inside.inputs = {"a": []}
    run, example = a_run(answer="Claude wrote *this*."), an_example(metadata={"a": 1})
    run.inputs, run.tags, run.extra, run.child_runs = {"q": "Who is Claude?"}, ["a"], {"metadata": {}}, [inside]
    before = copy.deepcopy((run, example))
    measured(reading, run, example, perturbations=["none", "name_swap"], repetitions=1)
    plain, swapped = seen
    assert plain == (run.inputs, run.outputs, example.inputs, example.outputs)
    for there, then in zip(plain, swapped, strict=True):
        assert there == {"q": "Who?"} or ("Claude" in str(there) and "Claude" not in str(then))
    assert (run, example) == before


def test_the_run_of_the_application_itself_is_shared_with_nobody(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    names: list[list[str]] = []

    @traceable
    def search(question: str) -> list[str]:
        return ["atlas"]

    def answering(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": CITIES[inputs["question"]], "found": search(inputs["question"])}

    def looked_up(root_run: Any, example: Example) -> bool:
        names.append([child.name for child in root_run.child_runs or ()])
        root_run.outputs["found"].append("mine")
        return len(root_run.outputs["found"]) == 2

    evaluator = HarnessRunEvaluator(looked_up, JudgeHarness(**TWICE))
    rows = list(evaluate(answering, data=dataset(client), evaluators=[evaluator], client=client))
    assert names == [["search"]] * 4
    assert {one.verdict for one in evaluator.results.values()} == {"PASS"}
    assert [(row["run"].outputs or {})["found"] for row in rows] == [["atlas"]] * 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (True, {"grade": "PASS"}),
        (0.25, {"grade": 0.25}),
        ("good", {"grade": "good"}),
        ({"score": 0}, {"grade": 0}),
        ({"key": "tone", "value": "kind"}, {"tone": "kind"}),
        ({"key": "right", "score": 1, "value": "CORRECT", "comment": "c"}, {"right": 1}),
        (EvaluationResult(key="right", score=True, value="Y", comment="c"), {"right": "PASS"}),
        (
            EvaluationResults(results=[EvaluationResult(key="a", score=1), EvaluationResult(key="b", score=0)]),
            {"a": 1, "b": 0},
        ),
        ({"results": [{"key": "a", "score": 1}, {"key": "a", "score": 2}]}, {"a": 1, "a_2": 2}),
        ([{"key": "a", "score": True}, {"score": False}], {"a": "PASS", "grade": "FAIL"}),
        ({"brief": True, "kind": False}, {"brief": "PASS", "kind": "FAIL"}),
    ],
)
def test_whatever_langsmith_takes_as_a_result_is_read(answer: Any, expected: dict[str, Any]) -> None:
    def grade(run: Run, example: Example | None) -> Any:
        return answer

    result = measured(grade)
    assert {name: one.verdict for name, one in result.criteria.items()} == expected


@pytest.mark.parametrize("answer", [None, {"key": "a", "comment": "nothing"}, {"key": "a", "score": None}])
def test_what_says_nothing_is_a_row_and_no_verdict(answer: Any) -> None:
    def grade(run: Run, example: Example | None) -> Any:
        return answer

    result = measured(grade)
    assert {row.outcome for row in result.rows} == {"unparsed"}
    assert {one.status for one in result.criteria.values()} == {"not_graded"}


@pytest.mark.parametrize("answer", [object(), [{"key": "a", "score": 1}, object()]])
def test_what_nobody_can_read_is_said_after_one_call(answer: Any) -> None:
    calls: list[Run] = []

    def grade(run: Run, example: Example | None) -> Any:
        calls.append(run)
        return answer

    with pytest.raises(UsageError, match=r"judge 'grade' answered a .*object"):
        measured(grade)
    assert len(calls) == 1


def test_an_evaluator_that_raises_gives_rows_of_errors() -> None:
    def grade(run: Run, example: Example) -> bool:
        return example.outputs is not None  # there is no example

    result = measured(grade)
    assert ({row.outcome for row in result.rows}, result.status) == ({"error"}, "not_graded")
    assert "NoneType" in str(result.rows[0].error)


@pytest.mark.parametrize(
    "evaluator",
    [
        lambda run: "Hello" in run.outputs["answer"],
        lambda run, inputs: inputs == {"q": "Who?"} and run.id is not None,
        lambda outputs, example: example.outputs["answer"] and "Hello" in outputs["answer"],
        lambda run, /, reference_outputs, *, more=1: "Claude" in reference_outputs["answer"] and more == 1,
        lambda root, given: "Hello" in root.outputs["answer"] and given.inputs["q"] == "Who?",
        lambda inputs, attachments: (inputs, attachments) == ({"q": "Who?"}, {}),
        lambda example: example.outputs["answer"] == "Claude said it.",
    ],
)
def test_arguments_are_given_as_langsmith_gives_them(evaluator: Any) -> None:
    assert measured(evaluator, a_run(), an_example()).verdict == "PASS"


def two_keys(run: Run, example: Example) -> dict[str, Any]:
    return {"results": [{"key": "first", "score": 1}, {"key": "second", "score": 0}]}


def helpful(outputs: dict[str, Any]) -> dict[str, Any]:
    return {"key": "helpfulness", "score": 1}


def silent_or_correct(run: Run, example: Example | None) -> dict[str, Any]:
    if example is None:
        raise LookupError("no example")
    return {"key": "correctness", "score": 1}


def test_the_keys_an_evaluator_s_source_names_are_its_feedback_keys() -> None:
    single = JudgeHarness.single("any")
    members = ["", ".consistency", ".valid_samples"]
    assert HarnessRunEvaluator(correct, single).feedback_keys == [f"correctness{member}" for member in members]
    assert HarnessRunEvaluator(correct_later, single).feedback_keys[0] == "correct_later"
    assert HarnessRunEvaluator(helpful, single).feedback_keys[0] == "helpfulness"
    assert HarnessRunEvaluator(two_keys, single).feedback_keys[::3] == ["first", "second"]
    assert HarnessRunEvaluator(two_keys, single, key="mine").feedback_keys[0] == "mine"


def test_what_is_not_graded_stands_under_the_key_of_what_is() -> None:
    evaluator = HarnessRunEvaluator(silent_or_correct, JudgeHarness.single("any"))
    failed, graded = (evaluator.evaluate_run(a_run(), one)["results"] for one in (None, an_example()))
    assert [row.key for row in failed] == [row.key for row in graded] == evaluator.feedback_keys
    assert (failed[0].value, graded[0].score) == ("NOT GRADED", 1)


@pytest.mark.slow
@pytest.mark.parametrize("stand_in", [SimpleNamespace, MagicMock])
def test_what_stands_in_for_a_run_in_a_test_is_read_and_left_alone(stand_in: Callable[..., Any]) -> None:
    def changing(run: Any, example: Any) -> bool:
        run.outputs["answer"] += "!"
        return bool(run.outputs["answer"] == example.outputs["answer"] + "!" and run.tags == ["mine"])

    run = stand_in(
        id=uuid4(), inputs={"q": "Who?"}, outputs={"answer": "Ada"}, reference_example_id=None, tags=["mine"]
    )
    example = stand_in(inputs={"q": "Who?"}, outputs={"answer": "Ada"})
    (verdict, *_) = HarnessRunEvaluator(changing, JudgeHarness.single("any")).evaluate_run(run, example)["results"]
    assert (verdict.score, run.outputs) == (True, {"answer": "Ada"})


def test_a_decorated_evaluator_is_its_function() -> None:
    decorated = HarnessRunEvaluator(run_evaluator(cast("Any", correct)), JudgeHarness(**TWICE))
    plain = HarnessRunEvaluator(correct, JudgeHarness(**TWICE))
    assert decorated.judge.identity == plain.judge.identity is not None
    assert decorated.judge.name == "correct"
    assert decorated(a_run(), an_example())["results"][0].score is False


def test_a_calibration_of_an_evaluator_holds_for_it_and_for_no_other() -> None:
    harness = JudgeHarness(**TWICE)
    first = HarnessRunEvaluator(correct, harness)
    first.evaluate_run(a_run(answer="Claude said it."), an_example())
    text = AnswerCase(case_id="text", output="Nobody did.", reference="Claude")
    values = structured_case(case_id="b", outputs={"answer": "Nobody."}, reference_outputs={"answer": "Claude"})
    seen: list[Any] = []

    def noted(run: Run, example: Example) -> bool:
        seen.append((run.outputs, example.inputs, example.outputs))
        return True

    labels = CalibrationSet("people", [(first.cases[0], "PASS"), (values, "FAIL")])
    report = harness.calibrate(first.judge, labels)
    assert str(report.criteria["correctness"].precision).startswith("1.0")
    held, lost = (HarnessRunEvaluator(one, harness, calibration=report) for one in (correct, noted))
    for evaluator in (held, lost):
        evaluator.evaluate_run(a_run(answer="Claude said it."), an_example())
    (result,), (other,) = held.results.values(), lost.results.values()
    assert (str(result.calibration_state), result.calibrated_precision) == ("valid", 1.0)
    assert str(other.calibration_state) != "valid"
    harness.evaluate(lost.judge, text)
    assert seen[-1] == ({"output": "Nobody did."}, {}, {"output": "Claude"})


def test_equal_outputs_are_one_case_whatever_the_run() -> None:
    evaluator = HarnessRunEvaluator(correct, JudgeHarness(**TWICE))
    for _ in range(2):
        evaluator.evaluate_run(a_run(), an_example())
    first, second = evaluator.cases
    assert first.case_id == second.case_id
    assert first.attributes != second.attributes  # which name the run
    assert content_digest(first) is not None


def used_search(run: Run, example: Example) -> bool:
    return any(child.name == "search" for child in run.child_runs or ())


def expected(run: Run, example: Example) -> bool:
    assert run.outputs is not None
    assert example.metadata is not None
    return str(example.metadata["expect"]) in run.outputs["answer"]


def a_child(**changes: Any) -> Run:
    return cast("Run", a_run().model_copy(update={"name": "search", **changes}))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("judge", "before", "after"),
    [
        (used_search, {"child_runs": []}, {"child_runs": [a_child()]}),
        (used_search, {"child_runs": [a_child(name="find")]}, {"child_runs": [a_child()]}),
        (lambda run, example: "fast" in (run.tags or []), {"tags": ["slow"]}, {"tags": ["fast"]}),
        (lambda run, example: not run.error, {"error": "late"}, {"error": None}),
        (
            lambda run, example: run.extra["metadata"]["model"] == "b",
            {"extra": {"metadata": {"model": "a"}}},
            {"extra": {"metadata": {"model": "b"}}},
        ),
        (
            lambda run, example: run.child_runs[0].outputs == {"n": 2},
            *({"child_runs": [a_child(outputs={"n": n})]} for n in (1, 2)),
        ),
        (expected, {"metadata": {"expect": "Lima"}}, {"metadata": {"expect": "Paris"}}),
    ],
)
def test_a_verdict_is_used_again_only_for_what_the_function_read(
    tmp_path: Path, judge: Callable[..., Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    first = a_run(answer="Paris")
    with SqlLog(tmp_path / "log.sqlite") as log:

        def verdict(changes: dict[str, Any], name: str) -> Any:
            metadata = changes.get("metadata", {})
            run = first.model_copy(update={n: v for n, v in changes.items() if n != "metadata"})
            harness = JudgeHarness(**{**TWICE, "repetitions": 1}, log=log, run=name, observers=())
            evaluator = HarnessRunEvaluator(judge, harness, key="k")
            evaluator.evaluate_run(run, an_example(metadata=metadata))
            return evaluator.results[str(run.id)].verdict

        assert [verdict(before, "r1"), verdict(before, "r1")] == ["FAIL", "FAIL"]
        with pytest.raises(UsageError, match="run 'r1' of the log holds another answer"):
            verdict(after, "r1")
        assert verdict(after, "r2") == "PASS"


def test_what_changes_by_itself_makes_no_other_case() -> None:
    evaluator = HarnessRunEvaluator(used_search, JudgeHarness(**TWICE))
    for number in range(2):
        child = a_child(extra={"runtime": {"sdk_version": str(number)}, "metadata": {"revision_id": str(number)}})
        evaluator.evaluate_run(a_run().model_copy(update={"child_runs": [child]}), an_example())
    assert len({getattr(case, "rest", "") for case in evaluator.cases}) == 1


def test_a_function_of_values_is_asked_about_values_alone() -> None:
    def short(outputs: dict[str, Any]) -> bool:
        return len(outputs["answer"]) < 100

    evaluator = HarnessRunEvaluator(short, JudgeHarness(**TWICE))
    for tags in (["a"], ["b"]):
        evaluator.evaluate_run(a_run().model_copy(update={"tags": tags}), an_example())
    assert len({getattr(case, "rest", "") for case in evaluator.cases}) == 1


def test_runs_that_hold_what_cannot_be_compared_are_known_by_their_ids() -> None:
    evaluator = HarnessRunEvaluator(used_search, JudgeHarness(**TWICE))
    first, second = (a_run().model_copy(update={"child_runs": [a_child(outputs={"o": object()})]}) for _ in range(2))
    example = an_example()
    for run in (first, first.model_copy(), second):
        evaluator.evaluate_run(run, example)
    assert len({getattr(case, "rest", "") for case in evaluator.cases}) == 2


def test_what_takes_the_run_is_given_no_other_case() -> None:
    with pytest.raises(UsageError, match="correct takes what LangSmith gives it, and no case: leave prepare= out"):
        HarnessRunEvaluator(correct, prepare=lambda run, example: {"output": "x"})
    evaluator = HarnessRunEvaluator(correct, JudgeHarness(**TWICE))
    with pytest.raises(PlanError, match="of which a PairwiseCase tells no outputs"):
        evaluator.harness.evaluate(evaluator.judge, PairwiseCase(case_id="a", output="x", output_b="y"))
