"""What runs on both sides of the wire, here in one process: workers, failures, the policy of remote calls."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Judgment
from judgeharness_integrations._errors import ClusterError, UsageError
from judgeharness_integrations.judging.answer import EmptyAnswerError, ModelAnswer, Tokens
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.limiter import Limiter
from judgeharness_integrations.judging.execution.ray_engine.cluster import (
    Failure,
    JudgeWorker,
    RemoteFailure,
    SearchPath,
    Worker,
    WorkerDied,
    WorkerGone,
    _begun,
    _OwnConnection,
    _prepared,
    answer_of,
    as_error,
    carried,
    connected,
    sent_form,
    started,
    unsendable,
)
from judgeharness_integrations.judging.execution.ray_engine.executor import RemoteJudge, RemotePolicy
from judgeharness_integrations.judging.execution.retrying import (
    BudgetExhausted,
    is_refusal,
    is_transient,
    retry_after_s,
)
from judgeharness_integrations.judging.judge import FunctionJudge, Probe
from judgeharness_integrations.judging.perturbations import compose, position_swap, whitespace

pytest.importorskip("ray")
pytestmark = pytest.mark.slow  # with Ray, which the default tests do without


def probe(case: Any) -> Probe:
    swapped = compose(position_swap(), whitespace())  # closures: they do not travel
    return Probe(case=case, case_id="case", perturbation=swapped, repetition=1, seed=0)


def good(case: AnswerCase) -> str:
    return "PASS" if case.output else "FAIL"


def leaving(case: AnswerCase) -> str:
    raise SystemExit(3)


async def broken(case: AnswerCase) -> str:
    raise QuotaError


class QuotaError(Exception):
    """As openai's: cannot be built without arguments it does not carry."""

    status_code = 429
    code = "insufficient_quota"


def judged_by(function: Callable[[Any], Any]) -> Judgment | Failure:
    async def go() -> Judgment | Failure:
        worker = JudgeWorker()
        await worker.prepare(FunctionJudge(function=function), is_transient)
        return await worker.judge(sent_form(probe(AnswerCase(case_id="case", output="text"))), {})

    return asyncio.run(go())


def test_a_worker_answers_with_a_judgment() -> None:
    judgment = judged_by(good)
    assert isinstance(judgment, Judgment)
    assert judgment.answers[0].verdict == "PASS"


def test_what_a_judge_raises_comes_back_as_plain_data() -> None:
    assert judged_by(broken) == Failure(kind="QuotaError", text="", status=429, code="insufficient_quota")
    left = judged_by(leaving)
    assert isinstance(left, Failure)
    assert (left.kind, left.text) == ("RuntimeError", "the call ended itself with SystemExit(3)")


def test_modules_are_looked_for_where_the_driver_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = [*sys.path]
    monkeypatch.setattr(sys, "path", [*before])
    sent = pickle.dumps(SearchPath([str(tmp_path), str(tmp_path / "nowhere"), before[0]]))
    assert sys.path == before
    pickle.loads(sent)  # noqa: S301 - as Ray does
    assert sys.path == [*before, str(tmp_path)]


def test_a_probe_keeps_what_judges_read_of_its_perturbation() -> None:
    sent = pickle.loads(pickle.dumps(sent_form(probe("case"))))  # noqa: S301 - as Ray does
    assert (sent.perturbation.name, sent.perturbation.swaps) == ("position_swap+whitespace", True)
    assert sent.perturbation.apply(sent.case) == "case"


def test_what_cannot_be_sent_has_a_reason() -> None:
    assert unsendable(sent_form(probe("case"))) is None
    assert unsendable(probe(threading.Lock())) == "TypeError: cannot pickle '_thread.lock' object"


def awaited(reply: Future[str], *, given_up: bool = False) -> object:
    async def go() -> object:
        answer = answer_of(Reply(reply))
        if given_up:
            answer.cancel()
        await asyncio.to_thread(reply.set_result, "answer")
        await asyncio.sleep(0.01)
        return answer.cancelled() or await answer

    return asyncio.run(go())


class Reply:
    """An object reference, as far as it is awaited."""

    def __init__(self, reply: Future[str]) -> None:
        self.reply = reply

    def future(self) -> Future[str]:
        return self.reply


def test_an_answer_that_nobody_waits_for_still_comes() -> None:
    assert awaited(Future()) == "answer"
    kept: Future[str] = Future()
    assert awaited(kept, given_up=True) is True
    assert kept.result() == "answer"  # Ray's own future was not cancelled


def test_an_answer_that_comes_after_its_loop_was_closed_disturbs_nobody() -> None:
    reply: Future[str] = Future()

    async def go() -> None:
        answer_of(Reply(reply))

    asyncio.run(go())
    reply.set_result("late")
    assert reply.result() == "late"


def test_an_error_on_the_way_is_told_from_one_of_the_cluster() -> None:
    errors = pytest.importorskip("ray").exceptions
    unread = errors.RaySystemError(ModuleNotFoundError("theirs"), "trace")
    raised = errors.RayTaskError("judge", "trace", unread).as_instanceof_cause()
    assert [type(carried(error)) for error in (unread, raised)] == [ModuleNotFoundError, ModuleNotFoundError]
    assert [carried(error) for error in (errors.RaySystemError("no answer"), errors.RayActorError())] == [None, None]


class Failing:
    """An actor whose calls fail: as they are made, or while their answer is awaited."""

    def __init__(self, error: Exception, *, at_once: bool = False) -> None:
        self.judge = self.prepare = self
        self.error, self.at_once = error, at_once

    def remote(self, *sent: object) -> Reply:
        if self.at_once:
            raise self.error
        reply: Future[str] = Future()
        reply.set_exception(self.error)
        return Reply(reply)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_connection_that_was_lost_is_a_worker_that_is_gone(at_once: bool) -> None:  # noqa: FBT001 - a parameter
    worker = Worker(Failing(ConnectionError("gone"), at_once=at_once))
    with pytest.raises(WorkerGone, match="ConnectionError: gone"):
        asyncio.run(worker.judge(probe(AnswerCase(case_id="case", output="text")), {}))
    worker.kill()  # nothing to end, and no Ray is started for it


def test_a_worker_that_cannot_take_its_judge_says_why() -> None:
    died = pytest.importorskip("ray").exceptions.RayActorError()
    for error, sentence in (
        (died, "a Ray worker cannot be started .* install the same packages on every node of the cluster"),
        (ConnectionError("gone"), "the connection to Ray was lost when judge 'mine' was sent .* on the head"),
    ):
        with pytest.raises(UsageError, match=sentence):
            asyncio.run(_prepared(Failing(error), FunctionJudge(function=good, name="mine"), is_transient, 1.0))


def test_nothing_is_started_on_a_cluster_that_is_lost() -> None:
    start = started(FunctionJudge(function=good), is_transient, options={}, start_s=1.0)
    with pytest.raises(ClusterError, match="the connection to the Ray cluster was lost: see `ray status`"):
        asyncio.run(start)


class BusyError(Exception):
    """As of a client that keeps the response."""

    status = 503
    headers = {"Retry-After": "7"}  # noqa: RUF012 - as clients have it


def test_a_failure_is_on_the_driver_what_it_was_on_the_worker() -> None:
    failure = pickle.loads(pickle.dumps(Failure.of(BusyError("come later"), is_transient)))  # noqa: S301
    error = as_error(failure)
    assert isinstance(error, RemoteFailure)
    assert f"{type(error).__name__}: {error}" == "BusyError: come later"
    assert (error.transient, is_refusal(error), retry_after_s(error)) == (True, True, 7.0)
    assert as_error(Failure(kind="BusyError", text="")).__class__ is error.__class__
    assert not is_refusal(as_error(Failure(kind="KeyError", text="'x'")))


def test_a_reply_without_an_answer_crosses_the_wire_with_its_bill() -> None:
    reply = ModelAnswer(model="m", tokens=Tokens(7, 0, 3))
    failure = pickle.loads(pickle.dumps(Failure.of(EmptyAnswerError(reply), is_transient)))  # noqa: S301 - as Ray does
    error = as_error(failure)
    assert isinstance(error, EmptyAnswerError)
    assert (error.answer, str(error)) == (reply, "the reply holds no answer")
    billed: list[ModelAnswer] = []
    assert attempted(error, WorkerDied(1, final=False), error, "PASS", max_attempts=2, book=billed.append)[0] == "PASS"
    assert billed == [reply, reply]


def attempted(
    *outcomes: object, max_attempts: int = 1, max_calls: int | None = None, **options: Any
) -> tuple[object, int, int]:
    left = list(outcomes)

    async def call() -> object:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def go() -> tuple[object, int, int]:
        limits, budget = Limiter(), Budget(max_calls=max_calls)
        policy = RemotePolicy.of(CallPolicy(max_attempts=max_attempts), limits)
        with limits.run(4):
            answer, attempts = await policy.attempt(call, budget, **options)
        return answer, attempts, budget.spent

    return asyncio.run(go())


def test_a_probe_that_lost_its_worker_is_asked_again_and_every_time_counts() -> None:
    died = WorkerDied(1, final=False)
    assert attempted(died, WorkerDied(2, final=False), "PASS") == ("PASS", 3, 3)
    final = WorkerDied(3, final=True)
    assert attempted(died, final) == (final, 2, 2)


def test_a_probe_that_lost_its_worker_waits_for_the_next_run_when_the_budget_ends() -> None:
    with pytest.raises(BudgetExhausted):
        attempted(WorkerDied(1, final=False), "PASS", max_calls=1)
    with pytest.raises(BudgetExhausted):
        attempted("PASS", max_calls=0)


def test_only_the_worker_says_whether_a_remote_failure_is_transient() -> None:
    passing, lasting = (RemoteFailure(Failure(kind="E", text="", transient=passing)) for passing in (True, False))
    assert attempted(passing, "PASS", max_attempts=2) == ("PASS", 2, 2)
    assert attempted(lasting, "PASS", max_attempts=2) == (lasting, 1, 1)
    assert attempted(TimeoutError(), "PASS", max_attempts=2) == ("PASS", 2, 2)


def test_a_remote_judge_is_known_as_the_judge_it_stands_for() -> None:
    judge = FunctionJudge(function=good, name="mine")
    workers: Any = None  # nothing is asked
    remote = RemoteJudge(judge, workers, timeout_s=None)
    assert (remote.name, remote.identity, remote.criteria) == ("mine", None, None)


def test_an_address_that_is_none_is_named() -> None:
    async def go() -> None:
        async with connected("nonsense", cpus=1):
            pass

    with pytest.raises(UsageError, match="Ray at nonsense cannot be used"):
        asyncio.run(go())


def test_a_cluster_that_may_want_a_token_is_told_from_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise ConnectionError("Failed to connect to Ray cluster")  # as Ray says of a token that is missing

    connection = _OwnConnection("10.0.0.1:6379", 1)
    monkeypatch.setattr(connection, "begin", refused)
    with pytest.raises(
        ClusterError, match=r"no Ray answers at 10\.0\.0\.1:6379 .* set RAY_AUTH_MODE=token and RAY_AUTH"
    ):
        _begun(connection)


def test_what_has_to_be_mended_is_read_off_the_original_on_the_worker() -> None:
    refused = ConnectionError("it went away")
    refused.__cause__ = ConnectionRefusedError()
    policy = RemotePolicy.of(CallPolicy(), Limiter())
    remedy = policy.remedy(as_error(pickle.loads(pickle.dumps(Failure.of(refused, is_transient)))))  # noqa: S301
    assert remedy == policy.remedy(refused) == "nothing listens there: check that its server runs, and its base URL"
    assert policy.remedy(as_error(Failure.of(QuotaError(), is_transient))) is None
    assert policy.remedy(WorkerDied(1, final=True)) is None
