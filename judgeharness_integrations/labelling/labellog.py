"""The verdict log of people's labels: every answer is written at once, and one taken back leaves no trace."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, to_record
from judgeharness_integrations.verdictlog.files import read_log
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["LabelLog"]

_START = b'{"case_id"'  # how each of our lines begins


class LabelLog:
    """A JSONL file of labels, of one annotator or several. It holds one answer an annotator, case and criterion."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Use a file that may exist; what a killed process left half written at its end is taken off.

        Raises:
            LogFormatError: it is no `.jsonl`.

        """
        given = Path(path)
        if given.suffix.lower() != ".jsonl":
            raise LogFormatError(f"{given}: a log of labels is .jsonl.")
        self.path = given
        self._file = given.resolve()  # a link stays one when the file behind it is replaced
        self._mend()

    def rows(self, annotator: str | None = None) -> list[VerdictRow]:
        """Return the rows of an annotator, or all, in the order they were written.

        Raises:
            LogFormatError: the file cannot be read.

        """
        if not self._file.is_file() or not self._file.stat().st_size:
            return []
        return [row for row in read_log(self._file) if annotator in (None, row.judge)]

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Write rows at the end of the file, all at once; they are on the disk then, and where it is full none is."""
        text = b"".join(map(_line, rows))
        # opened anew each time: another annotator may have replaced the file by taking an answer back
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("ab", buffering=0) as file:
            held = file.seek(0, os.SEEK_END)
            try:
                while text:
                    text = text[file.write(text) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(held)  # half a line would spoil the next one
                raise

    def withdraw(self, row: VerdictRow) -> None:
        """Take an answer out: the file is replaced by one without it, at once."""
        self._rewrite(row, ())

    def replace(self, row: VerdictRow) -> None:
        """Put an answer in the place of the annotator's earlier one about the same: a kill leaves one of them."""
        self._rewrite(row, [_line(row)])

    def _rewrite(self, row: VerdictRow, lines: Iterable[bytes]) -> None:
        """Replace the file by one without the answer to what a row answers, with further lines at its end."""
        gone = (row.judge, row.case_id, row.criterion)
        kept = [line for line in self._file.read_bytes().splitlines(keepends=True) if _key(line) != gone]
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

    def _mend(self) -> None:
        if not self._file.is_file():
            return
        held = self._file.read_bytes()
        last = held[held.rfind(b"\n") + 1 :]
        if not last:
            return
        if _key(last) is not None:
            with self._file.open("ab") as file:
                file.write(b"\n")
        elif last.startswith(_START) or _START.startswith(last):
            with self._file.open("r+b") as file:
                file.truncate(len(held) - len(last))


def _line(row: VerdictRow) -> bytes:
    return (json.dumps(to_record(row), ensure_ascii=False) + "\n").encode("utf-8", LONE_SURROGATES)


def _key(line: bytes) -> tuple[str, str, str] | None:
    """Return (annotator, case, criterion) of a line, None for one that is no row of ours."""
    try:
        record = json.loads(line)
        return record["judge"], record["case_id"], record["criterion"]
    except (ValueError, KeyError, TypeError):
        return None
