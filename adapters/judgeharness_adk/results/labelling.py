"""The labelling sheet: what people label, without what the judge said about it."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations._errors import CaseError, LogFormatError, UsageError
from judgeharness_integrations.calibration.measure import graded_label
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.files import read_records

__all__ = ["Label", "read_sheet", "write_sheet"]

_PLACE = ("case_id", "app", "eval_set_id", "eval_id", "run", "turn", "invocation_id", "metric", "criterion")
_TEXTS = ("rubric", "context", "input", "output", "reference")
COLUMNS = (*_PLACE, *_TEXTS, "gold")
# What makes a spreadsheet read a cell as a formula; the texts are those of users and agents.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - full-width forms count, too
_HINT = "save the sheet as comma-separated CSV in UTF-8."
_QUOTE = "'"


class Label(NamedTuple):
    """What one annotator says about one rubric of one case; `metric` is empty where the sheet names none."""

    case_id: str
    criterion: str
    metric: str
    gold: str


def write_sheet(results: Sequence[AdkResult], path: Path, *, seed: int | None) -> Path:
    """Write the sheet; see `AdkResults.write_labelling_sheet`."""
    lines = [line for one in results for line in _lines(one)]
    if not lines:
        raise UsageError("there is nothing to label: no measurement is of a rubric of its metric's own criterion.")
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
            writer.writerow(COLUMNS)
            writer.writerows([_defused(line[name]) for name in COLUMNS] for line in lines)
        else:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return path


def _lines(one: AdkResult) -> Iterator[dict[str, Any]]:
    known = {name: getattr(one, name, None) for name in COLUMNS} | {"case_id": one.result.case_id, "gold": ""}
    for rubric in one.standing:
        if rubric in one.result.criteria:
            yield known | {"criterion": rubric, "rubric": one.rubrics.get(rubric) or ""}


def _defused(value: object) -> str:
    text = "" if value is None else str(value)
    return _QUOTE + text if text[:1] in _FORMULA or text[:1] == _QUOTE else text


def read_sheet(path: Path) -> list[Label]:
    """Return the labels of a filled sheet; lines without gold are left out.

    Raises:
        CaseError: it cannot be read, lacks a column, holds another word than PASS and FAIL, or no gold.

    """
    try:
        records = read_records(path)
    except LogFormatError as error:
        told = str(error).replace("a verdict log is", "a labelling sheet is").rstrip(".")
        raise CaseError(f"{told}; {_HINT}") from error
    as_csv = ".csv" in (suffix.lower() for suffix in path.suffixes)
    labels = [label for line, cells in records for label in _labels(cells, f"{path}, line {line}", quoted=as_csv)]
    if not labels:
        raise CaseError(f"{path}: no gold is filled in: write PASS or FAIL into its column gold.")
    return labels


def _labels(cells: Mapping[str, Any], where: str, *, quoted: bool) -> Iterator[Label]:
    missing = [name for name in ("case_id", "criterion", "gold") if name not in cells]
    if missing:
        raise CaseError(f"{where}: column {missing[0]!r} is missing; {_HINT}")
    case_id, criterion, metric = (_cell(cells.get(name), quoted=quoted) for name in ("case_id", "criterion", "metric"))
    gold = cells["gold"]
    for said in gold if isinstance(gold, list) else [gold]:
        text = _cell(said, quoted=quoted).strip()
        if not text:
            continue
        if (label := graded_label(text)) is None:
            raise CaseError(
                f"{where}: gold {safe_text(text, 40)!r} is neither PASS nor FAIL (yes/no, true/false, 1/0)."
            )
        yield Label(case_id, criterion, metric, label)


def _cell(value: object, *, quoted: bool) -> str:
    text = "" if value is None else str(value)
    return text.removeprefix(_QUOTE) if quoted else text
