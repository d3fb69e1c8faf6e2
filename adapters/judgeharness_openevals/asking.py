"""One call of a judge: outside the test case, with cache entries of its own, and what its model said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.exceptions import OutputParserException
from pydantic import ValidationError

from judgeharness_integrations.cases import output_texts
from judgeharness_integrations.execution.retrying import is_transient
from judgeharness_integrations.judging import Answer, Judgment, Probe, call_maybe_async
from judgeharness_integrations.parsing import object_of, only_quotes
from judgeharness_openevals._seams import marked, outside_test_case
from judgeharness_openevals.caching import UNREACHABLE, active_cache, isolated
from judgeharness_openevals.capturing import Capture, ModelAnswer, captured, watched_client
from judgeharness_openevals.introspecting import Introspected

__all__ = ["Asked", "Asker", "unread_answer"]

_FILTERED, _CUT_SHORT, _REFUSED = "ContentFilterFinishReasonError", "LengthFinishReasonError", "OpenAIRefusalError"
_MISREAD = (OutputParserException, ValidationError)
_WHILE_READING = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
_LONGEST = 2000


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
    warning: str | None = None

    def unusable(self, read: Sequence[Answer] = (), *, strict: bool = True) -> Answer | None:
        """Return the answer of a call that gave no score; None where what was `read` of it is to be kept.

        Unless `strict`, openevals' own reading counts, which also takes an object out of the midst of a text.
        """
        if self.error is None and (not self.known or any(answer.outcome == "ok" for answer in read)):
            doubt = self.doubt if strict else None
            return None if doubt is None else Answer(outcome="unparsed", reasoning=doubt)
        if self.said is not None and self.said.refusal is not None:
            return Answer(outcome="refused", reasoning=self.said.refusal)
        return (
            None
            if self.error is None
            else Answer(outcome="unparsed", reasoning=f"{type(self.error).__name__}: {_text(self.error)[:500]}")
        )

    def judgment(self, answers: tuple[Answer, ...]) -> Judgment:
        """Return the answers with the evidence of the call."""
        said = self.said or ModelAnswer(text="")
        cached = {"cached": "shared" if self.warning else "namespaced"} if said.cached else {}
        named = {"response_id": said.response_id, "warning": self.warning}
        return Judgment(
            answers=answers,
            raw=said.text or said.refusal,
            model=said.model,
            input_tokens=self.capture.tokens("input_tokens"),
            output_tokens=self.capture.tokens("output_tokens"),
            facts={**{name: fact for name, fact in named.items() if fact is not None}, **cached},
        )


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Calls a judge; `details` is what it was made of, where that is known."""

    function: Callable[..., Any]
    details: Introspected | None
    _variants: dict[str, tuple[object, Callable[..., Any]]] = field(default_factory=dict, compare=False, repr=False)

    async def ask(self, probe: Probe, arguments: Mapping[str, Any], positional: tuple[Any, ...] = ()) -> Asked:
        """Call the judge once.

        Raises:
            Exception: the call failed; an answer that could not be read is in what is returned.

        """
        details, native, error = self.details, None, None
        cache = active_cache(None if details is None else details.model)
        function = self._for_sample(probe, cache)
        # openevals logs each sample; what a caller's own function logs is none of ours
        hidden = nullcontext() if details is None else outside_test_case()
        with hidden, marked(*_marks(probe)), captured() as capture:
            try:
                native = await call_maybe_async(partial(function, *positional, **arguments))
            except Exception as raised:
                said = unread_answer(raised, capture.last, details)
                if said is None:
                    raise
                error = raised
            else:
                said = capture.last
        reached = function is not self.function or said is None or not said.langchain
        warning = None if reached or not (said and (said.cached or cache is not None)) else UNREACHABLE
        known = details is not None
        doubt = _doubt(said, output_texts(probe.case) or ()) if known and said is not None else None
        return Asked(native=native, error=error, said=said, known=known, doubt=doubt, capture=capture, warning=warning)

    def _for_sample(self, probe: Probe, cache: BaseCache | None) -> Callable[..., Any]:
        """Return the judge with its OpenAI client watched, with cache entries of its own, or retrying nothing."""
        details = self.details
        if details is None:
            return self.function
        if (client := details.client) is not None:
            return self._variant(details, "client", client, lambda: watched_client(client))
        if (model := details.model) is None:
            return self.function
        if cache is not None:
            namespace = f"{probe.perturbation.name}#{probe.repetition}"
            return self._variant(details, namespace, cache, lambda: isolated(model, cache, namespace))
        return self._variant(details, "made", model, lambda: model) if details.made else self.function

    def _variant(self, details: Introspected, name: str, over: object, judge: Callable[[], Any]) -> Callable[..., Any]:
        """Return the judge over another model or client, made anew where what that stands on has changed."""
        found = self._variants.get(name)
        if found is None or found[0] is not over:
            found = self._variants[name] = (over, details.rebuilt(judge()))
        return found[1]


def unread_answer(error: Exception, seen: ModelAnswer | None, details: Introspected | None) -> ModelAnswer | None:
    """Return the answer behind an error of reading it; None when it is the call that failed.

    Args:
        error: what the judge raised.
        seen: the last answer a model was seen to give; None when there was none.
        details: what the judge was made of; None for a caller's own function, whose errors may be of any making.

    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if _FILTERED in names:
        return ModelAnswer(text="", refusal="content filter")
    if _REFUSED in names:
        return seen or ModelAnswer(text="", refusal=str(error) or "refused")
    if _CUT_SHORT in names:
        return ModelAnswer(text=_text(error))
    if is_transient(error):  # the body of a reply that was garbled on its way is an error of reading, too
        return None
    if seen is not None:
        return seen if isinstance(error, _MISREAD if details is None else _WHILE_READING) else None
    # a chat model may read the answer itself, before it is seen; whatever a client gives is seen
    reads = details is not None and details.client is None
    return ModelAnswer(text=_text(error)) if reads and isinstance(error, _MISREAD) else None


def _doubt(said: ModelAnswer, judged: Sequence[str]) -> str | None:
    """Return why a text gives no score: it is no JSON object as a whole, where one inside may be a quotation.

    A text without any brace is not what the score was read from: a model may bring a structured output of its own.
    """
    if said.called or "{" not in said.text:
        return None
    if object_of(said.text) is None:
        return "the answer is not one JSON object"
    return "the answer only quotes what was judged" if only_quotes(said.text, judged) else None


def _text(error: Exception) -> str:
    return str(error).partition("\nFor troubleshooting")[0][:_LONGEST]  # without LangChain's link


def _marks(probe: Probe) -> tuple[list[str], dict[str, Any]]:
    name, repetition = probe.perturbation.name, probe.repetition
    order = "swapped" if probe.perturbation.swaps else "original"
    tags = ["judge-harness", f"perturbation:{name}", f"repetition:{repetition}"]
    return tags, {"perturbation": name, "repetition": repetition, "order": order}
