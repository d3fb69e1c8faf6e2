"""A Ray to work on: the one that runs already, or one of our own for as long as somebody needs it."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from judgeharness_integrations._errors import ClusterError, UsageError
from judgeharness_integrations.execution.ray_engine.heads import Head, head, place_of
from judgeharness_integrations.execution.ray_engine.loading import loaded_ray
from judgeharness_integrations.execution.ray_engine.sending import reason

__all__ = ["connected"]

_OBJECT_STORE_BYTES = 100_000_000  # probes and answers are small and travel with the calls


@asynccontextmanager
async def connected(address: str | None, *, cpus: int) -> AsyncGenerator[None, None]:
    """Be connected to a Ray; one that was started here is ended with its last user, one of somebody else is left alone.

    Args:
        address: an existing cluster (`auto`, `host:port`, `ray://host:port`); None: the Ray of this process, that of
            `RAY_ADDRESS`, or a local one of our own.
        cpus: how many processors a local one of our own offers.

    Raises:
        ClusterError: nobody answers there.
        UsageError: the cluster cannot be used.

    """
    entering = asyncio.ensure_future(asyncio.to_thread(_enter, address, cpus))
    try:
        await asyncio.shield(entering)
        yield
    finally:
        (entered,) = await asyncio.gather(
            entering, return_exceptions=True
        )  # also for those who were cancelled meanwhile
        if entered is True:
            await asyncio.shield(asyncio.to_thread(_leave))


class _OwnConnection(threading.Thread):
    """The connection of this process, in a thread as lasting as it: a local Ray dies with the thread that began it."""

    def __init__(self, address: str, cpus: int) -> None:
        super().__init__(name="judgeharness-ray", daemon=True)
        self.address, self.cpus, self.users = address, cpus, 0
        self.error: BaseException | None = None
        self._is_there, self._over = threading.Event(), threading.Event()

    def begin(self) -> None:
        """Connect, or raise why that failed."""
        self.start()
        self._is_there.wait()
        if self.error is not None:
            raise self.error

    def end(self) -> None:
        """Disconnect, which ends a local Ray."""
        self._over.set()
        self.join()

    def abandon(self) -> None:
        """Leave the connection to a dead head as it is: to disconnect would wait for it until Ray ends the process."""
        from ray._private import worker  # noqa: PLC0415 - Ray is loaded

        atexit.unregister(worker.shutdown)
        head.abandoned = True

    def run(self) -> None:
        ray = loaded_ray()
        quiet = {"logging_level": "ERROR", "log_to_driver": False}
        local = {"num_cpus": self.cpus, "include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
        try:
            ray.init(self.address, **quiet, **(local if self.address == "local" else {}))
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits for it
            self.error = error
            return
        finally:
            self._is_there.set()
        self._over.wait()
        ray.shutdown()


_guard = threading.Lock()
_own: _OwnConnection | None = None


def _enter(address: str | None, cpus: int) -> bool:
    """Connect unless that was done; return whether `_leave` has to be called."""
    global _own  # noqa: PLW0603 - a process is connected to one Ray
    ray = loaded_ray()
    with _guard:
        if _own is None and not ray.is_initialized():
            wanted = address or os.environ.get("RAY_ADDRESS") or "local"
            _check_reachable(wanted)
            _own = _begun(_OwnConnection(wanted, cpus))
        elif address not in (None, "auto") and address != (_own.address if _own else _address_of(ray)):
            raise UsageError(f"this process is connected to another Ray than {address}: call ray.shutdown() first.")
        # of a cluster behind a Ray client only the address of the client's server is known
        head.place = place_of(_address_of(ray)) or place_of(_own.address if _own else address)
        if _own is None:
            return False
        _own.users += 1
        return True


def _begun(connection: _OwnConnection) -> _OwnConnection:
    try:
        connection.begin()
    except (Exception, SystemExit) as error:
        if connection.address == "local":
            raise UsageError(f"a local Ray cannot be started ({reason(error)}): see `ray status`.") from error
        hint = "see `ray status`, and set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN if the cluster wants a token"
        if isinstance(error, ConnectionError):  # also what Ray makes of a token that is missing
            raise ClusterError(f"no Ray answers at {connection.address} ({reason(error)}): {hint}.") from error
        raise UsageError(f"Ray at {connection.address} cannot be used ({reason(error)}): {hint}.") from error
    return connection


def _leave() -> None:
    global _own  # noqa: PLW0603 - see above
    with _guard:
        if _own is not None:
            _own.users -= 1
            if not _own.users:
                if head.answers():
                    _own.end()
                else:
                    _own.abandon()
                _own = None


def _address_of(ray: Any) -> str | None:
    """Return the address of the cluster somebody else connected this process to; None: through a Ray client."""
    try:
        return str(ray.get_runtime_context().gcs_address)
    except Exception:  # noqa: BLE001 - a client does not know it
        return None


def _check_reachable(address: str) -> None:
    """Raise if nothing listens there: Ray itself would end this process after a minute of waiting."""
    try:
        Head(place_of(address)).knock()
    except OSError as error:
        raise ClusterError(
            f"no Ray answers at {address} ({reason(error)}): start one with `ray start --head`."
        ) from error
