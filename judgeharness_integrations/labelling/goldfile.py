"""A case file whose `gold` is what several annotators agree on, as `calibrate --labels` takes it."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.calibration.labels import LABEL_COUNT, CalibrationSet
from judgeharness_integrations.calibration.words import ONLY_CRITERION
from judgeharness_integrations.cases import CASE_COLUMNS, AnswerCase, case_id_of
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import Verdict, verdict_to_json

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["write_gold_file"]

_AMBIGUOUS = frozenset("[{+-.0123456789")  # a text beginning so may read back as JSON


def write_gold_file(cases: Iterable[AnswerCase], labelled: CalibrationSet, path: str | PathLike[str]) -> Path:
    """Write the labelled cases with their consensus as `gold` and their `label_count`, as CSV or JSONL.

    The gold of an evenly split item is empty: `CalibrationSet.from_file` counts those. A text that a reader of case
    files could take for a number or for JSON stands in a list of one label.

    Raises:
        UsageError: the file's ending is another, or no case has a consensus.

    """
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(f"{path}: a case file is .csv or .jsonl.")
    golds, _ = labelled.golds()
    if not golds:
        raise UsageError("no case has a consensus of its annotators, so there is no gold to write.")
    asked = {case_id_of(case): label for case, label in labelled.labeled_examples}
    lines = [_line(case, asked[case.case_id], golds.get(case.case_id, {})) for case in cases if case.case_id in asked]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        made = Path(folder) / path.name
        _write(made, lines)
        made.replace(path)  # at once: half a label file looks like a whole one
    return path


def _line(case: AnswerCase, said: Mapping[str, Sequence[Verdict]], golds: Mapping[str, Verdict]) -> dict[str, Any]:
    cells = {name: getattr(case, name, None) for name in CASE_COLUMNS}
    kept = {name: _gold(golds.get(name)) for name in said}
    gold = kept.get(ONLY_CRITERION, kept)
    count = max(map(len, said.values()))
    return {**cells, "names": list(case.names) or None, "gold": gold, **case.attributes, LABEL_COUNT: count}


def _gold(verdict: Verdict | None) -> Any:
    """Return a label as a case file keeps it: a set, or a text like JSON, in the list of annotators' labels."""
    kept = None if verdict is None else verdict_to_json(verdict)
    return [kept] if isinstance(kept, list) or (isinstance(kept, str) and kept[:1] in _AMBIGUOUS) else kept


def _write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
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
