"""How a model is set: everything that changes what it answers, as JSON and without secrets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from langchain_core.runnables import RunnableBinding
from pydantic import BaseModel

__all__ = ["model_parameters"]

_PARAMETERS = (
    *("temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "n", "logit_bias"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict", "num_ctx"),
    *("frequency_penalty", "presence_penalty", "repetition_penalty", "repeat_penalty", "stop", "stop_sequences"),
    *("reasoning_effort", "reasoning", "effort", "thinking", "thinking_budget", "thinking_level", "verbosity"),
    *("response_format", "service_tier", "safety_settings", "truncation", "use_responses_api", "openai_api_version"),
    *("extra_body", "model_kwargs"),
)
# Bound to a model, but no matter of what it answers.
_UNTOLD = frozenset({"logprobs", "top_logprobs", "stream", "stream_options", "timeout", "user"})
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


def model_parameters(model: object, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters that are set, bound arguments included, and the endpoint.

    Args:
        model: the model, maybe in bindings; the outermost binding wins.
        told: arguments a chain adds to each call; they win over all bindings.

    """
    given = dict(told or {})
    while isinstance(model, RunnableBinding):
        given = {**model.kwargs, **given}
        model = model.bound
    found = {name: getattr(model, name, None) for name in _PARAMETERS} | given
    endpoint = {"endpoint": _endpoint(model)}
    return {name: value for name, value in _plain(found | endpoint).items() if name not in _UNTOLD}


def _plain(value: Any) -> Any:
    """Return a value as JSON keeps it; None for what says nothing: secrets, clients, empty containers."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, Mapping):
        parts = {str(name): _plain(part) for name, part in value.items() if not _SECRET.search(str(name))}
        return {name: part for name, part in parts.items() if part is not None and part not in ({}, [])}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, type):
        return value.model_json_schema() if issubclass(value, BaseModel) else value.__qualname__
    if isinstance(value, str) or (isinstance(value, float) and not math.isfinite(value)):
        return _USER_IN_URL.sub("://", str(value))
    return value if isinstance(value, (bool, int, float)) else None


def _endpoint(model: object) -> str | None:
    """Return host and path of the address a model is asked at, without credentials or query; None when not known."""
    named = (getattr(model, name, None) for name in _ENDPOINTS)
    # OpenAI's client takes an address from the environment that the model itself does not hold.
    address = next((a for a in named if isinstance(a, str) and a), None) or str(
        getattr(getattr(model, "root_client", None), "base_url", "")
    )
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    shown = "" if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{port}"
    return f"{host}{shown}{parts.path.rstrip('/')}"
