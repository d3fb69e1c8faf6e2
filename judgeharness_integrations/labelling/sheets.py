"""The labelling sheet of one annotator: the questions as a file, and the rows a filled one becomes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.cases import Case, case_id_of
from judgeharness_integrations.judging.perturbations import position_swap
from judgeharness_integrations.labelling.labellog import LabelLog
from judgeharness_integrations.labelling.questions import Question, kind_of
from judgeharness_integrations.labelling.resultsheets import AnnotatedLabel, item_of, read_annotated_labels, write_sheet
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

if TYPE_CHECKING:
    from os import PathLike

_TEXTS = ("context", "input", "output", "output_b", "reference")
_COLUMNS = ("item", "criterion", "rubric", *_TEXTS, "allowed", "label", "comment", "annotator", "swapped")
_AT_NEED = frozenset({"rubric", "output_b", "swapped"})  # left out where every cell of them is empty


def write_annotator_sheet(questions: Sequence[Question], path: str | PathLike[str], *, annotator: str) -> Path:
    """Write the questions of one annotator as CSV or JSONL, in their order, `label` and `comment` to be filled.

    A case is an `item`, a digest of its id: an id may name an author.

    Raises:
        UsageError: the file exists, since it may hold labels, or its ending is another.

    """
    path = Path(path)
    if path.exists():
        raise UsageError(f"{path} exists and may hold labels: give another file for the sheet.")
    lines = [_line(question, annotator) for question in questions]
    columns = [name for name in _COLUMNS if name not in _AT_NEED or any(line[name] for line in lines)]
    return write_sheet(path, lines, columns)


def _line(question: Question, annotator: str) -> dict[str, str]:
    return {
        **dict.fromkeys(_COLUMNS, ""),
        **question.texts,
        "item": item_of(question.case_id),
        "criterion": question.criterion,
        "rubric": question.description,
        "allowed": str(question.answers),
        "annotator": annotator,
        "swapped": ("yes" if question.swapped else "no") if "output_b" in question.texts else "",
    }


def rows_of_sheet(
    path: str | PathLike[str], *, annotator: str | None = None, cases: Collection[Case] | None = None
) -> list[VerdictRow]:
    """Return the labels of a filled sheet as rows of a verdict log, in the canonical frame.

    Args:
        path: the sheet.
        annotator: who filled it, where its column `annotator` does not say.
        cases: those it was written for; None takes a sheet that names cases by their ids.

    Raises:
        CaseError: the sheet cannot be used, names a case that is not known, or labels a criterion twice.
        UsageError: nobody, or somebody else, is named as its annotator.

    """
    rows: dict[tuple[str, str, str], VerdictRow] = {}
    known = None if cases is None else {case_id_of(case) for case in cases}
    for annotated in read_annotated_labels(path, cases=cases):
        label = annotated.label
        if known is not None and label.case_id not in known:
            raise CaseError(f"{path}: case {label.case_id!r} is not among the cases: give those it was written for.")
        row = _row(annotated, _annotator(annotated, annotator, str(path)))
        key = (row.judge, row.case_id, row.criterion)
        if key in rows:
            raise CaseError(f"{path}: {row.judge!r} labels {row.criterion!r} of case {row.case_id!r} twice: keep one.")
        rows[key] = row
    return list(rows.values())


def _annotator(annotated: AnnotatedLabel, given: str | None, path: str) -> str:
    if annotated.annotator and given and annotated.annotator != given:
        raise UsageError(
            f"{path} is the sheet of {annotated.annotator!r}, not of {given!r}: name the one who filled it."
        )
    if not (name := annotated.annotator or given):
        raise UsageError(f"{path} does not say who filled it: give --annotator NAME.")
    return name


def _row(annotated: AnnotatedLabel, annotator: str) -> VerdictRow:
    label, _, comment, swapped = annotated
    return VerdictRow(
        case_id=label.case_id,
        judge=annotator,
        criterion=label.criterion or "verdict",
        verdict=label.gold,
        perturbation=position_swap().name if swapped else "none",
        swapped=swapped,
        reasoning=comment or None,
    )


def add_rows(rows: Sequence[VerdictRow], log: LabelLog) -> int:
    """Write rows into a log of labels and return how many were new; equal answers stay as they are.

    Raises:
        CaseError: the log holds another answer of the same annotator; nothing is written.
        RunBusyError: another process does not let go of the log.

    """
    with log.held():
        return _added(rows, log)


def _added(rows: Sequence[VerdictRow], log: LabelLog) -> int:
    held = {(row.judge, row.case_id, row.criterion): row.verdict for row in log.rows()}
    fresh = []
    for row in rows:
        before = held.get((row.judge, row.case_id, row.criterion))
        if before is None:
            fresh.append(row)
        elif before != row.verdict:
            raise CaseError(
                f"{log.path}: {row.judge!r} said {verdict_text(before)} about {row.criterion!r} of case "
                f"{row.case_id!r}, the sheet says {verdict_text(row.verdict)}: keep one, or give another --out."
            )
    _check_kinds([*log.rows(), *fresh])
    log.append(fresh)
    return len(fresh)


def _check_kinds(rows: Iterable[VerdictRow]) -> None:
    kinds: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.verdict is None:
            continue
        kind = kind_of(row.verdict)
        if (before := kinds.setdefault((row.judge, row.criterion), kind)) != kind:
            raise CaseError(f"{row.judge!r} says {before} and {kind} about {row.criterion!r}: use one kind.")
