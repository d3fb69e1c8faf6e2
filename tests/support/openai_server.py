"""A loopback OpenAI-compatible server: real clients, scripted answers, every way a provider fails.

    with OpenAIServer([Reply.status(429, retry_after=0.05), Reply.text("[[A]]")]) as server:
        chat_model(server, max_retries=2).invoke("Which is better?")
    assert server.calls == 2

What the real client raises (langchain-openai 1.7 over openai 3.x, `max_retries=0`), for `invoke` and `ainvoke` alike:

| reply | raised | `status_code` | `response.headers` | `is_retryable` |
|---|---|---|---|---|
| `status(429)` | `openai.RateLimitError` | yes | yes, with the retry headers | True |
| `status(500)`, `status(503)` | `openai.InternalServerError` | yes | yes | True |
| `status(400)`, `401`, `403`, `404` | `openai.BadRequestError`, `AuthenticationError`, ... | yes | yes | False |
| `status(408)`, `409`, `422` | `openai.APIStatusError`, `ConflictError`, ... | yes | yes | no attribute |
| `timeout(s)` | `openai.APITimeoutError`, an `APIConnectionError` | no | no | True |
| `reset()`, `half_closed()`, server gone | `openai.APIConnectionError` | no | no | True |
| `garbage()` | `ValueError` | no | no | no attribute |
| `empty()`, `malformed()` | `json.JSONDecodeError`, a `ValueError` | no | yes, of a 200 | no attribute |
| `refusal()` | nothing: `additional_kwargs["refusal"]` holds the reason, `content` is "" | | | |
| `content_filter()`, `truncated()` | nothing: `response_metadata["finish_reason"]` tells | | | |

Where `is_retryable` exists the exception is langchain-openai's own subclass of the `openai` class, such as
`OpenAIRateLimitError`; it is a `langchain_core.exceptions.ModelError` too, with the `openai` exception as `__cause__`.

With a response format (`with_structured_output` by `json_schema` or `json_mode`), `truncated()` raises
`openai.LengthFinishReasonError`, `content_filter()` raises `openai.ContentFilterFinishReasonError` and `garbage()` an
`AttributeError`. `include_raw=True` catches none of these; each carries the 200 as `response`.

A model used in two `asyncio.run` calls, or two models of one URL and timeout, share pooled connections that belong to
the closed loop: every second run raises a bare `RuntimeError: Event loop is closed`, though the server has got (and
would bill) its requests. `max_retries` does not help. One loop kept alive does, and so does `keep_alive=False`.
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Any

from support.openai_replies import Reply, Request
from support.provider_server import MODELS, Script
from support.provider_server import ProviderServer as OpenAIServer  # under the name of the provider asked most

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

__all__ = ["OpenAIServer", "Reply", "Request", "Script", "always_first", "chat_model", "longer_wins", "shown_answers"]

_PAIR = re.compile(
    r"\[The Start of Assistant A's Answer\]\n(.*)\n\[The End of Assistant A's Answer\]\s+"
    r"\[The Start of Assistant B's Answer\]\n(.*)\n\[The End of Assistant B's Answer\]",
    re.DOTALL,
)


def chat_model(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    """The real `ChatOpenAI` talking to `server`, without retries; `options` go to its constructor and win."""
    from langchain_openai import ChatOpenAI

    defaults: dict[str, Any] = {
        "base_url": f"{server.url}/v1",
        "api_key": "test",
        "model": MODELS[0],
        "max_retries": 0,
        # given explicitly, so that proxies named in the environment are not asked for 127.0.0.1
        "http_socket_options": [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    }
    return ChatOpenAI(**{**defaults, **options})


def shown_answers(request: Request) -> tuple[str, str]:
    """The two answers LangChain classic's pairwise prompt shows, in the order shown.

    Raises:
        ValueError: The request is no pairwise prompt.
    """
    found = _PAIR.search(request.user)
    if found is None:
        raise ValueError(f"no pair of answers in request {request.number}: {request.user!r}")
    return found[1], found[2]


def longer_wins(request: Request) -> Reply:
    """A judge with length bias and no position bias: the longer answer wins, equal lengths tie."""
    first, second = (len(answer) for answer in shown_answers(request))
    verdict = "C" if first == second else "A" if first > second else "B"
    return Reply.text(f"Assistant A wrote {first} characters and Assistant B {second}. [[{verdict}]]")


def always_first(request: Request) -> Reply:
    """A judge with nothing but position bias: whatever is shown first wins."""
    shown_answers(request)
    return Reply.text("Assistant A answers the question directly. [[A]]")
