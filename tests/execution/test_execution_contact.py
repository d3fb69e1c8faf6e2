"""The first probe of a run of many calls goes alone; a judge that is down is asked no further."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness, Perturbation
from judgeharness_integrations._errors import JudgeDownError, UsageError
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.execution.retrying import remedy_of
from judgeharness_integrations.judging.judge import FunctionJudge, JudgeIdentity
from judgeharness_integrations.testing.checking.judge import check_judge
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.files import MemoryLog

Judging = Callable[[AnswerCase], Any]


class WrongKeyError(Exception):
    status_code = 401


def cases(count: int) -> list[AnswerCase]:
    return [AnswerCase(case_id=f"c{number}", output="text") for number in range(count)]


def harness(**options: Any) -> JudgeHarness:
    defaults: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    return JudgeHarness(**(defaults | {"observers": ()} | options))


class Watched:
    """A judge that notes how many calls were under way when each began."""

    def __init__(self, answer: Judging = lambda case: "PASS", *, pause_s: float = 0.002) -> None:
        self.answer, self.pause_s = answer, pause_s
        self.begun: list[str] = []
        self.in_flight = 0
        self.seen: list[int] = []  # in flight, this one included, when a call begins
        self.first_ended_after: int | None = None

    async def __call__(self, case: AnswerCase) -> Any:
        first = not self.begun
        self.begun.append(case.case_id)
        self.in_flight += 1
        self.seen.append(self.in_flight)
        try:
            await asyncio.sleep(self.pause_s)
            return self.answer(case)
        finally:
            self.in_flight -= 1
            if first:
                self.first_ended_after = len(self.begun)


class Unread(Watched):
    """One of which no answer was ever read: it is asked nothing elsewhere."""

    async def __call__(self, case: AnswerCase) -> Any:
        return await super().__call__(case)


def raising(error: Exception) -> Judging:
    def judge(case: AnswerCase) -> str:
        raise error

    return judge


def many(judge: Any, asked: Iterable[AnswerCase] | None = None, **options: Any) -> list[HarnessResult]:
    return list(harness(**options).evaluate_many(judge, cases(20) if asked is None else asked))


def test_the_first_probe_of_many_goes_alone() -> None:
    judge = Watched()
    results = many(judge)
    assert judge.first_ended_after == 1
    assert max(judge.seen) == 16
    assert len(judge.begun) == 40  # it is one of the samples
    assert {result.state for result in results} == {"complete"}


def test_it_goes_alone_where_nobody_knows_how_many_follow() -> None:
    judge = Watched()
    many(judge, (case for case in cases(20)))
    assert judge.first_ended_after == 1


def understood() -> Watched:
    """A judge of whose function an answer was read."""
    harness().evaluate(Watched(), cases(1)[0])
    return Watched()


@pytest.mark.parametrize("asked", [1, 6])
def test_a_few_calls_go_together(asked: int) -> None:
    judge = understood()
    many(judge, cases(asked))
    assert judge.seen == list(range(1, 2 * asked + 1))


def test_one_case_is_asked_at_once() -> None:
    judge = understood()
    harness(repetitions=40, max_concurrency=40).evaluate(judge, cases(1)[0])
    assert max(judge.seen) == 40


def strange(asked: list[str], *, asynchronous: bool) -> Judging:
    """A function of its own whose answers nobody understands."""

    def judge(case: AnswerCase) -> object:
        asked.append(case.case_id)
        time.sleep(0.005)
        return object()

    async def ajudge(case: AnswerCase) -> object:
        asked.append(case.case_id)
        await asyncio.sleep(0.005)
        return object()

    return ajudge if asynchronous else judge


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("wrapped", [lambda judge: judge, partial, lambda judge: FunctionJudge(function=judge)])
def test_a_judge_whose_answers_nobody_understands_is_asked_once(wrapped: Any, *, asynchronous: bool) -> None:
    asked: list[str] = []
    judge = wrapped(strange(asked, asynchronous=asynchronous))
    with pytest.raises(UsageError, match="answered a value of type object"):
        harness(repetitions=6).evaluate(judge, cases(1)[0])
    assert len(asked) == 1


def test_nobody_is_calibrated_whose_answers_nobody_understands() -> None:
    asked: list[str] = []
    with pytest.raises(UsageError, match="answered a value of type object"):
        harness().calibrate(strange(asked, asynchronous=False), CalibrationSet("one", ((cases(1)[0], "PASS"),)))
    assert len(asked) == 1


def test_a_judge_that_was_understood_is_asked_at_once_in_every_later_run() -> None:
    seen: list[Watched] = []
    for _ in range(2):
        seen.append(judge := Watched())
        harness(repetitions=6).evaluate(lambda case, judge=judge: judge(case), cases(1)[0])
    first, later = seen
    assert first.first_ended_after == 1
    assert later.seen == [1, 2, 3, 4, 5, 6]


def test_a_function_written_in_c_is_asked() -> None:
    assert harness(repetitions=3).evaluate(str.upper, "pass").sample_distribution == {"PASS": 3}  # type: ignore[arg-type]


def test_the_first_probe_is_a_sample_like_any_other() -> None:
    def told(max_concurrency: int) -> list[tuple[object, ...]]:
        results = many(Watched(lambda case: case.case_id), max_concurrency=max_concurrency)
        rows = [row for result in results for row in result.rows]
        return sorted((row.case_id, row.repetition, row.verdict, row.outcome, row.attempts) for row in rows)

    assert told(1) == told(16)


def test_the_others_do_not_wait_for_a_first_probe_that_has_to_be_tried_again() -> None:
    order: list[str] = []

    async def judge(case: AnswerCase) -> str:
        order.append(case.case_id)
        if len(order) == 1:
            raise TimeoutError
        await asyncio.sleep(0.001)
        return "PASS"

    results = many(judge, repetitions=1)
    assert order.count("c0") == 2
    assert order.index("c0", 1) > 1  # the others had begun when it was tried again
    assert {result.state for result in results} == {"complete"}


def test_a_hanging_first_probe_holds_the_others_up_for_one_attempt_only() -> None:
    async def judge(case: AnswerCase) -> str:
        if case.case_id == "c0":
            await asyncio.sleep(30)
        return "PASS"

    results = many(judge, repetitions=1, timeout_s=0.05, max_attempts=1)
    assert [result.verdict for result in results].count("PASS") == 19


def test_every_judge_is_settled_by_itself() -> None:
    async def both() -> list[int | None]:
        judges = [Watched(), Watched()]

        async def measure(judge: Watched) -> None:
            async for _ in harness().aevaluate_many(judge, cases(20)):
                pass

        await asyncio.gather(*(measure(judge) for judge in judges))
        return [judge.first_ended_after for judge in judges]

    assert asyncio.run(both()) == [1, 1]


@pytest.mark.parametrize("max_concurrency", [1, 2, 16])
def test_a_judge_that_is_down_is_asked_three_times(max_concurrency: int) -> None:
    judge, log = Watched(raising(WrongKeyError("no such key"))), MemoryLog()
    results = many(judge, max_concurrency=max_concurrency, log=log)
    assert len(judge.begun) == 3
    assert judge.first_ended_after == 1
    assert len(list(log.rows())) == 3
    assert len(results) == 20
    assert {result.status for result in results} == {"not_graded"}
    assert [result.case_id for result in results if result.state == "complete"] == ["c0"]  # all of it was asked
    ended = results[-1].ended
    assert ended == (
        "judge 'Watched' is down: no call was answered, and 3 failed with WrongKeyError: no such key; check its API key"
    )
    assert {result.ended for result in results[1:]} == {ended}
    assert results[-1].reason == f"judge down: 2 of 2 planned samples were not asked; {ended}"


@pytest.mark.parametrize("known", [False, True])
def test_few_calls_that_all_fail_end_as_they_are(*, known: bool) -> None:
    judge = understood() if known else Unread()
    judge.answer = raising(WrongKeyError())
    result = harness(repetitions=6).evaluate(judge, cases(1)[0])
    assert (len(judge.begun), result.state, result.status) == (6, "complete", "not_graded")
    one_by_one = type(judge)(raising(WrongKeyError()))
    result = harness(repetitions=6, max_concurrency=1).evaluate(one_by_one, cases(1)[0])
    assert (len(one_by_one.begun), result.state, result.status) == (3, "judge_down", "not_graded")


def test_a_result_of_a_judge_that_is_down_round_trips() -> None:
    result = many(Watched(raising(WrongKeyError())))[-1]
    assert remeasure(result) == result
    document = result.to_dict(rows=True)
    assert (document["state"], document["ended"]) == ("judge_down", result.ended)
    assert replace(HarnessResult.from_dict(document), rows=result.rows) == result
    assert "ended" not in many(Watched())[0].to_dict()


def test_what_is_judged_is_not_quoted_where_it_may_not_be_kept() -> None:
    result = many(Watched(raising(WrongKeyError("the secret case"))), keep="none")[-1]
    assert "secret" not in str(result.ended) + result.reason
    assert "WrongKeyError" in str(result.ended)


@pytest.mark.slow
def test_one_judge_that_is_down_does_not_stop_another() -> None:
    async def both() -> tuple[list[HarnessResult], list[HarnessResult]]:
        async def measure(judge: Watched) -> list[HarnessResult]:
            return [result async for result in harness().aevaluate_many(judge, cases(20))]

        return await asyncio.gather(measure(Watched(raising(WrongKeyError()))), measure(Watched()))

    down, up = asyncio.run(both())
    assert {result.state for result in down[1:]} == {"judge_down"}
    assert {result.verdict for result in up} == {"PASS"}


def test_a_change_that_cannot_be_made_is_no_call() -> None:
    asked: list[str] = []

    def judge(case: AnswerCase) -> str:
        asked.append(case.case_id)
        return "PASS"

    def broken(case: AnswerCase) -> AnswerCase:
        raise WrongKeyError

    results = many(judge, perturbations=[Perturbation("broken", broken), "none"])
    assert len(asked) == 40
    assert {result.state for result in results} == {"complete"}


def test_a_budget_that_ends_with_the_first_probe_ends_the_run() -> None:
    judge = Watched()
    results = many(judge, budget=Budget(max_calls=1))
    assert len(judge.begun) == 1
    assert {result.state for result in results} == {"budget_exhausted"}


def kept(log: SqlLog, **options: Any) -> JudgeHarness:
    return harness(log=log, run="r", **options)


def known(judge: Any) -> FunctionJudge:
    return FunctionJudge(function=judge, name="j", identity=JudgeIdentity(name="j", model="m"))


def test_a_run_goes_on_when_the_key_is_mended(tmp_path: Path) -> None:
    wrong, right = Watched(raising(WrongKeyError())), Watched()
    with SqlLog(tmp_path / "log.sqlite") as log:
        down = list(kept(log).evaluate_many(known(wrong), cases(20)))
        assert {result.status for result in down} == {"not_graded"}
        assert not log.has_rows(run="r")
        assert len(list(log.rows(run="r/failed/1"))) == 3  # they stay on record
        up = list(kept(log).evaluate_many(known(right), cases(20)))
        assert {(result.state, result.verdict) for result in up} == {("complete", "PASS")}
        assert (len(right.begun), right.first_ended_after) == (40, 1)
        again = Watched()
        assert len(list(kept(log).evaluate_many(known(again), cases(20)))) == 20
        assert again.begun == []


def test_answers_of_the_run_so_far_count(tmp_path: Path) -> None:
    def sometimes(case: AnswerCase) -> str:
        if case.case_id != "c0":
            raise WrongKeyError
        return "PASS"

    with SqlLog(tmp_path / "log.sqlite") as log:
        assert len(list(kept(log).evaluate_many(known(Watched()), cases(1)))) == 1
        judge = Watched(sometimes)
        results = list(kept(log).evaluate_many(known(judge), cases(20)))
    assert judge.first_ended_after is not None
    assert judge.first_ended_after > 1  # nothing had to be settled any more
    assert len(judge.begun) == 38
    assert {result.state for result in results} == {"complete"}


def test_answers_taken_from_another_run_settle_nothing(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        list(kept(log).evaluate_many(known(Watched()), cases(3)))
        judge = Watched(raising(WrongKeyError()))
        results = list(harness(log=log, run="other").evaluate_many(known(judge), cases(20)))
    assert len(judge.begun) == 3
    graded = {result.case_id: result.verdict for result in results if result.status != "not_graded"}
    assert graded == {"c0": "PASS", "c1": "PASS", "c2": "PASS"}
    assert results[-1].state == "judge_down"


LABELS = CalibrationSet("people", tuple((case, "PASS") for case in cases(20)))


def test_nobody_is_calibrated_who_is_down() -> None:
    judge = Watched(raising(WrongKeyError()))
    with pytest.raises(JudgeDownError, match=r"^judge 'Watched' is down: .*; check its API key\.$"):
        harness().calibrate(judge, LABELS)
    assert len(judge.begun) == 3
    labelled = Watched(raising(WrongKeyError()))
    results = many(labelled, calibration_set=LABELS)
    assert len(labelled.begun) == 3
    assert {result.calibration for result in results} == {None}


def test_nobody_is_checked_who_is_down() -> None:
    judge = Watched(raising(WrongKeyError()))
    with pytest.raises(JudgeDownError, match="check its API key"):
        check_judge(judge, cases(20), observers=())
    assert len(judge.begun) == 3


@pytest.mark.parametrize("by_name", [False, True])
def test_a_rule_that_cannot_fold_the_answers_is_refused_after_the_first(tmp_path: Path, by_name: bool) -> None:  # noqa: FBT001
    answer: Judging = (lambda case: {"tone": "warm"}) if by_name else (lambda case: "PASS")
    judge = Watched(answer)
    with SqlLog(tmp_path / "log.sqlite") as log:
        with pytest.raises(UsageError) as refused:
            list(kept(log, aggregation_rule="median").evaluate_many(known(judge), cases(20)))
        assert len(list(log.rows(run="r"))) == 1
    name, such = ("tone", "warm") if by_name else ("verdict", "PASS")
    assert str(refused.value) == (
        f"rule median folds numbers, but criterion {name!r} holds labels such as {such}: "
        "use majority or another label rule."
    )
    assert len(judge.begun) == 1


def test_a_rule_for_labels_refuses_scores() -> None:
    judge = Watched(lambda case: 4)
    with pytest.raises(UsageError, match=r"rule majority folds labels, but .* numbers such as 4: use median"):
        many(judge, repetitions=1)
    assert len(judge.begun) == 1


def test_an_answer_without_a_verdict_says_nothing_of_the_rule() -> None:
    judge = Watched(lambda case: None if case.case_id == "c0" else 4)
    results = many(judge, aggregation_rule="median")
    assert len(judge.begun) == 40
    assert [result.verdict for result in results].count(4) == 19


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (lambda: "PASS", "too many positional arguments"),
        (lambda case, model: "PASS", "missing a required argument: 'model'"),
        (lambda *, case: "PASS", "too many positional arguments"),
    ],
)
def test_a_function_that_cannot_take_a_case_is_refused_before_anything_is_asked(judge: Any, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        many(judge)
    assert str(refused.value) == f"judge 'judge' cannot be called with a case ({why}): let it take a case alone."


def test_a_judge_that_cannot_take_a_probe_is_refused() -> None:
    class Forgetful:
        name, identity, criteria = "forgetful", None, None

        async def judge(self) -> str:
            return "PASS"

    with pytest.raises(UsageError, match=r"judge 'forgetful' cannot be called with a probe \(too many"):
        many(Forgetful())


def test_a_type_error_inside_a_judge_is_a_failure_of_its_call() -> None:
    results = many(Watched(lambda case: len(3)))  # type: ignore[arg-type]
    assert {result.state for result in results} == {"complete"}
    assert {row.error for result in results for row in result.rows} == {"TypeError: object of type 'int' has no len()"}


@pytest.mark.parametrize("judge", [max, print, str.upper, Watched(), Watched().__call__])
def test_whatever_takes_one_argument_is_a_judge(judge: Any) -> None:
    assert FunctionJudge(function=judge).function is judge


def caused(*errors: BaseException, cause: bool = True) -> BaseException:
    """The last error raised from the one before it, and so on."""
    for inner, outer in pairwise(errors):
        if cause:
            outer.__cause__ = inner
        else:
            outer.__context__, outer.__suppress_context__ = inner, True
    return errors[-1]


class BusyError(Exception):
    status_code = 503


REFUSED = "nothing listens there: check that its server runs, and its base URL"
UNKNOWN = "there is no such host: check its base URL and the network"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (WrongKeyError(), "check its API key"),
        (caused(WrongKeyError(), ValueError("outside")), "check its API key"),
        (caused(WrongKeyError(), BusyError()), None),
        (caused(BusyError(), ValueError()), None),
        (caused(ConnectionRefusedError(), OSError(), ConnectionError()), REFUSED),
        (caused(socket.gaierror(-2, "unknown"), ConnectionError(), cause=False), UNKNOWN),
        (caused(ExceptionGroup("all", [ConnectionRefusedError(), ConnectionRefusedError()]), OSError()), REFUSED),
        (ExceptionGroup("all", [ConnectionRefusedError(), TimeoutError()]), None),
        (ConnectionResetError(), None),
        (TimeoutError(), None),
        (ValueError(), None),
    ],
)
def test_what_no_waiting_heals(error: BaseException, remedy: str | None) -> None:
    assert remedy_of(error) == remedy


def test_an_error_that_leads_back_to_itself_is_no_trap() -> None:
    error, other = ValueError(), KeyError()
    error.__context__, other.__context__ = other, error
    assert remedy_of(error) is None
