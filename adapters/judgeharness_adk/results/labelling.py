"""The labelling sheet of an evaluation: what people label, without what the judge said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.calibration import sheetfile
from judgeharness_integrations.calibration.measure import graded_label
from judgeharness_integrations.calibration.sheetfile import cell_text, golds_in
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["Label", "read_sheet", "write_sheet"]

_PLACE = ("case_id", "app", "eval_set_id", "eval_id", "run", "turn", "invocation_id", "metric", "criterion")
_TEXTS = ("rubric", "context", "input", "output", "reference")
COLUMNS = (*_PLACE, *_TEXTS, "gold")


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
    return sheetfile.write_sheet(path, lines, COLUMNS, seed=seed)


def _lines(one: AdkResult) -> Iterator[dict[str, Any]]:
    known = {name: getattr(one, name, None) for name in COLUMNS} | {"case_id": one.result.case_id, "gold": ""}
    for rubric in one.standing:
        if rubric in one.result.criteria:
            yield known | {"criterion": rubric, "rubric": one.rubrics.get(rubric) or ""}


def read_sheet(path: Path) -> list[Label]:
    """Return the labels of a filled sheet; lines without gold are left out.

    Raises:
        CaseError: it cannot be read, lacks a column, holds another word than PASS and FAIL, or no gold.

    """
    labels: list[Label] = []
    for where, cells in sheetfile.read_sheet(path, required=("case_id", "criterion", "gold")):
        case_id, criterion, metric = (cell_text(cells.get(name)) for name in ("case_id", "criterion", "metric"))
        for said in golds_in(cells):
            if (label := graded_label(said)) is None:
                raise CaseError(
                    f"{where}: gold {safe_text(said, 40)!r} is neither PASS nor FAIL (yes/no, true/false, 1/0)."
                )
            labels.append(Label(case_id, criterion, metric, label))
    if not labels:
        raise CaseError(f"{path}: no gold is filled in: write PASS or FAIL into its column gold.")
    return labels
