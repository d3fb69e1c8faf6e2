"""Async clients of the background loop's own, so that the caller's stay with the caller's event loops.

Clients pool connections, and a connection belongs to the loop it was opened in: one of the background loop's fails in
the caller's next `asyncio.run`, and the other way round. In the background loop a model of LangChain is therefore asked
through a copy whose async clients have the caller's settings and connections of their own. It is made once, and what
the caller changes holds for the next call. Its connections are closed when the client they stand for is freed, or is
to be asked after the caller closed it, or with the loop. In every other loop the caller's model is asked as it is.

Models and clients are read by their attributes, as LangChain, OpenAI, Anthropic, Google and httpx name them. A model
whose async client cannot be copied is asked in threads where the caller gave it a sync client, too, else as it is.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import weakref
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from operator import is_
from typing import Any, NamedTuple

from ..chatmodels import single_choice
from ..judge import call_maybe_async
from .loop import at_end, background, in_background

_HELD = ("bound", "runnable", "fallbacks", "first", "middle", "last", "default", "llm")  # models inside of others
_CLIENTS = ("http_async_client", "root_async_client", "async_client", "_async_client")
_POOLS = frozenset({"AsyncConnectionPool", "AsyncHTTPProxy", "AsyncSOCKSProxy"})
_GOOGLE = "ChatGoogleGenerativeAI"
_NOT_SHARED = frozenset({"_transport", "_mounts", "_state", "_cookies", "_event_hooks"})  # by a client and its copy


class _SharedError(Exception):
    """A client that only its maker could copy."""


class _Kept(NamedTuple):
    """What stands for a model or a client, and what that held when it was made."""

    source: weakref.ref[Any]
    own: Any
    settings: Mapping[str, Any]
    inner: tuple[Any, ...]
    close: Callable[[], Awaitable[None]] | None


def own_model(model: Any) -> Any:
    """Return a model of LangChain, or a runnable or chain around models, as it is to be asked in the running loop."""
    return model if (loop := background()) is None else _copies(loop).model(model)


def own_client(client: Any) -> Any:
    """Return a client of OpenAI, or of a provider whose client is built alike, as it is to be asked in this loop."""
    if (loop := background()) is None:
        return client
    try:
        return _copies(loop).client(client)
    except Exception:  # noqa: BLE001 - a class that is built otherwise is asked as it is, too
        return client


def with_options(client: Any, **options: Any) -> Any | None:
    """Return a provider's client with other options; None where its class has a constructor of another kind."""
    try:
        own = client.with_options(**options)
    except Exception:  # noqa: BLE001 - whatever that constructor raises
        return None
    asked = options.get("http_client", getattr(client, "_client", None))
    return own if getattr(own, "_client", None) is asked else None  # it may have dropped what it was given


class _Copies:
    """The copies of one loop; only its own thread uses them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is copied yet."""
        self._loop = loop
        self._kept: dict[int, _Kept] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._ours: weakref.WeakSet[Any] = weakref.WeakSet()  # clients that were made here
        at_end(self._close_all)

    def model(self, model: Any) -> Any:
        """Return what stands for a model, or for what holds models; itself where it has no async client to copy."""
        settings = getattr(model, "__dict__", None)
        if settings is None or not hasattr(type(model), "model_copy"):
            return model
        inner = tuple(self.model(part) for name in _HELD if name in settings for part in _parts(settings[name]))
        inner += self._clients(model)
        kept = self._found(model)
        if kept is None or not (_same(kept.inner, inner) and _same(kept.settings.values(), settings.values())):
            own = None if _patched(model) else self._around(model, settings) or self._asked_apart(model)
            kept = self._keep(model, own, settings=dict(settings), inner=inner)  # its clients are made by now
        return model if kept.own is None else kept.own

    def client(self, client: Any) -> Any:
        """Return what stands for an async client; itself where that is one already.

        Raises:
            _SharedError: it cannot be copied.

        """
        if _is_http(client):
            return self._http(client)
        inner = getattr(client, "_client", None)
        if _is_http(inner) and hasattr(client, "with_options"):
            return self._sdk(client)
        if hasattr(inner, "with_options"):  # a part of such a client, like `client.chat.completions`
            own = self.client(inner)
            if own is inner:
                return client
            kept = self._found(client)
            if kept is None or not _same(kept.inner, (own,)):
                kept = self._keep(client, type(client)(own), inner=(own,))
            return kept.own
        raise _SharedError

    def _clients(self, model: Any) -> tuple[Any, ...]:
        """Return what stands for the async clients of a model; nothing where one cannot be copied."""
        try:
            return tuple(self.client(client) for client in _clients_of(model).values())
        except Exception:  # noqa: BLE001 - see `_asked_apart`
            return ()

    def _around(self, model: Any, settings: Mapping[str, Any]) -> Any | None:
        """Return a copy that holds what stands for the models inside; None where it holds none, or none to copy."""
        changes = {}
        for name in _HELD:
            held = settings.get(name)
            own = [self.model(part) for part in _parts(held)]
            if not _same(own, _parts(held)):
                changes[name] = type(held)(own) if isinstance(held, (list, tuple)) else own[0]
        return model.model_copy(update=changes) if changes else None

    def _asked_apart(self, model: Any) -> Any | None:
        """Return a copy with clients of its own, or one that is asked in threads; None where there is neither."""
        try:
            if any(kind.__name__ == _GOOGLE for kind in type(model).__mro__):
                return self._google(model)
            changes = {name: self.client(client) for name, client in _clients_of(model).items()}
        except _SharedError:
            return _in_threads(model) if getattr(model, "http_client", None) is not None else None
        except Exception:  # noqa: BLE001 - a class that is built otherwise is asked as it is
            return None
        if not any(own is not vars(model)[name] for name, own in changes.items()):
            return None
        own = model.model_copy()
        vars(own).update(changes)
        return own

    def _google(self, model: Any) -> Any:
        """Return a copy with a whole client of its own, which is closed as a whole; copies of one model share it."""
        if model.client in self._ours:
            return None
        own, kept = model.model_copy(), self._found(model.client)
        if kept is None:
            kept = self._keep(model.client, own.validate_environment(), close=own.aclose)
            self._ours.add(own.client)
        own.client, own._client_cleanup = kept.own.client, kept.own._client_cleanup  # noqa: SLF001 - as it does itself
        return own

    def _sdk(self, client: Any) -> Any:
        """Return a copy of a provider's client, with its key, headers, retries and deadlines."""
        http, kept = self.client(client._client), self._found(client)  # noqa: SLF001 - there is no public name for it
        if http is client._client:  # noqa: SLF001
            return client
        if any(map(_patched, (client, *_endpoints(client)))):  # a copy would not be watched as it is, say
            raise _SharedError
        settings = {
            name: value
            for name, value in vars(client).copy().items()
            if name != "_client" and getattr(value, "_client", None) is not client
        }
        if kept is None or not (_same(kept.inner, (http,)) and _same(kept.settings.values(), settings.values())):
            own = with_options(client, http_client=http)
            if own is None:
                raise _SharedError
            kept = self._keep(client, own, settings=settings, inner=(http,))
        return kept.own

    def _http(self, client: Any) -> Any:
        """Return a copy of an httpx client: its proxies, certificates, limits and hooks over pools of its own.

        One that the caller closed is returned itself, and so refuses to be asked.
        """
        if client in self._ours:
            return client
        transports = (client._transport, *client._mounts.values())  # noqa: SLF001 - httpx has no public way to copy one
        kept, patched = self._found(client), _patched(client)
        if kept is not None and (client.is_closed or patched or not _same(kept.inner, transports)):
            self._drop(id(client), kept.source)
            kept = None
        if client.is_closed:
            return client
        if patched:
            raise _SharedError
        if kept is None:
            own = copy.copy(client)
            own._transport = _fresh(client._transport)  # noqa: SLF001
            own._mounts = {pattern: _fresh(transport) for pattern, transport in client._mounts.items()}  # noqa: SLF001
            own._event_hooks = _Hooks(client)  # noqa: SLF001
            own.cookies = client.cookies
            kept = self._keep(client, own, settings=_cookies(client), inner=transports, close=own.aclose)
            self._ours.add(own)
        elif not _same(kept.settings.values(), (cookies := _cookies(client)).values()):
            kept.own.cookies = client.cookies
            kept = self._kept[id(client)] = kept._replace(settings=cookies)
        settings = {name: value for name, value in vars(client).copy().items() if name not in _NOT_SHARED}
        vars(kept.own).update(settings)
        return kept.own

    def _found(self, source: Any) -> _Kept | None:
        kept = self._kept.get(id(source))
        return kept if kept is not None and kept.source() is source else None

    def _keep(
        self,
        source: Any,
        own: Any | None,
        *,
        settings: Mapping[str, Any] | None = None,
        inner: tuple[Any, ...] = (),
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> _Kept:
        key, drop = id(source), partial(self._drop, id(source))

        def forget(reference: weakref.ref[Any], later: Any = in_background, bound: Any = partial) -> None:
            later(self._loop, bound(drop, reference))  # in any thread, and where a module's names are gone already

        kept = self._kept[key] = _Kept(weakref.ref(source, forget), own, settings or {}, inner, close)
        return kept

    def _drop(self, key: int, reference: weakref.ref[Any]) -> None:
        """Forget what was copied, and close its connections."""
        kept = self._kept.get(key)
        if kept is None or kept.source is not reference:
            return
        del self._kept[key]
        if kept.close is not None:
            task = self._loop.create_task(_quietly(kept.close))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _close_all(self) -> None:
        last = list(self._kept.values())
        self._kept.clear()  # with the references whose callbacks would run when the interpreter ends
        for close in [kept.close for kept in last if kept.close is not None]:
            await _quietly(close)


class _Hooks(Mapping[str, Any]):
    """The event hooks a client has at the time; they may refer to it, so that a copy that held them would keep it."""

    def __init__(self, client: Any) -> None:
        """Those of a client, as long as it is there."""
        self._client = weakref.ref(client)

    def _now(self) -> Mapping[str, Any]:
        client = self._client()
        return {} if client is None else client.event_hooks

    def __getitem__(self, name: str) -> Any:
        return self._now().get(name, [])

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


# One a loop; a forked child leaves its parent's alone, whose connections it may not close.
_of_loop: dict[asyncio.AbstractEventLoop, _Copies] = {}


def _copies(loop: asyncio.AbstractEventLoop) -> _Copies:
    found = _of_loop.get(loop)
    if found is None:
        found = _of_loop[loop] = _Copies(loop)
    return found


async def _quietly(close: Callable[[], Awaitable[None]]) -> None:
    with suppress(Exception):  # nobody waits for it, and nothing more can be done
        await close()


def _parts(held: Any) -> Sequence[Any]:
    return held if isinstance(held, (list, tuple)) else (held,)


def _same(some: Collection[Any], others: Collection[Any]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _patched(thing: Any) -> bool:
    """Whether methods of an object were replaced, by functions that may well ask that very object."""
    return any(inspect.isfunction(getattr(type(thing), name, None)) for name in getattr(thing, "__dict__", ()))


def _endpoints(client: Any) -> Iterator[Any]:
    """Yield the parts of a provider's client that are in use."""
    for part in list(vars(client).values()):
        if getattr(part, "_client", None) is client:
            yield part
            yield from (inner for inner in vars(part).values() if getattr(inner, "_client", None) is client)


def _clients_of(model: Any) -> Mapping[str, Any]:
    """Return the async clients a model holds, by the names of its attributes."""
    for name in _CLIENTS:
        if isinstance(getattr(type(model), name, None), cached_property):
            getattr(model, name)  # makes it, and opens no connection
    return {name: client for name in _CLIENTS if (client := vars(model).get(name)) is not None}


def _cookies(client: Any) -> Mapping[str, Any]:
    """Return the cookies of an httpx client by their place in its jar."""
    return {str(place): cookie for place, cookie in enumerate(client.cookies.jar)}


def _is_http(client: Any) -> bool:
    return any(_is_of(kind, "httpx", {"AsyncClient"}) for kind in type(client).__mro__)


def _is_of(kind: type, package: str, names: Collection[str]) -> bool:
    return kind.__name__ in names and kind.__module__.partition(".")[0] in (package, f"{package}2")


def _fresh(transport: Any) -> Any:
    """Return a copy of a transport of httpx's own without its connections."""
    if transport is None:  # no proxy
        return None
    pool: Any = getattr(transport, "_pool", None)
    if not _is_of(type(transport), "httpx", {"AsyncHTTPTransport"}) or not _is_of(type(pool), "httpcore", _POOLS):
        raise _SharedError
    own, own_pool = copy.copy(transport), copy.copy(pool)
    if not isinstance(vars(pool).get("_connections"), list) or not isinstance(vars(pool).get("_requests"), list):
        raise _SharedError
    own_pool._connections, own_pool._requests, own._pool = [], [], own_pool  # noqa: SLF001 - as its constructor does
    return own


def _in_threads(model: Any) -> Any:
    """Return a copy of a model whose awaited calls are those of its sync client, in threads."""
    own = single_choice(model).model_copy()  # whoever copies it once more does not change what is asked here

    async def _agenerate(messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        manager = None if run_manager is None else run_manager.get_sync()
        return await call_maybe_async(partial(own._generate, messages, stop, manager, **options))  # noqa: SLF001

    base: Any = next(kind for kind in type(model).__mro__ if kind.__name__ == "BaseChatModel")
    vars(own).update(_agenerate=_agenerate, _astream=partial(base._astream, own))  # noqa: SLF001 - asks `_stream`
    return own
