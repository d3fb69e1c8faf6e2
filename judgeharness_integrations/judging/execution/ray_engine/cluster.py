"""A Ray to work on, its head, and what can be sent to its workers: a cluster that runs already, or one of our own."""

from __future__ import annotations

import asyncio
import atexit
import importlib
import os
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from judgeharness_integrations._errors import ClusterError, NotInstalledError, UsageError
from judgeharness_integrations.judging.judge import Judge, Probe
from judgeharness_integrations.judging.perturbations import Perturbation

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


def loaded_ray() -> Any:
    """Import Ray.

    Raises:
        NotInstalledError: the extra is missing.

    """
    # Nobody who runs a judge asked for statistics to be sent; a value that is set already stays.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise NotInstalledError("Ray", "ray") from error


def connected_ray() -> Any:
    """Return Ray if it is connected: where it is not, some of its calls would start a local one or block for a minute.

    Raises:
        ClusterError: the connection was lost.

    """
    ray = loaded_ray()
    if not ray.is_initialized() or not head.answers():
        raise ClusterError("the connection to the Ray cluster was lost: see `ray status`.")
    return ray


_SENDABLE = "give a module-level function, or a judge built by configuration"


def check_sendable(judge: Judge, transient: Callable[[BaseException], bool]) -> None:
    """Raise if Ray could not send a judge and the rule for its failures.

    Raises:
        NotInstalledError: Ray is missing.
        UsageError: the judge cannot be pickled.

    """
    if (problem := unsendable((judge, transient))) is not None:
        raise UsageError(f"judge {judge.name!r} cannot be sent to Ray workers ({problem}): {_SENDABLE}.")


def sent_form(probe: Probe) -> Probe:
    """Return what a worker gets: of the perturbation, which was applied already, only what judges read."""
    applied = probe.perturbation
    return replace(probe, perturbation=Perturbation(name=applied.name, apply=_as_it_is, swaps=applied.swaps))


def unsendable(value: object) -> str | None:
    """Return why Ray cannot send an object, or None; nothing is sent, nor read back.

    Raises:
        NotInstalledError: Ray is missing.

    """
    dumps = loaded_ray().cloudpickle.dumps
    try:
        dumps(value)
    except Exception as error:  # noqa: BLE001 - whatever an object raises when it is pickled
        return reason(error)
    return None


def reason(error: BaseException) -> str:
    """Return the kind and the first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__


def _as_it_is(case: Any) -> Any:
    return case


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
