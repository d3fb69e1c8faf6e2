"""A benchmark's folder: the names of its files, and how they are read and replaced as a whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from filelock import FileLock, Timeout

from judgeharness_integrations._errors import CaseError, RunBusyError, UsageError
from judgeharness_integrations.benchmark.asking.journal import Journal
from judgeharness_integrations.benchmark.documents.document import Document
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.settings import Settings
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog

__all__ = ["BenchmarkFolder", "digest_of"]

_Kept = TypeVar("_Kept", bound=Record)

SETTINGS: Final = "benchmark.json"
DOCUMENTS: Final = "documents.jsonl"
TAXONOMY: Final = "taxonomy.json"
PAIRS: Final = "pairs.jsonl"
ANSWERS: Final = "answers.sqlite"
VERDICTS: Final = "verdicts.sqlite"
AUDIT: Final = "audit"
LOCK: Final = "benchmark.lock"


class BenchmarkFolder:
    """The files of one benchmark. Files are replaced as a whole: a kill leaves the old or the new one."""

    def __init__(self, path: Path) -> None:
        """Use a folder, which may not exist yet."""
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether a benchmark stands here."""
        return (self.path / SETTINGS).is_file()

    @property
    def verdicts(self) -> Path:
        """The verdict log of the judges."""
        return self.path / VERDICTS

    @property
    def audit(self) -> Path:
        """The folder of people's labels."""
        return self.path / AUDIT

    def check(self) -> None:
        """Raise a UsageError where no benchmark stands."""
        if not self.exists:
            raise UsageError(
                f"{self.path} holds no benchmark: make one with judgeharness benchmark generate DOCS --out {self.path}."
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other commands that write out of the folder, which is made for it.

        Raises:
            RunBusyError: another process holds it.

        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RunBusyError(
                f"{self.path} is being written by another process: wait for it, or give another folder."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def settings(self) -> Settings:
        """Return what the benchmark was made with."""
        self.check()
        return self._one(SETTINGS, Settings)

    def documents(self) -> list[Document]:
        """Return the documents, in their order."""
        return list(self._lines(DOCUMENTS, Document))

    def taxonomy(self) -> Taxonomy:
        """Return the taxonomy."""
        return self._one(TAXONOMY, Taxonomy)

    def pairs(self) -> list[Pair]:
        """Return the pairs, in the order of their numbers; none where none was finished."""
        return list(self._lines(PAIRS, Pair)) if (self.path / PAIRS).is_file() else []

    def pair(self, pair_id: str) -> Pair:
        """Return the pair of an id.

        Raises:
            UnknownNameError: there is none; the nearest is offered.

        """
        from judgeharness_integrations._errors import UnknownNameError  # noqa: PLC0415 - only mistakes need it

        found = {pair.pair_id: pair for pair in self.pairs()}
        if pair_id not in found:
            raise UnknownNameError("pair", pair_id, found)
        return found[pair_id]

    def write_settings(self, settings: Settings) -> None:
        """Write what the benchmark is made with."""
        self._write(SETTINGS, [json.dumps(settings.to_dict(), indent=2, ensure_ascii=False) + "\n"])

    def write_taxonomy(self, taxonomy: Taxonomy) -> None:
        """Write the taxonomy."""
        self._write(TAXONOMY, [json.dumps(taxonomy.to_dict(), indent=2, ensure_ascii=False) + "\n"])

    def write_documents(self, documents: Iterable[Document]) -> None:
        """Write the documents, in their order."""
        self._write(DOCUMENTS, (document.to_line() for document in documents))

    def write_pairs(self, pairs: Iterable[Pair]) -> None:
        """Write the pairs, by their numbers."""
        ordered = sorted(pairs, key=lambda pair: pair.conditions.number)
        self._write(PAIRS, (pair.to_line() for pair in ordered))

    def write_records(self, name: str, records: Iterable[Record]) -> None:
        """Write another file of records, a line each, in the order given."""
        self._write(name, (record.to_line() for record in records))

    def journal(self) -> Journal:
        """Open the answers of models."""
        return Journal(self.path / ANSWERS)

    def log(self) -> SqlLog:
        """Open the verdict log, making it if need be."""
        from judgeharness_integrations.verdictlog import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        return SqlLog(self.verdicts)

    def _one(self, name: str, kind: type[_Kept]) -> _Kept:
        path = self.path / name
        try:
            return kind.from_dict(json.loads(path.read_text(encoding="utf-8")), where=str(path))
        except ValueError as error:
            raise CaseError(f"{path} is no JSON ({error}): restore it, or make the benchmark anew.") from error

    def _lines(self, name: str, kind: type[_Kept]) -> Iterator[_Kept]:
        path = self.path / name
        with path.open(encoding="utf-8", errors=LONE_SURROGATES) as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}, line {number}"
                try:
                    data = json.loads(line)
                except ValueError as error:
                    raise CaseError(f"{where} is no JSON ({error}): restore the file.") from error
                yield kind.from_dict(data, where=where)

    def _write(self, name: str, lines: Iterable[str]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        part = self.path / f".{name}.{os.getpid()}.part"  # readable by whom the folder is shared with, unlike mkstemp's
        try:
            with part.open("w", encoding="utf-8", errors=LONE_SURROGATES, newline="\n") as file:
                file.writelines(lines)
            part.replace(self.path / name)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def digest_of(records: Iterable[Record]) -> str:
    """Return 32 hexadecimal digits of the content of records, in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for record in records:
        digest.update(record.to_line().encode(errors=LONE_SURROGATES))
    return digest.hexdigest()
