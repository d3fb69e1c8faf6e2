"""What `judgeharness label --merge` does: several annotators' logs become cases with gold labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.calibration import CalibrationSet
from judgeharness_integrations.casefiles import read_cases
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._label import Request
from judgeharness_integrations.cli._printing import console, percent, safe, table
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.labelling import LabelAgreement, calibration_set_from_logs, label_agreement
from judgeharness_integrations.labelling.goldfile import write_gold_file
from judgeharness_integrations.replay import rows_about
from judgeharness_integrations.verdictlog import VerdictRow, read_log

__all__ = ["merge_logs"]


def merge_logs(request: Request, *, cases: Path | None, consensus: str, overwrite: bool = False) -> None:
    """Fold the labels of several logs by the consensus rule, write the cases with it, and say what was left out."""
    _check(request)
    if not request.files or cases is None or request.out is None:
        raise UsageError("--merge needs the logs, --cases CASES and --out FILE.")
    _check_out(request.out, (*request.files, cases), overwrite=overwrite)
    logs = {path: read_log(path) for path in request.files}
    read = [row for path in request.files for row in logs[path]]
    rows = [row for row in rows_about(read, request.criteria or None) if row.ok]
    known = read_cases(cases)
    labelled = calibration_set_from_logs(rows, known, name=request.out.name.split(".")[0], consensus=consensus)
    path = write_gold_file(known, labelled, request.out)
    agreement = label_agreement(rows)
    failed = len(read) - sum(row.ok for row in read)
    facts = _facts(rows, labelled, failed=failed) | {"cases": len(known), "repeated": _repeated(rows)}
    if request.as_json:
        pairs = [pair.to_dict() for pair in agreement]
        print_json({"schema": "judgeharness.labels/1", **facts, "agreement": pairs, "out": str(path)})
        return
    screen = console()
    for line in _lines(facts):
        screen.print(line, soft_wrap=True)
    if agreement:
        columns = ("criterion", "annotator", "annotator", "items", "agreed %", "kappa")
        screen.print(table("agreement of annotators", columns, map(_cells, agreement), texts=3))
    screen.print(safe(f"written to {path}: calibrate --labels takes it", 300), soft_wrap=True)


def _check(request: Request) -> None:
    given = {
        "--annotator": request.annotator,
        "--answers": request.answers,
        "--sheet": request.sheet,
        "--from-sheet": request.from_sheet,
    }
    if extra := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"--merge takes logs that are there: leave out {', '.join(extra)}.")


def _check_out(out: Path, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Refuse what would write over labels or cases; nothing else is written over unless so wished."""
    check_file(out)
    for path in inputs:
        if path.exists() and out.exists() and out.samefile(path):
            raise UsageError(f"--out {out} is {path}, which is read: give another --out.")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists: give another --out, or --overwrite.")


def _facts(rows: Sequence[VerdictRow], labelled: CalibrationSet, *, failed: int) -> dict[str, Any]:
    golds, ties = labelled.golds()
    items = [votes for _, label in labelled.labeled_examples for votes in label.values()]
    labels = sum(map(len, items))
    given = {(row.judge, row.case_id, row.criterion) for row in rows}
    return {
        "annotators": dict(sorted(Counter(judge for judge, _, _ in given).items())),
        "consensus": labelled.consensus,
        "labelled_cases": len(labelled.labeled_examples),
        "items": len(items),
        "golds": sum(map(len, golds.values())),
        "ties": ties,
        "labels_per_item": {str(count): number for count, number in sorted(Counter(map(len, items)).items())},
        "labels_of_no_case": len(given) - labels,
        "rows_without_label": failed,
    }


def _repeated(rows: Sequence[VerdictRow]) -> dict[str, int]:
    """Return annotator -> how many labels stand twice or more; where they differ, nothing is merged at all."""
    times = Counter((row.judge, row.case_id, row.criterion) for row in rows)
    return dict(sorted(Counter(judge for (judge, _, _), count in times.items() if count > 1).items()))


def _lines(facts: dict[str, Any]) -> Iterator[str | Text]:
    names = ", ".join(f"{name} ({count})" for name, count in facts["annotators"].items())
    yield safe(f"{len(facts['annotators'])} annotators: {names}", 400)
    yield f"{facts['items']} items of {facts['labelled_cases']} of {facts['cases']} cases are labelled"
    per_item = ", ".join(f"{count}: {number}" for count, number in facts["labels_per_item"].items())
    yield f"items by number of labels: {per_item}"
    yield f"consensus {facts['consensus']}: {facts['golds']} golds; {facts['ties']} evenly split items have none"
    if facts["labels_of_no_case"]:
        yield f"{facts['labels_of_no_case']} labels are of no case given and count for nothing"
    for name, count in facts["repeated"].items():
        yield safe(f"{count} labels of {name} stand twice or more and count once: is one of the files a copy?", 300)
    if facts["rows_without_label"]:
        yield f"{facts['rows_without_label']} rows hold no label"
    if len(facts["annotators"]) == 1:
        yield "one annotator: nothing tells how far people agree"


def _cells(pair: LabelAgreement) -> list[str | Text]:
    kappa = "-" if pair.kappa is None else f"{pair.kappa.value:.3f}"
    names = (pair.criterion, *pair.annotators)
    return [*map(safe, names), str(pair.items), percent(pair.agreed / pair.items), kappa]
