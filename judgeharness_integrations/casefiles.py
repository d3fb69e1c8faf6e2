"""Cases from CSV and JSONL files: as a list, or read anew one after the other."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import CaseError, LogFormatError
from judgeharness_integrations.cases import AnswerCase, case_from_mapping
from judgeharness_integrations.verdictlog.files import iter_records

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["CaseFile", "CheckedCases", "gold_of_cell", "read_cases"]


@dataclass(frozen=True, kw_only=True)
class CheckedCases:
    """What is known of a case file that was read as a whole.

    `digest` (32 hex digits) is of the cases' content in their order: the same cases as CSV or JSONL, or with columns
    in another order, have the same.
    """

    count: int
    digest: str


class CaseFile:
    """The cases of a `.csv` or `.jsonl` file (`.gz` too): every iteration reads the file again, one case at a time.

    `check` reads it once as a whole: 8 bytes a case are kept meanwhile, nothing after it.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Remember the path; nothing is read yet."""
        self.path = Path(path)
        self._checked: CheckedCases | None = None
        self._state: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[AnswerCase]:
        """Yield the cases in the order of the file.

        Raises:
            CaseError: the file cannot be read, is empty, lacks a column, or is not the one that was checked, which is
                looked for before each case and at the end.

        """
        self._check_unchanged()
        return self._cases()

    def _cases(self) -> Iterator[AnswerCase]:
        try:
            for _, case in _numbered_cases(self.path):
                self._check_unchanged()
                yield case
        except CaseError:
            self._check_unchanged()  # else it is told that a line cannot be read
            raise
        self._check_unchanged()

    def __len__(self) -> int:
        """Return the number of cases; the file is checked when it was not yet."""
        return self.check().count

    def check(self) -> CheckedCases:
        """Read the whole file and return what is known of it; a second call does not read again.

        Raises:
            CaseError: the file cannot be read, is empty, lacks a column, or repeats a case id; file and line are named.

        """
        self._check_unchanged()
        if self._checked is None:
            state = _state(self.path)
            self._checked = _checked(self.path)
            self._state = state
        return self._checked

    def _check_unchanged(self) -> None:
        if self._checked is not None and _state(self.path) != self._state:
            raise CaseError(f"{self.path}: changed while it was in use: start again.")


def _state(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file does; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _checked(path: Path) -> CheckedCases:
    digest, hashes = hashlib.blake2b(digest_size=16), _Hashes()
    for _, case in _numbered_cases(path):
        digest.update(_canonical(case))
        hashes.add(hash(case.case_id))
    if repeated := hashes.repeated():
        _refuse_repeated(path, repeated)
    return CheckedCases(count=len(hashes), digest=digest.hexdigest())


class _Hashes:
    """64-bit numbers, 8 bytes each, in so many parts that looking for equal ones takes little more."""

    def __init__(self) -> None:
        self._parts = [array("q") for _ in range(256)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, number: int) -> None:
        self._parts[number & 255].append(number)

    def repeated(self) -> frozenset[int]:
        """Return the numbers that stand there more than once."""
        found: set[int] = set()
        for part in self._parts:
            seen: set[int] = set()
            for number in part:
                (found if number in seen else seen).add(number)
        return frozenset(found)


def _refuse_repeated(path: Path, suspects: frozenset[int]) -> None:
    """Read the file again and compare the ids behind equal hashes; different ids may share one."""
    seen: dict[str, int] = {}
    for line, case in _numbered_cases(path):
        if hash(case.case_id) in suspects and (earlier := seen.setdefault(case.case_id, line)) != line:
            raise _repeats(path, line, case.case_id, earlier)


def _canonical(case: AnswerCase) -> bytes:
    """Return a case's content as bytes that another order of its attributes does not change."""
    content = {field.name: getattr(case, field.name) for field in fields(case)}
    text = json.dumps([type(case).__name__, content], sort_keys=True, default=repr)
    return text.encode(errors="surrogatepass") + b"\n"


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
    numbered = list(_numbered_cases(Path(path)))
    seen: dict[str, int] = {}
    for line, case in numbered:
        if (earlier := seen.setdefault(case.case_id, line)) != line:
            raise _repeats(Path(path), line, case.case_id, earlier)
    return [case for _, case in numbered]


def _repeats(path: Path, line: int, case_id: str, earlier: int) -> CaseError:
    return CaseError(f"{path}, line {line}: repeats the case_id {case_id!r} of line {earlier}.")


def _numbered_cases(path: Path) -> Iterator[tuple[int, AnswerCase]]:
    """Yield (line, case) of a file that must hold some."""
    line = 0
    try:
        for line, columns in iter_records(path):
            yield line, _case(columns, f"{path}, line {line}")
    except LogFormatError as error:
        raise CaseError(str(error).replace("a verdict log is", "a case file is")) from error
    if not line:
        raise CaseError(f"{path}: holds no cases.")


def _case(columns: Mapping[str, Any], where: str) -> AnswerCase:
    cleaned = {
        name: value for name, value in columns.items() if value is not None and (value != "" or name == "output")
    }
    return case_from_mapping({**cleaned, "gold": gold_of_cell(cleaned.get("gold"))}, where=where)
