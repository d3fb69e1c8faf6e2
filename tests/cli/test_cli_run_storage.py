"""What the command says when its log cannot be written or read; what was answered stays, and is not paid for again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from judgeharness_integrations.verdictlog import SqlLog

WORDY = """
import pathlib

def good(case):
    with pathlib.Path(__file__).with_name("asked").open("a") as asked:
        asked.write("x\\n")
    return {"verdict": "A" if "good" in case.output else "B"}
"""

Command = Callable[..., Any]


@pytest.fixture
def config(folder: Path) -> Path:
    (folder / "cli_judges.py").write_text(WORDY)
    many = [f"c{n},q{'?' * 2000},good,bad,A\n" for n in range(60)]
    (folder / "many.csv").write_text("case_id,input,output,output_b,gold\n" + "".join(many))
    path = folder / "run.json"
    settings = {
        "judges": [{"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"}],
        "cases": "many.csv",
        "harness": {"shape": "pairwise"},
    }
    path.write_text(json.dumps(settings))
    return path


def asked(folder: Path) -> int:
    path = folder / "asked"
    return path.read_text().count("\n") if path.exists() else 0


@contextmanager
def small_disk(pages: int) -> Iterator[None]:
    """Let no SQLite file grow beyond so many pages: the error is that of a full disk."""

    def limit(connection: Any, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(Engine, "connect", limit)


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(command: Command, folder: Path, config: Path) -> None:
    out = folder / "out"
    with small_disk(30):
        ran = command("run", config, "--out", out)
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith(f"error: {out / 'verdicts.sqlite'}: the disk is full: free some space")
    with SqlLog(out / "verdicts.sqlite") as log:
        kept = len(list(log.rows()))
    calls = asked(folder)
    assert 0 < kept < 360
    assert calls - kept <= 16  # those in flight
    again = command("run", config, "--out", out)
    assert again.code == 0
    assert asked(folder) == calls + 360 - kept
    assert json.loads((out / "summary.json").read_text())["usage"]["calls"] == 360


def test_a_log_that_is_read_only_is_told_before_anything_is_asked(command: Command, folder: Path, config: Path) -> None:
    SqlLog(folder / "log.sqlite").close()
    ran = command("run", config, "--out", folder / "out", "--log", f"sqlite:///{folder / 'log.sqlite'}?mode=ro")
    assert (ran.code, asked(folder)) == (2, 0)
    assert "is read-only: make the file and its folder writable" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["the first page", "in the middle", "no database at all"])
def test_a_damaged_log_is_told_and_left_as_it_is(command: Command, folder: Path, config: Path, damage: str) -> None:
    out = folder / "out"
    path = out / "verdicts.sqlite"
    assert command("run", config, "--out", out).code == 0
    content = bytearray(path.read_bytes())
    if damage == "no database at all":
        content = bytearray(b"notes of mine\n" * 1000)
    else:
        start, end = (20, 90) if damage == "the first page" else (len(content) // 4, 3 * len(content) // 4)
        content[start:end] = b"\xff" * (end - start)
    path.write_bytes(content)
    ran = command("run", config, "--out", out)
    assert (ran.code, asked(folder)) == (2, 360)
    assert ran.err.splitlines()[-1].startswith(f"error: {path}: ")
    assert ran.err.count("\n") == 1
    assert path.read_bytes() == bytes(content)


@pytest.mark.slow
def test_a_run_that_another_process_writes_is_left_to_it(command: Command, folder: Path, config: Path) -> None:
    out = folder / "out"
    assert command("run", config, "--out", out).code == 0
    run = json.loads((out / "run.json").read_text())["run"]
    with SqlLog(out / "verdicts.sqlite") as other, other.claim(run):
        ran = command("run", config, "--out", out)
        assert (ran.code, asked(folder)) == (2, 360)
        assert f"run {run!r}" in ran.err
        assert "being written by another process" in ran.err
        assert "running" not in command("runs", out).out  # it is complete, whoever holds it
    assert command("run", config, "--out", out).code == 0
