"""What a provider is asked and answers, apart from the shape it gives to either.

A scripted `Answer` says how the answer ended in words of ours; each provider's `Wire` renders it in the provider's own:
`support.wire_openai`, `support.wire_anthropic`, `support.wire_gemini`. A new shape of an answer is added there.
"""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

__all__ = ["ENDINGS", "Answer", "Billed", "Ending", "Request", "Tokens", "Wire", "content_text"]

Ending = Literal["ok", "stop_sequence", "cut_off", "context_full", "blocked", "refused", "prompt_blocked", "empty"]
ENDINGS: tuple[Ending, ...] = (
    *("ok", "stop_sequence", "cut_off", "context_full"),
    *("blocked", "refused", "prompt_blocked", "empty"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a request took, whichever way the provider counts.

    Attributes:
        input: All tokens of the prompt, those read from and written to a cache included.
        output: All tokens of the answer, those of its reasoning included.
        cached: Tokens of the prompt that a cache held.
        written: Tokens of the prompt that went into a cache.
        reasoning: Tokens of the answer spent on reasoning.
    """

    input: int
    output: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0

    @property
    def fresh(self) -> int:
        """The tokens of the prompt billed at the full price."""
        return self.input - self.cached - self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One scripted answer, for any provider.

    Attributes:
        text: The text; of a refusal, the reason given.
        arguments: What a tool is called with, a string where it is no whole JSON. Where no tool is named here and the
            request forces none, it is the answer's text.
        tool: The tool called; None calls the one the request forces.
        thinking: The reasoning shown before the answer.
        ended: Why the answer ended: "blocked" by a filter, "refused" by the model, "prompt_blocked" before the model
            was asked, "empty" in a 200 that holds no answer.
        word: The provider's word for the ending, where it is not to be the usual one.
        case: Whether that word is sent in another case than the provider's own.
        tokens: What was used; None counts a word as a token.
        tier: The service tier that served; None is the one asked for.
        response_id: The answer's id; None makes one.
        model: The model that answered; None is the one asked for.
    """

    text: str = ""
    arguments: Any = None
    tool: str | None = None
    thinking: str | None = None
    ended: Ending = "ok"
    word: str | None = None
    case: Literal["upper", "lower"] | None = None
    tokens: Tokens | None = None
    tier: str | None = None
    response_id: str | None = None
    model: str | None = None

    @property
    def shown(self) -> str:
        """The text, or the arguments as text."""
        if self.arguments is None or isinstance(self.arguments, str):
            return self.arguments or self.text
        return json.dumps(self.arguments)

    def parsed_arguments(self) -> Any:
        """The arguments where the wire has no text for them: of a call cut off, nothing."""
        if not isinstance(self.arguments, str):
            return self.arguments
        try:
            return json.loads(self.arguments)
        except ValueError:
            return {}

    def called(self, request: Request) -> str | None:
        """The tool this answer calls, if it calls one."""
        return None if self.arguments is None else self.tool or request.forced_tool

    def used(self, request: Request) -> Tokens:
        """The tokens this answer took."""
        if self.tokens is not None:
            return self.tokens
        return Tokens(input=len(request.text.split()), output=len(self.shown.split()))

    def ending(self, words: Mapping[str, str]) -> str:
        """The provider's word for the ending.

        Args:
            words: The provider's usual word for each ending; that of "ok" serves for those it has none for.
        """
        word = self.word or words.get(self.ended, words["ok"])
        return word if self.case is None else word.upper() if self.case == "upper" else word.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """What one answered request was billed for; `tier` is the provider's name for the tier that served."""

    number: int
    provider: str
    model: str
    tier: str
    tokens: Tokens


class Wire(ABC):
    """The shape of one provider's requests, answers and errors.

    Attributes:
        provider: The name under which tests ask for it.
        path: The route, in aiohttp's notation.
    """

    provider: ClassVar[str]
    path: ClassVar[str]

    def model(self, body: Mapping[str, Any], path: str) -> str:
        """The model asked for."""
        del path
        return str(body.get("model", ""))

    @abstractmethod
    def turns(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The role and the text of each message; instructions have the role "system"."""

    @abstractmethod
    def forced_tool(self, body: Mapping[str, Any]) -> str | None:
        """The name of the tool the answer must call, if the request forces one."""

    @abstractmethod
    def tier(self, body: Mapping[str, Any]) -> str:
        """The name of the tier that serves the request when the script names none."""

    @abstractmethod
    def render(self, answer: Answer, request: Request) -> tuple[int, dict[str, Any]]:
        """The status and the body that say `answer`; a request answered with 200 is billed."""

    @abstractmethod
    def failure(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        """The body sent with an HTTP error."""

    def chunks(self, document: dict[str, Any], request: Request) -> Iterator[dict[str, Any]]:
        """The answer `document` as a stream's events."""
        raise NotImplementedError(f"the server does not stream answers of {self.provider}")

    def headers(self, answer: Answer, request: Request) -> dict[str, str]:
        """The headers that say more about the answer than its body."""
        del answer, request
        return {}

    def billed(self, answer: Answer, request: Request) -> Tokens:
        """The tokens the answer to `request` is billed for."""
        return answer.used(request)


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model as it arrived.

    Attributes:
        number: Place in the order of arrival, from 0.
        body: The parsed JSON body, untouched.
        headers: The HTTP headers, names in lower case.
        path: The path of its URL.
        wire: The shape it has.
    """

    number: int
    body: dict[str, Any]
    headers: Mapping[str, str]
    path: str
    wire: Wire

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", ()))

    @property
    def model(self) -> str:
        return self.wire.model(self.body, self.path)

    @property
    def temperature(self) -> float | None:
        return self.body.get("temperature")

    @property
    def response_format(self) -> dict[str, Any] | None:
        return self.body.get("response_format")

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of the answer that is wanted: of the message, or of the tool that must be called."""
        if self.forced_tool is not None:
            return dict(self.tools[0]["function"]["parameters"])
        return ((self.response_format or {}).get("json_schema") or {}).get("schema")

    @property
    def tools(self) -> list[dict[str, Any]]:
        return list(self.body.get("tools") or ())

    @property
    def tool_choice(self) -> str | dict[str, Any] | None:
        return self.body.get("tool_choice")

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def text(self) -> str:
        """The text of all messages, joined by newlines."""
        return "\n".join(text for _, text in self.wire.turns(self.body))

    @property
    def system(self) -> str:
        """The text of the system messages."""
        return self._said_by("system", "developer")

    @property
    def user(self) -> str:
        """The text of the user's messages."""
        return self._said_by("user")

    @property
    def forced_tool(self) -> str | None:
        """The name of the tool the answer must call, if the request forces one."""
        return self.wire.forced_tool(self.body)

    def _said_by(self, *roles: str) -> str:
        return "\n".join(text for role, text in self.wire.turns(self.body) if role in roles)


def content_text(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content or ())


def new_id(prefix: str) -> str:
    """An id that no other answer has."""
    return f"{prefix}{uuid.uuid4().hex[:24]}"
