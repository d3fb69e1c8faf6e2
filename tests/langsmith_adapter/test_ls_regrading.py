"""`grade_again` against a loopback LangSmith: who is asked again, and what becomes of the old feedback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langsmith import Client, evaluate
from support.langsmith_queries import Refused
from support.langsmith_server import LangSmithServer, Request

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_langsmith import HarnessRunEvaluator, grade_again

Serve = Callable[..., LangSmithServer]


def experiment(client: Client, evaluator: HarnessRunEvaluator, asked: list[str]) -> str:
    def application(inputs: dict[str, Any]) -> dict[str, Any]:
        asked.append(inputs["q"])
        return {"answer": inputs["q"]}

    made = client.create_dataset("capitals")
    client.create_examples(
        dataset_id=made.id, examples=[{"inputs": {"q": q}} for q in ("decided", "*abstains*", "fails", "*fails too*")]
    )
    name: str = evaluate(application, data="capitals", evaluators=[evaluator], client=client).experiment_name
    return name


@pytest.mark.slow
def test_only_rows_without_a_verdict_are_asked_again(langsmith_server: Serve) -> None:
    server = langsmith_server()
    client, asked, judged, down = server.client(), list[str](), list[str](), [True]

    def judge(case: AnswerCase) -> bool:
        judged.append(case.output)
        if down and "fails" in case.output:
            raise ConnectionError("down")
        return "abstains" not in case.output or "*" in case.output

    evaluator = HarnessRunEvaluator(judge, JudgeHarness.quick("labels", max_attempts=1), key="good")
    name = experiment(client, evaluator, asked)

    def values() -> list[Any]:
        rows = (row for row in server.feedback if row["key"] == "good")
        return sorted(row.get("value") or str(row["score"]) for row in rows)

    assert values() == ["ABSTAIN", "NOT GRADED", "NOT GRADED", "True"]
    lost = next(row["run_id"] for row in server.feedback if row["value"] == "NOT GRADED")
    server.annotate(lost, "good", score=0, comment="a person's")
    keys = sorted(row["key"] for row in server.feedback)

    for still, after in ((True, ["NOT GRADED"] * 2), (False, ["True"] * 2)):
        if not still:
            down.clear()
        judged.clear()
        again = grade_again(evaluator, experiment=name, client=client)
        assert len(again) == 2
        assert {text for text in judged if "fails" not in text} == set()
        assert values() == sorted(["ABSTAIN", "True", "0", *after])
        assert sorted(row["key"] for row in server.feedback) == keys
    assert len(asked) == 4
    assert grade_again(evaluator, experiment=name, client=client) == {}
    assert [row["comment"] for row in server.feedback if row["feedback_source"]["type"] == "app"] == ["a person's"]
    linked = {run["id"] for run in server.named("judge_harness")}
    assert server.unknown == []
    assert len(linked) == 4


def test_an_experiment_nobody_knows_is_named(langsmith_server: Serve) -> None:
    evaluator = HarnessRunEvaluator(lambda case: True, key="good")
    with pytest.raises(UsageError, match="no-such"):
        grade_again(evaluator, experiment="no-such", client=langsmith_server().client())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("taken", [0, 1])
def test_feedback_that_langsmith_refuses_leaves_the_old_in_its_place(
    langsmith_server: Serve, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    server = langsmith_server()
    client, down, refusing, came = server.client(), [True], list[bool](), list[bool]()
    answer = server.answer

    def answering(request: Request) -> Any:
        if refusing and request.method == "POST":
            if request.path in ("/runs/multipart", "/runs/batch"):
                raise Refused(422, "quota")  # for 429 the client waits long
            if request.path == "/feedback":
                came.append(True)
                if len(came) > taken:
                    raise Refused(422, "quota")
        return answer(request)

    def judge(case: AnswerCase) -> bool:
        if down and "fails" in case.output:
            raise ConnectionError("down")
        return True

    monkeypatch.setattr(server, "answer", answering)
    evaluator = HarnessRunEvaluator(judge, JudgeHarness.quick("labels", max_attempts=1), key="good")
    name = experiment(client, evaluator, [])
    before = server.feedback
    down.clear()
    refusing.append(True)
    with pytest.raises(JudgeHarnessError, match=r"refused to replace the feedback of run .*grade_again again"):
        grade_again(evaluator, experiment=name, client=client)
    rows = server.feedback
    assert rows[: len(before)] == before
    assert len(rows) == len(before) + taken
    refusing.clear()
    assert len(grade_again(evaluator, experiment=name, client=client)) == 2
    assert [row["score"] for row in server.feedback if row["key"] == "good"] == [True] * 4
    assert sorted(row["key"] for row in server.feedback) == sorted(row["key"] for row in before)


def limiting(server: LangSmithServer, monkeypatch: pytest.MonkeyPatch, method: str, refused: list[bool]) -> list[bool]:
    """Answer 429 to what is asked of feedback by a method, as long as the answers in `refused` say so."""
    answer, came = server.answer, list[bool]()

    def answering(request: Request) -> Any:
        if request.method == method and request.path.startswith("/feedback"):
            came.append(bool(refused and refused.pop(0)))
            if came[-1]:
                raise Refused(429, "too many requests", retry_after=0)
        return answer(request)

    monkeypatch.setattr(server, "answer", answering)
    return came


@pytest.fixture
def lost(langsmith_server: Serve) -> tuple[LangSmithServer, HarnessRunEvaluator, str, list[bool]]:
    """An experiment of which two runs were not graded, and the judge's being down."""
    server, down = langsmith_server(), [True]

    def judge(case: AnswerCase) -> bool:
        if down and "fails" in case.output:
            raise ConnectionError("down")
        return True

    evaluator = HarnessRunEvaluator(judge, JudgeHarness.quick("labels", max_attempts=1), key="good")
    return server, evaluator, experiment(server.client(), evaluator, []), down


def family(server: LangSmithServer) -> list[tuple[str, str]]:
    return sorted((str(row["run_id"]), row["key"]) for row in server.feedback)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_limit_of_langsmith_that_passes_is_waited_for(
    lost: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    server, evaluator, name, down = lost
    before = family(server)
    down.clear()
    came = limiting(server, monkeypatch, method, [True, True, False, True])
    again = grade_again(evaluator, experiment=name, client=server.client())
    assert [result.verdict for result in again.values()] == ["PASS", "PASS"]
    assert came.count(True) == 3
    assert family(server) == before  # each row once
    assert [row["score"] for row in server.feedback if row["key"] == "good"] == [True] * 4


@pytest.mark.slow
@pytest.mark.parametrize(("method", "taken"), [("POST", 1), ("DELETE", 1), ("DELETE", 2)])
def test_a_limit_of_langsmith_that_stays_loses_nothing(
    lost: Any, monkeypatch: pytest.MonkeyPatch, method: str, taken: int
) -> None:
    server, evaluator, name, down = lost
    before = family(server)
    down.clear()
    refused = [False] * taken + [True] * 1000
    limiting(server, monkeypatch, method, refused)
    with pytest.raises(JudgeHarnessError, match=r"refused to replace the feedback of run .*RateLimitError.*429"):
        grade_again(evaluator, experiment=name, client=server.client())
    refused.clear()
    assert len(grade_again(evaluator, experiment=name, client=server.client())) == 2
    assert family(server) == before
    assert [row["score"] for row in server.feedback if row["key"] == "good"] == [True] * 4
    assert grade_again(evaluator, experiment=name, client=server.client()) == {}
