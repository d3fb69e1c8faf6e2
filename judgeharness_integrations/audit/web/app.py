"""The application: reads pages, takes labels, and tells what went wrong in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.audit.web.forms import FormError, posted_form, read_label
from judgeharness_integrations.audit.web.pages import Pages
from judgeharness_integrations.audit.web.security import Guard, form_token, same_text
from judgeharness_integrations.audit.web.selection import Selection, Shown

if TYPE_CHECKING:
    from starlette.requests import Request

    from judgeharness_integrations.audit.source import AuditSource, Item

__all__ = ["audit_app"]

_MESSAGES: Final = {404: "There is no such page.", 405: "Pages are read, labels are posted."}


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
            Route("/item", site.item, methods=["GET"]),
            Route("/label", site.label, methods=["POST"]),
            Mount("/assets", StaticFiles(packages=[("judgeharness_integrations.audit.web", "assets")])),
        ],
        middleware=[Middleware(Guard, token=token, once=once)],
        exception_handlers={
            FormError: site.refused,
            HTTPException: site.missing,
            JudgeHarnessError: site.failed,
            OSError: site.unread,
        },
    )


class _Site:
    """Handlers run one at a time in the server's loop, so that a source is called from one thread."""

    def __init__(self, source: AuditSource, token: str) -> None:
        self._source = source
        self._csrf = form_token(token)
        self._pages = Pages(source=source, csrf=self._csrf)

    async def listing(self, request: Request) -> Response:
        last = request.query_params.get("last", "")
        return HTMLResponse(self._pages.listing(self._selection(request), last=last))

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
