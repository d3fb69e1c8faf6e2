"""The judge's model as ADK resolves it (Gemini, LiteLLM, any registered `BaseLlm`), asked once a sample."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.genai.types import (
    AutomaticFunctionCallingConfig,
    GenerateContentConfig,
    HttpOptions,
    HttpRetryOptions,
)

from judgeharness_adk import _seams
from judgeharness_adk.replies import answer_of
from judgeharness_adk.requests import RequestTemplate
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.execution.observing import is_watched, model_span
from judgeharness_integrations.modelanswer import ModelAnswer

__all__ = ["JudgeModel", "config_of", "new_model"]

_UNTOLD = frozenset({"http_options", "automatic_function_calling", "labels"})  # no matter of what it answers


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

    def __init__(
        self, name: str, config: GenerateContentConfig | None = None, *, instance: BaseLlm | None = None
    ) -> None:
        """Resolve the model, unless it is given as an instance; nothing is asked."""
        self.name = name
        self._own = {} if instance is None else {"instance": _known_by(instance)}
        self._llm = instance or new_model(name)
        self._config = GenerateContentConfig() if config is None else config.model_copy(deep=True)
        # a judge has no tools, and google-genai warns at each request about calling them by itself
        self._config.candidate_count = None  # one is read
        self._config.automatic_function_calling = AutomaticFunctionCallingConfig(disable=True)
        http = self._config.http_options = self._config.http_options or HttpOptions()
        # the harness tries again itself; the clients' own attempts would multiply with its
        http.retry_options = http.retry_options or HttpRetryOptions(attempts=0)
        self._requests = RequestTemplate(self._config)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is set that changes what it answers, as JSON and without secrets."""
        told = self._config.model_dump(mode="json", exclude_none=True, exclude=set(_UNTOLD), fallback=_named)
        http = self._config.http_options
        endpoint = _endpoint(http.base_url if http else None)
        return told | self._own | ({"endpoint": endpoint} if endpoint else {})

    async def ask(self, prompt: str) -> ModelAnswer:
        """Return the answer to one prompt, shown to observers as a model span.

        Raises:
            Exception: whatever the model class raises.
            RuntimeError: it answered nothing at all, or with an error of its own.

        """
        request = self._requests.request(self._llm.model, prompt)
        _seams.ask_anew(self._llm)
        if not is_watched():
            return await self._answer(request)
        with model_span(self.name, provider=type(self._llm).__name__) as outcome:
            answer = await self._answer(request)
            outcome.update(model=answer.model or self.name, **answer.usage)
        return answer

    async def _answer(self, request: LlmRequest) -> ModelAnswer:
        async with aclosing(self._llm.generate_content_async(request)) as responses:
            whole = [response async for response in responses if not response.partial]
        if not whole:
            raise RuntimeError(f"model {self.name!r} gave no response")
        return answer_of(whole)


def _named(value: Any) -> str:
    """Return a stable name of what JSON cannot keep: a class or a function of the caller's."""
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _known_by(instance: BaseLlm) -> str:
    """Return the class, the model and the address of an instance; keys among what it was made with stay out of it."""
    places = dict.fromkeys(filter(None, map(_endpoint, _seams.addresses_of(instance))))
    return " at ".join((f"{_named(instance)}({instance.model})", *places))


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
