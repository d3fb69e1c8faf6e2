"""Which model is behind a judge, and how it is set: as JSON and without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from judgeharness_integrations.config.redacting import redacted

__all__ = ["model_name", "model_parameters"]

_NAMES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment", "repo_id")
_PARAMETERS = (
    *("temperature", "top_p", "top_k", "seed", "n", "logit_bias", "stop", "stop_sequences"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "num_ctx"),
    *("frequency_penalty", "presence_penalty", "repetition_penalty"),
    *("reasoning_effort", "reasoning", "effort", "thinking", "thinking_budget", "thinking_level", "verbosity"),
    *("service_tier", "safety_settings", "use_responses_api", "openai_api_version", "extra_body", "model_kwargs"),
)
_ENDPOINTS = ("openai_api_base", "azure_endpoint", "base_url", "anthropic_api_url", "endpoint_url", "endpoint")


def model_name(model: BaseChatModel) -> str:
    """Return the provider's name of the model; the class name when it has none."""
    named = (getattr(model, attribute, None) for attribute in _NAMES)
    return next((name for name in named if isinstance(name, str) and name), type(model).__name__)


def model_parameters(model: object) -> dict[str, Any]:
    """Return the parameters that are set on a chat model or an OpenAI client, and host and path it is asked at."""
    found = {name: getattr(model, name, None) for name in _PARAMETERS}
    parameters = {name: redacted(value) for name, value in found.items() if _says_something(value)}
    return parameters | ({"endpoint": endpoint} if (endpoint := _endpoint(model)) else {})


def _says_something(value: object) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, (str, list, tuple, Mapping)) and len(value) > 0)


def _endpoint(model: object) -> str | None:
    """Return host and path of the address, without credentials or query; None when not known."""
    named = (getattr(model, name, None) for name in _ENDPOINTS)
    client = getattr(model, "root_client", None)  # knows an address of the environment that its model does not hold
    address = next((str(a) for a in named if a), None) or str(getattr(client, "base_url", ""))
    try:
        parts = urlsplit(address)
        shown = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path.rstrip('/')}"
    except ValueError:
        return None
    return shown or None
