"""The server: on loopback, for as long as nobody stops it."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import NotInstalledError, UsageError

if TYPE_CHECKING:
    from judgeharness_integrations.audit.source import AuditSource

__all__ = ["serve"]

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

    from judgeharness_integrations.audit.app import audit_app  # noqa: PLC0415 - needs the extra

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
