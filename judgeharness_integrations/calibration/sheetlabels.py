"""The labels of a filled labelling sheet, and the calibration set they become with their cases."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration.answers import Answers
from judgeharness_integrations.calibration.labels import CalibrationSet
from judgeharness_integrations.calibration.sheetfile import cell_text, golds_in, read_sheet
from judgeharness_integrations.cases import Case, case_id_of
from judgeharness_integrations.perturbations import position_swap
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.row import Verdict

if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "AnnotatedLabel",
    "SheetLabel",
    "calibration_set_from_sheet",
    "read_annotated_labels",
    "read_labelling_sheet",
]

_YES, _NO = ("yes", "true", "1"), ("", "no", "false", "0")
_LOGGER = logging.getLogger("judgeharness_integrations")


class SheetLabel(NamedTuple):
    """What one annotator says about one criterion of one case."""

    case_id: str
    criterion: str
    gold: Verdict


class AnnotatedLabel(NamedTuple):
    """A label with what else its line says: who filled it, a comment, and whether two answers had changed places.

    The label names the answers by the places of the case, `swapped` or not.
    """

    label: SheetLabel
    annotator: str
    comment: str
    swapped: bool


def read_labelling_sheet(path: str | PathLike[str]) -> list[SheetLabel]:
    """Return the labels of a filled sheet, in order; lines without gold are left out.

    Lines of the same case and criterion, or a list in JSONL, are several annotators. Where a line says that the two
    answers stood in the other order (`swapped`), A and B change places.

    Raises:
        CaseError: it cannot be read, lacks a column, holds what its column `answer` does not allow, or no gold.

    """
    return [annotated.label for annotated in read_annotated_labels(path)]


def read_annotated_labels(path: str | PathLike[str]) -> list[AnnotatedLabel]:
    """Return the labels of a filled sheet with what else their lines say; see `read_labelling_sheet`."""
    labels = list(_labels(Path(path)))
    if not labels:
        raise CaseError(f"{path}: no gold is filled in: write what its column answer allows into its column gold.")
    return labels


def _labels(path: Path) -> Iterator[AnnotatedLabel]:
    restore = position_swap().restore
    for where, cells in read_sheet(path, required=("case_id", "criterion", "gold")):
        answers = Answers.parse(cell_text(cells.get("answer")).strip())
        swapped = _is_swapped(cells, where)
        annotator, comment = (cell_text(cells.get(name)).strip() for name in ("annotator", "comment"))
        for said in golds_in(cells):
            if (gold := answers.read(said)) is None:
                raise CaseError(f"{where}: gold {safe_text(said, 40)!r} is not allowed: write {answers}, or nothing.")
            label = SheetLabel(cell_text(cells["case_id"]), cell_text(cells["criterion"]), gold)
            if swapped:
                label = label._replace(gold=restore(gold, label.criterion))
            yield AnnotatedLabel(label, annotator, comment, swapped)


def _is_swapped(cells: Mapping[str, Any], where: str) -> bool:
    said = cell_text(cells.get("swapped")).strip().casefold()
    if said not in (*_YES, *_NO):
        raise CaseError(f"{where}: swapped {safe_text(said, 40)!r} is not yes or no: that column is not for people.")
    return said in _YES


def calibration_set_from_sheet(
    path: str | PathLike[str], cases: Iterable[Case], *, name: str | None = None, **options: Any
) -> CalibrationSet:
    """Return the cases of a filled sheet with its labels; `options` are further fields of `CalibrationSet`.

    Args:
        path: the sheet.
        cases: the cases it was written for; those without a label are left out.
        name: what reports call the set; the sheet's name when None.
        options: `source`, `consensus`, `positive`.

    Raises:
        CaseError: the sheet cannot be used, or none of its labels is of a case given.

    """
    path = Path(path)
    golds: dict[str, dict[str, list[Verdict]]] = {}
    labels = read_labelling_sheet(path)
    for label in labels:
        golds.setdefault(label.case_id, {}).setdefault(label.criterion, []).append(label.gold)
    known = {case_id_of(case): case for case in cases}
    unknown = sum(label.case_id not in known for label in labels)
    if unknown == len(labels):
        raise CaseError(f"{path}: none of its {unknown} labels is of a case given: give the cases it was written for.")
    if unknown:
        _LOGGER.warning("%s: %d of %d labels are of no case given and count for nothing", path, unknown, len(labels))
    labelled = tuple((case, golds[case_id]) for case_id, case in known.items() if case_id in golds)
    return CalibrationSet(name or path.name.split(".")[0], labelled, **options)
