"""`human_labels`: the real client against a loopback LangSmith in which people labelled runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from langsmith import Client, evaluate
from langsmith.schemas import FeedbackSourceType
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_people import answered, ask_within_projects, label
from support.langsmith_server import LangSmithServer

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.judging.structured import StructuredCase
from judgeharness_integrations.verdictlog import MemoryLog
from judgeharness_langsmith import HarnessRunEvaluator, HumanLabels, human_labels, queue_abstentions

HARNESS = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")


@pytest.fixture
def server(langsmith_server: LangSmithServerFactory) -> LangSmithServer:
    return langsmith_server()


@pytest.fixture
def client(server: LangSmithServer) -> Client:
    return server.client()


def read(client: Client, **options: Any) -> HumanLabels:
    source = {} if "dataset" in options else {"project": "prod"}
    return human_labels(**{"client": client, "key": "correct"} | source | options)


def golds(labels: HumanLabels) -> dict[str, Any]:
    """Return run id, or the case's where it is prepared, -> labels."""
    examples = labels.calibration_set.labeled_examples
    return {str(case.attributes.get("run_id", case.case_id)): gold for case, gold in examples}


def asked(server: LangSmithServer, path: str) -> list[Any]:
    return [request for request in server.posted if request.path == path]


# What people said


def test_people_label_runs(server: LangSmithServer, client: Client) -> None:
    oslo, rome, _ = (answered(client, f"Weather in {city}?") for city in ("Oslo", "Rome", "Lima"))
    label(server, oslo, score=1, comment="Fine.")
    label(server, oslo, score=True, user="bob")
    label(server, rome, score=0)
    label(server, rome, score=1, key="polite")
    labels = read(client)
    assert golds(labels) == {oslo: ["PASS", "PASS"], rome: ["FAIL"]}
    case = next(case for case in labels.calibration_set.cases if case.attributes["run_id"] == oslo)
    assert (case.input, case.output, case.case_id[:5]) == ("Weather in Oslo?", "Fine.", "case-")
    assert (labels.calibration_set.name, labels.calibration_set.source) == ("correct of prod", "human")
    assert labels.annotators == ("ann", "bob")
    row = next(row for row in labels.rows if row.judge == "ann" and row.attributes["run_id"] == oslo)
    assert (row.criterion, row.verdict, row.gold, row.reasoning, row.ok) == ("correct", "PASS", None, "Fine.", True)
    assert row.attributes["run_id"] == oslo
    assert {row.attributes["feedback_id"] for row in labels.rows} == {
        row["id"] for row in server.feedback if row["key"] == "correct"
    }
    assert (labels.excluded, labels.skipped, labels.unlinked) == ((), {}, 0)
    assert str(labels) == "correct of prod: 2 runs, 3 labels of 2 annotators {PASS: 2, FAIL: 1}"
    assert server.unknown == []


def test_a_judge_is_calibrated_on_them(server: LangSmithServer, client: Client) -> None:
    said = {"Oslo": (1, "Fine."), "Rome": (0, "Fine."), "Lima": (0, "Bad."), "Cairo": (1, "Bad.")}
    for city, (score, answer) in said.items():
        label(server, answered(client, city, outputs=answer), score=score)
    report = HARNESS.calibrate(lambda case: case.output == "Fine.", read(client, name="people_v1").calibration_set)
    assert report.name == "people_v1"
    assert report.criteria["verdict"].n == 4
    assert (report.criteria["verdict"].precision, report.criteria["verdict"].recall) == (Rate.of(1, 2), Rate.of(1, 2))


def test_the_last_word_of_a_person_counts(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    label(server, run, score=1, modified_at="2026-03-01T00:00:00+00:00")
    label(server, run, score=0, modified_at="2026-02-01T00:00:00+00:00")
    label(server, run, score=0, user="bob")
    labels = read(client)
    assert golds(labels) == {run: ["FAIL", "PASS"]}
    assert labels.skipped == {"replaced by the same person later": 1}


def test_a_correction_beats_what_it_corrects(server: LangSmithServer, client: Client) -> None:
    judged, own, kept = (answered(client, city) for city in ("Oslo", "Rome", "Lima"))
    project = client.read_project(project_name="prod").id
    by_model = {"feedback_source_type": FeedbackSourceType.MODEL, "session_id": project}
    wrong = client.create_feedback(judged, "correct", score=0, **by_model)
    client.create_feedback(kept, "correct", score=0, **by_model)
    client.update_feedback(wrong.id, correction={"score": 1})
    client.update_feedback(label(server, own, score=1), correction={"score": 0})
    labels = read(client)
    assert golds(labels) == {judged: ["PASS"], own: ["FAIL"]}
    assert [row.judge for row in labels.rows if row.attributes["run_id"] == judged] == ["correction"]
    assert [row.judge for row in labels.rows if row.attributes["run_id"] == own] == ["ann"]
    assert labels.skipped == {"not from a person": 1}


def test_a_person_is_asked_beside_the_corrections(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    label(server, run, score=1)
    label(server, run, feedback_source={"type": "auto_eval"}, score=1, correction="PASS")
    label(server, run, feedback_source={"type": "model"}, score=1, correction={"comment": "no label"})
    label(server, run, feedback_source=None, score=1)
    with pytest.raises(CaseError, match="some people gave a text, others a score: say scores='labels' or 'numbers'"):
        read(client)
    labels = read(client, scores="labels")
    assert golds(labels) == {run: ["PASS"]}
    assert labels.skipped == {"not from a person": 2, "without a score": 1}


def test_an_applications_users_are_people_and_its_evaluators_are_not(server: LangSmithServer, client: Client) -> None:
    run, other = answered(client, "Oslo"), answered(client, "Rome")
    project = client.read_project(project_name="prod").id
    client.create_feedback(run, "correct", score=1, session_id=project)
    client.create_feedback(other, "correct", score=0, session_id=project, source_run_id=uuid4())
    labels = read(client, sources=["app", "api"])
    assert golds(labels) == {run: ["PASS"]}
    assert labels.annotators == ("api",)
    assert labels.skipped == {"not from a person": 1}
    label(server, other, score=0)
    assert golds(read(client)) == {other: ["FAIL"]}  # what scripts compute comes by the API, too
    with pytest.raises(UsageError, match="sources holds 'ui': people's feedback is of 'app' or 'api'"):
        read(client, sources=["ui"])


def test_people_of_one_name_stay_two(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    for number, name in enumerate(("Alex", "Alex", "Sam", None)):
        source = {"type": "app", "user_id": str(UUID(int=number)), "user_name": name}
        label(server, run, score=1, feedback_source=source)
    one, two, _, nobody = (str(UUID(int=number)) for number in range(4))
    assert read(client).annotators == (f"Alex ({one})", f"Alex ({two})", "Sam", nobody)


def test_what_is_no_label_is_counted(server: LangSmithServer, client: Client) -> None:
    run, failed, gone = answered(client, "Oslo"), answered(client, "Rome", outputs={}), str(uuid4())
    project = client.read_project(project_name="prod").id
    label(server, run, score=1)
    label(server, run, user="bob", comment="hm")
    label(server, run, user="eve", value={"no": "label"})
    label(server, run, user="kim", value="abstain")
    label(server, run, user="tom", score=1, comparative_experiment_id=str(uuid4()))
    label(server, run, user="tim", score=1, feedback_group_id=str(uuid4()))
    label(server, failed, score=0)
    server.store.feedback[label(server, run, user="una", score=0)]["run_id"] = gone
    client.create_feedback(run_id=None, project_id=project, key="correct", score=1)
    labels = read(client)
    assert golds(labels) == {run: ["PASS"]}
    assert labels.skipped == {
        "without score and value": 3,
        "from a comparison of runs": 2,
        "on no run": 1,
        "on a run LangSmith no longer has": 1,
        "on a run without outputs": 1,
    }
    assert "\nleft out: " in str(labels)
    assert "1 on a run without outputs" in str(labels)


# Labels and numbers


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("said", "options", "expected"),
    [
        ([{"score": 1}, {"score": 0}], {}, ["PASS", "FAIL"]),
        ([{"value": True}, {"value": False}], {}, ["PASS", "FAIL"]),
        ([{"score": 1}, {"score": 0.5}], {}, [1, 0.5]),
        ([{"score": 7}, {"value": 3}], {}, [7, 3]),
        ([{"score": 1}, {"score": 0}], {"scores": "numbers"}, [1, 0]),
        ([{"value": "good"}, {"value": " so so ", "score": 0.5}], {}, ["good", "so so"]),
        ([{"value": "good", "score": 1}, {"value": "bad", "score": 0}], {}, ["good", "bad"]),
        ([{"value": "good", "score": 1}, {"score": 0}], {}, ["PASS", "FAIL"]),
        ([{"value": "good", "score": 1}, {"value": "bad", "score": 0}], {"scores": "labels"}, ["PASS", "FAIL"]),
        ([{"value": "good", "score": 1}, {"value": "bad", "score": 0}], {"scores": "numbers"}, [1, 0]),
    ],
)
def test_scores_and_texts(
    server: LangSmithServer,
    client: Client,
    said: list[dict[str, Any]],
    options: dict[str, Any],
    expected: list[Any],
) -> None:
    runs = [answered(client, f"question {number}") for number, _ in enumerate(said)]
    for run, one in zip(runs, said, strict=True):
        label(server, run, **one)
    assert golds(read(client, **options)) == {run: [gold] for run, gold in zip(runs, expected, strict=True)}


def test_labels_are_of_one_kind(server: LangSmithServer, client: Client) -> None:
    label(server, answered(client, "Oslo"), score=0.25)
    with pytest.raises(CaseError, match=r"a score of 0.25 is no label: with scores='labels' 1 is PASS and 0 is FAIL"):
        read(client, scores="labels")
    label(server, answered(client, "Rome"), value="good")
    with pytest.raises(CaseError, match="some people gave a text"):
        read(client)


def test_a_criterion_and_a_positive_label_may_be_named(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    label(server, run, score=1)
    labels = read(client, criterion="tone", positive="FAIL")
    assert golds(labels) == {run: {"tone": ["PASS"]}}
    assert ([row.criterion for row in labels.rows], labels.calibration_set.positive) == (["tone"], "FAIL")


def test_nobody_labelled(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    with pytest.raises(
        CaseError, match=r"no label under 'correct of prod' \(no feedback; 0 runs excluded\): label runs"
    ):
        read(client)
    label(server, run, score=1)
    with pytest.raises(CaseError, match=r"\(no feedback; 1 runs excluded\)"):
        read(client, exclude=run)


# Cases


def test_prepare_makes_the_case(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q", outputs={"a": "one", "b": "two"})
    label(server, run, value="A")
    with pytest.raises(CaseError, match=r"hold several fields \(a, b\): give prepare="):
        read(client)
    [case] = read(client, values=True).calibration_set.cases
    assert isinstance(case, StructuredCase)
    assert (case.attributes["run_id"], case.outputs) == (run, {"a": "one", "b": "two"})
    labels = read(client, prepare=lambda run, example: {"output": run.outputs["a"], "output_b": run.outputs["b"]})
    [pair] = labels.calibration_set.cases
    assert pair == PairwiseCase(case_id=pair.case_id, output="one", output_b="two")
    own = read(client, prepare=lambda run, example: AnswerCase(case_id="mine", output="x"))
    assert (golds(own), own.rows[0].case_id, own.rows[0].attributes["run_id"]) == ({"mine": ["A"]}, "mine", run)


def test_equal_outputs_of_two_runs_are_one_case(server: LangSmithServer, client: Client) -> None:
    first, second = answered(client, "q"), answered(client, "q")
    label(server, first, score=1)
    label(server, second, score=0, user="bob")
    label(server, second, score=0)
    labels = read(client)
    assert list(golds(labels).values()) == [["FAIL", "FAIL"]]
    assert {row.judge: row.attributes["run_id"] for row in labels.rows} == {"ann": second, "bob": second}
    assert labels.skipped == {"replaced by the same person later, on an equal output": 1}


def test_prepare_may_not_call_different_outputs_the_same(server: LangSmithServer, client: Client) -> None:
    for city in ("Oslo", "Rome"):
        label(server, answered(client, city, outputs=f"{city}."), score=1)
    with pytest.raises(CaseError, match="prepare calls different outputs 'mine': leave case_id out"):
        read(client, prepare=lambda run, example: {"case_id": "mine", "output": run.outputs["answer"]})


@pytest.mark.slow
def test_the_label_log_joins_the_verdicts_of_the_evaluator(server: LangSmithServer, client: Client) -> None:
    dataset = client.create_dataset("q")
    client.create_example({"question": "Oslo"}, dataset_id=dataset.id)
    log = MemoryLog()
    logged = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", log=log)
    for judge in (lambda case: case.output == "Fine.", lambda outputs: outputs["answer"] == "Fine."):
        evaluator = HarnessRunEvaluator(judge, logged)
        results = evaluate(lambda inputs: {"answer": "Fine."}, data="q", evaluators=[evaluator], client=client)
        client.flush()
        [run_id] = evaluator.results
        label(server, run_id, score=1)
        labels = read(client, project=results.experiment_name)
        assert {row.case_id for row in labels.rows} == {row.case_id for row in log.rows()}
        assert {row.attributes["run_id"] for row in labels.rows} == {run_id}
        report = evaluator.harness.calibrate(evaluator.judge, labels.calibration_set)
        assert [one.precision for one in report.criteria.values()] == [Rate.of(1, 1)]
        assert queue_abstentions(evaluator.results.values(), queue="people", client=client).decided == 1


# Datasets and few-shot examples


def experiments(client: Client, *answers: str) -> list[dict[str, str]]:
    """Run one experiment an answer over a dataset of two questions; return question -> run id of each."""
    dataset = client.create_dataset("questions")
    client.create_examples(
        dataset_id=dataset.id,
        examples=[{"inputs": {"question": city}, "reference_outputs": {"answer": "Sun."}} for city in ("Oslo", "Rome")],
    )
    runs = []
    for answer in answers:
        rows = evaluate(lambda inputs, answer=answer: {"answer": answer}, data="questions", client=client)
        runs.append({row["example"].inputs["question"]: str(row["run"].id) for row in rows})
    client.flush()
    return runs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("within_projects", [False, True])
def test_a_dataset_stands_for_all_its_experiments(server: LangSmithServer, *, within_projects: bool) -> None:
    if within_projects:
        ask_within_projects(server)
    client = server.client()
    first, second = experiments(client, "Fine.", "Bad.")
    label(server, first["Oslo"], score=1)
    label(server, second["Oslo"], score=0)
    label(server, answered(client, "elsewhere"), score=1)
    before = len(asked(server, "/runs/query"))
    labels = read(client, dataset="questions")
    assert golds(labels) == {first["Oslo"]: ["PASS"], second["Oslo"]: ["FAIL"]}
    texts = {(case.input, case.output, case.reference) for case in labels.calibration_set.cases}
    assert texts == {("Oslo", "Fine.", "Sun."), ("Oslo", "Bad.", "Sun.")}
    assert labels.calibration_set.name == "correct of questions"
    assert len(asked(server, "/api/v2/runs/query")) == (2 if within_projects else 0)
    assert len(asked(server, "/runs/query")) - before == (0 if within_projects else 2)
    dataset = client.read_dataset(dataset_name="questions")
    assert golds(read(client, dataset=str(dataset.id))) == golds(labels)
    assert server.unknown == []


def test_the_example_is_read_as_it_was_in_the_experiment(server: LangSmithServer, client: Client) -> None:
    [runs] = experiments(client, "Fine.")
    [experiment] = client.list_projects(reference_dataset_name="questions")
    label(server, runs["Oslo"], score=1)
    read(client, project=experiment.name)
    [version] = [request.query["as_of"] for request in asked(server, "/examples") if "id" in request.query]
    assert version == [experiment.metadata["dataset_version"]]


@pytest.mark.slow
def test_few_shot_examples_are_left_out(server: LangSmithServer, client: Client) -> None:
    [runs] = experiments(client, "Fine.")
    example = next(e for e in client.list_examples(dataset_name="questions") if e.inputs == {"question": "Rome"})
    for run in runs.values():
        label(server, run, score=1)
    kept = {runs["Oslo"]: ["PASS"]}
    for excluded in ([runs["Rome"].upper()], [UUID(runs["Rome"])], runs["Rome"], [example.id], example.id):
        labels = read(client, dataset="questions", exclude=excluded)
        assert golds(labels) == kept
        assert labels.excluded == (runs["Rome"],)
    assert "\nexcluded as few-shot examples: 1 runs" in str(labels)
    with pytest.raises(UsageError, match="exclude holds 'Rome': give the ids of runs or examples"):
        read(client, dataset="questions", exclude=["Rome"])


def test_what_corrections_in_the_prompt_were_made_of_is_left_out(server: LangSmithServer, client: Client) -> None:
    made_of, corrected, kept = (answered(client, city) for city in ("Oslo", "Rome", "Lima"))
    project = client.read_project(project_name="prod").id
    evaluation = uuid4()
    for run in (made_of, corrected, kept):
        label(server, run, score=1)
    by_model = {"feedback_source_type": FeedbackSourceType.MODEL, "session_id": project}
    client.create_feedback(corrected, "correct", score=0, source_run_id=evaluation, **by_model)
    few_shot = client.create_dataset("corrections")
    for source in (made_of, evaluation, None):
        client.create_example({"x": "y"}, dataset_id=few_shot.id, source_run_id=source)
    for name in ("corrections", str(few_shot.id)):
        labels = read(client, exclude_dataset=name)
        assert golds(labels) == {kept: ["PASS"]}
        assert (sorted(labels.excluded), labels.unlinked) == (sorted((made_of, corrected)), 1)
    assert "not excluded: what 1 few-shot examples were made of, which they do not say" in str(labels)


def test_runs_on_examples_of_the_few_shot_dataset_are_left_out(server: LangSmithServer, client: Client) -> None:
    [runs] = experiments(client, "Fine.")
    kept = answered(client, "q")
    for run in (*runs.values(), kept):
        label(server, run, score=1)
    assert golds(read(client, exclude_dataset="questions")) == {kept: ["PASS"]}
    with pytest.raises(CaseError, match="2 runs excluded"):
        read(client, dataset="questions", exclude_dataset="questions")


def test_more_runs_than_fit_into_a_request(server: LangSmithServer, client: Client) -> None:
    project = client.read_project(project_name="default")
    for number in range(203):
        run = {
            "id": str(UUID(int=number)),
            "name": "r",
            "run_type": "chain",
            "outputs": {"a": str(number)},
            "inputs": {},
        }
        when = {"start_time": "2026-01-01T00:00:00+00:00", "end_time": "2026-01-01T00:00:01+00:00"}
        server.store.begin_run({**run, **when, "session_id": str(project.id)})
        label(server, run["id"], score=1, modified_at="2026-01-02T00:00:00+00:00")
    labels = read(client, project=str(project.id))
    assert len(labels.rows) == 203
    assert sorted(len(request.body["id"]) for request in asked(server, "/runs/query")) == [3, 100, 100]
    assert all(request.query["limit"] == ["100"] for request in asked(server, "/feedback") if request.method == "GET")


# Misuse


def test_what_cannot_be_read_is_said(server: LangSmithServer, client: Client) -> None:
    for source in ({}, {"project": "prod", "dataset": "questions"}):
        with pytest.raises(UsageError, match="give either project= or dataset=, whose runs people labelled"):
            human_labels(client=client, key="correct", **source)
    with pytest.raises(UsageError, match="LangSmith knows no project 'prood': give the name or id of one"):
        read(client, project="prood")
    with pytest.raises(UsageError, match="LangSmith knows no dataset 'questions'"):
        read(client, dataset="questions")
    with pytest.raises(UsageError, match="LangSmith knows no dataset"):
        read(client, project="default", exclude_dataset=str(uuid4()))


def test_the_client_is_the_processes_own(
    server: LangSmithServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(client, "q")
    label(server, run, score=1)
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    assert golds(human_labels(key="correct", project="prod")) == {run: ["PASS"]}
