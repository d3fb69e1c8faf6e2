"""No secret reaches a row, a result, a span, a record or a warning; what is hashed is hashed as it came."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness, JudgeIdentity, Judgment
from judgeharness_integrations.judging.execution.observing import Span, Spans, model_span
from judgeharness_integrations.judging.execution.ray_engine.cluster import Failure
from judgeharness_integrations.judging.judge import Answer, Probe
from judgeharness_integrations.judging.recording import recording, to_file
from judgeharness_integrations.redacting import Redactor
from judgeharness_integrations.verdictlog import MemoryLog

OF_ENVIRONMENT, OF_MODEL, OF_URL, SHAPED = (
    "environment-value-0",
    "model-value-0123",
    "me:url-value-01",
    "sk-abcdef012345",
)
SECRETS = (OF_ENVIRONMENT, OF_MODEL, OF_URL, SHAPED)
LEAK = f"sent {' and '.join(SECRETS)} to https://{OF_URL}@host"
CASE = AnswerCase(case_id="c", output=f"the answer, {LEAK}", attributes={"note": LEAK}, author="gpt-4o")


class Model:
    """A chat model that holds its key."""

    def __init__(self) -> None:
        self.api_key = SecretStr(OF_MODEL)
        self.base_url = f"https://{OF_URL}@host/v1"


class LeakingJudge:
    """A judge that repeats every secret wherever it can."""

    name = "leaking"
    criteria = None
    identity = JudgeIdentity(name="leaking", model="m")

    def __init__(self, *answers: Any) -> None:
        self.model = Model()
        self._answers = list(answers)

    async def judge(self, probe: Probe) -> Judgment:
        answer = self._answers.pop(0)
        with model_span("m", provider=LEAK) as outcome:
            outcome["error"] = LEAK
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]


def leaking_judgment() -> Judgment:
    return Judgment(
        answers=(Answer(verdict="PASS", reasoning=LEAK),), raw=LEAK, model=f"m-{SHAPED}", facts={"response_id": LEAK}
    )


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_KEY", OF_ENVIRONMENT)


def measured(*answers: Any, **options: Any) -> HarnessResult:
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": len(answers), "aggregation_rule": "majority"}
    harness = JudgeHarness(**design, **{"max_attempts": 1, "max_concurrency": 1, **options})
    return harness.evaluate(LeakingJudge(*answers), CASE)


def assert_clean(text: str) -> None:
    assert not [secret for secret in SECRETS if secret in text]
    assert "[redacted]" in text


def test_no_secret_reaches_a_row_or_a_result() -> None:
    log = MemoryLog()
    result = measured(leaking_judgment(), RuntimeError(LEAK), log=log)
    answered, failed = sorted(log.rows(), key=lambda row: row.repetition)
    for text in (answered.reasoning, answered.raw, answered.model, failed.error, *answered.attributes.values()):
        if text not in {"gpt-4o", len(CASE.output), answered.attributes["text_digest"]}:
            assert_clean(str(text))
    assert answered.attributes["author"] == "gpt-4o"
    assert failed.error is not None
    assert failed.error.startswith("RuntimeError: sent [redacted] and [redacted]")
    assert (answered.case_id, answered.verdict, answered.judge) == ("c", "PASS", "leaking")
    assert not [secret for secret in SECRETS if secret in json.dumps(result.to_dict()) + result.report()]


def test_a_secret_is_taken_out_before_an_error_is_cut() -> None:
    (row,) = measured(RuntimeError("x" * 480 + OF_MODEL)).rows
    assert row.error is not None
    assert "model" not in row.error


def test_what_is_hashed_is_hashed_as_it_came() -> None:
    log = MemoryLog()
    measured(leaking_judgment(), keep="hash", log=log)
    (row,) = log.rows()
    assert row.raw == "sha256:" + hashlib.sha256(LEAK.encode()).hexdigest()


class Watching:
    """An observer that notes everything it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self, span: Span) -> None:
        self.told.append(repr(span.facts))

    def end(self, span: Span) -> None:
        self.told.append(repr((span.name, span.facts, span.outcome)))


def test_no_secret_reaches_a_span() -> None:
    watching = Watching()
    result = measured(leaking_judgment(), RuntimeError(LEAK), observers=[watching])
    assert result.rows
    assert_clean("\n".join(watching.told))
    assert "the answer, sent [redacted]" in "\n".join(watching.told)


def test_no_secret_of_a_cases_name_reaches_a_span_and_the_result_keeps_the_name() -> None:
    watching, named = Watching(), f"c {SHAPED}"
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", observers=[watching])
    result = harness.evaluate(lambda case: "PASS", AnswerCase(case_id=named, output="x"))
    assert (result.case_id, result.rows[0].case_id) == (named, named)
    assert_clean("\n".join(watching.told))


def test_an_observer_that_fails_tells_no_secret() -> None:
    class Failing(Watching):
        def begin(self, span: Span) -> None:
            raise RuntimeError(LEAK)

    with pytest.warns(RuntimeWarning, match="observer Failing failed") as caught:
        Spans([Failing()], Redactor(SECRETS)).begin("call", "c")
    assert_clean(str(caught[0].message))


def test_no_secret_reaches_a_record_of_what_was_judged(tmp_path: Path) -> None:
    with recording(to_file(tmp_path / "all.jsonl")):
        measured(leaking_judgment())
    text = (tmp_path / "all.jsonl").read_text()
    assert_clean(text)
    assert "the answer, sent [redacted]" in text


def test_no_secret_among_a_tests_parameters_reaches_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_CURRENT_TEST", f"test_x.py::test_it[{OF_ENVIRONMENT}-{SHAPED}] (call)")
    with recording(to_file(tmp_path / "all.jsonl")):
        measured(leaking_judgment())
    assert_clean(text := (tmp_path / "all.jsonl").read_text())
    assert "test_x.py::test_it[[redacted]" in text


def test_a_worker_takes_out_what_its_own_environment_holds() -> None:
    failure = Failure.of(RuntimeError("x" * 1990 + LEAK), lambda _: False, Redactor(SECRETS))
    assert "environment" not in failure.text


def test_what_a_judge_was_shown_has_its_secrets_and_its_hash() -> None:
    shown: list[str] = []

    def judge(case: AnswerCase) -> str:
        shown.append(case.output)
        return "PASS"

    JudgeHarness.single("labels").evaluate(judge, CASE)
    assert shown == [CASE.output]
