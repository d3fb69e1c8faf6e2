"""A TCP proxy whose links can be cut, as a network that fails does.

with SeveringProxy(port=5432) as proxy:
    log = SqlLog(f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/test")
    proxy.sever(refuse_s=0.5)  # every link is reset, and for a while nobody gets another one
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["SeveringProxy"]

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class SeveringProxy:
    """Forwards to `host:port`; `links` were made so far, `severed` of them were cut."""

    def __init__(self, *, port: int, host: str = "127.0.0.1") -> None:
        self._host, self._target = host, port
        self.links = self.severed = self.bytes_sent = 0
        self._refusing_until = 0.0
        self._open: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="severing-proxy", daemon=True)

    def sever(self, *, refuse_s: float = 0.0) -> int:
        """Reset every link and refuse new ones for `refuse_s` seconds; return how many there were."""
        return asyncio.run_coroutine_threadsafe(self._sever(refuse_s), self._loop).result()

    async def _sever(self, refuse_s: float) -> int:
        self._refusing_until = self._loop.time() + refuse_s
        cut = len(self._open) // 2  # a link has two ends
        self.severed += cut
        while self._open:
            self._reset(self._open.pop())
        return cut

    def _reset(self, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):  # closed by its owner meanwhile
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        writer.transport.abort()

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        if self._loop.time() < self._refusing_until:
            self._reset(writer)
            return
        try:
            there, back = await asyncio.open_connection(self._host, self._target)
        except OSError:
            self._reset(writer)
            return
        self.links += 1
        self._open |= {writer, back}
        with suppress(asyncio.CancelledError):  # a stream's own callback would complain
            await asyncio.gather(self._forward(reader, back, counted=True), self._forward(there, writer))

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool = False
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                self.bytes_sent += len(data) * counted
                writer.write(data)
                await writer.drain()
        self._open.discard(writer)
        writer.close()

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._link, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        await self._sever(0.0)
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
