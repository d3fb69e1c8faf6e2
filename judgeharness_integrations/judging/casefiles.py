"""Case files as they are written: a line a case, for people to label or for another run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations.judging.cases import CASE_COLUMNS, AnswerCase
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["case_record", "write_queue", "write_records"]


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
