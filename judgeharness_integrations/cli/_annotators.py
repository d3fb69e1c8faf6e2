"""Labels of several annotators, as files hold them and as certificates take them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.agreement.panel import is_log
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import gold_about, read_gold
from judgeharness_integrations.labelling.labellog import calibration_set_from_logs, models_among
from judgeharness_integrations.verdictlog.decoding import decode
from judgeharness_integrations.verdictlog.files import read_records

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.forecasts import AnnotatorShares
    from judgeharness_integrations.judging.cases import Case
    from judgeharness_integrations.verdictlog.row import VerdictRow


def annotators_beside(rows: Sequence[VerdictRow]) -> Callable[..., CalibrationSet]:
    """Return what reads the labels of annotators other than the judges of these rows."""
    return partial(read_annotators, judges={row.judge for row in rows})


def read_annotators(path: Path, *, name: str | None, source: str, judges: Collection[str] = ()) -> CalibrationSet:
    """Read the labels of several annotators: a row each, as `label` writes them, or what `read_gold` reads.

    Raises:
        CaseError: rows are answers of one of `judges`, or of a model where labels are to come from people.

    """
    records = read_records(path)
    if not records or not is_log(records[0][1]) or any(columns.get("gold") for _, columns in records):
        return read_gold(path, name=name, source=source)
    rows = decode(records, source=str(path))
    _refuse_answers(rows, path, source=source, judges=judges)
    cases: list[Case] = [{"case_id": case_id} for case_id in dict.fromkeys(row.case_id for row in rows)]
    return calibration_set_from_logs(rows, cases, name=name or path.name.split(".")[0], source=source)


def _refuse_answers(rows: Sequence[VerdictRow], path: Path, *, source: str, judges: Collection[str]) -> None:
    """Refuse what a judge answered in place of labels: a judge always agrees with itself."""
    for row in rows:
        if row.judge in judges:
            raise CaseError(f"{path} holds answers of the judge {row.judge!r:.80} itself: give the labels of others.")
    if source == "human" and (models := models_among(rows)):
        raise CaseError(
            f"{path} holds answers of a model ({models[0]!r:.80}), and not labels of people: give those, or say "
            "--source model:NAME."
        )


@dataclass(frozen=True, kw_only=True)
class Annotators:
    """Where labels come from and the shares of their annotators, which are empty where no case has several."""

    labels: Labels
    shares: AnnotatorShares
    drawn: CalibrationSet | None

    @classmethod
    def of(cls, labelled: CalibrationSet) -> Self:
        """Read a set of labels; evenly split ones are shares, too."""
        shares, told = labelled.shares()
        single = Labels(
            name=labelled.name, source=labelled.source, consensus=labelled.consensus, ties=labelled.golds()[1]
        )
        if not told:
            return cls(labels=single, shares={}, drawn=None)
        labels = replace(single, consensus=told, ties=len(labelled.ties))
        return cls(labels=labels, shares=shares, drawn=labelled.drawn())

    def draw(self, rows: Sequence[VerdictRow]) -> Sequence[VerdictRow]:
        """Return rows with the label of one annotator, drawn at random, in place of the majority's."""
        if self.drawn is None:
            return rows
        golds, _ = self.drawn.golds()
        return [replace(row, gold=gold_about(golds.get(row.case_id, {}), row.criterion)) for row in rows]
