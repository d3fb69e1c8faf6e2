"""Candidates on one label set: a ledger beside the labels, the candidates of a log, and calibrations of several judges.

It holds digests alone, neither names nor prompts, and is only ever appended to, one line a look.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.verdictlog.encoding import CALIBRATION_RUN, LONE_SURROGATES, PAIR_COLUMN, TEXT_COLUMN
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    EXCHANGED,
    Verdict,
    VerdictRow,
    verdict_text,
    verdict_to_json,
)

from ..statistics.agreement import Pair, cohen_kappa, too_rare_for_a_bar
from .drift import append_line, read_lines
from .items import ONLY_CRITERION, Judged, LabelledItem, Part, canonical_label
from .measure import CriterionCalibration, measure_calibration

if TYPE_CHECKING:
    from .saved import CalibrationReport

__all__ = [
    "CANDIDATES_SCHEMA",
    "Candidate",
    "Label",
    "Ledger",
    "Look",
    "add_look",
    "calibrated_beside",
    "candidate_of_items",
    "candidate_of_parts",
    "candidates_beside",
    "digest_of_labels",
    "labelled_candidates",
    "labels_of_case",
    "ledger_path",
    "ledger_path_of_log",
    "ledgers_beside",
    "names_of_case",
    "one_of",
    "read_ledger",
    "rivals_of",
    "rivals_on_labels",
    "run_of_row",
    "widened",
]

CANDIDATES_SCHEMA: Final = "judgeharness.label_candidates/1"
_CALLED: Final = ("the ledger of candidates", "--ledger, in a configuration calibration.ledger")
_OF_LOGS: Final = "candidates.jsonl"
_DIGITS: Final = 32  # of a digest: 128 bits


@dataclass(frozen=True, kw_only=True)
class Look:
    """One candidate measured on (a part of) one label set: digests, and an ISO 8601 time with offset."""

    labels: str
    candidate: str
    part: Part
    looked_at: str

    def to_dict(self) -> dict[str, Any]:
        """Return the line as the ledger keeps it (schema `judgeharness.label_candidates/1`)."""
        return {
            "schema": CANDIDATES_SCHEMA,
            "labels": self.labels,
            "candidate": self.candidate,
            "part": self.part.name,
            "holdout": self.part.holdout,
            "looked_at": self.looked_at,
        }


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The looks of a ledger in order, and how many of its lines could not be read; these stay in the file."""

    looks: tuple[Look, ...] = ()
    unreadable: int = 0

    def candidates(self, labels: str, part: Part) -> frozenset[str]:
        """Return the candidates that were measured on cases of a part of a label set."""
        return frozenset(look.candidate for look in self.looks if look.labels == labels and look.part.meets(part))

    def others(self, labels: str) -> int:
        """Return how many candidates were measured on other label sets of the same file: before it was changed."""
        return len({look.candidate for look in self.looks if look.labels != labels})


def ledger_path(labels: Path) -> Path:
    """Return where the ledger of a file of labels is: beside it."""
    return labels.with_name(f"{labels.name.split('.')[0] or labels.name}.candidates.jsonl")


def ledger_path_of_log(log: Path) -> Path:
    """Return where candidates are counted beside a log, or a run's folder: once for all that lie there.

    Each candidate has a log of its own, with the same labels in it.
    """
    return (log.resolve() if log.name in {"", ".."} else log).with_name(_OF_LOGS)


def ledgers_beside(*ledgers: Path) -> list[Path]:
    """Return all ledgers in the folders of some, whatever files of labels they are named after."""
    folders = dict.fromkeys(ledger.parent for ledger in ledgers)
    return [path for folder in folders for path in (folder / _OF_LOGS, *sorted(folder.glob(f"*.{_OF_LOGS}")))]


def digest_of_labels(golds: Mapping[str, Mapping[str, Verdict]]) -> str:
    """Return what tells a label set from others: a digest of case ids, criteria and labels, in any order.

    Labels in other words for PASS and FAIL, and A, B and TIE in small letters, are the same labels; so are those of the
    only criterion with its name and without, as logs and files of labels hold them.
    """
    named = len({criterion for parts in golds.values() for criterion in parts}) > 1
    return _digest(
        sorted(
            [case_id, criterion if named else ONLY_CRITERION, json.dumps(verdict_to_json(canonical_label(gold)))]
            for case_id, parts in golds.items()
            for criterion, gold in parts.items()
        )
    )


def candidate_of_parts(parts: Mapping[str, Any]) -> str:
    """Return the digest of a judge under a design, as its fingerprint covers it."""
    return _digest(["asked", parts])


def candidate_of_items(judge: str, rule: str, items: Iterable[LabelledItem]) -> str:
    """Return the digest of what a rule makes of a judge's answers in a log: other decisions are another candidate."""
    decisions = sorted(json.dumps(item.to_dict(), sort_keys=True) for item in items)
    return _digest(["log", judge, rule, decisions])


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", errors=LONE_SURROGATES)).hexdigest()[:_DIGITS]


def add_look(path: Path, look: Look) -> Ledger:
    """Add a look, unless it is known, and return the ledger with it.

    A line is one write at the end of the file, so that processes side by side lose nothing, and the one that comes
    later counts both.

    Raises:
        ConfigError: it cannot be read or written.

    """
    known = read_ledger(path)
    if any((one.labels, one.candidate, one.part) == (look.labels, look.candidate, look.part) for one in known.looks):
        return known
    append_line(path, look.to_dict(), called=_CALLED)
    return read_ledger(path)


def read_ledger(path: Path) -> Ledger:
    """Return the looks in a file; without the file there were none.

    Raises:
        ConfigError: it cannot be read.

    """
    looks, unreadable = read_lines(path, _look, called=_CALLED)
    return Ledger(looks=tuple(looks), unreadable=unreadable)


def _look(line: str) -> Look | None:
    try:
        data = json.loads(line)
        if data["schema"] != CANDIDATES_SCHEMA:
            return None
        part = Part(name=data["part"], holdout=data["holdout"])
        texts = {name: str(data[name]) for name in ("labels", "candidate", "looked_at")}
    except (ValueError, RecursionError, KeyError, TypeError, UsageError):
        return None
    return Look(part=part, **texts)


Label: TypeAlias = tuple[object, Verdict]  # the order in which a text was shown, and what people say of it
_CODINGS_OF_ONE: Final = 2 / 3  # the least at which two codings are taken for data about one thing (Krippendorff 2004)
_FEW_DIFFER: Final = 0.1
_MOST_RENAMED: Final = 4  # labels; of many, some order always agrees


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
        """Whether labels of the same texts decide both: another criterion asks the same where its labels agree."""
        shared = self.labels.keys() & other.labels.keys()
        if self.criterion == other.criterion or not shared:
            return bool(shared)
        ids: frozenset[Hashable] = frozenset(name for name in shared if isinstance(name, str))
        known = max(ids, shared - ids, key=len)  # a case has two names, and is counted once
        pairs = Counter(_side_by_side(self.labels[name], other.labels[name]) for name in known)
        return _one_question(frozenset(pairs.items()))


@lru_cache(maxsize=1024)  # all judges of a criterion have its labels
def _one_question(counts: frozenset[tuple[Pair, int]]) -> bool:
    """Whether two labels of each text answer one question: kappa is `_CODINGS_OF_ONE` or more, whatever their names.

    Where labels are too few or too much alike for kappa, they do unless more than one in ten differs: a judge that is
    right by the ones is right by the others, and to count one candidate too many only widens an interval.

    Args:
        counts: each pair of labels, and how many texts have it.

    """
    table: dict[str, dict[str, int]] = {}
    for (one, other), count in counts:
        table.setdefault(one, {})[other] = count
    if too_rare_for_a_bar(table):
        differ = sum(count for (one, other), count in counts if one != other)
        return differ <= _FEW_DIFFER * sum(count for _, count in counts)
    return any(kappa is not None and kappa.value >= _CODINGS_OF_ONE for kappa in map(cohen_kappa, _renamed(table)))


def _renamed(table: Mapping[str, Mapping[str, int]]) -> Iterator[Mapping[str, Mapping[str, int]]]:
    """Yield a table as it is, and with the labels of its columns in every order: `good` may be PASS, or FAIL."""
    yield table
    rows, columns = sorted(table), sorted({name for row in table.values() for name in row})
    if len(rows) == len(columns) <= _MOST_RENAMED:
        for order in permutations(rows):
            names = dict(zip(columns, order, strict=True))
            yield {one: {names[other]: count for other, count in row.items()} for one, row in table.items()}


def _side_by_side(one: Label, other: Label) -> Pair:
    """Return two labels of a text as texts; of exchanged answers A is the other's B."""
    mine = verdict_text(one[1])
    if None not in {one[0], other[0]} and one[0] != other[0]:
        mine = EXCHANGED.get(mine, mine)
    return mine, verdict_text(other[1])


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


_DECIMALS = 9


def rivals_on_labels(known: Mapping[str, CalibrationReport]) -> dict[tuple[str, str], tuple[int, str]]:
    """Return judge and criterion -> how many candidates its labels decide about, and which it is one of, in words.

    They are the judges and criteria of a run with shared labels, this one included, or as many as any of them counted
    when it was measured. The words are empty where no other is in the run.

    Args:
        known: judge -> its calibration.

    """
    found = {
        (judge, name): Candidate(
            run="",
            judge=judge,
            criterion=name,
            labels={
                item.case_id: (None, item.gold)
                for item in report.items
                if item.criterion == name and item.gold is not None
            },
        )
        for judge, report in known.items()
        for name in report.criteria
    }
    told: dict[tuple[str, str], tuple[int, str]] = {}
    for key, mine in found.items():
        rivals = rivals_of(mine, (one for one in found.values() if one is not mine))
        counted = [known[one.judge].candidates or 1 for one in (mine, *rivals)]
        told[key] = max(len(rivals) + 1, *counted, 1), one_of(mine, rivals)
    return told


def calibrated_beside(
    known: Mapping[str, tuple[CalibrationReport, object]], shown: Collection[str]
) -> dict[str, CalibrationReport]:
    """Return judge -> calibration of the judges of a run that are not shown; see `RunReport`."""
    return {judge: report for judge, (report, _) in known.items() if judge not in shown}


def widened(report: CalibrationReport, criterion: str, candidates: int) -> CriterionCalibration | None:
    """Return what the labelled cases of a calibration say of one of so many candidates; see `simultaneous_level`.

    None where the cases it keeps do not give the numbers it holds, so that nothing can be made of them anew.
    """
    held = report.criteria[criterion]
    items = [
        Judged(gold=item.gold, verdict=item.verdict, status=item.status, cluster=item.cluster)
        for item in report.items
        if item.criterion == criterion and item.gold is not None
    ]
    if len(items) != held.n:
        return None
    try:
        again, wider = (
            measure_calibration(items, criterion=criterion, positive=held.positive, candidates=count)
            for count in (report.candidates or 1, candidates)
        )
    except CaseError:
        return None
    return wider if _ends(again) == _ends(held) else None


def _ends(measured: CriterionCalibration) -> list[float]:
    found = (measured.accuracy, measured.precision, measured.recall, measured.kappa)
    return [round(end, _DECIMALS) for one in found if one is not None for end in (one.low, one.high) if end is not None]
