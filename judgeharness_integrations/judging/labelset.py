"""Label sets: cases with the labels of people, of executed checks, or of another model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.calibration.holdout import check_candidates
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION
from judgeharness_integrations.judging.cases import AnswerCase, Case, case_id_of, read_cases
from judgeharness_integrations.verdictlog.encoding import LABEL_COUNT
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_from_json

if TYPE_CHECKING:
    from os import PathLike

LabeledExample: TypeAlias = "tuple[Case, Any]"
_SEVERAL = 2


def unsaid_source(key: str) -> str:
    """Return that the source of labels has to be said, by a key or option: a calibration hangs on it."""
    return (
        f"say where the labels come from: {key} human (people gave them), executable (checks that ran) or "
        "model:<name> (another model's answers)"
    )


@dataclass(frozen=True)
class CalibrationSet:
    """Labelled cases.

    Args:
        name: what reports call it, `human_labeled_set_v1`.
        labeled_examples: (case, label) pairs. A label is a verdict, a mapping criterion -> verdict, or a list of
            the labels several annotators gave. A set of labels is one verdict: a Python set, or in a file a list in
            the list of annotators, `[["toxic", "spam"]]`.
        source: `human`, `executable` or `model:<name>`.
        consensus: how several labels of an item become one; `majority` leaves evenly split items out and counts them.
        positive: the label precision and recall are about.
        ties: evenly split items that were left out before, as by `judgeharness label --merge`.
        candidates: how many judges, prompts and rules are measured on these labels in all, of which one is chosen:
            their intervals hold together. None: not known, and each has its own.
        by: a column of the cases: rates are told for each of its values, too.

    """

    name: str
    labeled_examples: Sequence[LabeledExample]
    source: str = "human"
    consensus: str = "majority"
    positive: str | None = None
    ties: int = 0
    candidates: int | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        """Refuse a set that could not calibrate anything."""
        if not self.labeled_examples:
            raise CaseError(
                f"calibration set {self.name!r} holds no labelled examples: label cases, in a file under `gold`."
            )
        kind, _, model = self.source.partition(":")
        if self.source not in ("human", "executable") and not (kind == "model" and model.strip()):
            raise CaseError(f"the source of a label set is human, executable or model:<name>, not {self.source!r}.")
        if self.candidates is not None:
            check_candidates(self.candidates)
        if self.consensus != "majority":
            raise CaseError(f"unknown consensus rule {self.consensus!r}: known is majority.")
        twice = [
            case for case, count in Counter(case_id_of(case) for case, _ in self.labeled_examples).items() if count > 1
        ]
        if twice:
            raise CaseError(f"calibration set {self.name!r} labels case {twice[0]!r} twice: give its labels as a list.")

    @property
    def cases(self) -> list[Case]:
        """The cases, in order."""
        return [case for case, _ in self.labeled_examples]

    def golds(self) -> tuple[dict[str, dict[str, Verdict]], int]:
        """Return case id -> criterion -> label, and how many evenly split labels were left out.

        A label given without a criterion stands under the empty name: the judge's only criterion.
        """
        golds: dict[str, dict[str, Verdict]] = {}
        ties = self.ties
        for case, label in self.labeled_examples:
            parts = label if isinstance(label, Mapping) else {ONLY_CRITERION: label}
            for criterion, value in parts.items():
                agreed = _consensus(value, where=f"case {case_id_of(case)!r}")
                if agreed is None:
                    ties += 1
                else:
                    golds.setdefault(case_id_of(case), {})[criterion] = agreed
        return golds, ties

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, name: str | None = None, **options: Any) -> CalibrationSet:
        """Read cases with a `gold` column from CSV or JSONL (`.gz` too); cases without gold are left out.

        An empty gold beside a `label_count` of 2 or more is an evenly split item, as `judgeharness label --merge`
        writes it; those are counted.
        """
        labelled = [(case, _without_ties(case)) for case in read_cases(path)]
        found = tuple((case, gold) for case, (gold, _) in labelled if gold is not None)
        return cls(name or Path(path).name.split(".")[0], found, ties=sum(ties for _, (_, ties) in labelled), **options)

    @classmethod
    def from_rows(cls, rows: Iterable[VerdictRow], *, name: str, **options: Any) -> CalibrationSet:
        """Take the gold labels of a verdict log; its cases have ids only, so a judge cannot be asked about them."""
        golds: dict[str, dict[str, Verdict]] = {}
        for row in rows:
            if row.gold is None:
                continue
            known = golds.setdefault(row.case_id, {}).setdefault(row.criterion, row.gold)
            if known != row.gold:
                raise CaseError(
                    f"case {row.case_id!r} has two gold labels for {row.criterion!r}: {known!r}, {row.gold!r}."
                )
        return cls(name, tuple(({"case_id": case_id}, labels) for case_id, labels in golds.items()), **options)


def _without_ties(case: AnswerCase) -> tuple[Any, int]:
    """Return a case's gold without the evenly split labels of it, None where nothing is left, and their number."""
    try:
        several = float(case.attributes.get(LABEL_COUNT, 0)) >= _SEVERAL
    except ValueError:  # somebody's own column
        several = False
    gold: Any = case.gold
    if not several or (gold is not None and not isinstance(gold, Mapping)):
        return gold, 0
    parts = {ONLY_CRITERION: None} if gold is None else gold
    kept = {criterion: label for criterion, label in parts.items() if label is not None}
    return kept or None, len(parts) - len(kept)


def _consensus(value: object, *, where: str) -> Verdict | None:
    votes = value if isinstance(value, (list, tuple)) else [value]
    try:
        verdicts = [verdict_from_json(vote) for vote in votes]
    except ValueError as error:
        raise CaseError(f"{where}: {error}.") from error
    counts = Counter(verdict for verdict in verdicts if verdict is not None).most_common(2)
    if not counts:
        raise CaseError(f"{where} has an empty label.")
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]
