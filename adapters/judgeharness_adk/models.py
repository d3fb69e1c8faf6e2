"""The judge's model as ADK resolves it (Gemini, LiteLLM, any registered `BaseLlm`), asked once a sample."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai.types import (
    AutomaticFunctionCallingConfig,
    Content,
    GenerateContentConfig,
    HttpOptions,
    HttpRetryOptions,
    Part,
)

from judgeharness_adk import _seams
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.execution.observing import model_span

__all__ = ["JudgeModel", "Reply", "config_of", "new_model"]

_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "JAILBREAK"}
)
_SILENT = frozenset({"STOP", "MAX_TOKENS", "OTHER", "FINISH_REASON_UNSPECIFIED"})  # it answered, and said nothing
_UNTOLD = frozenset({"http_options", "automatic_function_calling", "labels"})  # no matter of what it answers


class Reply(NamedTuple):
    """What a model answered: its text, or why there is none; `refused` when it would not answer."""

    text: str | None
    reason: str | None = None
    refused: bool = False
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def new_model(name: str) -> BaseLlm:
    """Return the model of a name, resolved by ADK's registry.

    Raises:
        ConfigError: ADK knows no model class for it, or the class cannot be built.

    """
    try:
        return LLMRegistry.new_llm(name)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"judge_model {name!r} cannot be made ({reason.rstrip('.')}).") from error


class JudgeModel:
    """A model and how it is asked: once, unless its configuration sets HTTP retries of its own."""

    def __init__(self, name: str, config: GenerateContentConfig | None = None) -> None:
        """Resolve the model; nothing is asked."""
        self.name = name
        self._llm = new_model(name)
        self._config = GenerateContentConfig() if config is None else config.model_copy(deep=True)
        # a judge has no tools, and google-genai warns at each request about calling them by itself
        self._config.automatic_function_calling = AutomaticFunctionCallingConfig(disable=True)
        http = self._config.http_options = self._config.http_options or HttpOptions()
        # the harness tries again itself; the clients' own attempts would multiply with its
        http.retry_options = http.retry_options or HttpRetryOptions(attempts=0)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is set that changes what it answers, as JSON and without secrets."""
        told = self._config.model_dump(mode="json", exclude_none=True, exclude=set(_UNTOLD))
        http = self._config.http_options
        endpoint = _endpoint(http.base_url if http else None)
        return told | ({"endpoint": endpoint} if endpoint else {})

    async def ask(self, prompt: str) -> Reply:
        """Return the answer to one prompt, shown to observers as a model span.

        Raises:
            Exception: whatever the model class raises.
            RuntimeError: it answered nothing at all, or with an error of its own.

        """
        request = LlmRequest(
            model=self._llm.model,
            contents=[Content(parts=[Part(text=prompt)], role="user")],
            config=self._config.model_copy(deep=True),
        )
        _seams.ask_anew(self._llm)
        with model_span(self.name, provider=type(self._llm).__name__) as outcome:
            reply = _reply(await self._answer(request))
            outcome.update(
                model=reply.model or self.name, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens
            )
        return reply

    async def _answer(self, request: LlmRequest) -> LlmResponse:
        last: LlmResponse | None = None
        async with aclosing(self._llm.generate_content_async(request)) as responses:
            async for response in responses:
                if not response.partial:
                    last = response
        if last is None:
            raise RuntimeError(f"model {self.name!r} gave no response")
        return last


def _reply(response: LlmResponse) -> Reply:
    usage = response.usage_metadata
    parts = response.content.parts if response.content else None
    text = "\n".join(part.text for part in parts or () if part.text and not part.thought) or None
    reason = None if text else _reason(response)
    if reason is not None and reason not in _REFUSALS | _SILENT:
        raise RuntimeError(f"the model answered with error {reason}: {response.error_message or 'no message'}")
    return Reply(
        text=text,
        reason=reason,
        refused=reason in _REFUSALS,
        model=response.model_version,
        input_tokens=usage.prompt_token_count if usage else None,
        output_tokens=usage.candidates_token_count if usage else None,
    )


def _reason(response: LlmResponse) -> str:
    """Return why there is no text, in the provider's words."""
    given = response.error_code or response.finish_reason or "STOP"
    return str(given.value if isinstance(given, Enum) else given)


def _endpoint(address: str | None) -> str | None:
    """Return host and path of an address, without credentials or query."""
    if not address:
        return None
    parts = urlsplit(address if "//" in address else f"//{address}")
    host = parts.netloc.rpartition("@")[2]
    return f"{host}{parts.path.rstrip('/')}" or None


def config_of(options: Mapping[str, Any]) -> GenerateContentConfig:
    """Return model options of a configuration as ADK passes them to a model.

    Raises:
        ConfigError: an option is not known, or its value not allowed.

    """
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        return GenerateContentConfig.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"model_options.{place}: {first['msg']}.") from error
