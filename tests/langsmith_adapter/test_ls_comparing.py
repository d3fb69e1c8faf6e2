"""`harness_comparative` in the real `evaluate_comparative`, against a loopback LangSmith."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from langsmith import Client, evaluate, tracing_context
from langsmith.evaluation import evaluate_comparative
from langsmith.evaluation.evaluator import ComparisonEvaluationResult
from langsmith.schemas import Example, Run
from support.langsmith_server import LangSmithServer

from judgeharness_integrations import AnswerCase, CalibrationSet, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_langsmith import harness_comparative

Serve = Callable[..., LangSmithServer]
CITIES = ["Paris", "Lima", "Oslo"]


def experiments(client: Client, **options: Any) -> tuple[Any, Any]:
    """Evaluate a terse and a chatty application on one dataset."""
    made = client.create_dataset("cities")
    client.create_examples(
        dataset_id=made.id, examples=[{"inputs": {"city": c}, "reference_outputs": {"say": c}} for c in CITIES]
    )

    def terse(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": inputs["city"]}

    def chatty(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": f"Well, that would be {inputs['city']}."}

    one, two = (evaluate(app, data="cities", client=client, **options) for app in (terse, chatty))
    client.flush()
    return one.experiment_name, two.experiment_name


def longer(case: PairwiseCase) -> str:
    return "A" if len(case.output) > len(case.output_b) else "B"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("through", ["evaluate", "evaluate_comparative"])
def test_the_preferred_run_scores_one_however_the_runs_are_shuffled(
    langsmith_server: Serve, *, shuffled: bool, through: str, tmp_path: Path
) -> None:
    server = langsmith_server()
    client = server.client()
    pair = experiments(client)
    comparative = harness_comparative(longer, key="longer", out=tmp_path / "new" / "comparisons.jsonl")
    entry: Any = evaluate if through == "evaluate" else evaluate_comparative
    with tracing_context(enabled=True):  # as LANGSMITH_TRACING does: a comparison does not switch it on itself
        results = list(entry(pair, evaluators=[comparative], client=client, randomize_order=shuffled))
    assert server.unknown == []
    assert len(results) == len(comparative.comparisons) == 3
    rows = [row for row in server.feedback if row["key"] == "longer"]
    assert len(rows) == 6
    by_run = {row["run_id"]: row for row in rows}
    outputs = {str(run_id): run["outputs"]["answer"] for run_id, run in server.runs.items() if str(run_id) in by_run}
    assert {run_id: row["score"] for run_id, row in by_run.items()} == {
        run_id: 1.0 if text.startswith("Well") else 0.0 for run_id, text in outputs.items()
    }
    for comparison in comparative.comparisons:
        first, second = comparison.runs
        assert comparison.experiments == comparative.comparisons[0].experiments
        assert comparison.result.verdict == ("A" if outputs[first].startswith("Well") else "B")
        assert comparison.result.only.flip_rates == {"position_swap": 0.0}
        assert by_run[first]["comment"].startswith(f"answer A · {comparison.result.verdict} · 6 ")
        assert by_run[second]["comment"].startswith("answer B · ")
        assert by_run[first]["feedback_group_id"] == by_run[second]["feedback_group_id"]
    written = [json.loads(line) for line in (tmp_path / "new" / "comparisons.jsonl").read_text().splitlines()]
    assert [HarnessResult.from_dict(line["result"]) for line in written] == [c.result for c in comparative.comparisons]
    assert {line["schema"] for line in written} == {"judgeharness.langsmith_comparison/1"}
    [root] = {name for name, _, _ in server.trees("evaluators")}
    assert root == "longer"
    for _, _, [(name, _, samples)] in server.trees("evaluators"):
        assert (name, len(samples)) == ("judge_harness", 6)


@pytest.mark.slow
def test_ties_are_halves_and_abstentions_are_no_scores(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()

    def judge(case: PairwiseCase) -> str:
        return "TIE" if "Paris" in case.output else "A"  # the first, in whichever order

    def one_by_one(runs: Any, example: Example | None) -> dict[str, Any]:
        return {"output": runs[0].outputs["answer"], "output_b": runs[1].outputs["answer"]}

    comparative = harness_comparative(judge, prepare=one_by_one, key="k")
    results = list(
        evaluate_comparative(experiments(client), evaluators=[comparative], client=client, max_concurrency=3)
    )
    scores = [sorted(map(str, r["evaluation_results"]["feedback.k"].scores.values())) for r in results]
    assert sorted(scores) == [["0.5", "0.5"], ["None", "None"], ["None", "None"]]
    comments = [row["comment"] for row in server.feedback if row.get("score") is None]
    assert len(comments) == 4
    assert all("ABSTAIN · 3 A, 3 B of 6" in comment for comment in comments)


def test_repeated_experiments_are_refused_with_the_number_of_runs(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    pair = experiments(client, num_repetitions=2)
    with pytest.raises(UsageError, match=r"4 runs of example \S+ to compare: give two experiments"):
        evaluate_comparative(pair, evaluators=[harness_comparative(longer)], client=client)


def test_two_runs_of_one_experiment_are_refused(langsmith_server: Serve) -> None:
    server = langsmith_server()
    experiments(server.client())
    runs = [Run(**run) for run in server.named("Target")[:2]]
    with pytest.raises(UsageError, match="2 runs to compare"):
        harness_comparative(longer)(runs)


def test_a_comparison_needs_a_pair_from_prepare(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    pair = experiments(client)

    def single(runs: Any, example: Example | None) -> AnswerCase:
        return AnswerCase(case_id="x", output="only one")

    with pytest.raises(UsageError, match=r"returns a PairwiseCase: give it an output_b"):
        evaluate_comparative(pair, evaluators=[harness_comparative(longer, prepare=single)], client=client)


@pytest.mark.slow
def test_private_comparisons_leave_scores_only(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()

    def explains(case: PairwiseCase) -> Any:
        from judgeharness_integrations.judging.judge import Answer, Judgment

        return Judgment(answers=(Answer(verdict="TIE", reasoning="SECRET words"),))

    pair = experiments(client)
    list(evaluate_comparative(pair, evaluators=[harness_comparative(explains, private=True)], client=client))
    assert "SECRET" not in server.text
    list(evaluate_comparative(pair, evaluators=[harness_comparative(explains)], client=client))
    assert "SECRET" in server.text


def test_the_key_is_the_criterion_s_or_the_judge_s_name(langsmith_unset: None) -> None:
    from judgeharness_integrations.testing import ScriptedJudge

    assert harness_comparative(longer).key == "longer"
    assert harness_comparative(longer).__name__ == "longer"
    assert harness_comparative(ScriptedJudge(["A"], name="j")).key == "j"
    one = harness_comparative(longer, JudgeHarness.quick("pairwise"))
    assert one.harness.design.repetitions == 1


@pytest.mark.slow
def test_a_run_that_failed_ends_no_comparison(langsmith_server: Serve, tmp_path: Path) -> None:
    server = langsmith_server()
    client = server.client()

    def flaky(inputs: dict[str, Any]) -> dict[str, Any]:
        if inputs["city"] == "Lima":
            raise RuntimeError("the database is down")
        return {"answer": "no idea"}

    name, _ = experiments(client)
    other = evaluate(flaky, data="cities", client=client).experiment_name
    client.flush()
    comparative = harness_comparative(longer, out=tmp_path / "comparisons.jsonl")
    results = list(evaluate_comparative((name, other), evaluators=[comparative], client=client))
    assert len(results) == len(comparative.comparisons) == 3
    [failed] = [one for one in comparative.comparisons if one.result is None]
    assert "has no outputs to judge: it failed with RuntimeError" in str(failed.failure)
    rows = [row for row in server.feedback if row["run_id"] in failed.runs]
    assert [row.get("score") for row in rows] == [None, None]
    assert all("NOT GRADED · run" in row["comment"] for row in rows)
    written = [json.loads(line) for line in (tmp_path / "comparisons.jsonl").read_text().splitlines()]
    assert sorted(line["result"] is None for line in written) == [False, False, True]


def test_an_answer_that_is_no_preference_is_refused(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    comparative = harness_comparative(lambda case: {"style": "A", "facts": "B"})
    with pytest.raises(UsageError, match="the judge answers style, facts: a comparison needs one preference"):
        evaluate_comparative(experiments(client), evaluators=[comparative], client=client)
    assert {len(one.result.criteria) for one in comparative.comparisons if one.result} == {2}  # nothing paid is lost


@pytest.mark.slow
def test_answer_a_is_of_one_experiment_whatever_was_compared_before(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    first, second = experiments(client)
    comparative = harness_comparative(longer)
    for pair in ((first, second), (second, first)):
        list(evaluate_comparative(pair, evaluators=[comparative], client=client, randomize_order=True))
    assert len({one.experiments for one in comparative.comparisons}) == 1


def more_words(inputs: dict[str, Any], outputs: list[dict[str, Any]]) -> list[int]:
    assert inputs["city"] in CITIES
    return [len(one["answer"].split()) for one in outputs]


def nearer(inputs: dict[str, Any], outputs: list[dict[str, Any]], reference_outputs: dict[str, Any]) -> dict[str, Any]:
    del inputs
    return {
        "key": "nearer",
        "scores": [one["answer"] == reference_outputs["say"] for one in outputs],
        "comment": "equal",
    }


async def more_words_later(outputs: list[dict[str, Any]]) -> list[int]:
    return more_words({"city": "Oslo"}, outputs)


def first_in_letters(outputs: list[dict[str, Any]], /, *, reference_outputs: dict[str, Any]) -> str:
    return "A" if outputs[0]["answer"] == reference_outputs["say"] else "B"


def of_runs(runs: list[Run], example: Example) -> list[int]:
    del example
    return [len((run.outputs or {})["answer"].split()) for run in runs]


def by_id(runs: list[Run], example: Example) -> dict[str, Any]:
    right = (example.outputs or {})["say"]
    return {"key": "right", "scores": {str(run.id): float((run.outputs or {})["answer"] == right) for run in runs}}


async def as_result(runs: list[Run], inputs: dict[str, Any]) -> ComparisonEvaluationResult:
    scores = {run.id: len(str(run.outputs)) for run in runs}
    return ComparisonEvaluationResult(key="longer", scores=scores, comment=inputs["city"])


def compared(judge: Any, *answers: dict[str, Any], harness: JudgeHarness | None = None) -> Any:
    """Compare two runs that are in no server."""
    at = "2026-01-01T00:00:00+00:00"
    example = Example(id=uuid4(), inputs={"city": "Oslo"}, outputs={"say": "Oslo"})
    runs = [
        Run(id=(one := uuid4()), trace_id=one, name="app", run_type="chain", start_time=at, outputs=answer)
        for answer in answers
    ]
    comparative = harness_comparative(judge, harness)
    for number, run in enumerate(runs):
        run.session_id = UUID(int=number)  # by which they are in order
    feedback = comparative(runs, example)
    return comparative.comparisons[0], [feedback.scores[run.id] for run in runs]


TERSE, CHATTY = {"answer": "Oslo"}, {"answer": "Well, that would be Oslo."}


@pytest.mark.parametrize(
    ("judge", "scores"),
    [
        (more_words, [0, 1]),
        (nearer, [1, 0]),
        (more_words_later, [0, 1]),
        (first_in_letters, [1, 0]),
        (of_runs, [0, 1]),
        (by_id, [1, 0]),
        (as_result, [0, 1]),
    ],
)
def test_a_comparative_function_compares_as_langsmith_calls_it(judge: Any, scores: list[int]) -> None:
    comparison, found = compared(judge, TERSE, CHATTY)
    assert (found, comparison.result.only.flip_rates) == (scores, {"position_swap": 0.0})


def test_a_function_of_two_outputs_compares_in_langsmith_itself(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    pair = experiments(client)
    assert len(list(evaluate(pair, evaluators=[harness_comparative(more_words)], client=client))) == 3
    client.flush()
    rows = [row for row in server.feedback if row["key"] == "more_words"]
    outputs = {str(run_id): run["outputs"]["answer"] for run_id, run in server.runs.items() if run.get("outputs")}
    assert {row["score"] == 1.0 for row in rows if outputs[row["run_id"]].startswith("Well")} == {True}


def test_equal_scores_are_a_tie_and_a_missing_score_no_preference() -> None:
    assert [compared(judge, TERSE, CHATTY)[1] for judge in (lambda outputs: (2, 2.0), lambda outputs: [None, 1])] == [
        [0.5, 0.5],
        [None, None],
    ]


def test_the_comment_beside_scores_is_the_reasoning() -> None:
    assert {row.reasoning for row in compared(nearer, TERSE, CHATTY)[0].result.rows} == {"equal"}


def test_several_fields_of_two_outputs_are_swapped_and_perturbed_where_they_stand() -> None:
    seen = []

    def judge(outputs: list[dict[str, Any]]) -> str:
        seen.append([(one["id"], "Oslo" in one["text"], one["text"] in ("Oslo it is.", "No Oslo.")) for one in outputs])
        return "TIE"

    perturbations = ["none", "format_change+position_swap"]
    harness = JudgeHarness(perturbations=perturbations, repetitions=1, aggregation_rule="majority")
    compared(judge, {"text": "Oslo it is.", "id": "7"}, {"text": "No Oslo.", "id": "8"}, harness=harness)
    assert seen == [[("7", True, True), ("8", True, True)], [("8", True, False), ("7", True, False)]]


def test_what_the_function_does_to_the_outputs_stays_with_it() -> None:
    def careless(outputs: list[dict[str, Any]]) -> list[int]:
        return [len(one.pop("answer")) for one in outputs]

    assert compared(careless, TERSE, CHATTY)[1] == [0, 1]
    assert "answer" in TERSE


@pytest.mark.parametrize("answer", [[1], [1, "x"], {"scores": {"a": 1, "b": 0}}, {"scores": 1}], ids=str)
def test_scores_of_something_else_are_refused_with_what_to_return(answer: Any) -> None:
    def judge(outputs: list[dict[str, Any]]) -> Any:
        return answer

    with pytest.raises(UsageError, match=r"not a score for each of two outputs: return a list of two numbers\.$"):
        compared(judge, TERSE, CHATTY)


def test_a_function_of_two_outputs_takes_no_prepare() -> None:
    with pytest.raises(UsageError, match="more_words takes what LangSmith gives it, and no case: leave prepare= out"):
        harness_comparative(more_words, prepare=lambda runs, example: {})


def test_a_function_of_two_outputs_is_calibrated_on_pairs() -> None:
    pairs = [
        PairwiseCase(case_id=str(n), input="?", output="It is " * n, output_b="Oslo", reference="Oslo") for n in (1, 2)
    ]

    def shorter(inputs: dict[str, Any], outputs: list[dict[str, Any]], reference_outputs: dict[str, Any]) -> str:
        assert (inputs, reference_outputs) == ({"input": "?"}, {"output": "Oslo"})
        return "A" if len(outputs[0]["output"]) < len(outputs[1]["output"]) else "B"

    comparative = harness_comparative(shorter)
    labels = CalibrationSet("pairs", tuple((pair, "B") for pair in pairs))
    report = comparative.harness.calibrate(comparative.judge, labels)
    assert comparative.harness.with_calibration(report).calibration is report


def test_a_function_of_two_outputs_compares_no_single_answer() -> None:
    judge: Any = harness_comparative(more_words).judge
    assert judge.fits(AnswerCase(case_id="a", output="x")) == "it compares two outputs, of which a AnswerCase has one"


@pytest.mark.parametrize("taking", ["outputs", "runs"])
def test_in_a_named_run_two_outputs_are_compared_once(tmp_path: Path, taking: str) -> None:
    calls = []

    def of_outputs(outputs: list[dict[str, Any]]) -> list[int]:
        calls.append(outputs)
        return [1, 0]

    def of_both(runs: list[Run], example: Example) -> list[int]:
        del example
        return of_outputs([run.outputs or {} for run in runs])

    judge = {"outputs": of_outputs, "runs": of_both}[taking]
    with SqlLog(f"sqlite:///{tmp_path}/log.db") as log:
        harness = JudgeHarness.standard("pairwise", log=log, run="nightly", max_concurrency=1)
        for answer in (TERSE, TERSE, {"answer": "Oslo!"}):
            compared(judge, answer, CHATTY, harness=harness)
    assert [call[0] for call in calls[:6:3]] == [TERSE, CHATTY]
    assert len(calls) == 12
