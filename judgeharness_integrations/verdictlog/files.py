"""What keeps rows: in memory, and in files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from judgeharness_integrations._documents import DATABASE_SUFFIXES, owner_only
from judgeharness_integrations._errors import LogFormatError, NotInstalledError

from .decoding import Record, decode, iter_decoded
from .encoding import (
    COLUMNS,
    LOG_SCHEMA,
    LONE_SURROGATES,
    QUOTED,
    ROW_COLUMNS,
    ROW_FIELDS,
    attribute_columns,
    defused,
    restored,
    to_cells,
    to_record,
    to_row,
    to_values,
    unquoted,
)
from .row import TOKENS, RowKey, VerdictRow

if TYPE_CHECKING:
    from os import PathLike

_GROUP = 10_000  # rows held at a time
_MARK = b"judgeharness.schema"  # in the file's metadata: its texts are escaped, its verdicts are JSON
_KINDS = {
    **dict.fromkeys(("repetition", *TOKENS, "attempts"), "int64"),
    "latency_s": "float64",
    "swapped": "bool_",
}


def _pyarrow() -> Any:
    try:
        import_module("pyarrow.parquet")  # optional, and slow to load
    except ImportError:
        raise NotInstalledError("pyarrow", "parquet") from None
    return import_module("pyarrow")


def write_parquet(rows: Iterable[VerdictRow], path: Path) -> None:
    """Write rows a few thousand at a time.

    Raises:
        LogFormatError: a number of a row does not fit into 64 bits.
        NotInstalledError: pyarrow is missing.

    """
    arrow = _pyarrow()
    schema = arrow.schema(
        [(name, getattr(arrow, _KINDS.get(name, "string"))()) for name in ROW_COLUMNS],
        metadata={_MARK: LOG_SCHEMA.encode()},
    )
    left = iter(rows)
    with (
        open(path, "wb", opener=owner_only) as file,
        arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        while group := [to_values(row) for row in islice(left, _GROUP)]:
            pairs = zip(zip(*group, strict=True), schema.types, strict=True)
            try:
                columns = [arrow.array(column, type=kind) for column, kind in pairs]
            except (OverflowError, arrow.ArrowException) as error:
                raise LogFormatError(f"{path}: a number of a row is too large for Parquet ({error}).") from error
            writer.write_batch(arrow.record_batch(columns, schema=schema))


def parquet_records(path: Path) -> Iterator[Record]:
    """Yield (row, columns) of every row of a file, a few thousand read at a time.

    Raises:
        LogFormatError: it is no Parquet file, or a damaged one.
        NotInstalledError: pyarrow is missing.

    """
    arrow = _pyarrow()
    try:
        with arrow.parquet.ParquetFile(path) as file:
            ours = (file.schema_arrow.metadata or {}).get(_MARK) == LOG_SCHEMA.encode()
            number = 0
            for batch in file.iter_batches(batch_size=_GROUP):
                for columns in _rows_of(batch, ours=ours):
                    number += 1
                    yield number, columns
    except (OSError, arrow.ArrowException) as error:
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise LogFormatError(f"{path}: cannot be read ({reason}).") from error


def _rows_of(batch: Any, *, ours: bool) -> Iterator[dict[str, Any]]:
    if not ours:
        for columns in batch.to_pylist():
            yield {name: _plain(value) for name, value in columns.items()}
        return
    there = frozenset(batch.schema.names)  # a file of an earlier version has fewer columns
    absent = [None] * batch.num_rows
    columns_of = (batch.column(name).to_pylist() if name in there else absent for name in ROW_COLUMNS)
    for values in zip(*columns_of, strict=True):
        yield to_record(to_row(values))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return value if value is None or isinstance(value, (str, int, float, list, dict)) else str(value)


_GZIP_MAGIC = b"\x1f\x8b"
_CSV_FIELD_LIMIT = 16 * 1024 * 1024
_TEXTS = (".csv", ".jsonl")


def _format(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    if kind not in _TEXTS and (zipped or kind not in (".parquet", *DATABASE_SUFFIXES)):
        raise LogFormatError(
            f"{path}: a verdict log is .csv or .jsonl, each also as .gz, or .parquet, or a database (.sqlite, .db)."
        )
    return kind


def _absent(path: Path) -> LogFormatError:
    return LogFormatError(
        f"{path}: cannot be read: there is no such file or folder; give the name of one that is there."
    )


def _format_there(path: Path) -> str:
    """Return the format of a file that is to be read."""
    if not path.suffix and not path.exists():  # a folder, perhaps
        raise _absent(path)
    return _format(path)


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file for reading, gzipped or not by its first bytes.

    Raises:
        LogFormatError: it is missing, a directory, not UTF-8 or not text.

    """
    try:
        with path.open("rb") as probe:
            zipped = probe.read(2) == _GZIP_MAGIC
        opened = gzip.GzipFile(path, "rb") if zipped else path.open("rb")
        with opened as binary, io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text:
            yield text
    except FileNotFoundError as error:
        raise _absent(path) from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogFormatError(f"{path}: cannot be read ({reason}).") from error
    except UnicodeDecodeError as error:
        raise LogFormatError(f"{path}: is not UTF-8 text (byte {error.start}): save it as UTF-8.") from error


def _delimiter(header: str) -> str:
    """Return what separates the columns: where spreadsheets write decimal commas, they write semicolons."""
    return "," if "," in header else max(",;\t", key=header.count)


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """The columns that lines of a source share: their names, and what makes a record of their cells.

    `typed`: cells are values of JSON, where 1, 1.0 and true differ though they are equal.
    """

    names: tuple[str, ...]
    record: Callable[[Sequence[Any]], dict[str, Any]]
    typed: bool = False

    @classmethod
    def named(cls, names: Iterable[str], *, typed: bool = False) -> Columns:
        """Return columns whose cells are what a record holds."""
        names = tuple(names)
        return cls(names=names, record=lambda cells: dict(zip(names, cells, strict=True)), typed=typed)


Cells: TypeAlias = "tuple[int, Columns, Sequence[Any]]"  # line, its columns, what stands in them


def _csv_cells(text: IO[str], source: str) -> Iterator[Cells]:
    csv.field_size_limit(_CSV_FIELD_LIMIT)
    first = text.readline()
    reader = csv.reader(chain([first], text), strict=True, delimiter=_delimiter(first))
    try:
        header = [name.strip() for name in next(reader, [])]
        if len(set(header)) != len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise LogFormatError.at(source, 1, f"column {twice!r} stands twice.")
        width, columns, bare = len(header), Columns.named(header), None
        schema = header.index("schema") if "schema" in header else None
        for cells in reader:
            if len(cells) != width:
                if not cells:
                    continue
                problem = f"{len(cells)} cells where the header has {width}."
                raise LogFormatError.at(source, reader.line_num, problem)
            if schema is not None and cells[schema] == QUOTED:
                record = unquoted(columns.record(cells))
                bare = Columns.named(record) if bare is None else bare
                yield reader.line_num, bare, list(record.values())
            else:
                yield reader.line_num, columns, cells
    except csv.Error as error:
        raise LogFormatError.at(source, reader.line_num, f"is not CSV ({error}).") from error


def _jsonl_records(text: IO[str], source: str) -> Iterator[Record]:
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LogFormatError.at(source, number, f"is not JSON ({error}).") from error
        if not isinstance(record, dict):
            raise LogFormatError.at(source, number, f"a row is a JSON object, not {type(record).__name__}.")
        yield number, record


def iter_records(path: str | PathLike[str]) -> Iterator[Record]:
    """Yield (line, columns) of every record of a file; it is closed when exhausted or when this is.

    Raises:
        LogFormatError: the file or a line of it cannot be read; file and line are named.

    """
    path = Path(path)
    kind = _format_there(path)
    if kind in _TEXTS:
        with open_text(path) as text:
            if kind == ".csv":
                for number, columns, cells in _csv_cells(text, str(path)):
                    yield number, columns.record(cells)
            else:
                yield from _jsonl_records(text, str(path))
    elif kind == ".parquet":
        yield from parquet_records(path)
    else:
        yield from _database_records(path)


def _database_records(path: Path) -> Iterator[Record]:
    from .sql.log import SqlLog  # noqa: PLC0415 - files should not pay for it

    with SqlLog(path, create=False) as log:
        for number, row in enumerate(log.rows(), start=1):
            yield number, to_record(row)


def iter_cells(path: str | PathLike[str], *, attributes: Sequence[str]) -> Iterator[Cells]:
    """Yield the lines of a log as they stand there, which is cheaper than records of them.

    Args:
        path: the log.
        attributes: those that are asked for; a source may leave out others, and evidence that was written as a number.

    Raises:
        LogFormatError: see `iter_records`.

    """
    path = Path(path)
    kind = _format_there(path)
    if kind == ".csv":
        with open_text(path) as text:
            yield from _csv_cells(text, str(path))
    elif kind in DATABASE_SUFFIXES:
        yield from _database_cells(path, attributes)
    else:
        known: dict[tuple[str, ...], Columns] = {}
        for number, record in iter_records(path):
            names = tuple(record)
            if names not in known:
                known[names] = Columns.named(names, typed=True)
            yield number, known[names], list(record.values())


_ANSWER = (
    "case_id",
    "verdict",
    "run",
    "judge",
    "criterion",
    "perturbation",
    "repetition",
    "swapped",
    "outcome",
    "gold",
)
_ASKED = ("call_id", "probe_hash", "probabilities")


def _database_cells(path: Path, attributes: Sequence[str]) -> Iterator[Cells]:
    from .sql.log import SqlLog  # noqa: PLC0415 - files should not pay for it

    fields = (*_ANSWER, *_ASKED)
    columns = Columns(names=(*fields, *attributes), record=partial(_record_of_cells, (*fields, *attributes)))

    @lru_cache(maxsize=1024)
    def of_json(text: str | None) -> tuple[Any, ...]:
        given = {} if text is None else json.loads(text)
        return tuple([given.get(name) for name in attributes])

    with SqlLog(path, create=False) as log:
        for number, values in enumerate(log.values((*fields, "attributes")), start=1):
            yield number, columns, (restored(values[0]), *values[1:-1], *of_json(values[-1]))


def _record_of_cells(names: Sequence[str], cells: Sequence[Any]) -> dict[str, Any]:
    """Return the record of a row of a database of which some columns were read; its case is left as it is."""
    given = {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None}
    kept = {name: given[name] for name in names if name in given and name not in ROW_FIELDS}
    values = [given.get(name) for name in ROW_FIELDS]
    return {**to_record(to_row([*values, json.dumps(kept)])), "case_id": given["case_id"]}


def read_records(path: str | PathLike[str]) -> list[Record]:
    """Return the records of a file as a list; see `iter_records`."""
    return list(iter_records(path))


def read_log(path: str | PathLike[str], *, labels: bool = False) -> list[VerdictRow]:
    """Read a verdict log, also one another tool wrote; missing columns take the defaults of `VerdictRow`.

    Args:
        path: `.csv` or `.jsonl`, each also as `.gz`, or `.parquet`, or a database `.sqlite` or `.db`: all its runs.
        labels: read every verdict as text, also where all are plain decimals.

    Raises:
        LogFormatError: a row is malformed, ragged, a duplicate, mixes labels and numbers, or there is none.
        LogStorageError: a database cannot be read.

    """
    if _format_there(Path(path)) != ".csv":
        return decode(read_records(path), source=str(path), labels=labels)
    # its records take four times the memory of its rows, and a fifth of the time to read them twice
    return list(iter_decoded(lambda: iter_records(path), source=str(path), labels=labels, held=True))


def iter_log(path: str | PathLike[str], *, labels: bool = False) -> Iterator[VerdictRow]:
    """Yield what `read_log` returns; the file is read twice, and no more than a row of it is held."""
    return iter_decoded(lambda: iter_records(path), source=str(path), labels=labels)


def write_log(rows: Iterable[VerdictRow], path: str | PathLike[str]) -> Path:
    """Write rows as CSV, JSONL (`.gz` compresses) or Parquet by the file's ending, and return the path.

    Rows are written as they come; CSV goes through them twice for the names of its columns, and holds what cannot be
    gone through again.
    """
    path = Path(path)
    kind = _format(path)
    if kind in DATABASE_SUFFIXES:
        raise LogFormatError(f"{path}: rows get into a database by SqlLog(path).append or `judgeharness log import`.")
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".parquet":
        write_parquet(rows, path)
        return path
    with _writer(path) as text:
        if kind == ".jsonl":
            text.writelines(json.dumps(to_record(row), ensure_ascii=False) + "\n" for row in rows)
        else:
            _write_csv(list(rows) if isinstance(rows, Iterator) else rows, text)
    return path


@contextmanager
def _writer(path: Path) -> Iterator[IO[str]]:
    if path.suffix.lower() != ".gz":
        with open(path, "w", encoding="utf-8", errors=LONE_SURROGATES, newline="", opener=owner_only) as text:
            yield text
        return
    # no file name and no time in the header: the same rows give the same bytes
    with (
        open(path, "wb", opener=owner_only) as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped,
        io.TextIOWrapper(zipped, encoding="utf-8", errors=LONE_SURROGATES, newline="") as text,
    ):
        yield text


def _write_csv(rows: Iterable[VerdictRow], text: IO[str]) -> None:
    extra = sorted({name for row in rows for name in attribute_columns(row)})
    writer = csv.writer(text, lineterminator="\r\n")  # RFC 4180; with "\n" alone a text's "\r" would stay unquoted
    names = [defused(name) for name in extra]
    writer.writerow([*COLUMNS, *names])
    writer.writerows(to_cells(row, extra, quoted=names != extra) for row in rows)


class VerdictLog(Protocol):
    """Where rows go. Appending a row whose key is known changes nothing."""

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Add rows that are not in the log yet."""

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows whose fields equal `where`, in the order they came."""
        ...


class MemoryLog:
    """A verdict log in memory."""

    def __init__(self, rows: Iterable[VerdictRow] = ()) -> None:
        """Start with the given rows."""
        self._rows: dict[RowKey, VerdictRow] = {}
        self.append(rows)

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Add rows that are not in the log yet."""
        for row in rows:
            self._rows.setdefault(row.key, row)

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows whose fields equal `where`, in the order they came."""
        for row in self._rows.values():
            if all(getattr(row, name) == value for name, value in where.items()):
                yield row

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)


class JsonlLog:
    """A log that also writes every row to a JSONL file as it comes, so that an interrupted run leaves a valid one."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Start a new file; an existing one is replaced."""
        self.path = Path(path)
        if self.path.suffix.lower() != ".jsonl":
            raise LogFormatError(f"{path}: a log that is appended to is .jsonl.")
        self._keys: set[RowKey] = set()
        self._file = open(  # noqa: SIM115 - open as long as the log is
            self.path, "w", encoding="utf-8", errors=LONE_SURROGATES, newline="", opener=owner_only
        )

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Write rows that are not in the log yet and flush them."""
        fresh: dict[RowKey, VerdictRow] = {}
        for row in rows:
            if row.key not in self._keys:
                fresh.setdefault(row.key, row)
        self._keys.update(fresh)
        self._file.writelines(json.dumps(to_record(row), ensure_ascii=False) + "\n" for row in fresh.values())
        self._file.flush()

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows of the file whose fields equal `where`."""
        yield from MemoryLog(read_log(self.path) if self._keys else ()).rows(**where)

    def __enter__(self) -> Self:
        """Use the log as a context that closes its file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()
