"""Cases from CSV and JSONL files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import CaseError, LogFormatError
from judgeharness_integrations.cases import AnswerCase, case_from_mapping
from judgeharness_integrations.verdictlog.files import read_records

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["gold_of_cell", "read_cases"]


def gold_of_cell(value: Any) -> Any:
    """Return a gold label of a text cell: a decimal becomes a number, JSON a list or an object."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    if text[0] in "[{" or text[0] in "+-.0123456789":
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return parsed if isinstance(parsed, (int, float, list, dict)) else text
    return text


def read_cases(path: str | PathLike[str]) -> list[AnswerCase]:
    """Read cases from a `.csv` or `.jsonl` file (`.gz` too); unknown columns become attributes.

    Raises:
        CaseError: the file cannot be read, is empty, lacks a column, or repeats a case id; file and line are named.

    """
    try:
        records = read_records(path)
    except LogFormatError as error:
        raise CaseError(str(error).replace("a verdict log is", "a case file is")) from error
    if not records:
        raise CaseError(f"{path}: holds no cases.")
    cases = [_case(columns, f"{path}, line {line}") for line, columns in records]
    _check_unique(cases, (line for line, _ in records), str(path))
    return cases


def _case(columns: Mapping[str, Any], where: str) -> AnswerCase:
    cleaned = {
        name: value for name, value in columns.items() if value is not None and (value != "" or name == "output")
    }
    return case_from_mapping({**cleaned, "gold": gold_of_cell(cleaned.get("gold"))}, where=where)


def _check_unique(cases: Iterable[AnswerCase], lines: Iterable[int], source: str) -> None:
    seen: dict[str, int] = {}
    for case, line in zip(cases, lines, strict=True):
        if (earlier := seen.setdefault(case.case_id, line)) != line:
            raise CaseError(f"{source}, line {line}: repeats the case_id {case.case_id!r} of line {earlier}.")
