"""How a model is set: everything that changes what it answers, as JSON and without secrets.

Models and clients of any framework are read by their attributes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

__all__ = ["SEVERAL_CHOICES", "model_name", "model_parameters", "single_choice"]

SEVERAL_CHOICES = "the model is set to give several choices (n): it was asked for one, since only one is read"

_NAMES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment", "repo_id")
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
    found = {name: getattr(model, name, None) for name in _PARAMETERS} | dict(told or {})
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
