"""A Ray to work on, its head, and its workers: what runs in the process of one."""

from __future__ import annotations

import asyncio
import atexit
import importlib
import os
import socket
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from judgeharness_integrations._errors import ClusterError, NotInstalledError, UsageError
from judgeharness_integrations.judging.answer import EmptyAnswerError, ModelAnswer
from judgeharness_integrations.judging.judge import Judge, Judgment, Probe, as_judgment
from judgeharness_integrations.judging.perturbations import Perturbation
from judgeharness_integrations.redacting import Redactor, current_redactor

from ..attempting import own_failure
from ..retrying import remedy_of, retry_after_s, status_of

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


_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception a judge raised: foreign classes need not exist on the driver, nor survive pickling.

    `transient` is what the run's policy said of the exception itself, `remedy` what mends it if nothing heals it;
    `billed` is the reply without an answer that was billed all the same.
    """

    kind: str
    text: str
    transient: bool = False
    status: int | None = None
    code: str | None = None
    retry_after_s: float | None = None
    remedy: str | None = None
    billed: ModelAnswer | None = None

    @classmethod
    def of(
        cls, error: BaseException, transient: Callable[[BaseException], bool], redact: Redactor | None = None
    ) -> Failure:
        """Describe an exception on the worker, whose environment may hold other keys than the driver's."""
        status = status_of(error)
        # aiohttp's errors, which have a `status`, warn when their `code` is read
        code = None if hasattr(error, "status") else getattr(error, "code", None)
        return cls(
            kind=type(error).__name__,
            text=(redact or Redactor()).text(str(error))[:_LONGEST_TEXT],
            transient=transient(error),
            status=status,
            code=code if isinstance(code, str) else None,
            retry_after_s=retry_after_s(error),
            remedy=remedy_of(error),
            billed=error.answer if isinstance(error, EmptyAnswerError) else None,
        )


class RemoteFailure(Exception):  # noqa: N818 - its subclasses carry the names of what was raised
    """A failure of a judge on a worker; status and Retry-After stand where those of HTTP clients do."""

    def __init__(self, failure: Failure) -> None:
        """Carry what the worker said."""
        super().__init__(failure.text)
        self.transient, self.remedy = failure.transient, failure.remedy
        self.status_code = failure.status
        self.code = failure.code
        wait_s = failure.retry_after_s
        self.headers = {} if wait_s is None else {"retry-after": repr(wait_s)}


class WorkerDied(Exception):  # noqa: N818 - an event, and the text of an error row
    """A worker died while it judged a probe, for the `times`-th time; `final`: the probe is not asked again."""

    def __init__(self, times: int, *, final: bool) -> None:
        """Note how often it happened to the probe."""
        super().__init__(f"the worker died {times} time{'s' * (times > 1)} while it judged this probe")
        self.final = final


class ClusterLost(BaseException):  # no Exception: it ends the run instead of becoming a row
    """No worker is left and none can be started: what was not answered is asked when the run is resumed."""


@lru_cache(maxsize=256)
def _kind(name: str) -> type[RemoteFailure]:
    return type(name, (RemoteFailure,), {})


def as_error(failure: Failure) -> RemoteFailure | EmptyAnswerError:
    """Return a failure as an exception that is named like the one the judge raised."""
    return _kind(failure.kind)(failure) if failure.billed is None else EmptyAnswerError(failure.billed)


def answer_of(reply: Any) -> asyncio.Future[Any]:
    """Return the answer an object reference stands for.

    Awaiting the reference itself would cancel Ray's own future together with the caller, and the threads of a Ray
    client end with a trace of `InvalidStateError` when the answer to a cancelled one comes.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def tell(done: Future[Any]) -> None:
        if answer.done():  # nobody waits any more
            return
        if (error := done.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(done.result())

    def came(done: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, done)

    future: Future[Any] = reply.future()
    future.add_done_callback(came)
    return answer


def carried(error: BaseException) -> Exception | None:
    """Return the error inside one of Ray's: what an actor raised, or what reading an object raised; None: neither."""
    inner = getattr(error, "cause", None)
    if inner is None:
        inner = getattr(error, "client_exc", None)
    return (carried(inner) or inner) if isinstance(inner, Exception) else None


class SearchPath:
    """The driver's folders of modules: where it is read, modules are also looked for there, as far as they exist.

    That is in a worker, and behind `ray://` also in the process of the cluster that passes on what the driver sends.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        """Name the folders."""
        self._folders = tuple(folders)

    def __reduce__(self) -> tuple[Callable[[Sequence[str]], SearchPath], tuple[Sequence[str]]]:
        """Be read by `_searched`."""
        return _searched, (self._folders,)


def _searched(folders: Sequence[str]) -> SearchPath:
    sys.path.extend(folder for folder in folders if folder not in sys.path and os.path.isdir(folder))  # noqa: PTH112
    return SearchPath(folders)


class JudgeWorker:
    """An asynchronous actor: one event loop and one judge, whose clients live as long as the worker."""

    def __init__(self, path: SearchPath | None = None) -> None:
        """Start; `path` served its purpose when it was read."""
        del path

    async def prepare(self, judge: Judge, transient: Callable[[BaseException], bool]) -> None:
        """Take the judge, and the rule which failures are worth another attempt."""
        self._judge, self._transient, self._redact = judge, transient, current_redactor(judge)

    async def judge(self, probe: Probe, lesson: Mapping[str, str | float]) -> Judgment | Failure:
        """Return the judgment of a probe, or how its only attempt failed; the judge learns the lesson of the run."""
        try:
            if lesson:
                self._judge.learn(lesson)  # type: ignore[attr-defined] # whose lesson it is
            # what a judge raises never leaves as an exception: SystemExit would even end the actor
            return as_judgment(await self._judge.judge(probe))
        except (Exception, CancelledError, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001
            return Failure.of(own_failure(error), self._transient, self._redact)


class WorkerGone(Exception):  # noqa: N818 - caught by the remote judge
    """The worker of a call does not answer any more."""


@dataclass(eq=False)
class Worker:
    """An actor with a judge, and how many of its seats are taken."""

    actor: Any
    taken: int = 0

    async def judge(self, probe: Probe, lesson: Mapping[str, str | float]) -> Judgment | Failure:
        """Have a probe judged; a call that is cancelled is cancelled there, too.

        Args:
            probe: what is asked.
            lesson: what the run has learned of how its judge answers.

        Raises:
            TypeError: its case cannot be pickled.
            WorkerGone: it died, or its machine did.

        """
        try:
            reply = self._sent(sent_form(probe), lesson)
            try:
                answer: Judgment | Failure = await answer_of(reply)
            except asyncio.CancelledError:
                with suppress(loaded_ray().exceptions.RayError, ClusterError):
                    connected_ray().cancel(reply)
                raise
        except loaded_ray().exceptions.RayError as error:
            if (inner := carried(error)) is None:
                raise WorkerGone(reason(error)) from None
            return Failure.of(inner, _never)  # probe or answer cannot be read on the other side
        except ConnectionError as error:  # of a Ray client
            raise WorkerGone(reason(error)) from None
        return answer

    def _sent(self, probe: Probe, lesson: Mapping[str, str | float]) -> Any:
        try:
            return self.actor.judge.remote(probe, lesson)
        except Exception as error:
            if (problem := unsendable(probe)) is None:
                raise WorkerGone(reason(error)) from error  # a connection that was lost
            raise TypeError(f"case {probe.case_id!r} cannot be sent to Ray workers ({problem})") from error

    def kill(self) -> None:
        """End it, if it is not gone, or the cluster with it."""
        with suppress(loaded_ray().exceptions.RayError, ClusterError, ValueError, ConnectionError):
            connected_ray().kill(self.actor)


async def started(
    judge: Judge, transient: Callable[[BaseException], bool], *, options: Mapping[str, Any], start_s: float
) -> Worker:
    """Start a worker with the options of an actor and give it the judge, within `start_s` seconds.

    Raises:
        UsageError: it did not start in time, or cannot load the judge.
        ClusterError: the cluster is lost.

    """
    worker = Worker(connected_ray().remote(JudgeWorker).options(**options).remote(SearchPath(sys.path)))
    try:
        await _prepared(worker.actor, judge, transient, start_s)
    except BaseException:
        worker.kill()
        raise
    return worker


async def _prepared(actor: Any, judge: Judge, transient: Callable[[BaseException], bool], start_s: float) -> None:
    try:
        async with asyncio.timeout(start_s):
            await answer_of(actor.prepare.remote(judge, transient))
    except TimeoutError as error:
        wanted = f"a Ray worker did not start within {start_s:g} s"
        raise UsageError(f"{wanted}: ask for fewer workers or for less of each, or see `ray status`.") from error
    except loaded_ray().exceptions.RayError as error:
        if (inner := carried(error)) is not None:
            failed, needed = f"judge {judge.name!r} cannot be loaded on a Ray worker ({reason(inner)})", "what it needs"
        else:
            failed, needed = f"a Ray worker cannot be started ({reason(error)})", "the same packages"
        raise UsageError(f"{failed}: install {needed} on every node of the cluster.") from error
    except Exception as error:
        check_sendable(judge, transient)  # it was, when the run began
        failed = f"the connection to Ray was lost when judge {judge.name!r} was sent ({reason(error)})"
        raise UsageError(f"{failed}: install what it needs on the head of the cluster, too.") from error


def _never(error: BaseException) -> bool:
    del error
    return False
