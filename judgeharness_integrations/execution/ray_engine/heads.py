"""The head of the cluster this process is connected to: whether it still answers.

Ray itself notices a dead head after a minute, and then ends the process that uses it without a word to its caller.
"""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from typing import Final

__all__ = ["SILENT_S", "Head", "head", "place_of"]

_REACHABLE_S: Final = 10.0
_KNOCK_S, _PAUSE_S = 3.0, 2.0
SILENT_S: Final = 10.0  # a head that restarts is back by then


def place_of(address: str | None) -> tuple[str, int] | None:
    """Return host and port of an address; None where it names none."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    return (host.strip("[]"), int(port)) if colon and port.isdecimal() else None


@dataclass
class Head:
    """A head by host and port; None: nobody knows where it is, and it is taken to answer.

    `abandoned`: this process was connected to it when it died, and still is; Ray may crash the process at its end.
    """

    place: tuple[str, int] | None = None
    abandoned: bool = False

    def knock(self, timeout_s: float = _REACHABLE_S) -> None:
        """Raise an OSError if nothing listens there."""
        if self.place is not None:
            socket.create_connection(self.place, timeout=timeout_s).close()

    def answers(self) -> bool:
        """Whether something listens there."""
        try:
            self.knock(_KNOCK_S)
        except OSError:
            return False
        return True

    async def silent(self) -> None:
        """Return when it has not answered for ten seconds."""
        since = time.monotonic()
        while time.monotonic() - since < SILENT_S:
            await asyncio.sleep(_PAUSE_S)
            if await asyncio.to_thread(self.answers):
                since = time.monotonic()


head: Final = Head()  # a process is connected to one Ray
