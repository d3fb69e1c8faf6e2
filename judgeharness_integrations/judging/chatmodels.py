"""How a chat model is set, and the seam every model fits through that is asked for JSON rather than for a verdict."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from .judge import Probe, call_maybe_async
from .marks import CODE
from .parsing import object_of, only_quotes

__all__ = [
    "SEVERAL_CHOICES",
    "ChatModel",
    "Completion",
    "Ended",
    "FunctionModel",
    "NamespacedCache",
    "Prompt",
    "model_name",
    "model_parameters",
    "parsed_object",
    "single_choice",
]


SEVERAL_CHOICES = "the model is set to give several choices (n): it was asked for one, since only one is read"
_NAMES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment", "repo_id")
_PARAMETERS = (
    *("temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "n", "logit_bias"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict", "num_ctx"),
    *("frequency_penalty", "presence_penalty", "repetition_penalty", "repeat_penalty", "stop", "stop_sequences"),
    *("reasoning_effort", "reasoning", "effort", "thinking", "thinking_budget", "thinking_level", "verbosity"),
    *("response_format", "safety_settings", "truncation", "use_responses_api", "openai_api_version"),
)
# Bound to a model, but no matter of what it answers.
_PRICING = ("service_tier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "cache_control")
_UNTOLD = frozenset({"logprobs", "top_logprobs", "stream", "stream_options", "timeout", "user", *_PRICING})
_HOLDERS = ("extra_body", "model_kwargs")  # of parameters the client does not know
_ENDPOINTS = (
    *("openai_api_base", "azure_endpoint", "base_url", "anthropic_api_url", "endpoint_url", "api_base", "endpoint"),
    *("inference_server_url", "server_url"),
)
_SECRET = re.compile(
    r"(api|access|private).?key|secret|token$|authori[sz]ation|password|passwd|credential|bearer|cookie|header|query",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"://[^/@\s]+@")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def model_name(model: object) -> str | None:
    """Return the provider's name of a model; None when it has none."""
    named = (getattr(model, attribute, None) for attribute in _NAMES)
    return next((name for name in named if isinstance(name, str) and name), None)


def model_parameters(model: object, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters that are set on a model or a client, and the endpoint.

    Args:
        model: the model, or the client of its provider.
        told: arguments that are added to each call; they win.

    """
    found = {name: getattr(model, name, None) for name in (*_PARAMETERS, *_HOLDERS)} | dict(told or {})
    for name in _HOLDERS:
        if isinstance(held := found.get(name), Mapping):
            found[name] = {key: value for key, value in held.items() if key not in _PRICING}
    endpoint = {"endpoint": _endpoint(model)}
    return {name: value for name, value in _plain(found | endpoint).items() if name not in _UNTOLD}


def single_choice(model: Any) -> Any:
    """Return a model of LangChain that is asked for one choice a call: a copy where it is set to give several."""
    n = getattr(model, "n", None)
    return model.model_copy(update={"n": 1}) if isinstance(n, int) and n > 1 else model


def _plain(value: Any) -> Any:
    """Return a value as JSON keeps it; None for what says nothing: secrets, clients, empty containers."""
    if isinstance(value, type):
        schema = getattr(value, "model_json_schema", None)
        return schema() if callable(schema) else value.__qualname__
    if callable(dump := getattr(value, "model_dump", None)):
        value = dump(mode="json")
    if isinstance(value, Mapping):
        parts = {str(name): _plain(part) for name, part in value.items() if not _SECRET.search(str(name))}
        return {name: part for name, part in parts.items() if part is not None and part not in ({}, [])}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, str) or (isinstance(value, float) and not math.isfinite(value)):
        return _USER_IN_URL.sub("://", str(value))
    return value if isinstance(value, (bool, int, float)) else None


def _endpoint(model: object) -> str | None:
    """Return host and path of the address a model is asked at, without credentials or query; None when not known."""
    named = (getattr(model, name, None) for name in _ENDPOINTS)
    # OpenAI's client, whose address is a URL object, takes one from the environment that the model does not hold.
    held = getattr(getattr(model, "root_client", None), "base_url", "")
    address = next((str(a) for a in named if (isinstance(a, str) and a) or hasattr(a, "host")), str(held))
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    shown = "" if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{port}"
    return f"{host}{shown}{parts.path.rstrip('/')}"


Ended: TypeAlias = Literal["ok", "refused", "truncated"]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request: what the model is told, what it is given, and the JSON schema of what it answers.

    `step` names the request for people (`blueprints`, `grounding` ...); the model is not told. Nor is it told `sample`,
    which counts answers to the same prompt from 0, so that no cache answers two of them with one reply.
    `code` is the code of the material, which `user` tells: where the schema has a property of that name, an answer that
    is a text has to carry it.
    """

    step: str
    system: str
    user: str
    schema: Mapping[str, Any]
    sample: int = 0
    code: str | None = None

    @property
    def digest(self) -> str:
        """32 hexadecimal digits of everything the model is told."""
        told = json.dumps([self.system, self.user, self.schema], sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(told.encode(errors="surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What a model answered: its text, the JSON object it gave as structured output, and what the call took.

    `parsed` is None where the model gave text alone. Tokens are None when not reported. `cached`: a cache answered.
    Tokens of the provider's own prompt cache, and the tier that served, as `VerdictRow` has them.
    """

    text: str
    parsed: Mapping[str, Any] | None = None
    ended: Ended = "ok"
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: bool = False
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None

    @property
    def facts(self) -> Mapping[str, str]:
        """What budgets ask of an answer besides its tokens: whether a cache gave it."""
        return {"cached": "shared"} if self.cached else {}


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers prompts; `name` and `parameters` say which one, for limits, prices and the record."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What it is asked with (temperature ...), as JSON keeps it; no keys."""
        ...

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer one prompt; whatever the client raises passes through."""
        ...


@dataclass(frozen=True, kw_only=True)
class FunctionModel:
    """A plain function, sync or async, as a model: takes a `Prompt`, returns a text, a mapping or a `Completion`.

    `file` is where it stands, if that is known: an error in it then names the line.
    """

    function: Callable[[Prompt], str | Mapping[str, Any] | Completion | Awaitable[Any]]
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = field(default=None, compare=False)

    def place(self, error: Exception) -> str | None:
        """Return the line an error came from, as `my_models.py, line 12`: the last one in its file or beside it."""
        if self.file is None:
            return None
        mine = self.file.resolve().parent
        frames = [(Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
        lines = [f"{file.name}, line {line}" for file, line in frames if file.parent == mine]
        return lines[-1] if lines else None

    async def complete(self, prompt: Prompt) -> Completion:
        """Call the function."""
        said = await call_maybe_async(self.function, prompt)
        if isinstance(said, Completion):
            return said
        if isinstance(said, Mapping):
            return Completion(text=json.dumps(said, ensure_ascii=False), parsed=said, model=self.name)
        return Completion(text=str(said), model=self.name)


def parsed_object(completion: Completion, prompt: Prompt | None = None) -> Mapping[str, Any] | None:
    """Return the JSON object of an answer: its structured output, else its text as a whole or in one code fence.

    None when it is anything else, or may be a quotation: it does not carry the code that the prompt's schema asks for,
    or is nothing but a passage of what the prompt shows.
    """
    if completion.parsed is not None:
        return completion.parsed
    if prompt is None:
        return object_of(completion.text)
    if CODE in prompt.schema.get("properties", ()):
        return object_of(completion.text, code=prompt.code)
    found = object_of(completion.text)
    return None if found is None or only_quotes(completion.text, [prompt.user]) else found


def namespace_of(probe: Probe) -> str:
    """Return the name of a sample's own cache entries."""
    return f"{probe.perturbation.name}#{probe.repetition}"


class NamespacedCache:
    """The user's cache of model answers, with entries of our own in it.

    It has the methods of LangChain's `BaseCache`; adapters register it there as a virtual subclass.
    """

    def __init__(self, inner: Any, namespace: str) -> None:
        """Keep entries of this namespace apart."""
        self._inner = inner
        self._suffix = f"\njudgeharness:{namespace}"

    def lookup(self, prompt: str, llm_string: str) -> Any:
        """Look up in the namespace."""
        return self._inner.lookup(prompt, llm_string + self._suffix)

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        """Store in the namespace."""
        self._inner.update(prompt, llm_string + self._suffix, return_val)

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        """Look up in the namespace."""
        return await self._inner.alookup(prompt, llm_string + self._suffix)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Any) -> None:
        """Store in the namespace."""
        await self._inner.aupdate(prompt, llm_string + self._suffix, return_val)

    def clear(self, **kwargs: Any) -> None:
        """Clear the whole cache below."""
        self._inner.clear(**kwargs)

    async def aclear(self, **kwargs: Any) -> None:
        """Clear the whole cache below."""
        await self._inner.aclear(**kwargs)
