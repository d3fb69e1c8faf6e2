"""The proxy that cuts links to the log."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest
from support.severing_proxy import SeveringProxy


def echo(listening: socket.socket) -> None:
    """Send back what comes, link by link, until nobody listens any more."""
    with contextlib.suppress(OSError):
        while True:
            link, _ = listening.accept()
            with link, contextlib.suppress(OSError):
                while data := link.recv(100):
                    link.sendall(data)


def said_back(link: socket.socket, data: bytes) -> bytes:
    link.settimeout(30)
    link.sendall(data)
    return link.recv(100)


def test_a_link_carries_both_ways_until_it_is_severed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=echo, args=(listening,), daemon=True).start()
        with SeveringProxy(port=listening.getsockname()[1]) as proxy:
            there = ("127.0.0.1", proxy.port)
            with socket.create_connection(there) as link:
                assert said_back(link, b"question") == b"question"
                assert proxy.sever(refuse_s=0.4) == 1
                with pytest.raises(ConnectionResetError):
                    link.recv(100)
            with pytest.raises(OSError, match=r"reset|Broken"), socket.create_connection(there) as link:
                said_back(link, b"refused")
            time.sleep(0.5)
            with socket.create_connection(there) as link:
                assert said_back(link, b"again") == b"again"
            assert (proxy.links, proxy.severed) == (2, 1)
