"""What a model sent: the one reading of an answer, whichever provider gave it and whichever client brought it.

Answers are read by their attributes: messages of LangChain, completions of OpenAI's client, responses of Google's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, Self

from judgeharness_integrations.analysis.usage import CHEAPER, known_sum, tier_name
from judgeharness_integrations.verdictlog.decoding import drafted
from judgeharness_integrations.verdictlog.row import TOKENS, Ending, ending_of

from .judge import Answer, Judgment
from .marks import unmarked
from .parsing import json_of

UNREACHABLE = "an LLM cache is active and the judge's model cannot be reached: repetitions may be one cached reply"
_LONGEST_ERROR = 2000
_GOOD = 200
# OpenAI's and LangChain's parsers raise where an answer came that they do not read: what that says of its end.
_UNREAD = {
    "LengthFinishReasonError": "length",
    "ContentFilterFinishReasonError": "content_filter",
    "OpenAIRefusalError": "refusal",
    "ModelRefusalError": "refusal",  # of any provider, from LangChain 1.7.5 on
}
_judgment = drafted(Judgment)
_MISFIT = "ValidationError"  # pydantic's, of a whole reply that is not of the schema asked for


class Tokens(NamedTuple):
    """Tokens of a request as `VerdictRow` counts them: `cached` and `cache_write` are parts of `input`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None


NO_TOKENS = Tokens()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One answer of a model and the evidence of its call.

    `text` is what it wrote, without its thoughts; `calls` are the arguments of the `tools` it called, as JSON texts, or
    as it wrote them where they are none. `finish_reason` is how the answer ended and `refusal` why the model would not
    answer, in the provider's or the model's words. `cached` is whether a cache of the client gave the answer.
    """

    text: str = ""
    calls: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    finish_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    tokens: Tokens = NO_TOKENS
    service_tier: str | None = None
    response_id: str | None = None
    cached: bool = False

    @property
    def ending(self) -> Ending:
        """How the answer ended; only a complete one may hold a verdict."""
        return "refused" if self.refusal is not None else ending_of(self.finish_reason)

    @property
    def problem(self) -> str | None:
        """Why the answer is no verdict whatever it says; None for one that came to its own end."""
        if self.ending == "complete":
            return None
        if self.ending == "refused":
            return self.refusal or f"the answer was blocked (finish reason {self.finish_reason})"
        return f"the answer did not come to its end (finish reason {self.finish_reason})"

    @property
    def raw(self) -> str | None:
        """Everything that came: text, arguments of tool calls, the words of a refusal; None for nothing."""
        if not self.calls and self.refusal is None:
            return self.text or None
        return "\n".join(filter(None, (self.text, *self.calls, self.refusal))) or None

    @property
    def usage(self) -> dict[str, int | None]:
        """The tokens by the names of a row."""
        return dict(zip(TOKENS, self.tokens, strict=True))

    def unusable(self, criterion: str) -> Answer | None:
        """Return the answer about a criterion that was cut off or refused; None where it may hold a verdict."""
        if (problem := self.problem) is None:
            return None
        return Answer(
            criterion=criterion, outcome="refused" if self.ending == "refused" else "unparsed", reasoning=problem
        )

    def rewritten(self, code: str) -> str:
        """Return the text that a rewriter was asked for between marks with this code.

        Raises:
            RuntimeError: it refused, wrote nothing, or its answer was cut off.

        """
        if self.ending == "refused":
            raise RuntimeError(f"the rewriter refused to reword a text: {self.problem}")
        if self.ending == "cut_off":
            raise RuntimeError("the rewriter's answer was cut off by the token limit: raise it, or shorten the text.")
        if not self.text:
            raise RuntimeError("the rewriter gave no text")
        return unmarked(self.text, code)

    def after(self, earlier: Iterable[ModelAnswer]) -> Self:
        """Return the answer with the tokens of the answers before it that the same call paid for."""
        every = [self.tokens, *(one.tokens for one in earlier if not one.cached)]
        if len(every) == 1:
            return self
        return replace(self, tokens=Tokens(*map(known_sum, zip(*every, strict=True))))

    def judgment(
        self, answers: Iterable[Answer], *, warnings: Iterable[str | None] = (), **facts: str | float | None
    ) -> Judgment:
        """Return what one call gave back.

        Args:
            answers: what was read, one a criterion.
            warnings: what the reader of a result is to know of the call, `UNREACHABLE` among them where it holds.
            facts: further evidence of the call (`run_id`, ...); what is None is left out.

        """
        told = [warning for warning in warnings if warning]
        facts |= {"response_id": self.response_id, "warning": "; ".join(told) or None}
        if self.cached:  # a hit among entries of our own is no copy of another sample
            facts["cached"] = "shared" if UNREACHABLE in told else "namespaced"
        return _judgment(  # in the order of the fields
            tuple(answers),
            self.raw,
            self.model,
            *self.tokens,
            self.service_tier,
            self.finish_reason,
            {name: fact for name, fact in facts.items() if fact is not None},
            None,
        )


def booked(judgment: Judgment, earlier: Sequence[ModelAnswer]) -> Judgment:
    """Return a judgment with the tokens of answers before it that the same call paid for.

    Where several tiers served, all is billed as at the standard one: a cost is never too low.
    """
    every = [tuple(getattr(judgment, name) for name in TOKENS), *(one.tokens for one in earlier)]
    facts: dict[str, Any] = dict(zip(TOKENS, map(known_sum, zip(*every, strict=True)), strict=True))
    named = {name: [*filter(None, (getattr(one, name) for one in (judgment, *earlier)))] for name in _NAMES}
    facts |= {name: next(iter(values), None) for name, values in named.items()}
    dearer = (tier for tier in named["service_tier"] if tier_name(tier) not in CHEAPER)
    facts["service_tier"] = next(dearer, facts["service_tier"])
    return replace(judgment, **facts)


_NAMES = ("model", "service_tier")


class EmptyAnswerError(ConnectionError):
    """A server answered without an answer (`choices: []`): worth another attempt; `answer` is what it billed."""

    def __init__(self, answer: ModelAnswer) -> None:
        """Keep what the reply says besides."""
        super().__init__("the reply holds no answer")
        self.answer = answer


def message_answer(message: Any, *, told: Mapping[str, Any] | None = None) -> ModelAnswer:
    """Read a message of LangChain, at once: a later hit of a cache changes the usage of the message it was cached from.

    Args:
        message: an `AIMessage`.
        told: what the generation said beside it (`generation_info`).

    """
    metadata: Mapping[str, Any] = {**(told or {}), **(getattr(message, "response_metadata", None) or {})}
    usage = getattr(message, "usage_metadata", None) or {}
    extra, called = getattr(message, "additional_kwargs", None) or {}, list(_tool_calls(message))
    return ModelAnswer(
        text=str(message.text),
        calls=tuple(arguments for _, arguments in called),
        tools=tuple(name for name, _ in called),
        finish_reason=_finish_of(metadata),
        refusal=extra.get("refusal") or _refusal_in(message.content) or _explained(metadata),
        model=metadata.get("model_name") or metadata.get("model"),
        tokens=tokens_of(usage),
        service_tier=_tier_of(metadata, usage),
        response_id=metadata.get("id") or metadata.get("response_id"),
        cached=usage.get("total_cost") == 0,
    )


def result_answer(result: Any) -> ModelAnswer:
    """Read what a model of LangChain gave back for one prompt (`LLMResult`): its last generation.

    Raises:
        EmptyAnswerError: it holds no generation.

    """
    generations = [generation for batch in result.generations for generation in batch]
    if not generations:
        raise EmptyAnswerError(_billed(getattr(result, "llm_output", None) or {}))
    last = generations[-1]
    if (message := getattr(last, "message", None)) is None:
        return ModelAnswer(text=last.text, finish_reason=_finish_of(getattr(last, "generation_info", None) or {}))
    return message_answer(message, told=getattr(last, "generation_info", None))


def completion_answer(completion: Any) -> ModelAnswer:
    """Read a chat completion of OpenAI's client, or the JSON of one.

    Raises:
        EmptyAnswerError: it has no choices.

    """
    said = _Record(completion)
    told = {name: said.first(name) for name in ("model", "id", "service_tier")}
    choices = said.first("choices")
    if not choices:
        raise EmptyAnswerError(_billed({**told, "token_usage": said.first("usage")}))
    choice = _Record(choices[0])
    message = _Record(choice.first("message"))
    called = [_Record(_Record(call).first("function")) for call in message.first("tool_calls") or ()]
    return ModelAnswer(
        text=message.first("content") or "",
        calls=tuple(str(call.first("arguments") or "") for call in called),
        tools=tuple(str(call.first("name") or "") for call in called),
        finish_reason=_word(choice.first("finish_reason")),
        refusal=message.first("refusal"),
        model=told["model"],
        tokens=tokens_of(said.first("usage")),
        service_tier=told["service_tier"],
        response_id=told["id"],
    )


def answer_behind(error: BaseException) -> ModelAnswer | None:
    """Return the answer that a client's error of reading it holds; None for an error of the call itself."""
    if isinstance(error, EmptyAnswerError):
        return error.answer
    names = {kind.__name__ for kind in type(error).__mro__}
    if not names & {*_UNREAD, _MISFIT}:
        return None
    held = getattr(error, "completion", None) or _body(getattr(error, "response", None))
    if held is not None:
        return completion_answer(held)
    if _MISFIT in names:
        return None
    said = error_text(error)
    reason = next(_UNREAD[name] for name in _UNREAD if name in names)
    return ModelAnswer(refusal=said or "refused") if reason == "refusal" else ModelAnswer(finish_reason=reason)


def error_text(error: BaseException) -> str:
    """Return what an error of a client says, at a length for a row and without LangChain's link."""
    return str(error).partition("\nFor troubleshooting")[0][:_LONGEST_ERROR]


def _body(response: Any) -> Any | None:
    """Return the JSON of a reply that went well; None where there is none."""
    if getattr(response, "status_code", None) != _GOOD:
        return None
    found = json_of(response.text)
    return found if isinstance(found, Mapping) and "choices" in found else None


def without_parser(structured: Any) -> Any | None:
    """Return the model of LangChain inside its runnable for structured output with `include_raw`; None if hidden.

    It is bound to the schema as its own client binds it. The client's parser, which stands behind it, reads an object
    out of the midst of a text, completes one that was cut off, and takes quadratic time where there is none.
    """
    return getattr(getattr(structured, "first", None), "steps__", {}).get("raw")


def tokens_of(usage: Any) -> Tokens:
    """Return what a provider or a client says of tokens, in whichever of their words."""
    told = _Record(usage)
    if (details := told.first("input_token_details", "prompt_tokens_details", "input_tokens_details")) is not None:
        read, found = told.first("input_tokens", "prompt_tokens"), _Record(details)
        cached = found.total("cache_read", "cached_tokens")
        # Anthropic's are counted by how long they are kept, in some versions of its client beside their sum
        written = (
            found.total("cache_creation", "cache_write_tokens"),
            found.total("_5m_input_tokens", "_1h_input_tokens"),
        )
        most = max((count for count in written if count is not None), default=None)
        return Tokens(read, told.first("output_tokens", "completion_tokens"), cached, most)
    read, total = told.first("prompt_token_count"), told.first("total_token_count")
    parts = known_sum(told.first(name) for name in ("candidates_token_count", "thoughts_token_count"))
    if read is not None or parts is not None:  # Google's; ADK's models differ in whether candidates hold the thoughts
        output = parts if read is None or total is None else total - read
        return Tokens(read, output, told.first("cached_content_token_count"))
    read, written = told.first("input_tokens", "prompt_tokens"), told.first("cache_creation_input_tokens")
    if (cached := told.first("cache_read_input_tokens")) is not None or written is not None:
        read = known_sum((read, cached, written))  # Anthropic's, which counts them beside the others
    return Tokens(read, told.first("output_tokens", "completion_tokens"), cached, written)


class _Record:
    """A record of a client, a mapping or an object, read by name; nothing where there is none."""

    def __init__(self, said: Any) -> None:
        self.said = said

    def _get(self, name: str) -> Any:
        return self.said.get(name) if isinstance(self.said, Mapping) else getattr(self.said, name, None)

    def first(self, *names: str) -> Any:
        """Return the first of some entries that is there."""
        return next((value for value in map(self._get, names) if value is not None), None)

    def total(self, *endings: str) -> int | None:
        """Return the sum of the entries that end so; those of a tier begin with its name (`flex_cache_read`)."""
        names = self.said if isinstance(self.said, Mapping) else endings
        return known_sum(self._get(name) for name in names if name.endswith(endings))


def _billed(told: Mapping[str, Any]) -> ModelAnswer:
    return ModelAnswer(
        model=told.get("model_name") or told.get("model"),
        tokens=tokens_of(told.get("token_usage")),
        service_tier=told.get("service_tier"),
        response_id=told.get("id"),
    )


def _tool_calls(message: Any) -> Iterator[tuple[str, str]]:
    for call in getattr(message, "tool_calls", None) or ():
        yield str(call["name"]), json.dumps(call["args"], ensure_ascii=False)
    for call in getattr(message, "invalid_tool_calls", None) or ():
        yield str(call.get("name") or ""), str(call.get("args") or "")


def _finish_of(metadata: Mapping[str, Any]) -> str | None:
    """Return how an answer ended: why a prompt was blocked or an answer is incomplete, else the finish reason."""
    blocked = (metadata.get("prompt_feedback") or {}).get("block_reason")
    incomplete = (metadata.get("incomplete_details") or {}).get("reason")
    words = (metadata.get(name) for name in ("finish_reason", "stop_reason", "done_reason"))
    status = (
        metadata.get("status") if metadata.get("object") == "response" or "incomplete_details" in metadata else None
    )
    given = (_word(word) for word in (blocked or None, incomplete, *words, status))
    return next(filter(None, given), None)


def _word(reason: object) -> str | None:
    """Return a provider's word, which may be an enumeration's."""
    if isinstance(reason, Enum):
        reason = reason.name if isinstance(reason.value, int) else reason.value
    return _once(str(reason)) if reason else None


def _once(word: str) -> str:
    """Return a word that was joined to itself: LangChain adds up the words of the chunks of a stream."""
    half, odd = divmod(len(word), 2)
    return word[:half] if word and not odd and word[:half] == word[half:] else word


def _refusal_in(content: object) -> str | None:
    """Return the words of a refusal that stands among the blocks of an answer."""
    blocks = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    refused = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "refusal"]
    return str(refused[0].get("refusal") or "refused") if refused else None


def _explained(metadata: Mapping[str, Any]) -> str | None:
    """Return why Anthropic's model refused, where it says so."""
    refused = ending_of(metadata.get("stop_reason")) == "refused"
    return _Record(metadata.get("stop_details")).first("explanation") if refused else None


def _tier_of(metadata: Mapping[str, Any], usage: Mapping[str, Any]) -> str | None:
    spent = metadata.get("usage") or metadata.get("token_usage") or {}
    tier = metadata.get("service_tier") or _Record(spent).first("service_tier") or usage.get("service_tier")
    return _once(str(tier)) if tier else None
