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

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web
from langchain_openai import ChatOpenAI

from support.openai_replies import Reply, Request, error_body

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["OpenAIServer", "Reply", "Request", "Script", "always_first", "chat_model", "longer_wins", "shown_answers"]

_MODELS = ("gpt-4o-test", "gpt-4o-mini-test")
_SHUTDOWN_SECONDS = 0.05  # aiohttp reads 0 as "for ever"
_PAIR = re.compile(
    r"\[The Start of Assistant A's Answer\]\n(.*)\n\[The End of Assistant A's Answer\]\s+"
    r"\[The Start of Assistant B's Answer\]\n(.*)\n\[The End of Assistant B's Answer\]",
    re.DOTALL,
)


Script = Callable[[Request], Reply] | Sequence[Reply]


class OpenAIServer:
    """A scripted `/v1/chat/completions` on a free port of 127.0.0.1, in a thread and event loop of its own.

    Args:
        script: What to answer: a function of the request, or replies given in order of arrival, over and over.
            It runs in the server's thread, one request at a time. An exception it raises is answered with status 500
            and raised again when the `with` block ends.
        keep_alive: Whether connections stay open for the next request, as OpenAI's do.
    """

    def __init__(self, script: Script, *, keep_alive: bool = True) -> None:
        if not callable(script) and not script:
            raise ValueError("a script without replies answers nothing; give it at least one")
        self.url = ""
        self._script = script
        self._keep_alive = keep_alive
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._in_flight = 0
        self._in_flight_max = 0
        self._script_error: Exception | None = None
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Self:
        started: Future[tuple[str, Callable[[], object]]] = Future()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="openai-server")
        thread.start()
        self._running.callback(thread.join)
        self.url, stop = started.result(timeout=10)
        self._running.callback(stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._running.close()
        if self._script_error is not None and error is None:
            raise self._script_error

    @property
    def requests(self) -> list[Request]:
        """The requests received so far; item `i` has `number == i`."""
        with self._lock:
            return list(self._requests)

    @property
    def calls(self) -> int:
        """How many requests were received."""
        with self._lock:
            return len(self._requests)

    @property
    def in_flight_max(self) -> int:
        """The highest number of requests that were unanswered at one time."""
        with self._lock:
            return self._in_flight_max

    def reset(self) -> None:
        """Forget what was received; the next request is number 0 and gets the first reply."""
        with self._lock:
            self._requests.clear()
            self._in_flight_max = self._in_flight

    async def _serve(self, started: Future[tuple[str, Callable[[], object]]]) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", _list_models)
        if not self._keep_alive:
            app.on_response_prepare.append(_close_after)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            started.set_result((f"http://{host}:{port}", lambda: loop.call_soon_threadsafe(stopped.set)))
            await stopped.wait()
        except OSError as error:  # no port to be had
            started.set_exception(error)
        finally:
            await runner.cleanup()

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        with self._counted():
            try:
                body = await http.json()
            except ValueError:
                return web.json_response(error_body(400, "the request's body is no JSON"), status=400)
            request = self._arrive(body, {name.lower(): value for name, value in http.headers.items()})
            reply = self._reply(request)
            await asyncio.sleep(reply.delay)
            return await reply.send(http, request)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._in_flight += 1
            self._in_flight_max = max(self._in_flight_max, self._in_flight)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def _arrive(self, body: dict[str, Any], headers: Mapping[str, str]) -> Request:
        with self._lock:
            request = Request(number=len(self._requests), body=body, headers=headers)
            self._requests.append(request)
        return request

    def _reply(self, request: Request) -> Reply:
        if not callable(self._script):
            return self._script[request.number % len(self._script)]
        try:
            return self._script(request)
        except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
            self._script_error = self._script_error or error
            return Reply.status(500, message=f"the script raised {error!r}")


def chat_model(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    """The real `ChatOpenAI` talking to `server`, without retries; `options` go to its constructor and win."""
    defaults: dict[str, Any] = {
        "base_url": f"{server.url}/v1",
        "api_key": "test",
        "model": _MODELS[0],
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


async def _close_after(http: web.Request, response: web.StreamResponse) -> None:
    response.headers["Connection"] = "close"
    response.force_close()


async def _list_models(http: web.Request) -> web.Response:
    models = [{"id": name, "object": "model", "created": 0, "owned_by": "loopback"} for name in _MODELS]
    return web.json_response({"object": "list", "data": models})
