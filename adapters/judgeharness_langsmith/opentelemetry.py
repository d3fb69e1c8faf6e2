"""`OpenTelemetry`: measurements as spans; no text of a case, an answer or a prompt is in any attribute."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from dataclasses import dataclass
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from judgeharness_integrations.judging.execution.observing import Span
from judgeharness_integrations.verdictlog.row import verdict_to_json
from judgeharness_langsmith.tracing import (
    INTERRUPTED,
    by_criterion,
    failure_of,
    provider_of,
    result_facts,
    row_facts,
    step_facts,
)

_PROVIDERS = {  # as the semantic conventions for generative AI name them, where they differ from the maker's name
    "google": "gcp.gen_ai",
    "gemini": "gcp.gen_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "amazon": "aws.bedrock",
}
_TOKENS = {  # ours -> theirs, below `gen_ai.usage`; those of the provider's prompt cache are among the input tokens
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "cache_read.input_tokens",
    "cache_write_tokens": "cache_creation.input_tokens",
}


@dataclass(frozen=True)
class _Open:
    span: trace.Span
    attached: Token[Context] | None = None


class OpenTelemetry:
    """Shows every measurement as spans of OpenTelemetry.

        judge_harness                 a case: rule, repetitions, perturbations, status, consistency
        ├─ sample[none#0]             order, outcome, verdict; current while the judge runs
        │  └─ chat gpt-4o             a model the judge asks without instrumentation of its own
        └─ rewrite[paraphraser]

    Attributes are those of the semantic conventions for generative AI, and `judgeharness.*`. Verdicts and the names of
    cases, judges and criteria are told, texts are not.
    """

    def __init__(self, *, tracer_provider: TracerProvider | None = None) -> None:
        """Watch with the tracer of a provider; the global one by default."""
        self._tracer = trace.get_tracer("judgeharness", tracer_provider=tracer_provider)

    def begin(self, span: Span) -> object:
        """Begin a span; a sample or a rewrite is current until it ends."""
        if span.kind == "run":
            return None
        if span.kind == "case":  # it may end in another task: never current
            told = {"case_id": span.name, "judge": span.facts.get("judge")}
            return _Open(self._tracer.start_span("judge_harness", attributes=_attributes(told)))
        if span.kind == "model":
            return self._current(f"chat {span.name}", _request(span), kind=SpanKind.CLIENT)
        name = f"rewrite[{span.name}]" if span.kind == "rewrite" else span.name
        case = span.parent.tokens.get(id(self)) if span.parent is not None else None
        below = trace.set_span_in_context(case.span) if isinstance(case, _Open) else None
        return self._current(name, _attributes(step_facts(span)), context=below)

    def end(self, span: Span) -> None:
        """End the span with what came of it."""
        opened = span.tokens.get(id(self))
        if isinstance(opened, _Open):
            if opened.attached is not None:
                contexts.detach(opened.attached)
            {"case": _end_case, "model": _end_model}.get(span.kind, _end_step)(opened.span, span)
            opened.span.end()

    def _current(self, name: str, attributes: Mapping[str, Any], **options: Any) -> _Open:
        begun = self._tracer.start_span(name, attributes=attributes, **options)
        return _Open(begun, contexts.attach(trace.set_span_in_context(begun)))


def _end_case(begun: trace.Span, span: Span) -> None:
    if (result := span.outcome.get("result")) is None:
        _fail(begun, INTERRUPTED)
    else:
        verdict = by_criterion({name: verdict_to_json(one.verdict) for name, one in result.criteria.items()})
        begun.set_attributes(_attributes({**result_facts(result), "verdict": verdict}))


def _end_step(begun: trace.Span, span: Span) -> None:
    rows = span.outcome.get("rows")
    if rows is None:  # a rewrite, or a question of an adapter's own
        if span.outcome.get("error"):
            _fail(begun, span.outcome["error"])
        return
    begun.set_attributes(_attributes(row_facts(rows)))
    if not rows:
        _fail(begun, INTERRUPTED)
    elif (failed := failure_of(rows)) is not None:
        _fail(begun, failed.outcome)  # its error may quote what the judge was shown


def _end_model(begun: trace.Span, span: Span) -> None:
    outcome = span.outcome
    told = {"gen_ai.response.model": outcome.get("model")}
    told |= {f"gen_ai.usage.{theirs}": outcome.get(ours) for ours, theirs in _TOKENS.items()}
    begun.set_attributes({name: value for name, value in told.items() if value is not None})
    if outcome.get("error"):
        _fail(begun, outcome["error"])


def _request(span: Span) -> dict[str, Any]:
    provider = provider_of(span)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": span.name,
    }


def _fail(begun: trace.Span, kind: str) -> None:
    begun.set_attribute("error.type", kind)
    begun.set_status(Status(StatusCode.ERROR, kind))


def _attributes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as attributes: a mapping is one attribute a key, what is None is left out."""
    told: dict[str, Any] = {}
    for name, value in facts.items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        told |= {f"judgeharness.{key}": part for key, part in parts.items() if part is not None}
    return told
