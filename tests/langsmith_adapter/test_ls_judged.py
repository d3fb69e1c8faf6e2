"""`evaluator_verdicts`: what evaluators said of runs, as rows with probabilities, read by the real client."""

from __future__ import annotations

from typing import Any

import pytest
from langsmith import Client, evaluate
from langsmith.schemas import FeedbackSourceType
from support.langsmith_fixtures import LangSmithServerFactory
from support.langsmith_people import answered, label
from support.langsmith_server import LangSmithServer
from support.planted_probabilities_judge import PlantedJudge

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.probability.measuring import question_passports
from judgeharness_integrations.judging.candidates import joined
from judgeharness_langsmith import HarnessRunEvaluator, JudgedRuns, evaluator_verdicts, human_labels

ODDS = [-3.0, -1.0, 0.5, 2.0]


@pytest.fixture
def server(langsmith_server: LangSmithServerFactory) -> LangSmithServer:
    return langsmith_server()


@pytest.fixture
def client(server: LangSmithServer) -> Client:
    return server.client()


def by_model(client: Client, run_id: str, key: str, **said: Any) -> None:
    project = client.read_project(project_name="prod").id
    client.create_feedback(
        run_id, key, feedback_source_type=FeedbackSourceType.MODEL, session_id=project, **{"trace_id": None} | said
    )


def read(client: Client, **options: Any) -> JudgedRuns:
    return evaluator_verdicts(**{"client": client, "key": "good", "project": "prod"} | options)


def test_what_a_harness_wrote_comes_back_with_its_probabilities(client: Client) -> None:
    made = client.create_dataset("numbers")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"odds": odds}} for odds in ODDS])
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="mean_probability(0.9)")
    evaluator = HarnessRunEvaluator(PlantedJudge(), harness, key="good")
    done = evaluate(
        lambda inputs: {"answer": str(inputs["odds"])}, data="numbers", evaluators=[evaluator], client=client
    )
    list(done)
    client.flush()
    asked = {row.case_id: row for result in evaluator.results.values() for row in result.rows}
    found = read(client, project=done.experiment_name, criterion="correct", judge="planted")
    assert {row.case_id for row in found.rows} == set(asked)
    for row in found.rows:
        assert row.probabilities == pytest.approx(asked[row.case_id].probabilities)
        assert (row.judge, row.criterion, row.verdict) == ("planted", "correct", asked[row.case_id].verdict)
    assert found.skipped == {}


def test_scores_of_a_hosted_decision_evaluator_are_probabilities_of_pass(
    server: LangSmithServer, client: Client
) -> None:
    for place, share in enumerate((0.9, 0.2, 0.5)):
        by_model(client, answered(client, f"q{place}", outputs=f"a{place}"), "good", score=share)
    rows = read(client, probabilities=True).rows
    assert [(row.verdict, row.probabilities and round(row.probabilities["PASS"], 6)) for row in rows] == [
        ("PASS", 0.9),
        ("FAIL", 0.2),
        (None, 0.5),
    ]
    assert {row.outcome for row in rows} == {"ok"}
    assert server.unknown == []


def test_feedback_that_is_on_its_way_is_read_too(client: Client) -> None:
    runs = [answered(client, f"q{place}", outputs=f"a{place}") for place in range(10)]
    for run in runs:
        by_model(client, run, "good", score=0.9, trace_id=run)  # with which the client uploads it in the background
    assert len(read(client, probabilities=True).rows) == len(runs)


def test_peoples_labels_join_them_and_a_passport_reads_both(server: LangSmithServer, client: Client) -> None:
    for place in range(28):
        run = answered(client, f"q{place}", outputs=f"a{place}")
        by_model(client, run, "good", score=0.9 if place % 2 else 0.2)
        label(server, run, key="right", score=place % 2)
    labels = human_labels(client=client, key="right", project="prod").calibration_set
    rows = joined(read(client, probabilities=True).rows, labels).rows
    (question,) = question_passports(rows)
    assert question.trust is not None
    assert question.trust.labelled == 28


def test_answers_about_equal_outputs_are_repetitions(client: Client) -> None:
    for share in (0.9, 0.8):
        by_model(client, answered(client, "q"), "good", score=share)
    rows = read(client, probabilities=True).rows
    assert len({row.case_id for row in rows}) == 1
    assert [row.repetition for row in rows] == [0, 1]


def test_of_other_labels_the_verdict_alone_is_known(client: Client) -> None:
    for place, said in enumerate(("formal", "casual")):
        run = answered(client, f"q{place}", outputs=f"a{place}")
        by_model(client, run, "good", value=said)
        by_model(client, run, "good.probability", score=0.6)
    assert [(row.verdict, row.probabilities) for row in read(client).rows] == [("formal", None), ("casual", None)]


def test_without_a_decision_or_a_probability_a_row_holds_none(client: Client) -> None:
    first, second = (answered(client, f"q{place}", outputs=f"a{place}") for place in range(2))
    by_model(client, first, "good", score=1)
    by_model(client, second, "good", value="NOT GRADED", comment="the judge is down")
    graded, failed = read(client).rows
    assert (graded.verdict, graded.outcome) == ("PASS", "ok")
    assert (failed.verdict, failed.outcome, failed.raw) == (None, "unparsed", "the judge is down")


def test_abstentions_alone_do_not_say_whose_probability_it_is(client: Client) -> None:
    run = answered(client, "q")
    by_model(client, run, "good", value="ABSTAIN")
    by_model(client, run, "good.probability", score=0.6)
    (row,) = read(client).rows
    assert (row.outcome, row.probabilities) == ("unparsed", None)


def test_what_people_said_and_runs_without_outputs_are_left_out_and_counted(
    server: LangSmithServer, client: Client
) -> None:
    run, empty = answered(client, "q"), answered(client, "r", outputs={})
    label(server, run, key="good", score=1)
    by_model(client, run, "good", score=1)
    by_model(client, empty, "good", score=1)
    found = read(client)
    assert len(found.rows) == 1
    assert found.skipped == {"not from an evaluator": 1, "on a run without outputs": 1}


def test_without_an_evaluator_it_is_said_what_was_left_out(server: LangSmithServer, client: Client) -> None:
    label(server, answered(client, "q"), key="good", score=1)
    with pytest.raises(CaseError, match=r"no evaluator said anything under 'good of prod' .1 not from an evaluator."):
        read(client)


def test_a_score_that_is_no_probability_is_refused(client: Client) -> None:
    by_model(client, answered(client, "q"), "good", score=3)
    with pytest.raises(CaseError, match="gives 3 as a probability"):
        read(client, probabilities=True)
