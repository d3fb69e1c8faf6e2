"""Candidates of one log: who else decided about the same labelled texts, so that the luckiest may have been picked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from judgeharness_integrations.verdictlog.encoding import CALIBRATION_RUN, PAIR_COLUMN, TEXT_COLUMN
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict, VerdictRow

__all__ = [
    "Candidate",
    "Label",
    "candidates_beside",
    "labelled_candidates",
    "labels_of_case",
    "names_of_case",
    "one_of",
    "rivals_of",
    "run_of_row",
]

Label: TypeAlias = tuple[object, Verdict]  # the order in which a text was shown, and what people say of it
_EXCHANGED = {"A": "B", "B": "A"}


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """The decisions of a judge in a run about one criterion of labelled cases.

    `labels` has two entries a case where its text is known by a digest: one under its id, and one under the digest.
    """

    run: str
    judge: str
    criterion: str
    labels: Mapping[Hashable, Label] = field(repr=False)

    def meets(self, other: Candidate) -> bool:
        """Whether labels of the same texts decide both: other criteria are other questions unless labels agree."""
        if self.criterion == other.criterion:
            return not self.labels.keys().isdisjoint(other.labels.keys())
        shared = self.labels.keys() & other.labels.keys()
        return bool(shared) and all(_agree(self.labels[name], other.labels[name]) for name in shared)


def _agree(one: Label, other: Label) -> bool:
    """Whether two labels of a text say the same; of exchanged answers A is the other's B."""
    if None not in {one[0], other[0]} and one[0] != other[0] and isinstance(one[1], str):
        return _EXCHANGED.get(one[1], one[1]) == other[1]
    return one[1] == other[1]


def names_of_case(row: VerdictRow) -> Iterator[Hashable]:
    """Yield by what a row's case is known: its id, and the digest of its texts, of a pair in any order."""
    yield row.case_id
    asked = row.attributes.get(PAIR_COLUMN, row.attributes.get(TEXT_COLUMN))
    if asked is not None:
        yield "asked", asked


def labels_of_case(row: VerdictRow, gold: Verdict) -> dict[Hashable, Label]:
    """Return the label of a row's case under each of its names."""
    return dict.fromkeys(names_of_case(row), (row.attributes.get(TEXT_COLUMN), gold))


def run_of_row(row: VerdictRow) -> str:
    """Return the run a row is of; the labelled cases that a run asks for itself are of that run."""
    return row.run.removesuffix(CALIBRATION_RUN)


def labelled_candidates(rows: Iterable[VerdictRow]) -> list[Candidate]:
    """Return the candidates of rows with gold labels."""
    found: dict[tuple[str, str, str], dict[Hashable, Label]] = {}
    for row in rows:
        if row.gold is None or row.criterion == EVERY_CRITERION:
            continue
        labels = found.setdefault((run_of_row(row), row.judge, row.criterion), {})
        if row.case_id not in labels:
            labels.update(labels_of_case(row, row.gold))
    return [
        Candidate(run=run, judge=judge, criterion=criterion, labels=labels)
        for (run, judge, criterion), labels in found.items()
    ]


def candidates_beside(everything: Iterable[VerdictRow], shown: Iterable[VerdictRow] = ()) -> tuple[Candidate, ...]:
    """Return the candidates of a log that are not shown: of another run, judge or criterion than the rows shown."""
    known = {(run_of_row(row), row.judge, row.criterion) for row in shown}
    return tuple(one for one in labelled_candidates(everything) if (one.run, one.judge, one.criterion) not in known)


def rivals_of(mine: Candidate, others: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates that could have been picked in its place."""
    return [one for one in others if mine.meets(one)]


def one_of(mine: Candidate, rivals: Sequence[Candidate]) -> str:
    """Return among how many a candidate was, in words; empty of one that stands alone."""
    if not rivals:
        return ""
    judges = {mine.judge, *(one.judge for one in rivals)}
    alone = len(judges) == len(rivals) + 1 and {one.criterion for one in rivals} == {mine.criterion}
    return f"one of {len(rivals) + 1} {'judges' if alone else 'candidates (judges, runs, criteria)'} on these labels"
