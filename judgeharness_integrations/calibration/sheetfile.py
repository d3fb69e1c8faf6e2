"""The file of a labelling sheet: CSV without formulas, or JSONL, and what people wrote into it read back."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import CaseError, LogFormatError, UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, QUOTE, defused
from judgeharness_integrations.verdictlog.files import read_records

__all__ = ["cell_text", "golds_in", "item_of", "read_sheet", "write_sheet"]

_HINT = "save the sheet as comma-separated CSV in UTF-8."


def write_sheet(
    path: Path, lines: Sequence[Mapping[str, Any]], columns: Sequence[str], *, seed: int | None = None
) -> Path:
    """Write a sheet as `.csv` or `.jsonl` and return its path; with a seed its lines are shuffled.

    In CSV a quote stands before what a spreadsheet would take for a formula; `read_sheet` takes it off.

    Raises:
        UsageError: the file's ending is another.

    """
    lines = list(lines)
    if seed is not None:
        random.Random(seed).shuffle(lines)  # noqa: S311 - an order, not a secret
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(f"{path}: a labelling sheet is .csv or .jsonl.")
    path.parent.mkdir(parents=True, exist_ok=True)
    as_csv = path.suffix.lower() == ".csv"
    # Excel takes a CSV without the mark for one of another encoding
    encoding = "utf-8-sig" if as_csv else "utf-8"
    with path.open("w", encoding=encoding, errors=LONE_SURROGATES, newline="") as file:
        if as_csv:
            writer = csv.writer(file, lineterminator="\r\n")
            writer.writerow(columns)
            writer.writerows([defused(cell_text(line[name])) for name in columns] for line in lines)
        else:
            file.writelines(
                json.dumps({name: line[name] for name in columns}, ensure_ascii=False) + "\n" for line in lines
            )
    return path


def item_of(case_id: str) -> str:
    """Return what stands for a case id where people see it: an id may name a model."""
    return "item-" + hashlib.sha256(case_id.encode(errors="surrogatepass")).hexdigest()[:12]


def read_sheet(
    path: Path, *, required: Sequence[str], also: Mapping[str, str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file and line, cells) of a sheet; of CSV the cells are texts, of JSONL what JSON holds.

    Args:
        path: the sheet.
        required: columns it must have.
        also: other name -> name of a column.

    Raises:
        CaseError: it cannot be read, or lacks a required column.

    """
    try:
        records = read_records(path)
    except LogFormatError as error:
        told = str(error).replace("a verdict log is", "a labelling sheet is").rstrip(".")
        raise CaseError(f"{told}; {_HINT}") from error
    as_csv = ".csv" in (suffix.lower() for suffix in path.suffixes)
    for number, read in records:
        where = f"{path}, line {number}"
        cells = {**read, **{name: read[other] for other, name in (also or {}).items() if other in read}}
        missing = [name for name in required if name not in cells]
        if missing:
            raise CaseError(f"{where}: column {missing[0]!r} is missing; {_HINT}")
        yield where, {name: value.removeprefix(QUOTE) for name, value in cells.items()} if as_csv else cells


def cell_text(value: object) -> str:
    """Return a cell as text, an empty one for None."""
    return "" if value is None else str(value)


def golds_in(cells: Mapping[str, Any]) -> list[str]:
    """Return what is written as gold, empty where nothing is; in JSONL a list holds several annotators' labels."""
    gold = cells["gold"]
    texts = (cell_text(said).strip() for said in (gold if isinstance(gold, list) else [gold]))
    return [text for text in texts if text]
