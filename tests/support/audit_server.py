"""`judgeharness audit` in a process of its own, and what tests do with its page in a browser."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from judgeharness_integrations.audit.labels import label_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from support.browser import Visit

__all__ = ["Server", "at", "heading", "overflow", "press", "said", "served", "to_list"]

_COMMAND = "from judgeharness_integrations.cli import main; raise SystemExit(main())"


class Server:
    """`judgeharness audit` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-c", _COMMAND, "audit", *arguments, "--annotator", "anna", "--no-browser"]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.told = self.process.stdout.readline()
        found = re.search(r"http://\S+", self.told)
        if found is None:
            pytest.fail(f"no address: {self.told} {self.process.communicate()[1]}")
        self.address = found[0]
        self.site = self.address.partition("/?")[0]

    def item(self, pair_id: str, view: str = "overview", **more: str) -> str:
        return f"{self.site}/item?id={pair_id}&view={view}" + "".join(
            f"&{name}={value}" for name, value in more.items()
        )

    def end(self, how: int) -> tuple[int, str, str]:
        self.process.send_signal(how)
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[Server]:
    server = Server(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            assert server.end(signal.SIGINT) == (0, "", "")


def said(folder: Path) -> list[tuple[str, str | None, str]]:
    return [(line.pair_id, line.label, line.note) for line in label_log(folder, "anna").lines()]


def heading(page: Page) -> str:
    return page.inner_text(".top .here")


def at(visit: Visit, pair_id: str) -> None:
    visit.until(f"document.querySelector('.top .here')?.textContent === '{pair_id}'")


def press(visit: Visit, key: str, pair_id: str) -> None:
    visit.page.keyboard.press(key)
    at(visit, pair_id)


def to_list(visit: Visit) -> None:
    visit.page.keyboard.press("l")
    visit.until("document.querySelector('.items') !== null")


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
