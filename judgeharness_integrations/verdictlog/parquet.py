"""Verdict logs as Parquet: ours keep every type, those of other tools are read like CSV with types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import LogFormatError, NotInstalledError
from judgeharness_integrations._files import owner_only
from judgeharness_integrations.verdictlog.columns import ROW_COLUMNS, to_row, to_values
from judgeharness_integrations.verdictlog.decoding import Record
from judgeharness_integrations.verdictlog.encoding import LOG_SCHEMA, to_record
from judgeharness_integrations.verdictlog.row import TOKENS, VerdictRow

__all__ = ["parquet_records", "write_parquet"]

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
