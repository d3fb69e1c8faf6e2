"""The file of labels: appended to, corrected and mended."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from filelock import FileLock

from judgeharness_integrations._errors import LogFormatError, LogStorageError, RunBusyError
from judgeharness_integrations.labelling import LabelLog
from judgeharness_integrations.labelling import labellog as labelfile
from judgeharness_integrations.verdictlog import VerdictRow, read_log


def row(case_id: str, verdict: str = "PASS", judge: str = "anna", criterion: str = "verdict") -> VerdictRow:
    return VerdictRow(case_id=case_id, verdict=verdict, judge=judge, criterion=criterion)


def shown(folder: Path) -> list[str]:
    """Return the files of a folder but for hidden ones: the lock stays, as every other one does."""
    names = sorted(path.name for path in folder.iterdir())
    assert {*names} <= {"labels.jsonl", ".labels.jsonl.lock"}
    return [name for name in names if not name.startswith(".")]


def no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


@contextlib.contextmanager
def held_elsewhere(lock: Path) -> Iterator[None]:
    """Hold a lock in another thread, as another process would."""
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with FileLock(lock):
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_rows_come_back_in_order_and_by_annotator(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "deep" / "labels.jsonl")
    assert log.rows() == []
    log.append([row("x")])
    log.append([row("y", judge="ben"), row("z")])
    assert [one.case_id for one in log.rows()] == ["x", "y", "z"]
    assert [one.case_id for one in LabelLog(log.path).rows("anna")] == ["x", "z"]
    assert read_log(log.path) == log.rows()


def test_an_answer_taken_back_leaves_no_trace_and_nothing_else_changes(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("x", criterion="tone"), row("x", judge="ben")])
    log.path.chmod(0o640)
    before = log.path.read_text().splitlines()
    log.withdraw(row("x"))
    assert log.path.read_text().splitlines() == before[1:]
    assert log.path.stat().st_mode & 0o777 == 0o640
    log.append([row("x", "FAIL")])
    assert [one.verdict for one in log.rows("anna")] == ["PASS", "FAIL"]
    assert shown(tmp_path) == ["labels.jsonl"]


def test_an_answer_given_again_takes_the_place_of_the_first_which_need_not_be_there(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "deep" / "labels.jsonl")
    for verdict in ("PASS", "FAIL"):
        log.replace(row("x", verdict))
        log.replace(row("x", verdict, judge="ben"))
    assert [(one.judge, one.verdict) for one in log.rows()] == [("anna", "FAIL"), ("ben", "FAIL")]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    log = LabelLog(tmp_path / "link.jsonl")
    log.append([row("x"), row("y")])
    log.withdraw(row("x"))
    assert log.path.is_symlink()
    assert [one.case_id for one in read_log(tmp_path / "real.jsonl")] == ["y"]


def test_what_fails_while_an_answer_is_taken_back_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("y")])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        log.withdraw(row("x"))
    assert len(log.rows()) == 2
    assert shown(tmp_path) == ["labels.jsonl"]


def test_a_full_disk_leaves_no_half_line_before_the_next_one(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])
    held, (soft, hard) = log.path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(held) + 40, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            log.append([row("y")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert log.path.read_bytes() == held
    log.append([row("z")])
    assert [one.case_id for one in log.rows()] == ["x", "z"]


def test_what_takes_the_place_of_the_file_is_on_the_disk_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", lambda one, other: (done.append("replace"), replace(one, other))[1])
    log.append([row("x")])
    log.replace(row("x", "FAIL"))
    assert done == ["file", "folder", "file", "replace"]


def test_a_disk_that_does_not_take_a_whole_line_keeps_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])
    held = log.path.read_bytes()
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space"):
        log.append([row("y")])
    assert log.path.read_bytes() == held


def test_a_line_that_cannot_be_taken_off_again_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])

    class Stuck:
        """A file whose end cannot be moved."""

        def __init__(self, opened: object) -> None:
            self._opened = opened

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self._opened.close()  # type: ignore[attr-defined]

        def __getattr__(self, name: str) -> object:
            return no_room if name == "truncate" else getattr(self._opened, name)

    stuck = lambda path, *how, **more: Stuck(open(path, *how, **more))  # noqa: E731, PTH123, SIM115
    monkeypatch.setattr(labelfile, "open", stuck, raising=False)
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(LogStorageError, match=r"whether the label is kept cannot be told: .*No space"):
        log.append([row("y")])


@pytest.mark.parametrize("cut", [1, 5, 11, 60])
def test_a_line_cut_off_at_the_end_is_taken_off(tmp_path: Path, cut: int) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("y")])
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + whole[:cut])
    assert LabelLog(log.path).rows() == log.rows()
    assert log.path.read_bytes() == whole


def test_a_whole_line_without_its_end_is_kept(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])
    log.path.write_bytes(log.path.read_bytes().rstrip())
    LabelLog(log.path).append([row("y")])
    assert [one.case_id for one in log.rows()] == ["x", "y"]


def test_half_a_line_of_a_killed_process_spoils_no_line_of_one_that_goes_on(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("y")])
    whole = log.path.read_bytes()
    changes: tuple[Callable[[], None], ...] = (
        lambda: log.append([row("z")]),
        lambda: log.withdraw(row("z")),
        lambda: log.replace(row("y")),
    )
    for change in changes:
        log.path.write_bytes(log.path.read_bytes() + whole[:40])
        change()
    assert [one.case_id for one in log.rows()] == ["x", "y"]


def test_what_another_process_is_writing_is_not_taken_off(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("y")])
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-9])  # the other one is half way
    with log.held():
        opening = threading.Thread(target=LabelLog, args=(log.path,))
        opening.start()
        opening.join(0.2)
        assert opening.is_alive()
        log.path.write_bytes(whole)
    opening.join()
    assert log.path.read_bytes() == whole


def test_a_file_that_another_process_does_not_let_go_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelfile, "_WAIT_S", 0.05)
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])
    changes = (lambda: log.append([row("y")]), lambda: log.withdraw(row("x")), lambda: log.replace(row("x")), log.rows)
    for change in changes:
        with held_elsewhere(tmp_path / ".labels.jsonl.lock"), pytest.raises(RunBusyError, match="another process"):
            change()
    assert [one.case_id for one in log.rows()] == ["x"]


def test_where_no_lock_can_be_made_labels_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refused)
    assert [one.case_id for one in LabelLog(log.path).rows()] == ["x"]


@pytest.mark.slow
def test_two_processes_on_one_log_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from judgeharness_integrations.labelling import LabelLog\n"
        "from judgeharness_integrations.verdictlog import VerdictRow\n"
        "name = sys.argv[2]\n"
        "def row(case, verdict='PASS'): return VerdictRow(case_id=case, verdict=verdict, judge='anna')\n"
        "for n in range(60):\n"
        "    log = LabelLog(sys.argv[1])\n"
        "    log.append([row(f'{name}-{n}')])\n"
        "    log.replace(row(f'{name}-{n}', 'FAIL'))\n"
        "    log.replace(row('both', name))\n"
        "    if n % 3 == 0: log.withdraw(row(f'{name}-{n}'))\n"
        "    assert len(log.rows()) > 0\n"
    )
    path = tmp_path / "labels.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in "ab"]  # noqa: S603
    assert [one.wait(120) for one in running] == [0, 0]
    found = {one.case_id: one.verdict for one in LabelLog(path).rows()}
    assert len(found) == len(path.read_bytes().splitlines())
    assert found.pop("both") in ("a", "b")
    assert found == {f"{name}-{n}": "FAIL" for name in "ab" for n in range(60) if n % 3}


def test_what_is_no_log_of_labels_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.jsonl"
    other.write_text("my notes")
    with pytest.raises(LogFormatError, match=r"line 1: is not JSON"):
        LabelLog(other).rows()
    assert other.read_text() == "my notes"
    with pytest.raises(LogFormatError, match=r"a log of labels is \.jsonl"):
        LabelLog(tmp_path / "labels.csv")
