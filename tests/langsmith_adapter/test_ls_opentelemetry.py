"""Measurements as spans of OpenTelemetry: the tree, the attributes, and no text of a case in any of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations.judging.execution.observing import Spans, model_span
from judgeharness_integrations.judging.judge import Answer, Judgment
from judgeharness_langsmith import OpenTelemetry

SECRET = "SECRET"  # noqa: S105 - a text of a case
PAIR = PairwiseCase(case_id="pair", input=SECRET, output=f"{SECRET} one", output_b=f"{SECRET} two")


class Recorded:
    """A tracer provider and the spans it exported."""

    def __init__(self) -> None:
        self.provider, self._exporter = TracerProvider(), InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("a client's instrumentation")

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> ReadableSpan:
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def tree(self, parent: int | None = None) -> list[tuple[Any, ...]]:
        """Return `(name, children)` of every span below a span id, in order of their start."""
        below = [span for span in self.spans if (span.parent.span_id if span.parent else None) == parent]
        return [(span.name, self.tree(span.get_span_context().span_id)) for span in below]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    return Recorded()


def harness(recorded: Recorded, *perturbations: str, **options: Any) -> JudgeHarness:
    observers = [OpenTelemetry(tracer_provider=recorded.provider)]
    defaults = {"repetitions": 1, "aggregation_rule": "majority", "max_concurrency": 1, "observers": observers}
    return JudgeHarness(perturbations=perturbations or ("none",), **(defaults | options))


def client_call(recorded: Recorded) -> str:
    with recorded.tracer.start_as_current_span("POST"):
        return "A"


def test_a_measurement_is_a_tree_and_instrumented_clients_nest(recorded: Recorded) -> None:
    async def later(case: Any) -> str:
        await asyncio.sleep(0)
        return client_call(recorded)

    tree = ("judge_harness", [("sample[none#0]", [("POST", [])]), ("sample[position_swap#0]", [("POST", [])])])
    with recorded.tracer.start_as_current_span("caller") as caller:
        one = harness(recorded, "none", "position_swap")
        one.evaluate(lambda case: client_call(recorded), PAIR)
        asyncio.run(one.aevaluate(later, PAIR))
        assert get_current_span() is caller
    assert recorded.tree() == [("caller", [tree, tree])]


def test_attributes_of_a_measurement_and_of_a_sample(recorded: Recorded) -> None:
    harness(recorded, "none", "position_swap").evaluate(lambda case: "A", PAIR, "gpt-4o")
    case, swapped = recorded.named("judge_harness"), recorded.named("sample[position_swap#0]")
    assert dict(case.attributes or {}) == {
        "judgeharness.case_id": "pair",
        "judgeharness.judge": "judge",
        "judgeharness.judge_model": "gpt-4o",
        "judgeharness.aggregation": "majority",
        "judgeharness.repetitions": 1,
        "judgeharness.perturbations": ("none", "position_swap"),
        "judgeharness.consistency_rate": 0.5,
        "judgeharness.status": "abstained",
        "judgeharness.abstained": True,
        "judgeharness.verdict": "ABSTAIN",
    }
    assert dict(swapped.attributes or {}) == {
        "judgeharness.perturbation": "position_swap",
        "judgeharness.repetition": 0,
        "judgeharness.order": "swapped",
        "judgeharness.outcome": "ok",
        "judgeharness.verdict": "B",
    }
    assert {span.status.status_code for span in recorded.spans} == {StatusCode.UNSET}


def test_several_criteria_are_attributes_by_name(recorded: Recorded) -> None:
    answers = (Answer(criterion="tags", verdict=frozenset({"b", "a"})), Answer(criterion="kind", verdict="PASS"))
    case = AnswerCase(case_id="c", output=SECRET)
    harness(recorded).evaluate(lambda _: Judgment(answers=answers), case)
    told = recorded.named("judge_harness").attributes or {}
    assert (told["judgeharness.verdict.tags"], told["judgeharness.verdict.kind"]) == (("a", "b"), "PASS")
    assert told["judgeharness.status.kind"] == "decided"
    assert (recorded.named("sample[none#0]").attributes or {})["judgeharness.verdict.tags"] == ("a", "b")


def test_model_calls_follow_the_semantic_conventions(recorded: Recorded) -> None:
    async def judge(case: Any) -> str:
        with model_span("gemini-2.5-flash", provider="Gemini") as outcome:
            outcome.update(model="gemini-2.5-flash-001", input_tokens=12, output_tokens=None)
            outcome.update(cached_input_tokens=8, cache_write_tokens=3)
            client_call(recorded)
        with pytest.raises(ConnectionError), model_span("house-model", provider="LiteLlm"):
            raise ConnectionError(SECRET)
        return "A"

    harness(recorded).evaluate(judge, PAIR)
    answered, failed = recorded.named("chat gemini-2.5-flash"), recorded.named("chat house-model")
    assert (answered.kind, dict(answered.attributes or {})) == (
        SpanKind.CLIENT,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "gcp.gen_ai",
            "gen_ai.request.model": "gemini-2.5-flash",
            "gen_ai.response.model": "gemini-2.5-flash-001",
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.cache_read.input_tokens": 8,
            "gen_ai.usage.cache_creation.input_tokens": 3,
        },
    )
    assert answered.status.is_unset
    assert (failed.attributes or {})["gen_ai.provider.name"] == "litellm"
    assert (failed.attributes or {})["error.type"] == failed.status.description == "ConnectionError"
    assert recorded.tree() == [
        ("judge_harness", [("sample[none#0]", [(answered.name, [("POST", [])]), (failed.name, [])])])
    ]


def test_failed_samples_are_errors(recorded: Recorded) -> None:
    answers = iter([ValueError(SECRET), f"a long {SECRET}\nin two lines", "A"])

    def judge(case: Any) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    harness(recorded, repetitions=3, min_valid=1).evaluate(judge, PAIR)
    raised, unread, fine = (recorded.named(f"sample[none#{number}]") for number in range(3))
    assert (raised.status.status_code, raised.status.description) == (StatusCode.ERROR, "error")
    assert (unread.status.status_code, unread.status.description) == (StatusCode.ERROR, "unparsed")
    assert (raised.attributes or {})["error.type"] == "error"
    assert fine.status.is_unset
    assert recorded.named("judge_harness").status.is_unset


def test_rewrites_are_spans_of_the_case(recorded: Recorded) -> None:
    def rewriter(text: str) -> str:
        return client_call(recorded) + text

    case = AnswerCase(case_id="c", output=SECRET)
    harness(recorded, "paraphrase", rewriter=rewriter).evaluate(lambda _: "A", case)
    (name, below), *others = recorded.tree()
    assert (name, others) == ("judge_harness", [])
    assert sorted(below) == [("rewrite[rewriter]", [("POST", [])]), ("sample[paraphrase#0]", [])]


def test_a_rewrite_that_failed_is_an_error(recorded: Recorded) -> None:
    def rewriter(text: str) -> str:
        raise ValueError(SECRET + text)

    harness(recorded, "paraphrase", rewriter=rewriter).evaluate(lambda _: "A", AnswerCase(case_id="c", output="a"))
    failed = recorded.named("rewrite[rewriter]").status
    assert (failed.status_code, failed.description) == (StatusCode.ERROR, "ValueError")


def test_no_text_of_a_case_is_told(recorded: Recorded) -> None:
    async def judge(case: PairwiseCase) -> Judgment:
        with model_span("gpt-4o", provider="x", prompt=SECRET) as outcome:
            outcome.update(output=SECRET)
        return Judgment(answers=(Answer(verdict="A", reasoning=SECRET),), raw=SECRET)

    harness(recorded, "none", "paraphrase", rewriter=lambda text: text + "!").evaluate(judge, PAIR)
    spans = recorded.spans
    assert len(spans) == 7  # the case, two samples, two models, two rewritten answers
    assert SECRET not in "".join(span.to_json() for span in spans)


def test_cancelling_ends_every_span(recorded: Recorded) -> None:
    async def cancelled() -> None:
        started = asyncio.Event()

        async def judge(case: Any) -> str:
            started.set()
            await asyncio.sleep(60)
            return "A"

        task = asyncio.ensure_future(harness(recorded).aevaluate(judge, PAIR))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [(span.name, span.status.description) for span in recorded.spans] == [
        ("judge_harness", "interrupted"),
        ("sample[none#0]", "interrupted"),
    ]


def test_a_call_outside_any_case_is_below_what_is_current(recorded: Recorded) -> None:
    with recorded.tracer.start_as_current_span("caller"):
        spans = Spans([OpenTelemetry(tracer_provider=recorded.provider)])
        with spans.around("run", "j"), spans.around("call", "prepare[c]", case_id="c"):
            client_call(recorded)
    assert recorded.tree() == [("caller", [("prepare[c]", [("POST", [])])])]
