"""Case files: those written for people or for another run, and the cases of a run, found from its folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.runfolder import MARK, read_mark, record_of

from .cases import CASE_COLUMNS, AnswerCase, CaseFile, read_cases

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.sql.runs import RunRecord

__all__ = ["case_record", "cases_of_run", "texts_of_cases", "texts_of_run", "write_queue", "write_records"]


def case_record(case: AnswerCase) -> dict[str, Any]:
    """Return the columns of a case, its attributes after them."""
    cells = {name: getattr(case, name, None) for name in CASE_COLUMNS}
    return {**cells, "names": list(case.names) or None, **case.attributes}


def write_queue(cases: Iterable[AnswerCase], path: Path) -> int:
    """Write the cases that wait for people, without what is known of their labels; return how many there are.

    `judgeharness label` reads the file. Where none waits there is none.
    """
    lines = [case_record(case) | {"gold": None} for case in cases]
    if lines:
        write_records(path, lines)
    else:
        path.unlink(missing_ok=True)
    return len(lines)


def write_records(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the columns of cases that say something, as CSV or JSONL by the ending."""
    held = {name for line in lines for name, value in line.items() if value is not None}
    columns = [name for name in dict.fromkeys(name for line in lines for name in line) if name in held]
    with open(path, "w", encoding="utf-8", errors=LONE_SURROGATES, newline="", opener=owner_only) as file:
        if path.suffix.lower() == ".csv":
            writer = csv.writer(file, lineterminator="\r\n")
            writer.writerow(columns)
            writer.writerows([_cell(name, line.get(name)) for name in columns] for line in lines)
            return
        for line in lines:
            kept = {name: line[name] for name in columns if line.get(name) is not None}
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")


def _cell(name: str, value: Any) -> Any:
    if value is None:
        return ""
    if name == "names":
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


_ABOVE: Final = 4  # folders above the run's in which its case file is looked for
_TEXTS: Final = ("input", "output", "output_b", "reference", "context")


def texts_of_cases(cases: Iterable[AnswerCase]) -> dict[str, dict[str, str]]:
    """Return case -> field -> text."""
    return {
        case.case_id: {name: text for name in _TEXTS if (text := getattr(case, name, None)) is not None}
        for case in cases
    }


def texts_of_run(folder: Path) -> tuple[dict[str, dict[str, str]], str]:
    """Return the texts of the cases that a run judged, and why there are none; one of both is empty.

    Texts of a run that keeps hashes alone are not looked for.
    """
    record = record_of(folder)
    if record is not None and record.config.get("keep") == "hash":
        return {}, "the run keeps hashes of texts alone: give --cases FILE to show its cases"
    try:
        return texts_of_cases(cases_of_run(folder, None, record)[0]), ""
    except JudgeHarnessError as error:
        return {}, str(error)


def cases_of_run(folder: Path, given: Path | None, record: RunRecord | None) -> tuple[list[AnswerCase], bool]:
    """Return the cases that a run judged, and whether they are exactly those it was given.

    Args:
        folder: of the run.
        given: the case file, where it is named.
        record: what the run's log knows of it; it names the file and holds its digest.

    Raises:
        UsageError: the file is not known, not found from here, or not what it was then.

    """
    digest = None if record is None else record.cases_digest
    if given is not None:
        return read_cases(given), CaseFile(given).check().digest == digest
    named = None if record is None else record.config.get("cases")
    if not named:
        raise UsageError(f"which cases {folder} judged is not noted there: give them as --cases FILE.")
    there = [path for path in _places(str(named), folder) if path.is_file() and path.suffix.lower() != ".json"]
    same = next((path for path in there if CaseFile(path).check().digest == digest), None)
    if same is not None:
        return read_cases(same), True
    what = f"{there[0]} is not what it was then" if there else f"{named} is not found from here"
    raise UsageError(f"{folder} judged the cases of {named}, and {what}: give them as --cases FILE.")


def _places(named: str, folder: Path) -> Iterator[Path]:
    """Yield where a case file may stand: configurations name it from their own folder, which older runs do not note."""
    absolute = folder.absolute()
    noted = read_mark(folder / MARK).get("configured_in") if (folder / MARK).is_file() else None
    known = [folder.resolve() / noted] if isinstance(noted, str) else []
    for start in (*known, Path(), absolute, *list(absolute.parents)[:_ABOVE]):
        yield start / Path(named).expanduser()
