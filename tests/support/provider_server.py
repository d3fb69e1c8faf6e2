"""A loopback server of model providers: real clients, scripted answers, every way an answer ends.

    with ProviderServer([Reply.of(Answer(text="[[A]]", ended="cut_off"))]) as server:
        MODELS["gemini"](server).invoke("Which is better?")     # from support.provider_clients
    assert server.billed[0].tokens.output == 1

It serves OpenAI's chat completions and responses, Anthropic's messages and Gemini's generateContent, each from its own
route in `ROUTES`, and OpenAI's decisions; one script answers all of them. What a provider changes next year is changed
in its `Wire`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from support.openai_replies import Reply, Request
from support.provider_wire import Answer, Billed, Tokens
from support.wire_anthropic import Anthropic
from support.wire_decisions import Decisions
from support.wire_gemini import Gemini
from support.wire_openai import OpenAIChat, OpenAIResponses

if TYPE_CHECKING:
    from types import TracebackType

    from support.provider_wire import Wire

__all__ = ["PROVIDERS", "Answer", "ProviderServer", "Reply", "Request", "Script", "Tokens", "unforceable"]

MODELS = ("gpt-4o-test", "gpt-4o-mini-test")
ROUTES: tuple[Wire, ...] = (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini())
PROVIDERS = tuple(wire.provider for wire in ROUTES)
DECISIONS = Decisions()  # which no chat model answers
_SHUTDOWN_SECONDS = 0.05  # aiohttp reads 0 as "for ever"
_LARGEST_BODY = 64 * 1024**2


Script = Callable[[Request], Reply] | Sequence[Reply]


class ProviderServer:
    """Scripted models of every provider on a free port of 127.0.0.1, in a thread and event loop of its own.

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
        self._billed: list[Billed] = []
        self._in_flight = 0
        self._in_flight_max = 0
        self._script_error: Exception | None = None
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Self:
        started: Future[tuple[str, Callable[[], object]]] = Future()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="provider-server")
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
    def billed(self) -> list[Billed]:
        """What was billed so far: every answer sent that has a usage. Who left before pays nothing."""
        with self._lock:
            return list(self._billed)

    def bill(self) -> Tokens:
        """All that was billed."""
        kinds = ("input", "output", "cached", "written", "reasoning")
        billed = [one.tokens for one in self.billed]
        return Tokens(**{kind: sum(getattr(tokens, kind) for tokens in billed) for kind in kinds})

    def cost(self, prices: Mapping[tuple[str, str], Mapping[str, Fraction]]) -> Fraction:
        """The bill in money, exactly.

        Args:
            prices: The price of one million tokens of the kinds `fresh`, `cached`, `written` and `output`, by model and
                by the provider's name for the tier that served.
        """
        bill = Fraction(0)
        for one in self.billed:
            for kind, price in prices[one.model, one.tier].items():
                bill += price * getattr(one.tokens, kind) / 10**6
        return bill

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
            self._billed.clear()
            self._in_flight_max = self._in_flight

    async def _serve(self, started: Future[tuple[str, Callable[[], object]]]) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=_LARGEST_BODY)
        self._add_routes(app.router)
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

    def _add_routes(self, router: web.UrlDispatcher) -> None:
        for wire in (*ROUTES, DECISIONS):
            router.add_post(wire.path, functools.partial(self._complete, wire))
        router.add_get("/v1/models", _list_models)

    async def _complete(self, wire: Wire, http: web.Request) -> web.StreamResponse:
        with self._counted():
            try:
                body = await http.json()
            except ValueError:
                return web.json_response(wire.failure(400, "the request's body is no JSON"), status=400)
            request = self._arrive(wire, body, http)
            reply = self._reply(request)
            await asyncio.sleep(reply.delay)
            self._bill(reply.billed(request))
            return await reply.send(http, request)

    def _bill(self, billed: Billed | None) -> None:
        with self._lock:
            self._billed += [] if billed is None else [billed]

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

    def _arrive(self, wire: Wire, body: dict[str, Any], http: web.Request) -> Request:
        headers = {name.lower(): value for name, value in http.headers.items()}
        with self._lock:
            request = Request(number=len(self._requests), body=body, headers=headers, path=http.path, wire=wire)
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


def unforceable(script: Script, *, refuses: bool) -> Callable[[Request], Reply]:
    """The script of a model that cannot be forced to call a tool, as Claude 5.x.

    Args:
        script: What the model answers; give it texts, or `Reply.tool_call` where it chooses to call.
        refuses: Whether a request that forces a tool is a 400; else it is answered like any other.
    """

    def reply(request: Request) -> Reply:
        if request.forced_tool and refuses:
            return Reply.tool_not_forced()
        return script(request) if callable(script) else script[request.number % len(script)]

    return reply


async def _close_after(http: web.Request, response: web.StreamResponse) -> None:
    response.headers["Connection"] = "close"
    response.force_close()


async def _list_models(http: web.Request) -> web.Response:
    models = [{"id": name, "object": "model", "created": 0, "owned_by": "loopback"} for name in MODELS]
    return web.json_response({"object": "list", "data": models})
