"""`harness_comparative` in the real `evaluate_comparative`, against a loopback LangSmith."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langsmith import Client, evaluate, tracing_context
from langsmith.evaluation import evaluate_comparative
from langsmith.schemas import Example, Run
from support.langsmith_server import LangSmithServer

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import UsageError
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


def test_answer_a_is_of_one_experiment_whatever_was_compared_before(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    first, second = experiments(client)
    comparative = harness_comparative(longer)
    for pair in ((first, second), (second, first)):
        list(evaluate_comparative(pair, evaluators=[comparative], client=client, randomize_order=True))
    assert len({one.experiments for one in comparative.comparisons}) == 1
