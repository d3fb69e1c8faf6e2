"""The real LangChain client of every provider the loopback server speaks for, by the provider's name.

MODELS["anthropic"](server, thinking={"type": "adaptive"}).invoke("Which is better?")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.openai_server import chat_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.language_models import BaseChatModel

    from support.provider_server import ProviderServer

__all__ = ["MODELS", "anthropic_model", "gemini_model", "responses_model"]


def responses_model(server: ProviderServer, **options: Any) -> BaseChatModel:
    """The real `ChatOpenAI` by the Responses API, without retries; `options` go to its constructor and win."""
    return chat_model(server, **{"use_responses_api": True, "model": "gpt-5.5-test", **options})


def anthropic_model(server: ProviderServer, **options: Any) -> BaseChatModel:
    """The real `ChatAnthropic`, without retries; `options` go to its constructor and win."""
    from langchain_anthropic import ChatAnthropic

    defaults = {"base_url": server.url, "api_key": "test", "model": "claude-sonnet-4-6", "max_retries": 0}
    return ChatAnthropic(**{**defaults, **options})


def gemini_model(server: ProviderServer, **options: Any) -> BaseChatModel:
    """The real `ChatGoogleGenerativeAI`, without retries; `options` go to its constructor and win."""
    from langchain_google_genai import ChatGoogleGenerativeAI

    defaults = {"base_url": server.url, "api_key": "test", "model": "gemini-3.5-flash", "max_retries": 1}
    return ChatGoogleGenerativeAI(**{**defaults, **options})


MODELS: dict[str, Callable[..., BaseChatModel]] = {
    "openai": chat_model,
    "responses": responses_model,
    "anthropic": anthropic_model,
    "gemini": gemini_model,
}
