"""`queue_abstentions`: undecided runs reach an annotation queue of a loopback LangSmith through the real client."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from uuid import UUID, uuid4

import pytest
from langsmith import Client, evaluate
from support.judges_in_turn import CHEAP, DESIGN, STRONG, cascade_of
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_people import answered, ask_within_projects
from support.langsmith_server import LangSmithServer
from support.measured import measured
from support.rows import sampled

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.cascading import CascadeJudge
from judgeharness_langsmith import queue_abstentions, queue_cases
from judgeharness_langsmith.queueing import QueueReport

SAID = {
    "decided": ["PASS"] * 4,
    "abstained": ["PASS", "PASS", "FAIL", "FAIL"],
    "not_graded": [None, None, None, "PASS"],
}


@pytest.fixture
def server(langsmith_server: LangSmithServerFactory) -> LangSmithServer:
    return langsmith_server()


@pytest.fixture
def client(server: LangSmithServer) -> Client:
    return server.client()


def result(status: str, case_id: str = "c") -> HarnessResult:
    return measured(sampled(SAID[status], case_id=case_id), case_id=case_id, perturbations=("none",))


def queued(server: LangSmithServer) -> dict[str, list[str]]:
    return {queue["name"]: server.store.queued[queue_id] for queue_id, queue in server.store.queues.items()}


def test_undecided_runs_are_queued(server: LangSmithServer, client: Client) -> None:
    runs = {status: answered(client, status) for status in SAID}
    results = [result(status, case_id=run) for status, run in runs.items()]
    report = queue_abstentions(results, queue="people", client=client)
    assert queued(server) == {"people": [runs["abstained"], runs["not_graded"]]}
    [queue_id] = server.store.queues
    assert report == QueueReport(
        queue="people", queue_id=queue_id, queued=(runs["abstained"], runs["not_graded"]), decided=1
    )
    assert str(report) == "2 runs queued in 'people'; 1 decided"
    sent = next(request.body for request in server.posted if request.path.endswith("/runs/by-key"))
    assert [set(key) for key in sent] == [{"run_id", "session_id", "start_time"}] * 2
    assert server.unknown == []


def test_what_an_evaluator_could_not_decide(server: LangSmithServer, client: Client) -> None:
    from judgeharness_langsmith import HarnessRunEvaluator

    dataset = client.create_dataset("cities")
    client.create_examples(dataset_id=dataset.id, examples=[{"inputs": {"city": city}} for city in ("Oslo", "Rome")])
    said = iter(["PASS", "FAIL"])

    def torn(case: Any) -> str:
        return next(said) if case.output == "Rome" else "PASS"

    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", max_concurrency=1)
    evaluator = HarnessRunEvaluator(torn, harness)
    rows = list(
        evaluate(lambda inputs: {"answer": inputs["city"]}, data="cities", evaluators=[evaluator], client=client)
    )
    report = queue_abstentions(evaluator.results, queue="people", client=client)
    [rome] = [str(row["run"].id) for row in rows if row["run"].outputs == {"answer": "Rome"}]
    assert (report.queued, report.decided) == ((rome,), 1)
    assert queued(server) == {"people": [rome]}


def test_one_status_may_be_chosen(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    pairs = [(UUID(run), result("abstained")), (str(uuid4()), result("not_graded"))]
    report = queue_abstentions(pairs, queue="people", client=client, only=["abstained"])
    assert (report.queued, report.decided, report.unknown) == ((run,), 1, ())
    with pytest.raises(UsageError, match="only holds 'decided': give abstained, not_graded or both"):
        queue_abstentions(pairs, queue="people", client=client, only=["decided"])  # type: ignore[list-item]


def test_one_undecided_criterion_is_enough(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    rows = [*sampled(SAID["decided"], criterion="a"), *sampled(SAID["abstained"], criterion="b")]
    several = measured(rows, perturbations=("none",))
    assert queue_abstentions({run: several}, queue="people", client=client).queued == (run,)


def test_what_is_of_no_run_is_reported(server: LangSmithServer, client: Client) -> None:
    run, gone = answered(client, "q"), str(uuid4())
    undecided = result("abstained")
    results = [undecided, undecided, (gone, undecided), (run.upper(), undecided), (run, undecided)]
    report = queue_abstentions(results, queue="people", client=client)
    assert (report.queued, report.unknown, report.no_run, report.decided) == ((run,), (gone,), ("c",), 0)
    assert str(report) == (
        "1 runs queued in 'people'; 0 decided; 1 not queued: of no run; 1 not queued: LangSmith does not know the run"
    )


def test_nothing_is_made_for_nothing(server: LangSmithServer, client: Client) -> None:
    for results in ([], [result("decided")], [result("abstained")]):
        report = queue_abstentions(results, queue="people", client=client)
        assert (report.queue_id, report.queued) == (None, ())
    assert [request for request in server.posted if request.path != "/info"] == []
    report = queue_abstentions([(uuid4(), result("abstained"))], queue="people", client=client)
    assert (report.queue_id, len(report.unknown)) == (None, 1)
    assert server.store.queues == {}


def test_a_queue_that_exists_is_used(server: LangSmithServer, client: Client) -> None:
    made = client.create_annotation_queue(name="people")
    for queue in ("people", str(made.id)):
        report = queue_abstentions([(answered(client, "q"), result("abstained"))], queue=queue, client=client)
        assert report.queue_id == str(made.id)
    assert [len(runs) for runs in queued(server).values()] == [2]


def test_a_queue_that_is_missing_may_not_be_wanted(server: LangSmithServer, client: Client) -> None:
    undecided = [(answered(client, "q"), result("abstained"))]
    with pytest.raises(
        UsageError, match="LangSmith knows no annotation queue 'people': give the name of one, or create"
    ):
        queue_abstentions(undecided, queue="people", client=client, create=False)
    with pytest.raises(UsageError, match="LangSmith knows no annotation queue"):
        queue_abstentions(undecided, queue=str(uuid4()), client=client)
    assert server.store.queues == {}


@pytest.mark.slow
def test_newer_servers_need_the_project(server: LangSmithServer) -> None:
    ask_within_projects(server)
    client = server.client()
    run, elsewhere = answered(client, "q"), answered(client, "q", project="other")
    undecided = [(run, result("abstained")), (elsewhere, result("abstained"))]
    with pytest.raises(UsageError, match="finds runs within a project only: give project="):
        queue_abstentions(undecided, queue="people", client=client)
    report = queue_abstentions(undecided, queue="people", client=client, project="prod")
    assert (report.queued, report.unknown) == ((run,), (elsewhere,))
    assert queued(server) == {"people": [run]}
    assert not [request for request in server.posted if request.path == "/runs/query"]


def test_more_runs_than_fit_into_a_request(server: LangSmithServer, client: Client) -> None:
    session = str(client.read_project(project_name="default").id)
    ids = [str(UUID(int=number)) for number in range(101)]
    for run_id in ids:
        run = {"id": run_id, "name": "r", "run_type": "chain", "start_time": "2026-01-01T00:00:00+00:00", "inputs": {}}
        server.store.begin_run({**run, "session_id": session})
    undecided = result("abstained")
    assert queue_abstentions(dict.fromkeys(ids, undecided), queue="q", client=client).queued == tuple(ids)
    assert queued(server) == {"q": ids}
    assert [len(r.body) for r in server.posted if r.path.endswith("/runs/by-key")] == [100, 1]


def test_an_older_client_of_a_newer_server_is_told_what_to_install(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_within_projects(server)
    client = server.client()
    undecided = [(answered(client, "q"), result("abstained"))]
    monkeypatch.delattr(Client, "_get_langsmith_api_sync")  # 0.8 has none
    with pytest.raises(UsageError) as caught:
        queue_abstentions(undecided, queue="people", client=client, project="prod")
    assert str(caught.value) == (
        f"langsmith {version('langsmith')} has no Client._get_langsmith_api_sync: "
        "install the newest that was tried, pip install 'langsmith==0.15.*'."
    )


WAITING = [
    AnswerCase(case_id="one", input="q", output="an answer"),
    PairwiseCase(case_id="two", input="q", output="the first", output_b="the second", reference="r"),
]


def test_cases_of_no_run_become_runs_of_their_own_in_the_queue(server: LangSmithServer, client: Client) -> None:
    report = queue_cases(WAITING, queue="people", client=client)
    assert queued(server) == {"people": list(report.queued)}
    runs = [server.runs[run_id] for run_id in report.queued]
    assert [run["inputs"] for run in runs] == [{"input": "q"}, {"input": "q", "reference": "r"}]
    assert [run["outputs"] for run in runs] == [
        {"output": "an answer"},
        {"output": "the first", "output_b": "the second"},
    ]
    assert [run["extra"]["metadata"]["case_id"] for run in runs] == ["one", "two"]
    assert server.unknown == []


def test_a_case_that_waits_is_one_run_however_often_it_is_queued(server: LangSmithServer, client: Client) -> None:
    first = queue_cases(WAITING, queue="people", client=client)
    again = queue_cases(WAITING, queue="people", client=client)
    assert again.queued == first.queued
    assert len(server.runs) == 2


def test_a_case_that_was_made_of_a_run_is_queued_as_that_run(server: LangSmithServer, client: Client) -> None:
    run = answered(client, "q")
    made = AnswerCase(case_id="c", input="q", output="Fine.", attributes={"run_id": run})
    report = queue_cases([made, *WAITING[:1]], queue="people", client=client)
    assert report.queued[-1] == run
    assert len(report.queued) == len(server.runs) == 2


def test_no_case_makes_no_queue(server: LangSmithServer, client: Client) -> None:
    assert queue_cases([], queue="people", client=client) == QueueReport(queue="people")
    assert queued(server) == {}


def test_what_no_judge_of_a_cascade_decides_reaches_the_queue(server: LangSmithServer, client: Client) -> None:
    from judgeharness_langsmith import HarnessRunEvaluator

    dataset = client.create_dataset("answers")
    texts = ("good easy one", "good torn one")
    client.create_examples(dataset_id=dataset.id, examples=[{"inputs": {"text": text}} for text in texts])
    evaluator = HarnessRunEvaluator(CascadeJudge([CHEAP, STRONG], cascade_of()), JudgeHarness(**DESIGN))
    rows = evaluate(lambda inputs: {"answer": inputs["text"]}, data="answers", evaluators=[evaluator], client=client)
    runs = {row["run"].outputs["answer"]: str(row["run"].id) for row in rows}
    report = queue_abstentions(evaluator.results, queue="people", client=client)
    assert (report.queued, report.decided) == ((runs["good torn one"],), 1)
    assert evaluator.results[runs["good torn one"]].waits
