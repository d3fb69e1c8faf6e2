"""What a private measurement keeps from LangSmith, and measurements as spans without texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from contextvars import Context, Token, copy_context
from dataclasses import dataclass, field, replace
from time import monotonic
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from langsmith import Client
from langsmith.run_helpers import get_tracing_context, trace, tracing_context
from langsmith.run_trees import RunTree
from langsmith.utils import tracing_is_enabled
from opentelemetry import context as contexts
from opentelemetry import trace as spans
from opentelemetry.context import Context as SpanContext
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.execution.observing import Span
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import model_family
from judgeharness_integrations.judging.structured import StructuredCase
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_to_json

from .versions import TESTED


def without_words(result: HarnessResult) -> HarnessResult:
    """Return the measurement without the judge's reasons, raw answers and error texts: verdicts and numbers stay."""
    rows = tuple(replace(row, reasoning=None, raw=None, error=row.error_kind) for row in result.rows)
    return remeasure(replace(result, rows=rows))


INTERRUPTED = "interrupted"


def result_facts(result: HarnessResult) -> dict[str, Any]:
    """Return what produced a measurement, and its status; `abstained` is told of a single criterion only.

    What was not measured is None.
    """
    facts = {
        "judge": result.judge,
        "judge_model": result.judge_model,
        "aggregation": result.aggregation_rule,
        "repetitions": result.repetitions,
        "perturbations": list(result.perturbations),
        "calibration_source": result.calibration_source,
        "consistency_rate": by_criterion({name: one.consistency_rate for name, one in result.criteria.items()}),
        "status": by_criterion({name: one.status for name, one in result.criteria.items()}),
    }
    return facts | ({"abstained": result.status == "abstained"} if len(result.criteria) == 1 else {})


def step_facts(span: Span) -> dict[str, Any]:
    """Return which sample a call is; a rewrite is none."""
    return {name: span.facts[name] for name in ("perturbation", "repetition", "order") if name in span.facts}


def row_facts(rows: Sequence[VerdictRow]) -> dict[str, Any]:
    """Return outcome and verdict of one call: the value of one criterion, mappings of several."""
    return {
        "outcome": by_criterion({row.criterion: row.outcome for row in rows}),
        "verdict": by_criterion({row.criterion: verdict_to_json(row.verdict) for row in rows}),
    }


def failure_of(rows: Sequence[VerdictRow]) -> VerdictRow | None:
    """Return the first row of a call that gave no verdict at all, else None."""
    return rows[0] if rows and not any(row.ok for row in rows) else None


def provider_of(span: Span) -> str:
    """Return whose model a model span is about: its maker where the name tells, else the class that asks it."""
    return model_family(span.name) or str(span.facts.get("provider", "unknown")).lower()


def by_criterion(values: Mapping[str, Any]) -> Any:
    """Return the value of the only criterion, or the mapping of several."""
    return next(iter(values.values())) if len(values) == 1 else dict(values)


_TAG = "judge-harness"
_LONGEST_HELD_S = 1.0
_TEXTS = ("input", "output", "output_b", "reference", "context")
_VALUES = ("inputs", "outputs", "reference_outputs")
_TOKENS = ("input_tokens", "output_tokens")
_CACHE_DETAILS = {"cached_input_tokens": "cache_read", "cache_write_tokens": "cache_creation"}
_PROVIDERS = {"google": "google_genai", "gemini": "google_genai"}  # as LangSmith knows them


@dataclass(kw_only=True)
class _Open:
    """A span that began: what ends with it, and its run.

    One with a `context` of its own changes nothing in the context of the task it begins or ends in.
    """

    ends: ExitStack = field(default_factory=ExitStack)
    context: Context | None = None
    run: RunTree | None = None
    case: _Open | None = None  # of a sample or rewrite, which is sent once, when it has ended, instead of twice
    held: list[RunTree] = field(default_factory=list)  # ended below this one, and not sent yet
    sent_at: float = field(default_factory=monotonic)
    ended: bool = False

    def entered(self, *managers: AbstractContextManager[Any]) -> _Open:
        """Enter the managers; the run of the last that makes one is the span's."""
        for manager in managers:
            entered = self.ends.enter_context
            self.run = (entered(manager) if self.context is None else self.context.run(entered, manager)) or self.run
        return self

    def hold(self, run: RunTree) -> None:
        """Send what has ended below: quick samples together, since each time wakes the client's threads."""
        self.held.append(run)
        if self.ended or monotonic() - self.sent_at > _LONGEST_HELD_S:
            self.send()

    def send(self) -> None:
        """Send what has ended below and was not sent yet."""
        while self.held:
            self.held.pop(0).post()
        self.sent_at = monotonic()

    def end(self) -> None:
        """Leave what was entered."""
        if self.case is not None and self.run is not None:
            self.case.hold(self.run)
        self.ended = True
        self.send()
        if self.context is None:
            self.ends.close()
        else:
            self.context.run(self.ends.close)


class LangSmithTracing:
    """Shows every measurement in LangSmith.

        judge_harness                 the case, and its result
        ├─ sample[none#0]             order, outcome, verdict; below it what the judge's framework traces
        └─ sample[position_swap#0]

    It follows LangSmith's own switches: nothing is sent while tracing is off. The run that is current where the
    harness is called, such as a `@traceable` function or an evaluator, is the parent of `judge_harness`. Where tracing
    is "local", as in `evaluate(upload_results=False)`, it is private: LangChain would upload the judge's prompts.
    Harnesses without observers get one by themselves where tracing is on.
    """

    tested = TESTED
    roots_in: Final = "langsmith"

    def __init__(
        self,
        *,
        private: bool = False,
        client: Client | None = None,
        project_name: str | None = None,
        run_ids: Mapping[str, UUID] | None = None,
    ) -> None:
        """Watch; nothing is sent yet.

        Args:
            private: post no run, and keep whatever asks the judge from posting any.
            client: who sends; LangSmith's own choice by default.
            project_name: where runs without a parent go; the current project by default.
            run_ids: case id -> the id of the `judge_harness` run of its first measurement.

        """
        self._private = private
        self._where: dict[str, Any] = {"client": client, "project_name": project_name}
        self._run_ids = dict(run_ids or {})

    @property
    def private(self) -> bool:
        """Whether nothing is posted: it was asked for, or tracing is "local"."""
        return self._private or tracing_is_enabled() == "local"

    def linked(self, run_ids: Mapping[str, UUID], *, private: bool = False) -> LangSmithTracing:
        """Return the same observer for measurements whose `judge_harness` runs get these ids."""
        return LangSmithTracing(private=private or self._private, run_ids=run_ids, **self._where)

    def as_private(self) -> LangSmithTracing:
        """Return the same observer, posting nothing and keeping whatever asks the judge from posting any."""
        return self.linked(self._run_ids, private=True)

    def begin(self, span: Span) -> object:
        """Begin a run, or keep what is inside the span from LangSmith."""
        traced = tracing_is_enabled()
        if self._private or traced == "local":
            # LangChain's tracers and langsmith's own heed this; without a parent nothing is noted on the caller's run
            untraced = tracing_context(enabled=False, parent=False)
            return _Open().entered(untraced) if span.kind in ("call", "rewrite") else None
        begin = {"case": self._case, "call": self._step, "rewrite": self._step, "model": self._model}.get(span.kind)
        return begin(span) if begin is not None and traced else None

    def end(self, span: Span) -> None:
        """End the run with what came of it."""
        opened = span.tokens.get(id(self))
        if isinstance(opened, _Open):
            if opened.run is not None:
                {"case": _end_case, "model": _end_model}.get(span.kind, _end_step)(opened.run, span)
            opened.end()

    def _case(self, span: Span) -> _Open:
        opened, run_id, tags = _Open(context=copy_context()), None, [_TAG]
        if (labels := span.facts.get("calibration")) is None:
            run_id = self._run_ids.pop(span.case_id or "", None)
        else:  # the caller's marks, an example's id among them, are about another case
            tags.append("calibration")
            opened.entered(tracing_context(**get_tracing_context() | {"metadata": {"calibration": labels}, "tags": []}))
        inputs = _inputs(span.name, span.facts.get("case"))
        return opened.entered(trace("judge_harness", inputs=inputs, tags=tags, run_id=run_id, **self._where))

    def _step(self, span: Span) -> _Open:
        """Begin a sample or a rewrite, in the context of its task: what happens inside is below it."""
        name = f"rewrite[{span.name}]" if span.kind == "rewrite" else span.name
        facts = step_facts(span)
        case = span.parent.tokens.get(id(self)) if span.parent is not None else None
        if not isinstance(case, _Open) or case.run is None:
            return _Open().entered(trace(name, metadata=facts, **self._where))
        # a rewrite begins inside the sample that needs it first, but is the case's: that sample's marks are not its own
        tags = sorted(tag for tag in case.run.tags or () if tag not in (_TAG, "calibration"))
        run = case.run.create_child(name, extra={"metadata": {**facts, "ls_method": "trace"}}, tags=tags)
        run.serialized = None  # of the same name; each part of a run costs its sender as much as a judge's short answer
        return _Open(run=run, case=case).entered(_below(run, tags, facts))

    def _model(self, span: Span) -> _Open:
        provider = provider_of(span)
        metadata = {
            "ls_provider": _PROVIDERS.get(provider, provider),
            "ls_model_name": span.name,
            "ls_model_type": "chat",
        }
        return _Open().entered(trace(span.name, "llm", metadata=metadata, **self._where))


def _below(run: RunTree, tags: list[str], metadata: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Return what makes a run the parent of all that is traced inside, with marks of its own."""
    where: dict[str, Any] = {"project_name": run.session_name, "client": run.ls_client}
    return tracing_context(enabled=True, parent=run, tags=tags, metadata=dict(metadata), **where)


def traced(harness: JudgeHarness, *, private: bool, run_ids: Mapping[str, UUID] = MappingProxyType({})) -> JudgeHarness:
    """Return the harness with exactly one LangSmith observer, its own where it has one."""
    given = harness.observers or ()
    own = next((one for one in given if isinstance(one, LangSmithTracing)), LangSmithTracing())
    others = (one for one in given if not isinstance(one, LangSmithTracing))
    return harness.watched_by(*others, own.linked(run_ids, private=private))


def _inputs(case_id: str, case: Any) -> dict[str, Any]:
    """Return the case as LangSmith shows it."""
    if not isinstance(case, AnswerCase):
        return {"case_id": case_id, "case": case}
    names = _VALUES if isinstance(case, StructuredCase) else _TEXTS
    shown = {name: getattr(case, name, None) for name in names}
    return {"case_id": case_id, **{name: value for name, value in shown.items() if value is not None}}


def _end_case(run: RunTree, span: Span) -> None:
    """End a measurement; its marks are added last, since LangSmith hands those of a parent down to its children."""
    judge, result = span.facts.get("judge"), span.outcome.get("result")
    marks = {"judge": judge, "__ls_framework": "judgeharness", "__ls_evaluator": judge, "__ls_language": "python"}
    if result is None:
        run.end(error=INTERRUPTED, metadata=marks)
    else:
        run.end(outputs=result.to_dict(), metadata=marks | result_facts(result))


def _end_step(run: RunTree, span: Span) -> None:
    rows = span.outcome.get("rows")
    if rows is None:  # a rewrite, or a question of an adapter's own
        run.end(error=span.outcome.get("error"))
        return
    if not rows:
        run.end(error=INTERRUPTED)
        return
    facts, failed = row_facts(rows), failure_of(rows)
    reasons = {row.criterion: row.reasoning for row in rows if row.reasoning}
    run.end(
        outputs={"verdict": facts["verdict"], **({"reasoning": by_criterion(reasons)} if reasons else {})},
        error=None if failed is None else failed.error or failed.outcome,
        metadata=facts,
    )


def _end_model(run: RunTree, span: Span) -> None:
    outcome = span.outcome
    tokens: dict[str, Any] = _reported(outcome, dict(zip(_TOKENS, _TOKENS, strict=True)))
    if len(tokens) > 1:
        tokens["total_tokens"] = sum(tokens.values())
    if details := _reported(outcome, _CACHE_DETAILS):  # LangSmith's own prices tell them from other input
        tokens["input_token_details"] = details
    run.end(
        outputs={"usage_metadata": tokens} if tokens else None,
        error=outcome.get("error"),
        metadata={"ls_model_name": outcome.get("model") or span.name},
    )


def _reported(outcome: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, int]:
    """Return the counts that were reported, under the names LangSmith has for them."""
    return {theirs: outcome[ours] for ours, theirs in names.items() if outcome.get(ours) is not None}


_SPAN_MAKERS = {  # as the semantic conventions for generative AI name them, where they differ from the maker's name
    "google": "gcp.gen_ai",
    "gemini": "gcp.gen_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "amazon": "aws.bedrock",
}
_SPAN_USES = {  # ours -> theirs, below `gen_ai.usage`; those of the provider's prompt cache are among the input tokens
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "cache_read.input_tokens",
    "cache_write_tokens": "cache_creation.input_tokens",
}


@dataclass(frozen=True)
class _OpenSpan:
    span: spans.Span
    attached: Token[SpanContext] | None = None


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
        self._tracer = spans.get_tracer("judgeharness", tracer_provider=tracer_provider)

    def begin(self, span: Span) -> object:
        """Begin a span; a sample or a rewrite is current until it ends."""
        if span.kind == "run":
            return None
        if span.kind == "case":  # it may end in another task: never current
            told = {"case_id": span.name, "judge": span.facts.get("judge")}
            return _OpenSpan(self._tracer.start_span("judge_harness", attributes=_attributes(told)))
        if span.kind == "model":
            return self._current(f"chat {span.name}", _request(span), kind=SpanKind.CLIENT)
        name = f"rewrite[{span.name}]" if span.kind == "rewrite" else span.name
        case = span.parent.tokens.get(id(self)) if span.parent is not None else None
        below = spans.set_span_in_context(case.span) if isinstance(case, _OpenSpan) else None
        return self._current(name, _attributes(step_facts(span)), context=below)

    def end(self, span: Span) -> None:
        """End the span with what came of it."""
        opened = span.tokens.get(id(self))
        if isinstance(opened, _OpenSpan):
            if opened.attached is not None:
                contexts.detach(opened.attached)
            {"case": _end_case_span, "model": _end_model_span}.get(span.kind, _end_step_span)(opened.span, span)
            opened.span.end()

    def _current(self, name: str, attributes: Mapping[str, Any], **options: Any) -> _OpenSpan:
        begun = self._tracer.start_span(name, attributes=attributes, **options)
        return _OpenSpan(begun, contexts.attach(spans.set_span_in_context(begun)))


def _end_case_span(begun: spans.Span, span: Span) -> None:
    if (result := span.outcome.get("result")) is None:
        _fail(begun, INTERRUPTED)
    else:
        verdict = by_criterion({name: verdict_to_json(one.verdict) for name, one in result.criteria.items()})
        begun.set_attributes(_attributes({**result_facts(result), "verdict": verdict}))


def _end_step_span(begun: spans.Span, span: Span) -> None:
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


def _end_model_span(begun: spans.Span, span: Span) -> None:
    outcome = span.outcome
    told = {"gen_ai.response.model": outcome.get("model")}
    told |= {f"gen_ai.usage.{theirs}": outcome.get(ours) for ours, theirs in _SPAN_USES.items()}
    begun.set_attributes({name: value for name, value in told.items() if value is not None})
    if outcome.get("error"):
        _fail(begun, outcome["error"])


def _request(span: Span) -> dict[str, Any]:
    provider = provider_of(span)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _SPAN_MAKERS.get(provider, provider),
        "gen_ai.request.model": span.name,
    }


def _fail(begun: spans.Span, kind: str) -> None:
    begun.set_attribute("error.type", kind)
    begun.set_status(Status(StatusCode.ERROR, kind))


def _attributes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as attributes: a mapping is one attribute a key, what is None is left out."""
    told: dict[str, Any] = {}
    for name, value in facts.items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        told |= {f"judgeharness.{key}": part for key, part in parts.items() if part is not None}
    return told
