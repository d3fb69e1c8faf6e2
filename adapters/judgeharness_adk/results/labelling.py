"""The labelling sheet of an evaluation: what people label, without what the judge said about it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations._errors import CaseError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.calibration.items import graded_label
from judgeharness_integrations.analysis.calibration.saved import last_asked
from judgeharness_integrations.analysis.design import Fingerprint
from judgeharness_integrations.judging.calibrating import calibration_report
from judgeharness_integrations.judging.labelset import CalibrationSet
from judgeharness_integrations.labelling import resultsheets as sheetfile
from judgeharness_integrations.labelling.resultsheets import cell_text, golds_in
from judgeharness_integrations.verdictlog.plain import safe_text

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


_LOGGER = logging.getLogger("judgeharness_adk")


def calibrated(
    results: Sequence[AdkResult],
    path: Path,
    *,
    metric: str | None,
    name: str | None,
    source: str,
    positive: str,
) -> CalibrationReport:
    """Return the calibration of one metric; see `AdkResults.calibrate`."""
    if positive not in ("PASS", "FAIL"):
        raise UsageError(f"positive is PASS or FAIL, not {positive!r:.40}.")
    # what was not asked to the end says nothing about the rule
    chosen = [one for one in _of_metric(results, metric) if one.result.state == "complete"]
    if chosen and all(one.result.counts_alone for one in chosen):
        raise UsageError("nothing can be calibrated: the measurements are in no sidecar, so their design is unknown.")
    given = [label for label in read_sheet(path) if metric is None or label.metric in ("", metric)]
    labels = _matching(given, chosen, path)
    labelled = [one for one in chosen if one.result.case_id in labels]
    _check_configuration(labelled)
    return calibration_report(
        [one.result for one in labelled],
        CalibrationSet(
            name or path.name.split(".")[0],
            [({"case_id": case_id}, golds) for case_id, golds in labels.items()],
            source=source,
            positive=positive,
        ),
        judge=labelled[0].result.judge,
        parts=labelled[0].parts,
        measured_at=last_asked(row for one in labelled for row in one.result.rows)
        or datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _of_metric(results: Sequence[AdkResult], metric: str | None) -> list[AdkResult]:
    known = dict.fromkeys(one.metric for one in results)
    if metric is not None and metric not in known:
        raise UnknownNameError("metric", metric, known)
    if metric is None and len(known) > 1:
        raise UsageError(f"there are measurements of {len(known)} metrics ({', '.join(known)}): name one with metric=.")
    return [one for one in results if metric is None or one.metric == metric]


def _matching(labels: Sequence[Label], results: Sequence[AdkResult], path: Path) -> dict[str, dict[str, list[str]]]:
    """Return case -> rubric -> labels of the measured rubrics that belong to their metric's criterion."""
    measured = {
        (one.result.case_id, rubric): one.metric
        for one in results
        for rubric in one.standing
        if rubric in one.result.criteria
    }
    matching: dict[str, dict[str, list[str]]] = {}
    unknown = 0
    for label in labels:
        metric = measured.get((label.case_id, label.criterion))
        if metric is not None and label.metric in ("", metric):
            matching.setdefault(label.case_id, {}).setdefault(label.criterion, []).append(label.gold)
        else:
            unknown += 1
    if not matching:
        raise CaseError(
            f"{path}: none of its {len(labels)} labels is of a measured rubric: take the sheet of these results, and "
            "leave case_id, metric and criterion as they are."
        )
    if unknown:
        _LOGGER.warning(
            "%s: %d of %d labels are of no measured rubric and count for nothing", path, unknown, len(labels)
        )
    return matching


def _check_configuration(results: Sequence[AdkResult]) -> None:
    last = results[-1]
    others = [one for one in results if one.fingerprint != last.fingerprint]
    if others:
        changes = dict.fromkeys(
            name for one in others for name in Fingerprint(one.parts or {}).changes(last.parts or {})
        )
        raise UsageError(
            f"the labelled measurements are of {len({one.fingerprint for one in results})} configurations "
            f"({safe_text(', '.join(changes), 200)} changed): keep those of one, as with "
            "results.filter(lambda one: one.fingerprint == results[-1].fingerprint)."
        )
