"""What people say about pairs: a file of lines for each annotator that survives a crash and two tabs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from filelock import FileLock, Timeout
from pydantic import Field

from judgeharness_integrations._errors import CaseError, LogStorageError, RunBusyError, UsageError
from judgeharness_integrations.benchmark.folder import AUDIT
from judgeharness_integrations.benchmark.records import Record, clean
from judgeharness_integrations.labelling.appending import append_durably
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = [
    "LABELS",
    "AuditLabel",
    "AuditLog",
    "PairLabel",
    "check_annotator",
    "kept_or_told",
    "label_log",
    "read_labels",
]

PairLabel: TypeAlias = Literal["clean", "ambiguous", "noise"]

LABELS: Final = "labels"

_START = b'{"schema": "judgeharness.audit_label/'  # how each of our lines begins
_LONGEST_NAME = 100  # bytes; a file's name takes 255
_NO_NAME = frozenset('/\\:*?"<>|')  # what some system or other keeps out of the names of files
_WAIT_S = 20.0


class AuditLabel(Record):
    """One line: what an annotator said about a pair."""

    schema_: Literal["judgeharness.audit_label/1"] = Field(
        default="judgeharness.audit_label/1", alias="schema", description="Name and version of this format."
    )
    pair_id: str = Field(description="The pair.")
    annotator: str = Field(description="Who.")
    label: PairLabel | None = Field(description="What they say of it; null where they took their label back.")
    note: str = Field(default="", description="Their note.")
    sequence: int = Field(ge=1, description="Which line of the annotator it is; of a pair the last one counts.")


class AuditLog:
    """The labels of one annotator, after whom the file is named; lines are added and none is ever changed.

    Any number of threads and processes may use one file: each line is written under a lock and is on the disk when
    `append` returns.
    """

    def __init__(self, path: Path) -> None:
        """Use a file `<annotator>.jsonl`, which may not exist yet.

        Raises:
            UsageError: no annotator can have that name.

        """
        self.path = path
        self.annotator = check_annotator(path.name.removesuffix(".jsonl"))

    def append(self, pair_id: str, label: PairLabel | None, note: str = "") -> AuditLabel:
        """Write what the annotator says now about a pair, and return the line.

        What a killed process left half written at the end of the file is taken off before.

        Raises:
            CaseError: the file holds something else than labels of this annotator.
            RunBusyError: another process does not let go of the file.
            LogStorageError: it cannot be written; what it held is kept, and nothing else is in it unless the message
                says that this cannot be told.

        """
        with kept_or_told(self.path), self._locked():
            lines = list(self._lines())
            said = AuditLabel(
                pair_id=pair_id,
                annotator=self.annotator,
                label=label,
                note=clean(note),
                sequence=lines[-1].sequence + 1 if lines else 1,
            )
            self._mend()
            append_durably(self.path, said.to_line().encode("utf-8", LONE_SURROGATES))
        return said

    def lines(self) -> list[AuditLabel]:
        """Return every line, in the order they were written; a half line at the end is none.

        Raises:
            CaseError: the file holds something else than labels of this annotator.

        """
        return list(self._lines())

    def labels(self) -> dict[str, AuditLabel]:
        """Return pair id -> the last line about it, also of one whose label was taken back."""
        return {said.pair_id: said for said in self._lines()}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=_WAIT_S)
        try:
            lock.acquire()
        except Timeout:
            raise RunBusyError(f"{self.path} is held by another process: end it, or wait and label again.") from None
        try:
            yield
        finally:
            lock.release()

    def _lines(self) -> Iterator[AuditLabel]:
        held = self.path.read_bytes() if self.path.is_file() else b""
        for number, line in enumerate(held[: _whole(held)].splitlines(), start=1):
            where = f"{self.path}, line {number}"
            try:
                data = json.loads(line.decode("utf-8", LONE_SURROGATES))
            except ValueError as error:
                raise CaseError(f"{where} is no JSON ({error}): take the line out, or restore the file.") from error
            said = AuditLabel.from_dict(data, where=where)
            if said.annotator != self.annotator:
                raise CaseError(
                    f"{where} is of {said.annotator!r} in the file of {self.annotator!r}: name each file after its "
                    "annotator."
                )
            yield said

    def _mend(self) -> None:
        held = self.path.read_bytes() if self.path.is_file() else b""
        whole = _whole(held)
        if whole < len(held):
            with self.path.open("r+b") as file:
                file.truncate(whole)
        elif held and not held.endswith(b"\n"):
            append_durably(self.path, b"\n")


@contextmanager
def kept_or_told(path: Path) -> Iterator[None]:
    """Tell in one sentence that a label could not be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise LogStorageError(
            f"the label is not kept: {path} cannot be written ({reason}); make room, or make it writable."
        ) from error


def check_annotator(name: str) -> str:
    """Return the name of an annotator, after whom a file is named.

    Raises:
        UsageError: no file can be named so everywhere.

    """
    stripped = name.strip()
    fits = (
        0 < len(stripped.encode(errors="replace")) <= _LONGEST_NAME
        and stripped.isprintable()
        and not stripped.startswith(".")
        and not stripped.endswith(".")
        and not _NO_NAME & {*stripped}
    )
    if not fits:
        raise UsageError(
            f"an annotator's name is also the name of a file, which {name!r:.60} cannot be: give letters and digits."
        )
    return stripped


def label_log(folder: Path, annotator: str) -> AuditLog:
    """Return the log of an annotator in a benchmark's folder: `audit/labels/<annotator>.jsonl`."""
    return AuditLog(folder / AUDIT / LABELS / f"{check_annotator(annotator)}.jsonl")


def read_labels(folder: Path) -> dict[str, dict[str, AuditLabel]]:
    """Return annotator -> pair id -> the last line about it, of a benchmark's folder; sorted by annotator.

    A pair whose label was taken back has one that is None.

    Raises:
        CaseError: a file holds something else than labels of its annotator.

    """
    files = sorted((folder / AUDIT / LABELS).glob("*.jsonl"))
    logs = sorted((AuditLog(path) for path in files if not path.name.startswith(".")), key=lambda log: log.annotator)
    return {log.annotator: log.labels() for log in logs}


def _whole(held: bytes) -> int:
    """Return how many bytes are lines: all, unless a killed process left half of one at the end."""
    start = held.rfind(b"\n") + 1
    last = held[start:]
    if not last or not (last.startswith(_START) or _START.startswith(last)):
        return len(held)
    try:
        json.loads(last)
    except ValueError:
        return start
    return len(held)
