"""What ADK's models make of the ends of an answer: Gemini and Claude by their own clients, and all by LiteLLM."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from support.adk_offline import isolated_adk
from support.provider_facts import TEXT, answer_that
from support.provider_server import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from support.provider_server import ProviderServer
    from support.provider_wire import Ending

    Serve = Callable[..., ProviderServer]
    Ask = Callable[[BaseLlm], LlmResponse]
    Ends = Mapping[Ending, tuple[str | None, str | None, str]]

pytestmark = pytest.mark.untraced  # of a server of the tests

# The reason it finished, the code of the error, the text without thoughts.
CUT_OFF = ("MAX_TOKENS", "MAX_TOKENS", TEXT)
ENDS: Mapping[str, Ends] = {
    "gemini": {
        "ok": ("STOP", None, TEXT),
        "cut_off": ("MAX_TOKENS", None, TEXT),
        "blocked": ("SAFETY", "SAFETY", ""),
        "refused": ("PROHIBITED_CONTENT", "PROHIBITED_CONTENT", ""),
        "prompt_blocked": (None, "PROHIBITED_CONTENT", ""),
        "empty": (None, None, ""),
    },
    "claude": {
        "ok": ("STOP", None, TEXT),
        "stop_sequence": ("STOP", None, TEXT),
        "cut_off": ("MAX_TOKENS", None, TEXT),
        "context_full": ("FINISH_REASON_UNSPECIFIED", None, TEXT),
        "blocked": ("SAFETY", None, TEXT),
        "refused": ("SAFETY", None, ""),
        "empty": ("STOP", None, ""),
    },
    "litellm openai": {
        "ok": ("STOP", None, TEXT),
        "cut_off": CUT_OFF,
        "blocked": ("SAFETY", "SAFETY", TEXT),
        "refused": ("STOP", None, ""),  # `message.refusal` is lost
    },
    "litellm anthropic": {
        "ok": ("STOP", None, TEXT),
        "cut_off": CUT_OFF,
        "context_full": ("STOP", None, TEXT),  # LiteLLM's doing: nothing tells it from an answer that ended by itself
        "blocked": ("SAFETY", "SAFETY", TEXT),
        "refused": ("SAFETY", "SAFETY", ""),
    },
    "litellm gemini": {
        "ok": ("STOP", None, TEXT),
        "cut_off": CUT_OFF,
        "blocked": ("SAFETY", "SAFETY", ""),
        "prompt_blocked": ("SAFETY", "SAFETY", ""),
        "empty": (None, None, ""),
    },
}


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("ADK_SUPPRESS_GEMINI_LITELLM_WARNINGS", "true")
    with isolated_adk(tmp_path):
        yield


def model_of(client: str, server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> BaseLlm:
    if client == "gemini":
        return Gemini(model="gemini-3.5-flash", base_url=server.url)
    if client == "claude":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        return AnthropicLlm(model="claude-sonnet-4-6")
    name, base = {
        "litellm openai": ("openai/gpt-4o-test", f"{server.url}/v1"),
        "litellm anthropic": ("anthropic/claude-sonnet-4-6", server.url),
        "litellm gemini": ("gemini/gemini-3.5-flash", f"{server.url}/v1beta"),
    }[client]
    return LiteLlm(model=name, api_base=base, api_key="test", num_retries=0)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """One loop for all: LiteLLM's logging outlives a call, and belongs to the loop it began in."""
    with asyncio.Runner() as runner:
        yield runner
        from litellm.litellm_core_utils.logging_worker import (
            GLOBAL_LOGGING_WORKER,
        )

        runner.run(GLOBAL_LOGGING_WORKER.flush())
        runner.run(GLOBAL_LOGGING_WORKER.stop())


@pytest.fixture
def asked(loop: asyncio.Runner) -> Ask:
    return lambda model: loop.run(answer_of(model))


async def answer_of(model: BaseLlm) -> LlmResponse:
    content = types.Content(role="user", parts=[types.Part(text="Which wins?")])
    request = LlmRequest(model=model.model, contents=[content], config=types.GenerateContentConfig())
    (response,) = [one async for one in model.generate_content_async(request)]
    return response


def shown(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("client", "ended"), [(client, ended) for client in ENDS for ended in ENDS[client]])
def test_the_response_says_how_the_answer_ended(
    openai_server: Serve, asked: Ask, monkeypatch: pytest.MonkeyPatch, client: str, ended: Ending
) -> None:
    server = openai_server([Reply.of(answer_that(ended))])
    response: Any = asked(model_of(client, server, monkeypatch))

    finish = response.finish_reason and response.finish_reason.value
    code = response.error_code and getattr(response.error_code, "value", response.error_code)
    assert (finish, code, shown(response)) == ENDS[client][ended]
    usage = response.usage_metadata
    assert (usage.prompt_token_count, usage.total_token_count) == (2000, 2030)
    assert len(server.billed) == 1


@pytest.mark.parametrize(
    ("client", "counted"),
    [
        ("gemini", (20, 10)),
        ("claude", (20, 10)),
        ("litellm openai", (30, 10)),
        ("litellm anthropic", (30, None)),  # counted by LiteLLM, where it sees them
        ("litellm gemini", (30, 10)),
    ],
)
def test_candidates_hold_the_thoughts_with_litellm_alone(
    openai_server: Serve,
    asked: Ask,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    counted: tuple[int, int | None],
) -> None:
    server = openai_server([Reply.of(answer_that("ok"))])
    usage: Any = asked(model_of(client, server, monkeypatch)).usage_metadata
    assert (usage.candidates_token_count, usage.thoughts_token_count) == counted
    assert (usage.cached_content_token_count, usage.total_token_count) == (1500, 2030)


def test_litellm_makes_an_error_of_no_choices_and_loses_their_tokens(
    openai_server: Serve, asked: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = openai_server([Reply.of(answer_that("empty"))])
    with pytest.raises(Exception, match="no 'choices'") as raised:
        asked(model_of("litellm openai", server, monkeypatch))
    assert raised.value.status_code == 500  # type: ignore[attr-defined]
    assert len(server.billed) == 1
