"""The application: reads pages, takes labels, and lets in one person, with the token of this run."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from judgeharness_integrations._errors import JudgeHarnessError, NotInstalledError, UsageError
from judgeharness_integrations.reporting.html.frame import script

from .pages import FormError, Pages, Selection, Shown, posted_form, read_label

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .source import AuditSource, Item

_METHODS: Final = "Pages are read, labels are posted."
_MESSAGES: Final = {404: "There is no such page.", 405: _METHODS}
_NAMES: Final = ("127.0.0.1", "localhost")
_READING: Final = ("GET", "HEAD")
_LONGEST_COOKIE = 12 * 60 * 60  # seconds: a working day
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def audit_app(source: AuditSource, *, token: str, once: str | None = None) -> Starlette:
    """Return the page as an ASGI application.

    Args:
        source: what is labelled, by whom.
        token: whoever opens `/?token=...` with it may use the page; nobody else.
        once: another token, which is worth nothing once it was used.

    """
    site = _Site(source, token)
    return Starlette(
        routes=[
            Route("/", site.listing, methods=["GET"]),
            Route("/start", site.start, methods=["GET"]),
            Route("/item", site.item, methods=["GET"]),
            Route("/label", site.label, methods=["POST"]),
            Route("/frame.js", frame_script, methods=["GET"]),
            Mount("/frame", StaticFiles(packages=[("judgeharness_integrations.reporting.html", "assets")])),
            Mount("/assets", StaticFiles(packages=[("judgeharness_integrations.audit", "assets")])),
        ],
        middleware=[Middleware(Guard, token=token, once=once)],
        exception_handlers={
            FormError: site.refused,
            HTTPException: site.missing,
            JudgeHarnessError: site.failed,
            OSError: site.unread,
        },
    )


async def frame_script(_request: Request) -> Response:
    """Return the script of every page of the product: the theme, and that nothing is folded on paper."""
    return Response(str(script().text), media_type="text/javascript")


class _Site:
    """Handlers run one at a time in the server's loop, so that a source is called from one thread."""

    def __init__(self, source: AuditSource, token: str) -> None:
        self._source = source
        self._csrf = form_token(token)
        self._pages = Pages(source=source, csrf=self._csrf)

    async def listing(self, request: Request) -> Response:
        last = request.query_params.get("last", "")
        return HTMLResponse(self._pages.listing(self._selection(request), last=last))

    async def start(self, request: Request) -> Response:
        """Open the first item that has no label, else the list."""
        selection = self._selection(request)
        first = Shown.of(selection, self._source).first_open
        return RedirectResponse("/" if first is None else selection.address("/item", id=first.item_id), 303)

    async def item(self, request: Request) -> Response:
        params = request.query_params
        turn = params.get("turn", "")
        page = self._pages.item(
            self._item(request),
            self._selection(request),
            view=params.get("view", ""),
            turn=int(turn) if turn.isascii() and turn.isdigit() and len(turn) < 7 else None,  # noqa: PLR2004
            last=params.get("last", ""),
        )
        return HTMLResponse(page)

    async def label(self, request: Request) -> Response:
        form = await posted_form(request)
        if not same_text(form.get("csrf", [""])[0], self._csrf):
            raise FormError("This form is of another run: load the page again.", status=403)
        item, selection = self._item(request), self._selection(request)
        posted = read_label(form, self._source.answering(item.item_id))
        self._source.label(item.item_id, posted.value, posted.note)
        view = request.query_params.get("view", "")
        following = item if posted.value is None else Shown.of(selection, self._source).following(item.item_id)
        if following is None:
            return RedirectResponse(selection.address("/", last=item.item_id), 303)
        last = item.item_id if following.item_id != item.item_id else None
        address = selection.address("/item", id=following.item_id, view=view, last=last)
        return RedirectResponse(address, 303)

    async def refused(self, _request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, FormError) else 400
        return HTMLResponse(self._pages.sentence(str(error)), status)

    async def missing(self, _request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return HTMLResponse(self._pages.sentence(_MESSAGES.get(status, "This cannot be done.")), status)

    async def failed(self, _request: Request, error: Exception) -> Response:
        return HTMLResponse(self._pages.sentence(str(error)), 400 if isinstance(error, UsageError) else 503)

    async def unread(self, _request: Request, error: Exception) -> Response:
        name, why = (getattr(error, name, None) for name in ("filename", "strerror"))
        sentence = f"{name or 'A file'} cannot be read ({why or error}): put it back, and load the page again."
        return HTMLResponse(self._pages.sentence(sentence), 503)

    def _selection(self, request: Request) -> Selection:
        return Selection.of(request.query_params, self._source)

    def _item(self, request: Request) -> Item:
        wanted = request.query_params.get("id", "")
        found = next((item for item in self._source.items() if item.item_id == wanted), None)
        if found is None:
            raise FormError("There is no such item: go back to the list.", status=404)
        return found


class Guard:
    """Lets in who came with the token, and nobody from another page.

    The token in the address is exchanged for a cookie at once, so that it stands in no history but the terminal's.
    What a name of another machine points to this one (DNS rebinding) is refused by its `Host`. Requests that change
    something must come from this page: by `Origin`, or by `Sec-Fetch-Site` where a browser hides the origin; the
    application checks `form_token` besides.
    """

    def __init__(self, app: ASGIApp, *, token: str, once: str | None = None) -> None:
        """Guard an application; `once` is another token, which is worth nothing once it was used."""
        self._app = app
        self._token = token
        self._once = once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is not let in, pass on one that is."""
        if scope["type"] != "http":  # no websockets, no start and end of life
            return
        refused = self._refusal(HTTPConnection(scope), scope["method"])
        await (refused or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, request: HTTPConnection, method: str) -> Response | None:
        port = (request.scope.get("server") or ("", None))[1]
        host = request.headers.get("host", "")
        if host not in {f"{name}:{port}" for name in _NAMES}:
            return _refused("This page is only there under the address that judgeharness audit printed.")
        if method not in (*_READING, "POST"):
            return PlainTextResponse(f"{_METHODS}\n", 405)
        given = request.query_params.get("token")
        if method in _READING and given is not None:
            return self._exchange(given, port)
        if not same_text(request.cookies.get(cookie_name(port), ""), _derived(self._token, "cookie")):
            return _refused("Open the whole address that judgeharness audit printed, with its token.")
        if method == "POST" and not _from_here(request.headers, f"http://{host}"):
            return _refused("A label is taken from this page alone, not from another one.")
        return None

    def _exchange(self, given: str, port: int | None) -> Response:
        if self._once is not None and same_text(given, self._once):
            self._once = None
        elif not same_text(given, self._token):
            return _refused("This token is of another run: open the address that judgeharness audit printed last.")
        answer = RedirectResponse("/start", 303)
        answer.set_cookie(
            cookie_name(port),
            _derived(self._token, "cookie"),
            max_age=_LONGEST_COOKIE,
            httponly=True,
            samesite="lax",  # strict would keep it from who followed a link, as out of a terminal in a browser
        )
        return answer


def cookie_name(port: int | None) -> str:
    """Return the cookie's name: browsers keep the cookies of all ports of a machine together."""
    return f"judgeharness_audit_{port}"


def form_token(token: str) -> str:
    """Return what a form of the page must bring along: nobody can have it who has not read the page."""
    return _derived(token, "form")


def same_text(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))


def _derived(token: str, what: str) -> str:
    return hmac.new(token.encode(), what.encode(), hashlib.sha256).hexdigest()


def _from_here(headers: Headers, origin: str) -> bool:
    said = headers.get("origin", "null")
    # without a referrer a browser calls the origin of a form `null`, and only it can say that it is the same site
    return said == origin or (said == "null" and headers.get("sec-fetch-site") == "same-origin")


def _refused(sentence: str) -> Response:
    return PlainTextResponse(sentence + "\n", 403)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending


HOST = "127.0.0.1"
_PATIENCE_S = 2  # for requests that are under way when the server is stopped


def check_installed() -> None:
    """Raise a NotInstalledError where the web library is missing."""
    try:
        import starlette  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise NotInstalledError("the web library of the audit page", "audit") from None


def serve(source: AuditSource, *, ready: Callable[[str, str], None], port: int = 0, token: str | None = None) -> None:
    """Serve the page until Ctrl-C, which ends it without an error.

    Args:
        source: what is labelled, by whom.
        ready: told the address to open, token included, once requests are taken, and one that opens the page a single
            time: that of a browser that is started here stands in the list of processes, which everybody can read.
        port: on loopback; 0 takes a free one.
        token: who may use the page; a new random one when None.

    Raises:
        NotInstalledError: the extra `audit` is missing.
        UsageError: the port is taken.

    """
    check_installed()
    import uvicorn  # noqa: PLC0415 - an extra

    secret, once = token or secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with _listening(port) as listener:
        config = uvicorn.Config(
            audit_app(source, token=secret, once=once),
            access_log=False,  # addresses hold ids and, once, the token
            log_config=None,
            log_level="error",
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_PATIENCE_S,
        )
        site = f"http://{HOST}:{listener.getsockname()[1]}"
        ready(f"{site}/?token={secret}", f"{site}/?token={once}")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it lets two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)  # a browser that is quicker than the server waits instead of failing
    except (OSError, OverflowError) as error:
        listener.close()
        raise UsageError(f"port {port} of {HOST} cannot be had ({error}): give another --port, or 0.") from error
    return listener
