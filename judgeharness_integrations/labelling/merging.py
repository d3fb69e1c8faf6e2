"""Several annotators' logs as one calibration set, and how far the annotators agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration.labels import CalibrationSet
from judgeharness_integrations.calibration.words import ONLY_CRITERION
from judgeharness_integrations.cases import Case, case_id_of
from judgeharness_integrations.labelling.kinds import kind_of
from judgeharness_integrations.statistics.agreement import Kappa, cohen_kappa
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

__all__ = ["LabelAgreement", "Votes", "calibration_set_from_logs", "label_agreement", "votes_of"]

_DEFAULT = "verdict"

Votes = Mapping[str, Mapping[str, Mapping[str, Verdict]]]


@dataclass(frozen=True, kw_only=True)
class LabelAgreement:
    """Two annotators about one criterion: `agreed` of `items` that both labelled, and Cohen's kappa where defined."""

    criterion: str
    annotators: tuple[str, str]
    items: int
    agreed: int
    kappa: Kappa | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        kappa = None if self.kappa is None else {"value": self.kappa.value, "se": self.kappa.se}
        facts = {"criterion": self.criterion, "annotators": list(self.annotators)}
        return {**facts, "items": self.items, "agreed": self.agreed, "kappa": kappa}


def votes_of(rows: Iterable[VerdictRow]) -> Votes:
    """Return case id -> criterion -> annotator -> label; failed rows are no labels.

    Raises:
        CaseError: an annotator gave two labels, or a criterion holds labels of different kinds.

    """
    votes: dict[str, dict[str, dict[str, Verdict]]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row.verdict is None:
            continue
        said = votes.setdefault(row.case_id, {}).setdefault(row.criterion, {})
        if said.setdefault(row.judge, row.verdict) != row.verdict:
            raise CaseError(
                f"{row.judge!r} labels {row.criterion!r} of case {row.case_id!r} as {verdict_text(said[row.judge])} "
                f"and as {verdict_text(row.verdict)}: keep one."
            )
        kind = kind_of(row.verdict)
        first, who = kinds.setdefault(row.criterion, (kind, row.judge))
        if first != kind:
            raise CaseError(
                f"criterion {row.criterion!r} holds {first} of {who!r} and {kind} of {row.judge!r}: use one kind."
            )
    return votes


def calibration_set_from_logs(
    rows: Iterable[VerdictRow], cases: Iterable[Case], *, name: str, **options: Any
) -> CalibrationSet:
    """Return the cases with every annotator's labels, which the set's own consensus rule folds.

    Args:
        rows: of one annotator's log or of several.
        cases: the cases that were labelled; those without a label are left out.
        name: what reports call the set.
        options: `source`, `consensus`, `positive`.

    Raises:
        CaseError: an annotator gave two labels, kinds are mixed, or no label is of a case given.

    """
    votes = votes_of(rows)
    plain = {criterion for said in votes.values() for criterion in said} <= {_DEFAULT}
    examples = [(case, _label(votes[case_id], plain=plain)) for case in cases if (case_id := case_id_of(case)) in votes]
    if not examples:
        raise CaseError(f"none of {len(votes)} labelled cases is a case given: give the cases that were labelled.")
    return CalibrationSet(name, tuple(examples), **options)


def _label(said: Mapping[str, Mapping[str, Verdict]], *, plain: bool) -> dict[str, list[Verdict]]:
    """Return criterion -> labels; the one criterion that nobody named is the judge's only one, whatever its name."""
    return {ONLY_CRITERION if plain else criterion: list(votes.values()) for criterion, votes in said.items()}


def label_agreement(rows: Iterable[VerdictRow]) -> list[LabelAgreement]:
    """Return every pair of annotators that labelled an item in common, by criterion, in order of names.

    Raises:
        CaseError: an annotator gave two labels, or kinds are mixed.

    """
    pairs: dict[tuple[str, str, str], Counter[tuple[str, str]]] = {}
    for said in votes_of(rows).values():
        for criterion, votes in said.items():
            for one, other in combinations(sorted(votes), 2):
                cell = (verdict_text(votes[one]), verdict_text(votes[other]))
                pairs.setdefault((criterion, one, other), Counter())[cell] += 1
    return [
        LabelAgreement(
            criterion=criterion,
            annotators=(one, other),
            items=table.total(),
            agreed=sum(count for cell, count in table.items() if cell[0] == cell[1]),
            kappa=cohen_kappa(_nested(table)),
        )
        for (criterion, one, other), table in sorted(pairs.items())
    ]


def _nested(table: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (row, column), count in table.items():
        nested.setdefault(row, {})[column] = count
    return nested
