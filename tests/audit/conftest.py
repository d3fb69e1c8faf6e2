"""The browser and the command of this room: the browser is started once a file, when its first test needs it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.audit_command import Command, Ran, Served
from support.benchmark_results import judged, make_benchmark, verification
from support.browser import started

from judgeharness_integrations.audit.source import AuditSource
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.cli import audit as _audit
from judgeharness_integrations.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The page is handed over instead of served; another test serves it."""
    found = Served()

    def serve(source: AuditSource, *, ready: Callable[[str, str], None], port: int) -> None:
        found.sources.append(source)
        found.ports.append(port)
        ready("http://127.0.0.1:1/?token=secret", "http://127.0.0.1:1/?token=once")

    monkeypatch.setattr("judgeharness_integrations.audit.app.serve", serve)
    monkeypatch.setattr(_audit.webbrowser, "open", found.opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    """24 pairs, two of them rejected, judged by three judges."""
    failed = {3: verification("adherence"), 8: verification("grounding")}
    folder = make_benchmark(tmp_path_factory.mktemp("made"), failed=failed)
    with folder.log() as log:
        log.append(judged([pair for pair in folder.pairs() if pair.state == "accepted"]))
    return folder


@pytest.fixture
def benchmark(made: BenchmarkFolder, tmp_path: Path) -> BenchmarkFolder:
    return BenchmarkFolder(shutil.copytree(made.path, tmp_path / "bench"))
