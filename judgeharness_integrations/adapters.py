"""Frameworks the harness plugs into, found through the entry point group `judgeharness.adapters`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

from judgeharness_integrations._errors import NotInstalledError, UnknownNameError
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.perturbations import Rewriter

__all__ = ["Adapter", "JudgeSpec", "adapters", "find_adapter"]

GROUP = "judgeharness.adapters"


@dataclass(frozen=True, kw_only=True)
class JudgeSpec:
    """One judge of a configuration file, as an adapter gets it."""

    name: str
    evaluator: str
    model: str | None = None
    model_options: Mapping[str, Any]
    evaluator_options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """One framework.

    Args:
        name: as it stands in configuration files.
        extras: extra -> modules it brings; the first one is what the adapter needs at least.
        build_judge: a judge of a configuration -> a core Judge.
        build_rewriter: (model, model options) -> a rewriter, where the framework has chat models.

    """

    name: str
    extras: Mapping[str, tuple[str, ...]]
    build_judge: Callable[[JudgeSpec], Judge]
    build_rewriter: Callable[[str, Mapping[str, Any]], Rewriter] | None = None

    def missing(self) -> dict[str, tuple[str, ...]]:
        """Return extra -> modules of it that are not installed."""
        found = {extra: tuple(m for m in modules if not _installed(m)) for extra, modules in self.extras.items()}
        return {extra: modules for extra, modules in found.items() if modules}

    def require(self) -> None:
        """Raise a NotInstalledError with the pip line unless the framework is installed."""
        extra = next(iter(self.extras))
        if extra in self.missing():
            raise NotInstalledError(f"{self.name} ({', '.join(self.missing()[extra])})", extra)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def adapters() -> dict[str, Adapter]:
    """Return every adapter that is registered, by name; none of their frameworks is imported."""
    return {point.name: point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def find_adapter(name: str) -> Adapter:
    """Return the adapter of that name, its framework installed.

    Raises:
        UnknownNameError: there is no such adapter.
        NotInstalledError: its framework is not installed.

    """
    known = adapters()
    if name not in known:
        raise UnknownNameError("adapter", name, known)
    known[name].require()
    return known[name]
