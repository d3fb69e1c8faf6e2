"""Labels made after a run: a file of case ids and labels, joined to the rows of its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION
from judgeharness_integrations.judging.cases import case_id_of, gold_of_cell
from judgeharness_integrations.judging.labelset import CalibrationSet
from judgeharness_integrations.verdictlog.encoding import LABEL_COUNT
from judgeharness_integrations.verdictlog.files import read_records
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text, voting

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Joined", "joined", "read_gold"]

_SEVERAL = 2
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Rows with the labels of a file in place of their own.

    `unmatched` are the labelled cases that the rows are not about, `ties` evenly split labels that were left out,
    `replaced` says whether the rows held labels before. `labelled` of `cases` have a label now. `strange` counts labels
    of criteria that the rows do not hold.
    """

    rows: tuple[VerdictRow, ...]
    unmatched: tuple[str, ...]
    ties: int
    labelled: int
    cases: int
    replaced: bool
    strange: Mapping[str, int] = field(default_factory=dict)

    def notes(self, source: str) -> tuple[str, ...]:
        """Return what is to be known of the join, as sentences."""
        told = [f"labels of {source}: {self.labelled} of {self.cases} cases of the log are labelled"]
        if self.unmatched:
            named = ", ".join(self.unmatched[:_NAMED]) + (", ..." if len(self.unmatched) > _NAMED else "")
            told.append(
                f"labelled cases that the log does not hold, and count for nothing: {len(self.unmatched)} ({named})"
            )
        if self.strange:
            names = ", ".join(f"{name:.40}" for name in sorted(self.strange)[:_NAMED])
            more = ", ..." if len(self.strange) > _NAMED else ""
            told.append(
                f"labels of criteria that the log does not hold, and count for nothing: {sum(self.strange.values())} "
                f"({names}{more})"
            )
        if self.ties:
            told.append(
                "evenly split labels that were left out, so that the labelled cases are those people agree on: "
                f"{self.ties}"
            )
        if self.replaced:
            told.append("the gold column of the log was not used")
        return tuple(told)


def read_gold(path: str | PathLike[str], *, name: str | None = None, source: str = "human") -> CalibrationSet:
    """Read a CSV or JSONL file with `case_id`, `gold` and, for several criteria, `criterion`; nothing else is needed.

    A label may also be a mapping criterion -> label, or the list of the annotators' labels, as in a case file. Rows
    without gold are left out; those that several annotators labelled (`label_count`) are counted as ties.

    Raises:
        CaseError: there is no such column or no label, or a case is labelled twice.

    """
    records = read_records(path)
    if not any("gold" in columns for _, columns in records):
        raise CaseError(f"{path} has no column gold: merge the logs of annotators with `judgeharness label --merge`.")
    labels: dict[str, dict[str, Any]] = {}
    ties = 0
    for line, columns in records:
        case_id, parts = _labels(columns, f"{path}, line {line}")
        mine = labels.setdefault(case_id, {})
        for criterion, label in parts.items():
            if label is None:
                ties += _several(columns)
            elif criterion in mine:
                raise CaseError(f"{path}, line {line}: labels case {case_id!r:.80} twice: keep one label.")
            else:
                mine[criterion] = label
    examples = tuple(({"case_id": case_id}, parts) for case_id, parts in labels.items() if parts)
    return CalibrationSet(name or Path(path).name.split(".")[0], examples, source=source, ties=ties)


def _labels(columns: Mapping[str, Any], where: str) -> tuple[str, Mapping[str, Any]]:
    case_id = columns.get("case_id")
    if case_id is None or not str(case_id).strip():
        raise CaseError(f"{where}: column 'case_id' is missing or empty.")
    gold = gold_of_cell(columns.get("gold"))
    named = columns.get("criterion") or ONLY_CRITERION
    return str(case_id), gold if isinstance(gold, Mapping) else {str(named): gold}


def _several(columns: Mapping[str, Any]) -> bool:
    try:
        return float(columns.get(LABEL_COUNT) or 0) >= _SEVERAL
    except (TypeError, ValueError):  # somebody's own column
        return False


def joined(rows: Sequence[VerdictRow], labels: CalibrationSet, *, texts: bool = False) -> Joined:
    """Return the rows of one judge with labels in place of the gold they hold.

    A label without a criterion is of the only one. Rows that failed for every criterion are given for each.

    Args:
        rows: of one judge.
        labels: see `read_gold`.
        texts: labels that are numbers are read as texts, as in a log read with `labels=True`.

    Raises:
        UsageError: labels name no criterion and the rows hold several, or no label is of a case of the rows.

    """
    golds, ties = labels.golds()
    groups = by_criterion(voting(rows))
    if len(groups) > 1 and any(ONLY_CRITERION in mine for mine in golds.values()):
        raise UsageError(
            f"{labels.name!r} names no criterion, and the log holds {len(groups)}: add a column criterion."
        )
    found = tuple(
        replace(row, gold=verdict_text(gold) if texts and gold is not None else gold)
        for criterion, group in groups.items()
        for row in group
        for gold in [_gold(golds.get(row.case_id, {}), criterion)]
    )
    cases, labelled = {row.case_id for row in rows}, {row.case_id for row in found if row.gold is not None}
    if not labelled:
        ids = ", ".join(sorted(golds)[:_NAMED])
        raise UsageError(f"no label of {labels.name!r} ({ids:.80}, ...) is of a case and criterion of the log.")
    return Joined(
        rows=found,
        unmatched=tuple(case_id for case_id in map(case_id_of, labels.cases) if case_id not in cases),
        ties=ties,
        labelled=len(labelled),
        cases=len(cases),
        replaced=any(row.gold is not None for row in rows),
        strange=Counter(name for mine in golds.values() for name in mine if name not in {*groups, ONLY_CRITERION}),
    )


def _gold(labels: Mapping[str, Verdict], criterion: str) -> Verdict | None:
    return labels.get(criterion, labels.get(ONLY_CRITERION))
