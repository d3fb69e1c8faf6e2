"""ADK in a test: nothing leaves this machine, and nothing it registers outlives the test."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

__all__ = ["isolated_adk", "known_warnings", "offline_environment", "refuse_network"]

OFFLINE = {
    "ADK_DISABLE_LOAD_DOTENV": "1",
    "ADK_SUPPRESS_EXPERIMENTAL_FEATURE_WARNINGS": "1",
    "DISABLE_AIOHTTP_TRANSPORT": "True",  # LiteLLM's aiohttp sessions outlive their loop, and `adk eval` has two
    "GCE_METADATA_TIMEOUT": "0.1",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "NO_GCE_CHECK": "true",
    "NO_PROXY": "127.0.0.1",
    "OTEL_SDK_DISABLED": "true",
}
KNOWN_WARNINGS: tuple[tuple[str, type[Warning]], ...] = (
    # EvaluationGenerator gives its own plugins to Runner in the old way
    ("The `plugins` argument is deprecated", DeprecationWarning),
)
_UNTIL_THE_END = contextlib.ExitStack()
_TESTS = Path(__file__).resolve().parents[1]
_GUARD = "from support.adk_offline import refuse_network\nrefuse_network()\n"


def offline_environment(home: Path, *, api_base: str | None = None) -> dict[str, str]:
    """The variables that keep ADK and LiteLLM offline, in this process and in one started with them.

    Args:
        home: Where ADK finds a user who has declined its telemetry.
        api_base: Where LiteLLM's `openai/...` models are, up to and including `/v1`.
    """
    consent = home / ".adk" / "config.json"
    consent.parent.mkdir(parents=True, exist_ok=True)
    consent.write_text(json.dumps({"telemetry": False}))
    served = {"OPENAI_API_KEY": "test", "OPENAI_API_BASE": api_base, "OPENAI_BASE_URL": api_base} if api_base else {}
    return {**OFFLINE, **served, "HOME": str(home)}


def process_environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a process whose sockets reach nothing but this machine."""
    site = home / "site"
    site.mkdir(parents=True, exist_ok=True)
    (site / "sitecustomize.py").write_text(_GUARD)
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    paths = [str(site), str(_TESTS), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, **offline_environment(home), **extra, "PYTHONPATH": os.pathsep.join(paths)}


def refuse_network() -> None:
    """Let this process connect to nothing but 127.0.0.1, until it ends."""
    _UNTIL_THE_END.enter_context(_guarded())


@contextlib.contextmanager
def isolated_adk(folder: Path, *, api_base: str | None = None) -> Iterator[None]:
    """ADK's registries, agent modules, loggers and environment as they were, once the block ends.

    Args:
        folder: This test's own folder; modules loaded from under it are forgotten.
        api_base: Where LiteLLM's `openai/...` models are, up to and including `/v1`.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, offline_environment(folder / "home", api_base=api_base)))
        stack.enter_context(_guarded())
        stack.enter_context(_registries())
        stack.enter_context(_modules(folder))
        stack.enter_context(_loggers())
        yield


@contextlib.contextmanager
def known_warnings() -> Iterator[None]:
    """What ADK warns itself of, and no user can help, is no error."""
    with warnings.catch_warnings():
        for message, category in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message, category)
        yield


@contextlib.contextmanager
def _guarded() -> Iterator[None]:
    connect, connect_ex, lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def connect_here(self: socket.socket, address: Any) -> None:
        _refuse_far(address)
        connect(self, address)

    def connect_ex_here(self: socket.socket, address: Any) -> int:
        _refuse_far(address)
        return connect_ex(self, address)

    def lookup_here(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_far((host,))
        return lookup(host, *args, **kwargs)

    with (
        mock.patch.object(socket.socket, "connect", connect_here),
        mock.patch.object(socket.socket, "connect_ex", connect_ex_here),
        mock.patch.object(socket, "getaddrinfo", lookup_here),
    ):
        yield


def _refuse_far(address: Any) -> None:
    """Raise what no `except Exception` on the way can hide."""
    host = address[0] if isinstance(address, tuple) else address
    near = {"127.0.0.1", "::1", "localhost", b"127.0.0.1", b"localhost", None}
    if isinstance(address, tuple) and host not in near:
        raise NetworkRefusedError(f"this test would have reached {host!r}")


class NetworkRefusedError(BaseException):
    """Something left this machine."""


@contextlib.contextmanager
def _registries() -> Iterator[None]:
    from google.adk.evaluation import metric_evaluator_registry
    from google.adk.models import registry

    from support.adk_judges import ScriptedLlm

    metrics = metric_evaluator_registry.DEFAULT_METRIC_EVALUATOR_REGISTRY
    kept = {name: dict(getattr(metrics, name)) for name in ("_registry", "_custom_function_paths")}
    models, judges = dict(registry._llm_registry_dict), dict(ScriptedLlm.judges)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(metrics, name, value)
        registry._llm_registry_dict.clear()
        registry._llm_registry_dict.update(models)
        registry.LLMRegistry.resolve.cache_clear()
        ScriptedLlm.judges = judges


@contextlib.contextmanager
def _modules(folder: Path) -> Iterator[None]:
    """Forget the modules that came from under the folder, and the `sys.path` entries added for them."""
    path = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        forget_modules(folder)


def forget_modules(folder: Path) -> None:
    """Drop the modules loaded from files under `folder`: ADK names every agent package `agent`."""
    under = os.path.join(folder, "")  # noqa: PTH118 - `Path.is_relative_to` takes 0.3 s over some thousand modules
    for name, module in list(sys.modules.items()):
        file = vars(module).get("__file__")  # a lazy module would be loaded by `getattr`
        if file and file.startswith(under):
            del sys.modules[name]


@contextlib.contextmanager
def _loggers() -> Iterator[None]:
    root, adk = logging.getLogger(), logging.getLogger("google_adk")
    levels, handlers = (root.level, adk.level), list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(levels[0])
        adk.setLevel(levels[1])
        root.handlers[:] = handlers
