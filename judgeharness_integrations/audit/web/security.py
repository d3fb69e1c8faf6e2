"""Who may use the page: one person, with the token of this run, through a browser on this machine."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "Guard", "cookie_name", "form_token", "same_text"]

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
            return PlainTextResponse("Pages are read, labels are posted.\n", 405)
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
        answer = RedirectResponse("/", 303)
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
