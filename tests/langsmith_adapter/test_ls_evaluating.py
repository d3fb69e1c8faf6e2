"""`HarnessRunEvaluator` in the real `evaluate` and `aevaluate`, against a loopback LangSmith."""

from __future__ import annotations

import asyncio
import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.evaluation import EvaluationResults, RunEvaluator
from langsmith.schemas import Example, Run
from support.langsmith_people import a_run
from support.langsmith_server import LangSmithServer
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import AnswerCase, CalibrationSet, Criterion, HarnessResult, JudgeHarness, JudgeIdentity
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.execution.observing import ProgressBar
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.labelling.resultsheets import calibration_set_from_sheet, write_labelling_sheet
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_langsmith import HarnessRunEvaluator, LangSmithTracing

Serve = Callable[..., LangSmithServer]

QUESTIONS = {"Capital of France?": "Paris", "Capital of Peru?": "Lima"}
GRADED = (Criterion(name="correct", labels=("PASS", "FAIL")),)
FAMILY = ["correct", "correct.consistency", "correct.valid_samples"]
TWICE = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": f"It is *{QUESTIONS[inputs['question']]}*."}


def dataset(client: Client, **outputs: str) -> str:
    name = "capitals"
    made = client.create_dataset(name)
    examples = [{"inputs": {"question": q}, "reference_outputs": {"answer": a} | outputs} for q, a in QUESTIONS.items()]
    client.create_examples(dataset_id=made.id, examples=examples)
    return name


def knows_paris(case: AnswerCase) -> bool:
    return "Paris" in case.output


def feedback_of(server: LangSmithServer, key: str) -> list[dict[str, Any]]:
    return [row for row in server.feedback if row["key"] == key]


@pytest.mark.parametrize("multipart", [True, False])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_measurement_is_one_family_of_feedback_and_one_trace(
    langsmith_server: Serve, *, multipart: bool, asynchronous: bool
) -> None:
    server = langsmith_server(multipart=multipart)
    client = server.client()
    evaluator = HarnessRunEvaluator(
        ScriptedJudge([True, True, False], name="mine", criteria=GRADED),
        JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", max_concurrency=1),
    )
    assert isinstance(evaluator, RunEvaluator)
    data = dataset(client)
    if asynchronous:

        async def run() -> list[Any]:
            async def target(inputs: dict[str, Any]) -> dict[str, Any]:
                return application(inputs)

            return [row async for row in await aevaluate(target, data=data, evaluators=[evaluator], client=client)]

        rows = asyncio.run(run())
    else:
        rows = list(evaluate(application, data=data, evaluators=[evaluator], client=client))

    assert server.unknown == []
    assert sorted(row["key"] for row in server.arrived(6)) == sorted(FAMILY * 2)
    assert evaluator.feedback_keys == FAMILY
    for row in rows:
        run_id = str(row["run"].id)
        result = evaluator.results[run_id]
        assert result.case_id.startswith("case-")
        verdict, consistency, valid = row["evaluation_results"]["results"]
        assert (verdict.score, consistency.score, valid.score) == (True, pytest.approx(2 / 3), 3)
        [posted] = [one for one in feedback_of(server, "correct") if one["run_id"] == run_id]
        assert posted["comment"].startswith("PASS · 2 PASS, 1 FAIL of 3 · majority · consistency 0.67 · uncalibrated")
        assert posted["extra"]["judgeharness"] == json.loads(json.dumps(result.to_dict()))
        assert posted["feedback_source"]["metadata"]["aggregation_rule"] == "majority"
        assert posted["feedback_source"]["metadata"]["status"] == "decided"
        trace = server.runs[posted["feedback_source"]["metadata"]["__run"]["run_id"]]
        assert (trace["name"], trace.get("parent_run_id")) == ("judge_harness", None)
    sample = ("sample[none#{}]", "chain", [])
    shape = ("judge_harness", "chain", [(sample[0].format(n), *sample[1:]) for n in range(3)])
    assert server.trees("evaluators") == [shape, shape]


def test_abstained_and_not_graded_are_values_and_never_scores(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    by_case = {"Paris": iter([True, False]), "Lima": iter([None, None])}

    def judge(case: AnswerCase) -> bool | None:
        return next(next(answers for city, answers in by_case.items() if city in case.output))

    results = evaluate(
        application,
        data=dataset(client),
        evaluators=[HarnessRunEvaluator(judge, JudgeHarness(**TWICE, max_concurrency=1), key="ok")],
        client=client,
    )
    frame = results.to_pandas().set_index("reference.answer")
    assert frame["feedback.ok"].to_dict() == {"Paris": "ABSTAIN", "Lima": "NOT GRADED"}
    posted = {row["value"]: row for row in feedback_of(server, "ok")}
    assert {value: row["score"] for value, row in posted.items()} == {"ABSTAIN": None, "NOT GRADED": None}
    assert "0 valid of 2 samples" in posted["NOT GRADED"]["comment"]
    consistency = {row["score"] for row in feedback_of(server, "ok.consistency")}
    assert consistency == {0.5, None}


def test_a_run_that_cannot_be_judged_is_noted_under_every_key(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()

    def broken(inputs: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("the database is down")

    evaluator = HarnessRunEvaluator(ScriptedJudge([True], criteria=GRADED))
    for row in evaluate(broken, data=dataset(client), evaluators=[evaluator], client=client):
        noted = row["evaluation_results"]["results"]
        assert [one.key for one in noted] == evaluator.feedback_keys
        assert all("has no outputs to judge: it failed with" in str(one.comment) for one in noted)
    assert evaluator.results == {}


@pytest.mark.slow
def test_what_is_prepared_may_be_a_case_or_what_prepare_data_returned(langsmith_server: Serve) -> None:
    client = langsmith_server().client()
    seen: list[AnswerCase] = []

    def judge(case: AnswerCase) -> bool:
        seen.append(case)
        return True

    def as_before(run: Run, example: Example | None) -> dict[str, Any]:
        return {"prediction": run.outputs["answer"], "input": "q", "reference": None}  # type: ignore[index]

    def as_case(run: Run, example: Example | None) -> AnswerCase:
        assert example is not None
        return AnswerCase(case_id=f"example-{example.id}", output=run.outputs["answer"])  # type: ignore[index]

    once = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    prepares = {"before": as_before, "case": as_case}
    evaluators = [HarnessRunEvaluator(judge, once, prepare, key=key) for key, prepare in prepares.items()]
    list(evaluate(application, data=dataset(client, note="x"), evaluators=evaluators, client=client))
    assert len(seen) == 4
    assert {case.input for case in seen} == {"q", None}
    [ids, by_example] = [set(evaluator.results) for evaluator in evaluators]
    assert ids == by_example
    assert {result.case_id[:8] for result in evaluators[1].results.values()} == {"example-"}
    with pytest.raises(
        CaseError, match="prepare returns an AnswerCase, a PairwiseCase or a mapping with 'output', not str"
    ):
        HarnessRunEvaluator(judge, once, lambda run, example: "text").evaluate_run(a_run())  # type: ignore[arg-type, return-value]


def test_several_fields_need_prepare_and_nothing_is_asked(langsmith_unset: None) -> None:
    judge = ScriptedJudge([True])
    with pytest.raises(CaseError, match=r"the outputs of run \S+ hold several fields \(a, b\): give prepare="):
        HarnessRunEvaluator(judge).evaluate_run(a_run(a="1", b="2"))
    assert judge.probes == []


def test_without_tracing_nothing_is_linked_and_the_evaluator_works_alone(langsmith_unset: None) -> None:
    evaluator = HarnessRunEvaluator(ScriptedJudge([0.5, 0.75], name="helpful"))
    found: EvaluationResults = evaluator.evaluate_run(a_run())
    assert [(one.key, one.score, one.source_run_id) for one in found["results"]] == [
        ("helpful", 0.625, None),
        ("helpful.consistency", 0.0, None),
        ("helpful.valid_samples", 6, None),
    ]
    assert evaluator.harness.design.rule.name == "supermajority(2/3) | median"


def test_calibrated_rates_stand_beside_the_verdict(langsmith_unset: None, tmp_path: Path) -> None:
    judge = ScriptedJudge([True], criteria=GRADED, identity=JudgeIdentity(name="mine"))
    labels = CalibrationSet("people", tuple((AnswerCase(case_id=str(n), output="*x*"), n < 3) for n in range(4)))
    harness = JudgeHarness.standard("labels")
    saved = harness.calibrate(judge, labels).save(tmp_path / "cal.json")
    evaluator = HarnessRunEvaluator(judge, calibration=saved)
    found = {one.key: one for one in evaluator.evaluate_run(a_run())["results"]}
    assert (
        list(found) == evaluator.feedback_keys == [*FAMILY, "correct.calibrated_precision", "correct.calibrated_recall"]
    )
    assert (found["correct.calibrated_precision"].score, found["correct.calibrated_recall"].score) == (0.75, 1.0)
    assert str(found["correct.calibrated_precision"].comment).endswith("(3/4) on people")
    assert found["correct"].evaluator_info["calibration_source"] == "people"

    other = HarnessRunEvaluator(judge, JudgeHarness(**TWICE), calibration=saved)
    expired = {one.key: one for one in other.evaluate_run(a_run())["results"]}
    assert expired["correct.calibrated_precision"].score is None
    assert "calibration expired: " in str(expired["correct.calibrated_precision"].comment)
    with pytest.raises(UsageError, match="has a calibration already"):
        HarnessRunEvaluator(judge, JudgeHarness(**TWICE, calibration=saved), calibration=saved)


def test_several_criteria_are_several_families(langsmith_unset: None) -> None:
    judge = ScriptedJudge([{"polite": True, "tone": "warm"}], criteria=(*GRADED, Criterion(name="tone")))
    declared = ScriptedJudge([{"correct": False, "tone": "warm"}], criteria=judge.criteria)
    evaluator = HarnessRunEvaluator(declared, JudgeHarness(**TWICE))
    found = {one.key: (one.score, one.value) for one in evaluator.evaluate_run(a_run())["results"]}
    assert list(found) == evaluator.feedback_keys
    assert (found["correct"], found["tone"]) == ((False, None), (None, "warm"))
    named = HarnessRunEvaluator(declared, JudgeHarness(**TWICE), key="judge").evaluate_run(a_run())["results"]
    assert [one.key for one in named if one.value or one.score is False] == ["judge.correct", "judge.tone"]


def test_the_position_flip_of_a_pair_is_reported(langsmith_unset: None) -> None:
    from judgeharness_integrations import PairwiseCase

    def pair(run: Run, example: Example | None) -> PairwiseCase:
        return PairwiseCase(case_id="p", output="long one", output_b="short")

    evaluator = HarnessRunEvaluator(lambda case: "A", JudgeHarness.standard("pairwise"), pair, key="better")
    found = {one.key: one for one in evaluator.evaluate_run(a_run())["results"]}
    assert (found["better"].value, found["better.position_flip"].score) == ("ABSTAIN", 1.0)
    assert found["better.position_flip"].comment == "share of sample pairs that differ between none and position_swap"
    stopping = HarnessRunEvaluator(
        lambda case: "A", JudgeHarness.standard("pairwise", curtail=True), pair, key="better"
    )
    flip = next(one for one in stopping.evaluate_run(a_run())["results"] if one.key == "better.position_flip")
    assert (flip.score, flip.comment) == (None, "not measured: samples may stop early")


def test_a_judge_that_takes_runs_or_is_none_is_refused_in_one_sentence(langsmith_unset: None) -> None:
    def by_run(runs: list[Run], example: Example) -> bool:
        return True

    with pytest.raises(UsageError, match="by_run takes a run: give a function of"):
        HarnessRunEvaluator(by_run)
    with pytest.raises(UsageError, match="a int is not a judge"):
        HarnessRunEvaluator(3)
    with pytest.raises(UsageError, match=r"harness is a JudgeHarness, as in .*, not a str"):
        HarnessRunEvaluator(knows_paris, "standard")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'upload_(results|runs)' parameter is in beta")
def test_private_uploads_scores_and_none_of_the_judge_s_words(
    langsmith_server: Serve, openai_server: Callable[..., OpenAIServer]
) -> None:
    pytest.importorskip("langchain_classic")
    from langchain_classic.evaluation import CriteriaEvalChain

    server, openai = langsmith_server(), openai_server(lambda request: Reply.text("SECRET-REASON\n\nY"))
    client = server.client()
    chain = CriteriaEvalChain.from_llm(chat_model(openai), criteria="conciseness")
    evaluator = HarnessRunEvaluator(chain, JudgeHarness(**TWICE), private=True)
    assert evaluator.feedback_keys[0] == "conciseness"
    for upload in (True, False):
        list(
            evaluate(
                application,
                data=dataset(client) if upload else client.list_examples(dataset_name="capitals"),
                evaluators=[evaluator],
                client=client,
                upload_results=upload,
            )
        )
    assert len(server.feedback) == 6
    assert openai.calls == 8
    assert "SECRET" not in server.text
    assert "[BEGIN DATA]" not in server.text
    assert {run["name"] for run in server.runs.values()} == {"Target"}


@pytest.mark.slow
def test_langchain_runs_stand_below_their_sample(
    langsmith_server: Serve, openai_server: Callable[..., OpenAIServer]
) -> None:
    pytest.importorskip("langchain_classic")
    from langchain_classic.evaluation import CriteriaEvalChain

    server, openai = langsmith_server(), openai_server(lambda request: Reply.text("It is short.\n\nY"))
    client = server.client()
    chain = CriteriaEvalChain.from_llm(chat_model(openai), criteria="conciseness")
    evaluator = HarnessRunEvaluator(chain, JudgeHarness(**TWICE))
    rows = list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client, max_concurrency=2))
    assert [row["evaluation_results"]["results"][0].score for row in rows] == [True, True]
    below = ("CriteriaEvalChain", "chain", [("ChatOpenAI", "llm", [])])
    shape = ("judge_harness", "chain", [(f"sample[none#{n}]", "chain", [below]) for n in range(2)])
    assert [(name, kind, sorted(samples)) for name, kind, samples in server.trees("evaluators")] == [shape, shape]
    [comment] = {row["comment"] for row in feedback_of(server, "conciseness")}
    assert comment.endswith("\nIt is short.")


@pytest.mark.slow
def test_a_harness_s_own_observer_is_not_doubled(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    own = JudgeHarness(**TWICE, observers=[LangSmithTracing(private=True)])
    assert HarnessRunEvaluator(knows_paris, own).private
    elsewhere = LangSmithTracing(project_name="judged")
    evaluator = HarnessRunEvaluator(knows_paris, own.watched_by(ProgressBar(), elsewhere))
    list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client))
    assert [name for name, _, _ in server.trees("judged")] == ["judge_harness"] * 2
    assert {one.output for one in evaluator.cases} == {"It is *Paris*.", "It is *Lima*."}


@pytest.mark.slow
def test_a_judge_traced_by_itself_nests_below_its_sample(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()

    @traceable(name="my judge")
    def judge(case: AnswerCase) -> bool:
        return True

    evaluator = HarnessRunEvaluator(judge, JudgeHarness(**TWICE))
    list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client))
    for _, _, samples in server.trees("evaluators"):
        assert sorted(samples) == [(f"sample[none#{n}]", "chain", [("my judge", "chain", [])]) for n in range(2)]


def test_disabled_evaluator_tracing_leaves_no_link(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    evaluator = HarnessRunEvaluator(knows_paris, JudgeHarness(**TWICE))
    list(
        evaluate(
            application, data=dataset(client), evaluators=[evaluator], client=client, disable_evaluator_tracing=True
        )
    )
    assert {run["name"] for run in server.runs.values()} == {"Target"}
    assert not any("__run" in (row["feedback_source"].get("metadata") or {}) for row in server.feedback)


@pytest.mark.slow
def test_rows_share_the_limits_of_the_judge_s_model(langsmith_server: Serve) -> None:
    asked: list[float] = []

    def limited_judge(case: AnswerCase) -> bool:
        asked.append(time.monotonic())
        return True

    client = langsmith_server().client()
    evaluator = HarnessRunEvaluator(limited_judge, JudgeHarness(**TWICE), requests_per_minute=120)
    list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client, max_concurrency=2))
    assert len(asked) == 4
    assert max(asked) - min(asked) > 0.9  # two at once, then one in 61/119 s


@pytest.mark.slow
def test_limits_are_the_lower_ones_and_have_one_place(langsmith_unset: None) -> None:
    def executor_of(**options: Any) -> Any:
        return HarnessRunEvaluator(
            knows_paris, JudgeHarness(**TWICE, requests_per_minute=60), **options
        ).harness.executor

    assert executor_of().rates == Rates(requests_per_minute=60)
    assert executor_of(requests_per_minute=90, tokens_per_minute=9).rates == Rates(
        requests_per_minute=60, tokens_per_minute=9
    )
    assert executor_of(requests_per_minute=30).rates == Rates(requests_per_minute=30)
    with pytest.raises(UsageError, match="requests_per_minute must be a number above 0, not 0"):
        HarnessRunEvaluator(knows_paris, requests_per_minute=0)

    class Own:
        ask = None

    own = JudgeHarness(**TWICE, executor=Own())  # type: ignore[arg-type]
    assert HarnessRunEvaluator(knows_paris, own).harness.executor is own.executor
    with pytest.raises(UsageError, match=r"an executor of its own: give that the limits, as Rates\(\.\.\.\)"):
        HarnessRunEvaluator(knows_paris, own, tokens_per_minute=100)


def test_a_result_can_be_rebuilt_from_what_the_evaluator_keeps(langsmith_unset: None) -> None:
    evaluator = HarnessRunEvaluator(knows_paris, JudgeHarness(**TWICE))
    evaluator.evaluate_run(a_run())
    [result] = evaluator.results.values()
    assert HarnessResult.from_dict(json.loads(json.dumps(result.to_dict(rows=True)))) == result


@pytest.mark.slow
def test_private_uploads_no_error_text(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()

    def fails(case: AnswerCase) -> bool:
        raise ValueError(f"cannot judge SECRET {case.output}")

    for private in (True, False):
        evaluator = HarnessRunEvaluator(
            fails, JudgeHarness(**TWICE, max_attempts=1), key=f"k{private}", private=private
        )
        data = dataset(client) if private else "capitals"
        list(evaluate(application, data=data, evaluators=[evaluator], client=client))
        assert all("SECRET" in result.reason for result in evaluator.results.values())
    [hidden] = {row["comment"] for row in feedback_of(server, "kTrue")}
    assert hidden.endswith("0 valid of 2 samples, 1 needed; 2 failed with ValueError")
    assert "SECRET" not in json.dumps(feedback_of(server, "kTrue"))
    assert "SECRET" in json.dumps(feedback_of(server, "kFalse"))


@pytest.mark.slow
def test_labelled_cases_are_traces_of_their_own_without_the_run_s_marks(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client = server.client()
    labels = CalibrationSet("people", ((AnswerCase(case_id="l", output="Paris"), "PASS"),))
    evaluator = HarnessRunEvaluator(knows_paris, JudgeHarness(**TWICE, calibration_set=labels))
    list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client, max_concurrency=2))
    runs = server.named("judge_harness")
    marked = [run for run in runs if "calibration" in run["tags"]]
    assert (len(runs), len(marked)) == (3, 1)
    assert marked[0]["extra"]["metadata"]["calibration"] == "people"
    assert not {"reference_example_id", "experiment", "reference_run_id"} & marked[0]["extra"]["metadata"].keys()
    assert all("reference_example_id" in run["extra"]["metadata"] for run in runs if run not in marked)
    [sample, *_] = [r for r in server.runs.values() if r.get("parent_run_id") == marked[0]["id"]]
    assert "calibration" not in sample["tags"]
    assert "reference_example_id" not in sample["extra"]["metadata"]


def test_a_conversation_is_perturbed_where_its_words_are(langsmith_unset: None) -> None:
    judge = ScriptedJudge([True])
    said = [{"role": "user", "content": "*Hi*"}, {"role": "assistant", "content": "It is *Paris*."}]
    HarnessRunEvaluator(judge, JudgeHarness.quick("labels")).evaluate_run(a_run(messages=said))
    plain, changed = (
        probe.case.outputs["messages"] for probe in sorted(judge.probes, key=lambda p: p.perturbation.name != "none")
    )
    assert plain == said
    assert changed[0] == said[0]
    assert changed[1]["content"] != said[1]["content"]


def test_a_sheet_of_what_was_measured_becomes_labels_of_the_same_cases(langsmith_unset: None, tmp_path: Path) -> None:
    evaluator = HarnessRunEvaluator(
        ScriptedJudge([True], criteria=GRADED, identity=JudgeIdentity(name="mine", model="m")), JudgeHarness(**TWICE)
    )
    for answer in ("Paris", "Lima"):
        evaluator.evaluate_run(a_run(answer=answer))
    path = tmp_path / "sheet.csv"
    write_labelling_sheet(evaluator.results, path, cases=evaluator.cases, criteria=evaluator.judge.criteria or ())
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["answer"] for line in lines} == {"PASS / FAIL"}
    filled = tmp_path / "filled.csv"
    with filled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {"gold": "pass" if "Paris" in line["output"] else "fail"} for line in lines)
    labels = calibration_set_from_sheet(filled, evaluator.cases)
    report = evaluator.harness.calibrate(evaluator.judge, labels)
    assert report.criteria["correct"].confusion == {"PASS": {"PASS": 1}, "FAIL": {"PASS": 1}}
    assert (
        CalibrationSet.from_file(filled).golds()[0].keys() == labels.golds()[0].keys()
    )  # as `calibrate --labels` reads
