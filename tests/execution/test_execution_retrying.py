"""Which failures are tried again, when, and how often."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations.judging.execution import retrying
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.retrying import (
    Budget,
    BudgetExhausted,
    is_transient,
    retry,
    retry_after_s,
)
from judgeharness_integrations.testing import ScriptedJudge

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


class HttpError(Exception):
    """What HTTP clients raise: a status, and a response with headers."""

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = SimpleNamespace(headers=headers or {}, status_code=status)


class AiohttpError(Exception):
    """aiohttp's: `status` and `headers`, and a `code` that warns when it is read."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status
        self.headers = {"Retry-After": "2"}

    @property
    def code(self) -> int:
        raise DeprecationWarning("code is deprecated")


class OnlyResponseError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.response = SimpleNamespace(status_code=status)


class CodeError(Exception):
    def __init__(self, code: object) -> None:
        super().__init__(code)
        self.code = code


class OutOfMoneyError(HttpError):
    """A 429 that no waiting mends."""

    code = "insufficient_quota"


class APIConnectionError(Exception):
    """A client's own name for a lost connection."""


class ThrottlingException(Exception):  # noqa: N818 - as a cloud names it
    """A client's own name for a rate limit."""


class ReadTimeout(Exception):  # noqa: N818 - as httpx names it
    """A client's own name for a timeout."""


TRANSIENT = [
    *(HttpError(status) for status in (408, 409, 425, 429, 500, 502, 503, 529)),
    AiohttpError(429),
    OnlyResponseError(503),
    CodeError(504),
    TimeoutError("slow"),
    ConnectionResetError("gone"),
    APIConnectionError(),
    ThrottlingException(),
    ReadTimeout(),
    RuntimeError("Event loop is closed"),
    RuntimeError("<Lock> is bound to a different event loop"),
]
FINAL = [
    *(HttpError(status) for status in (400, 401, 403, 404, 422)),
    AiohttpError(400),
    OutOfMoneyError(429),
    CodeError("invalid_request"),
    ValueError("Event loop is closed"),
    RuntimeError("something else"),
    KeyError("answer"),
]


@pytest.mark.parametrize("error", TRANSIENT, ids=repr)
def test_errors_worth_another_attempt(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize("error", FINAL, ids=repr)
def test_errors_that_stay_what_they_are(error: Exception) -> None:
    assert not is_transient(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"Retry-After-Ms": "1500", "Retry-After": "7"}, 1.5),
        ({"Retry-After-Ms": "nan", "Retry-After": "7"}, 7.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"Retry-After": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0.0),
        ({"Retry-After": "Sun, 01 Nov 2026 12:00:30 -0000"}, 30.0),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(HttpError(429, headers), now=NOW) == seconds


def test_headers_may_stand_on_the_error_itself_or_be_none_at_all() -> None:
    assert retry_after_s(AiohttpError(429)) == 2.0
    odd = ValueError()
    odd.headers = "not a mapping"  # type: ignore[attr-defined]
    assert retry_after_s(odd) is None


def test_a_date_is_compared_with_the_clock() -> None:
    ahead = datetime.now(UTC) + timedelta(seconds=50)
    waited = retry_after_s(HttpError(429, {"Retry-After": format_datetime(ahead, usegmt=True)}))
    assert waited is not None
    assert 40 < waited <= 50


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Notes how long a retry would have slept, and does not sleep."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(retrying, "asyncio", SimpleNamespace(sleep=sleep))
    return slept


def flaky(*errors: Exception) -> Callable[[], object]:
    left = list(errors)

    async def call() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return call


def attempted(call: Callable[[], object], budget: Budget | None = None, **policy: object) -> tuple[object, int]:
    return asyncio.run(CallPolicy(**policy).attempt(call, budget or Budget()))  # type: ignore[arg-type]


def test_the_server_decides_how_long_to_wait_also_after_the_first_failure(waits: list[float]) -> None:
    errors = [HttpError(429, {"Retry-After": "3"}), HttpError(503, {"Retry-After-Ms": "20"}), HttpError(500)]
    assert attempted(flaky(*errors)) == ("answer", 4)
    assert waits[:2] == [3.0, 0.02]
    assert 0 <= waits[2] <= 2


def test_waits_grow_with_jitter_and_have_an_end(waits: list[float]) -> None:
    answer, attempts = attempted(flaky(*(HttpError(500) for _ in range(12))), max_attempts=13)
    assert (answer, attempts) == ("answer", 13)
    assert all(wait <= min(30, 0.5 * 2**number) for number, wait in enumerate(waits))
    assert len(set(waits)) == 12


def test_a_server_cannot_ask_for_hours(waits: list[float]) -> None:
    attempted(flaky(HttpError(429, {"Retry-After": "86400"})))
    assert waits == [300.0]


def test_the_last_error_is_returned_when_attempts_are_used_up(waits: list[float]) -> None:
    last = HttpError(502)
    assert attempted(flaky(HttpError(500), HttpError(501), last), max_attempts=3) == (last, 3)
    assert len(waits) == 2


def test_an_error_that_is_not_transient_ends_the_retries(waits: list[float]) -> None:
    final = ValueError("no")
    assert attempted(flaky(HttpError(500), final)) == (final, 2)
    assert attempted(flaky(final := ValueError("no"))) == (final, 1)
    assert len(waits) == 1


def test_one_attempt_is_one_attempt(waits: list[float]) -> None:
    error = HttpError(500)
    assert attempted(flaky(error), max_attempts=1) == (error, 1)
    assert waits == []


def test_a_call_whose_next_attempt_the_budget_does_not_allow_has_no_end(waits: list[float]) -> None:
    budget = Budget(max_calls=2)
    with pytest.raises(BudgetExhausted, match="max_calls=2 reached"):
        attempted(flaky(HttpError(500), HttpError(502), HttpError(503)), budget)
    assert (budget.spent, budget.exhausted) == (2, True)
    with pytest.raises(BudgetExhausted):
        attempted(flaky(HttpError(500)), Budget(max_calls=1), transient=lambda _: True)
    assert len(waits) == 3


def test_retry_raises_what_the_last_attempt_raised(waits: list[float]) -> None:
    with pytest.raises(HttpError, match="502"):
        asyncio.run(retry(flaky(HttpError(502)), first_error=HttpError(500), attempts_left=1))


def test_an_attempt_has_a_deadline() -> None:
    async def slow() -> str:
        await asyncio.sleep(30)
        return "late"

    answer, attempts = attempted(slow, timeout_s=0.01, max_attempts=1)
    assert isinstance(answer, TimeoutError)
    assert (str(answer), attempts) == ("no answer within 0.01 s", 1)


def test_a_timeout_of_the_judges_own_keeps_its_words() -> None:
    answer, _ = attempted(flaky(TimeoutError("read timeout")), max_attempts=1)
    assert str(answer) == "read timeout"


def test_without_a_timeout_there_is_no_deadline() -> None:
    assert attempted(flaky(), timeout_s=None) == ("answer", 1)


@pytest.mark.parametrize("ended_by", [asyncio.CancelledError("lost"), SystemExit(3)], ids=repr)
def test_a_call_that_ends_itself_is_a_failed_call(ended_by: BaseException) -> None:
    async def call() -> str:
        raise ended_by

    answer, attempts = attempted(call)
    assert isinstance(answer, RuntimeError)
    assert type(ended_by).__name__ in str(answer)
    assert (answer.__cause__, attempts) == (ended_by, 1)


def evaluated(judge: object, repetitions: int = 1, **options: object) -> HarnessResult:
    harness = JudgeHarness(
        perturbations=["none"], repetitions=repetitions, aggregation_rule="majority", max_concurrency=1, **options
    )
    return harness.evaluate(judge, "case")


def test_attempts_are_counted_on_the_rows(waits: list[float]) -> None:
    script = [HttpError(429), "PASS", HttpError(500), HttpError(500), HttpError(500), ValueError("no"), "PASS"]
    result = evaluated(ScriptedJudge(script), 4, max_attempts=3)
    assert [(row.outcome, row.attempts) for row in result.rows] == [("ok", 2), ("error", 3), ("error", 1), ("ok", 1)]
    assert [row.error for row in result.rows] == [None, "HttpError: status 500", "ValueError: no", None]
    assert (result.usage.calls, result.usage.attempts) == (4, 7)
    assert len(waits) == 3


def test_a_timed_out_judge_is_asked_again() -> None:
    calls = []

    async def slow_at_first(case: object) -> str:
        calls.append(case)
        if len(calls) == 1:
            await asyncio.sleep(30)
        return "PASS"

    result = evaluated(slow_at_first, timeout_s=0.05)
    assert (result.verdict, result.usage.attempts) == ("PASS", 2)


@pytest.mark.slow
def test_tenacity_is_imported_by_the_first_failure_only() -> None:
    program = """
import sys
from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.testing import ScriptedJudge
harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
harness.evaluate(ScriptedJudge(["PASS"]), "case")
harness.evaluate(ScriptedJudge([ValueError("not worth another attempt"), "PASS"]), "case")
print("tenacity" in sys.modules)
class Busy(Exception):
    status_code, headers = 503, {"Retry-After": "0"}
harness.evaluate(ScriptedJudge([Busy(), "PASS"]), "case")
print("tenacity" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stdout.split() == ["False", "True"]
    assert ran.stderr == ""
