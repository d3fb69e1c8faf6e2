"""The labels of a filled labelling sheet, and the calibration set they become with their cases."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration.answers import Answers
from judgeharness_integrations.calibration.labels import CalibrationSet
from judgeharness_integrations.calibration.sheet import case_texts
from judgeharness_integrations.calibration.sheetfile import cell_text, golds_in, item_of, read_sheet
from judgeharness_integrations.cases import Case, PairwiseCase, case_id_of
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

_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_ANNOTATORS = {"item": "case_id", "allowed": "answer", "label": "gold"}  # the columns as annotators see them
_PAIR = ("output", "output_b")
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


def read_labelling_sheet(path: str | PathLike[str], *, cases: Iterable[Case] | None = None) -> list[SheetLabel]:
    """Return the labels of a filled sheet, in order; lines without gold are left out.

    Lines of the same case and criterion, or a list in JSONL, are several annotators. Where a line says that the two
    answers stood in the other order (`swapped`), A and B change places.

    Args:
        path: the sheet; that of an annotator has columns `item`, `allowed`, `label` for `case_id`, `answer`, `gold`.
        cases: those it was written for; the sheet of an annotator needs them, since it names no case.

    Raises:
        CaseError: it cannot be read, lacks a column, holds what its column `answer` does not allow, or no gold; or it
            does not say in which order an annotator saw two answers.

    """
    return [annotated.label for annotated in read_annotated_labels(path, cases=cases)]


def read_annotated_labels(path: str | PathLike[str], *, cases: Iterable[Case] | None = None) -> list[AnnotatedLabel]:
    """Return the labels of a filled sheet with what else their lines say; see `read_labelling_sheet`."""
    path = Path(path)
    lines = list(read_sheet(path, required=("case_id", "criterion", "gold"), also=_ANNOTATORS))
    if cases is None and any("item" in cells for _, cells in lines):
        raise CaseError(f"{path} names items and no cases: give the cases it was written for, too.")
    known = {case_id_of(case): case for case in cases or ()}
    items = {item_of(case_id): case_id for case_id in known}
    labels = [label for where, cells in lines for label in _labels(cells, where, known, items)]
    if not labels:
        allowed, label = ("allowed", "label") if any("label" in cells for _, cells in lines) else ("answer", "gold")
        told = f"no {label} is filled in: write what its column {allowed} allows into its column {label}."
        raise CaseError(f"{path}: {told}")
    return labels


def _labels(
    cells: Mapping[str, Any], where: str, known: Mapping[str, Case], items: Mapping[str, str]
) -> Iterator[AnnotatedLabel]:
    answers = Answers.parse(cell_text(cells.get("answer")).strip())
    case_id, criterion = cell_text(cells["case_id"]), cell_text(cells["criterion"])
    if "item" in cells:
        case_id = items.get(case_id, case_id)
    annotator, comment = (cell_text(cells.get(name)).strip() for name in ("annotator", "comment"))
    swapped = _is_swapped(cells, where)
    for said in golds_in(cells):
        if (gold := answers.read(said)) is None:
            column = "label" if "label" in cells else "gold"
            told = f"{column} {safe_text(said, 40)!r} is not allowed: write {answers}, or nothing."
            raise CaseError(f"{where}: {told}")
        _check_places(cells, known.get(case_id), where, swapped=swapped)
        gold = position_swap().restore(gold, criterion) if swapped else gold
        yield AnnotatedLabel(SheetLabel(case_id, criterion, gold), annotator, comment, bool(swapped))


def _is_swapped(cells: Mapping[str, Any], where: str) -> bool | None:
    """Return whether the two answers had changed places, None where that is not said."""
    said = cell_text(cells.get("swapped")).strip().casefold()
    if said and said not in (*_YES, *_NO):
        raise CaseError(f"{where}: swapped {safe_text(said, 40)!r} is not yes or no: that column is not for people.")
    return said in _YES if said else None


def _check_places(cells: Mapping[str, Any], case: Case | None, where: str, *, swapped: bool | None) -> None:
    """Refuse a line about two answers from which it cannot be told which one is the case's A."""
    pair = [cell_text(cells.get(name)) for name in _PAIR]
    drawn = "annotator" in cells or "item" in cells  # the places are drawn in the sheets of annotators alone
    said = swapped is not None or not drawn or not (pair[1] or isinstance(case, PairwiseCase))
    if said and isinstance(case, PairwiseCase):
        own = [" ".join(case_texts(case)[name].split()) for name in _PAIR]  # spreadsheets change spaces
        shown = [" ".join(text.split()) for text in pair]
        said = own[0] == own[1] or shown != (own if swapped else own[::-1])
    if not said:
        raise CaseError(
            f"{where}: its column swapped does not say how the two answers stand: take that column from the sheet as "
            "it was written."
        )


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
    known = {case_id_of(case): case for case in cases}
    labels = read_labelling_sheet(path, cases=known.values())
    for label in labels:
        golds.setdefault(label.case_id, {}).setdefault(label.criterion, []).append(label.gold)
    unknown = sum(label.case_id not in known for label in labels)
    if unknown == len(labels):
        raise CaseError(f"{path}: none of its {unknown} labels is of a case given: give the cases it was written for.")
    if unknown:
        _LOGGER.warning("%s: %d of %d labels are of no case given and count for nothing", path, unknown, len(labels))
    labelled = tuple((case, golds[case_id]) for case_id, case in known.items() if case_id in golds)
    return CalibrationSet(name or path.name.split(".")[0], labelled, **options)
