"""Fixtures of every test room."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy  # noqa: F401, ICN001 - a session of `pytester` puts `sys.modules` back, and NumPy bears no second import
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from support.openai_server import OpenAIServer

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers share the cores: more threads wait for one another
os.environ.pop("GITHUB_STEP_SUMMARY", None)  # which is the job's own

PACKAGES = (
    "judgeharness_integrations",
    "judgeharness_adk",
    "judgeharness_langchain",
    "judgeharness_langsmith",
    "judgeharness_openevals",
)
TESTS = Path(__file__).parent
MEMORY, ROOM = Path("/dev/shm"), 2**31  # noqa: S108 - of Linux; containers have 64 MB of it
FRAMEWORKS = (
    *("google.adk.evaluation.agent_evaluator", "google.adk.cli.cli_eval", "langchain_classic.evaluation"),
    *("langchain_openai", "langsmith", "litellm", "matplotlib.figure", "openevals", "pyarrow.parquet", "ray"),
    *("scipy.stats", "sqlalchemy", "typer"),
)


def pytest_configure(config: pytest.Config) -> None:
    # The async client of `ChatOpenAI` leaves its pooled connections open when `asyncio.run` closes their loop, and
    # nothing public closes them later. Whenever they are collected, the warning would fail the test that runs.
    config.addinivalue_line("filterwarnings", r"ignore:unclosed (transport|<socket\.socket):ResourceWarning")
    # The background loop may collect them while pytest is about to set its filters, when "error" alone is in force.
    unraisable = r"ignore:Exception ignored in. <(socket\.socket|function _SelectorTransport)"
    config.addinivalue_line("filterwarnings", f"{unraisable}:pytest.PytestUnraisableExceptionWarning")
    # Python 3.11 lets no two threads begin to be traced at once, which coverage does.
    if config.pluginmanager.hasplugin("_cov"):
        untraced = r"ignore:Exception ignored in thread started by. <bound method Thread._bootstrap"
        config.addinivalue_line("filterwarnings", f"{untraced}:pytest.PytestUnraisableExceptionWarning")
        # Matplotlib lists a new machine's fonts while a thread waits, and imports beside a traced thread can fail.
        if not hasattr(config, "workerinput"):
            subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=False, capture_output=True)
    # google-genai's own doing, once a client that awaits; it leaves its session open as well.
    config.addinivalue_line("filterwarnings", "ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
    config.addinivalue_line("filterwarnings", r"ignore:Unclosed (client session|connector):ResourceWarning")
    # How long one example takes depends on who else uses the machine; each run draws other examples.
    calm = [HealthCheck.too_slow]
    settings.register_profile("quick", max_examples=10, deadline=None, suppress_health_check=calm)
    settings.register_profile("thorough", max_examples=30, deadline=None, suppress_health_check=calm)
    settings.load_profile(config.getoption("hypothesis_profile", None) or "quick")
    trust_one_authority(config)
    keep_files_in_memory(config)


def keep_files_in_memory(config: pytest.Config) -> None:
    """Keep the files of the default tests where nothing waits for a disk, if the machine has such a place with room.

    They go with the session; `--basetemp` keeps them, wherever it says.
    """
    elsewhere = config.getoption("basetemp", None) or "PYTEST_DEBUG_TEMPROOT" in os.environ
    if hasattr(config, "workerinput") or elsewhere or "not slow" not in config.getoption("markexpr", ""):
        return
    if not os.access(MEMORY, os.W_OK):
        return
    place = os.statvfs(MEMORY)
    if not place.f_flag & os.ST_NOEXEC and place.f_bavail * place.f_frsize >= ROOM:
        folder = tempfile.TemporaryDirectory(prefix="t", dir=MEMORY, ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder.name


def trust_one_authority(config: pytest.Config) -> None:
    """Let clients trust one certificate instead of 150: no test speaks TLS, and each client reads them all, twice.

    That holds for those of the machine, too, which `SSL_CERT_FILE` may name.
    """
    from certifi import contents

    if hasattr(config, "workerinput"):
        return
    end = "-----END CERTIFICATE-----\n"
    folder = tempfile.TemporaryDirectory()
    config.add_cleanup(folder.cleanup)
    (path := Path(folder.name) / "authority.pem").write_text(contents().partition(end)[0] + end)
    os.environ["SSL_CERT_FILE"] = str(path)


def pytest_unconfigure() -> None:
    # What is collected at the very end meets "error" alone, too.
    warnings.filterwarnings("ignore", "(?i)unclosed", ResourceWarning)


def pytest_collection_finish() -> None:
    # Which is this session's own: tests start sessions of theirs. Not before, since workers are to read it.
    os.environ.pop("PYTEST_ADDOPTS", None)
    gc.freeze()  # what was collected lives as long as the session: no collection need look at it again


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)`, itself or with its file, every n-th case is a default one; the others are slow."""
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None and hasattr(item, "callspec") and place_among_cases(item) % sampled.args[0]:
            item.add_marker(pytest.mark.slow)


def place_among_cases(item: pytest.Item) -> int:
    """Return which of its cases a test is: the same whichever others are collected."""
    places = item.callspec.indices
    lists = {str(mark.args[0]): mark.args[0] for mark in item.iter_markers("parametrize")}
    names = [one.split(",")[0].strip() if isinstance(one, str) else one[0] for one in lists.values()]
    return sum(places[name] for name in names)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect the whole suite without line tracing and garbage collection: half of the time is other people's."""
    config, tracer = session.config, sys.gettrace()
    whole = TESTS in {(config.rootpath / path).resolve() for path in config.args}
    collects = hasattr(config, "workerinput") or not config.getoption("numprocesses", None)
    gc.disable()
    try:
        if tracer is not None and whole and collects:
            sys.settrace(None)
            for framework in FRAMEWORKS:
                with contextlib.suppress(ImportError):  # its tests are skipped, or say so
                    importlib.import_module(framework)
            sys.settrace(tracer)
            import_everything()
            sys.settrace(None)
        return (yield)
    finally:
        sys.settrace(tracer)
        gc.enable()


def pytest_runtest_logstart(nodeid: str, location: tuple[str, int | None, str]) -> None:
    """Before the first test of a file: what is there by now, frameworks above all, no collection looks at again."""
    if location[0] != _File.begun:
        _File.begun = location[0]
        gc.collect()
        gc.freeze()


class _File:
    """The file whose tests run."""

    begun = ""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test marked `untraced` without line tracing, which takes two thirds of what pure Python takes."""
    tracer = sys.gettrace()
    if tracer is None or item.get_closest_marker("untraced") is None:
        return (yield)
    import_everything()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@cache
def import_everything() -> None:
    """Import all modules while they are traced: each runs its top level once, maybe first in an untraced test."""
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run the real command in this process."""
    from judgeharness_integrations.cli import main

    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


@pytest.fixture
def openai_server() -> Iterator[Callable[..., OpenAIServer]]:
    """Starts servers with `openai_server(script)`; each is stopped when the test ends."""
    from support.openai_server import OpenAIServer

    with contextlib.ExitStack() as servers:
        yield lambda script, **options: servers.enter_context(OpenAIServer(script, **options))
