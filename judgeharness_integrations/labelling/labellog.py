"""The verdict log of people's labels: every answer is written at once, and one taken back leaves no trace."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from judgeharness_integrations._errors import LogFormatError, RunBusyError
from judgeharness_integrations.labelling.appending import append_durably
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, to_record
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["LabelLog"]

_START = b'{"case_id"'  # how each of our lines begins
_WAIT_S = 20.0


class LabelLog:
    """A JSONL file of labels, of one annotator or several. It holds one answer an annotator, case and criterion.

    Any number of threads and processes may use one file: each change is made under a lock, beside the file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Use a file that may exist; what a killed process left half written at its end is taken off.

        Raises:
            LogFormatError: it is no `.jsonl`.
            RunBusyError: another process does not let go of the file.

        """
        given = Path(path)
        if given.suffix.lower() != ".jsonl":
            raise LogFormatError(f"{given}: a log of labels is .jsonl.")
        self.path = given
        self._file = given.resolve()  # a link stays one when the file behind it is replaced
        self._lock = FileLock(self._file.with_name(f".{self._file.name}.lock"))
        if self._ends_within_a_line():
            with self.held():
                self._mend()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody else change the file meanwhile; within it one's own changes are made.

        Raises:
            RunBusyError: another process does not let go of it.

        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=_WAIT_S)
        except Timeout:
            raise RunBusyError(f"{self.path} is held by another process: end it, or wait and label again.") from None
        try:
            yield
        finally:
            self._lock.release()

    def rows(self, annotator: str | None = None) -> list[VerdictRow]:
        """Return the rows of an annotator, or all, in the order they were written.

        Raises:
            LogFormatError: the file cannot be read.
            RunBusyError: another process does not let go of it.

        """
        if not self._file.is_file():
            return []
        with ExitStack() as stack:
            with suppress(OSError):  # where no lock can be made, nobody writes
                stack.enter_context(self.held())
            if not self._file.stat().st_size:
                return []
            return [row for row in read_log(self._file) if annotator in (None, row.judge)]

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Write rows at the end of the file, all at once; they are on the disk then, and where it is full none is.

        Raises:
            OSError: nothing of them is in the file.
            LogStorageError: nobody knows what of them is there.
            RunBusyError: another process does not let go of the file.

        """
        text = b"".join(map(_line, rows))
        with self.held():
            self._mend()
            append_durably(self._file, text)

    def withdraw(self, row: VerdictRow) -> None:
        """Take an answer out: the file is replaced by one without it, at once."""
        with self.held():
            self._rewrite(row, ())

    def replace(self, row: VerdictRow) -> None:
        """Put an answer in the place of the annotator's earlier one about the same, or at the end where none is.

        A kill leaves one of them.
        """
        with self.held():
            self._mend()
            if self._holds(row):
                self._rewrite(row, [_line(row)])
            else:
                self.append([row])

    def _holds(self, row: VerdictRow) -> bool:
        held = self._file.read_bytes() if self._file.is_file() else b""
        return any(_key(line) == _answered(row) for line in held.splitlines())

    def _rewrite(self, row: VerdictRow, lines: Iterable[bytes]) -> None:
        """Replace the file by one without the answer to what a row answers, with further lines at its end."""
        self._mend()
        held = self._file.read_bytes().splitlines(keepends=True)
        kept = [line for line in held if _key(line) != _answered(row)]
        handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=f".{self._file.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([*kept, *lines])
                file.flush()
                os.fsync(file.fileno())  # before it takes the place of the other: a power cut leaves one of them whole
            shutil.copymode(self._file, name)
            Path(name).replace(self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _ends_within_a_line(self) -> bool:
        if not self._file.is_file() or not self._file.stat().st_size:
            return False
        with self._file.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def _mend(self) -> None:
        """Take half a line off the end; only while the file is held, else it may be one that is being written."""
        if not self._ends_within_a_line():
            return
        held = self._file.read_bytes()
        last = held[held.rfind(b"\n") + 1 :]
        if _key(last) is not None:
            append_durably(self._file, b"\n")
        elif last.startswith(_START) or _START.startswith(last):
            with self._file.open("r+b") as file:
                file.truncate(len(held) - len(last))


def _line(row: VerdictRow) -> bytes:
    return (json.dumps(to_record(row), ensure_ascii=False) + "\n").encode("utf-8", LONE_SURROGATES)


def _answered(row: VerdictRow) -> tuple[str, str, str]:
    return row.judge, row.case_id, row.criterion


def _key(line: bytes) -> tuple[str, str, str] | None:
    """Return (annotator, case, criterion) of a line, None for one that is no row of ours."""
    try:
        record = json.loads(line)
        return record["judge"], record["case_id"], record["criterion"]
    except (ValueError, KeyError, TypeError):
        return None
