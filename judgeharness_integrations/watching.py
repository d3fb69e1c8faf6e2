"""Who watches a measurement: the observers given, and those that installed frameworks offer while they trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from judgeharness_integrations.execution.observing import Observer, is_private

__all__ = ["watchers"]

_SWITCHES = ("_TRACING", "_TRACING_V2")  # as names of environment variables end


def watchers(given: Sequence[Observer] | None, default: Iterable[Observer] = ()) -> tuple[Observer, ...]:
    """Return who watches a measurement: those given, and what installed frameworks offer while their tracing is on.

    None stands for `default`. An empty list is nobody, whatever is traced, but for those offered who are private: they
    show nothing, and keep what is judged from being uploaded where tracing was told to upload nothing.
    """
    watching = tuple(default if given is None else given)
    if not _may_be_traced():
        return watching
    offered = _offered(watching)
    return (*watching, *(one for one in offered if given is None or given or is_private([one])))


def _may_be_traced() -> bool:
    """Whether it is worth while to load adapters and ask them."""
    return "langsmith" in sys.modules or any(name.endswith(_SWITCHES) for name in os.environ)


def _offered(given: Sequence[Observer]) -> list[Observer]:
    """Return what installed frameworks offer beside those who watch, and no second of a class.

    Beside private ones it is what an offered observer returns from `as_private()`; one without that is left out.
    """
    from judgeharness_integrations.adapters import observer_factories  # noqa: PLC0415 - loads adapters

    found: list[Observer] = []
    for offer in observer_factories():
        offered = _made(offer)
        if offered is None or any(isinstance(one, type(offered)) for one in given):
            continue
        if not is_private(given):
            found.append(offered)
        elif (as_private := getattr(offered, "as_private", None)) is not None:
            found.append(as_private())
    return found


def _made(offer: Callable[[], Observer | None]) -> Observer | None:
    try:
        return offer()
    except Exception as error:  # noqa: BLE001 - tracing must not end what is traced
        _say_once(f"judgeharness: a measurement is not traced ({error!r:.200}); it is made all the same.")
        return None


@lru_cache(maxsize=64)
def _say_once(sentence: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{sentence}\n")
