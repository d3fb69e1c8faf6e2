"""Models whose cache entries stand apart, one namespace a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.exceptions import OutputParserException
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from judgeharness_integrations.judging.answer import UNREACHABLE, EmptyAnswerError, ModelAnswer, without_parser
from judgeharness_integrations.judging.capturing import (
    Capture,
    captured,
    half_answer,
    misread,
    unread_answer,
    watched_client,
)
from judgeharness_integrations.judging.cases import AnswerCase, output_texts
from judgeharness_integrations.judging.chatmodels import SEVERAL_CHOICES, NamespacedCache, namespace_of, single_choice
from judgeharness_integrations.judging.execution.attempting import read_apart
from judgeharness_integrations.judging.execution.ownclients import own_client, own_model
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.judging.parsing import object_of
from judgeharness_integrations.judging.quotations import quoted_keys
from judgeharness_integrations.judging.threads import call_maybe_async
from judgeharness_openevals._seams import marked, outside_test_case
from judgeharness_openevals.introspecting import Introspected

BaseCache.register(NamespacedCache)


def active_cache(model: BaseChatModel | None) -> BaseCache | None:
    """Return the cache that would answer for a model, one that is not known included; None when none does."""
    own = None if model is None else model.cache
    if isinstance(own, BaseCache):
        return own
    return None if own is False else get_llm_cache()


def isolated(model: BaseChatModel, cache: BaseCache, namespace: str) -> BaseChatModel:
    """Return a copy of the model whose entries in the cache stand apart."""
    return model.model_copy(update={"cache": NamespacedCache(cache, namespace)})


_LONGEST_TEXT = 8_000  # characters; LangChain's parser takes quadratic time on a text that is no JSON


def strict_model(model: BaseChatModel) -> BaseChatModel:
    """Return a copy of the model that does not hand a long text without JSON to its own parser.

    Everything else is read as the model reads it: what is not to count is for the judge's reader to say.
    """
    copy, shaped = model.model_copy(), model.with_structured_output

    def with_structured_output(schema: Any, **options: Any) -> Any:
        if options.get("include_raw"):
            return shaped(schema, **options)
        structured: Any = shaped(schema, include_raw=True, **options)
        bound = without_parser(structured)
        if bound is None:  # a class of its own, with a reading of its own
            return shaped(schema, **options)

        def read(message: BaseMessage) -> Any:
            text = str(message.text)
            if len(text) > _LONGEST_TEXT and not getattr(message, "tool_calls", None) and object_of(text) is None:
                raise OutputParserException("the answer is not one JSON object", llm_output=text)
            found = structured.last.invoke({"raw": message})
            if found["parsing_error"] is not None:
                raise found["parsing_error"]
            return found["parsed"]

        return bound | RunnableLambda(read)

    object.__setattr__(copy, "with_structured_output", with_structured_output)  # a model takes no new attributes
    return copy


_WHILE_READING = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What came of one call: what the judge returned, or `error` where it could not read what its model said.

    `known` is whether the judge is openevals' own, which makes its score of nothing but the model's last answer;
    `doubt` why that answer gives no score by a strict reading, None when it does.
    """

    native: Any = None
    error: Exception | None = None
    said: ModelAnswer | None = None
    known: bool = False
    doubt: str | None = None
    capture: Capture
    warnings: tuple[str, ...] = ()

    def unusable(self, *, strict: bool = True) -> Answer | None:
        """Return the answer of a call that gave no score; None where what was read of it is to be kept.

        Unless `strict`, openevals' own reading counts, which also takes an object out of the midst of a text.
        """
        if self.said is not None and (self.known or self.error is not None):
            ended = self.said.unusable("")
            if ended is not None:
                return replace(ended, criterion=Answer().criterion)
        if self.error is not None:
            return misread(self.error)
        doubt = self.doubt if strict else None
        return None if doubt is None else Answer(outcome="unparsed", reasoning=doubt)

    def judgment(self, answers: tuple[Answer, ...]) -> Judgment:
        """Return the answers with the evidence of the call."""
        said = self.said or ModelAnswer()
        before = [answer for answer in self.capture.answers if answer is not self.said]
        return said.after(before).judgment(answers, warnings=self.warnings)


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Calls a judge; `details` is what it was made of, where known, `logs` that it logs its feedback all the same."""

    function: Callable[..., Any]
    details: Introspected | None
    logs: bool = False
    _variants: dict[tuple[str, ...], tuple[tuple[object, ...], Callable[..., Any]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    async def ask(
        self,
        probe: Probe,
        arguments: Mapping[str, Any],
        positional: tuple[Any, ...] = (),
        *,
        code: str | None = None,
    ) -> Asked:
        """Call the judge once; with a `code`, an answer that is a text has to carry it.

        Raises:
            Exception: the call failed; an answer that could not be read is in what is returned.

        """
        details, native, error = self.details, None, None
        cache = active_cache(None if details is None else details.model)
        function = self._for_sample(probe, cache)
        # openevals logs each sample; what a caller's own function logs is none of ours
        hidden = outside_test_case() if self.logs or details is not None else nullcontext()
        with hidden, marked(*_marks(probe)), captured() as capture:
            try:
                native = await call_maybe_async(partial(function, *positional, **arguments))
            except Exception as raised:
                if capture.empty is not None:
                    raise EmptyAnswerError(capture.empty.answer.after(capture.answers)) from raised
                said = unread_by_judge(raised, capture.last, details)
                if said is None:
                    raise
                error = raised
            else:
                said = capture.last
        known = details is not None
        doubt = await read_apart(said.text, _doubt, said, probe.case, code) if known and said is not None else None
        return Asked(
            native=native,
            error=error,
            said=said,
            known=known,
            doubt=doubt,
            capture=capture,
            warnings=tuple(self._warnings(function, said, capture, cache)),
        )

    def _warnings(
        self, function: Callable[..., Any], said: ModelAnswer | None, capture: Capture, cache: BaseCache | None
    ) -> Iterator[str]:
        """Yield what the reader of a result is to know of a call."""
        if said is None:
            return
        if function is self.function and capture.langchain and (said.cached or cache is not None):
            yield UNREACHABLE
        model = None if self.details is None else self.details.model
        if model is not None and single_choice(model) is not model:
            yield SEVERAL_CHOICES
        if self.details is None and (warning := half_answer(said)) is not None:
            yield warning

    def _for_sample(self, probe: Probe, cache: BaseCache | None) -> Callable[..., Any]:
        """Return the judge with its OpenAI client watched, with cache entries of its own, or retrying nothing."""
        details = self.details
        if details is None:
            return self.function
        if details.client is not None:
            client = own_client(details.client)
            asked = "client" if client is details.client else "own client"
            return self._variant(details, (asked,), (client,), lambda: watched_client(client))
        if details.model is None:
            return self.function
        namespace = namespace_of(probe) if cache is not None else "strict"
        model = own_model(details.model)

        def own() -> BaseChatModel:
            single: BaseChatModel = single_choice(model)
            return single if cache is None else isolated(single, cache, namespace)

        asked = "model" if model is details.model else "own model"
        return self._variant(details, (asked, namespace), (cache, model), lambda: strict_model(own()))

    def _variant(
        self, details: Introspected, name: tuple[str, ...], over: tuple[object, ...], judge: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Return the judge over another model or client, made anew where what that stands on has changed."""
        found = self._variants.get(name)
        if found is None or not all(map(is_, found[0], over)):
            found = self._variants[name] = (over, details.rebuilt(judge()))
        return found[1]


def unread_by_judge(error: Exception, seen: ModelAnswer | None, details: Introspected | None) -> ModelAnswer | None:
    """Return the answer behind an error of reading it; None when it is the call that failed."""
    if details is None:
        return unread_answer(error, seen)
    # a chat model may read the answer itself, before it is seen; whatever a client gives is seen
    return unread_answer(error, seen, _WHILE_READING, unseen=details.client is None)


def _doubt(said: ModelAnswer, case: Any, code: str | None) -> str | None:
    """Return why a text gives no score: it is no JSON object as a whole, where one inside may be a quotation.

    Nor does an object without the code that it was to carry or, where none was asked for, with values that stand in a
    quotation. A text without any brace is not what the score was read from: a model may bring a structured output of
    its own.
    """
    if len(set(said.calls)) > 1:
        return "the answer calls the tool several times, with different arguments"
    if said.calls or "{" not in said.text:
        return None
    found = object_of(said.text)
    if found is None:
        return "the answer is not one JSON object"
    if code is not None:
        return None if object_of(said.text, code=code) else "the answer does not carry the code of the case"
    quoted = quoted_keys(found, case.all_texts() if isinstance(case, AnswerCase) else output_texts(case) or ())
    return f"{' and '.join(quoted)} of the answer stands in a quotation of what was judged" if quoted else None


def _marks(probe: Probe) -> tuple[list[str], dict[str, Any]]:
    name, repetition = probe.perturbation.name, probe.repetition
    order = "swapped" if probe.perturbation.swaps else "original"
    tags = ["judge-harness", f"perturbation:{name}", f"repetition:{repetition}"]
    return tags, {"perturbation": name, "repetition": repetition, "order": order}
