"""Candidates of labels, and rows joined with labels."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import CaseError, ConfigError, UsageError
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.calibration.candidates import (
    Ledger,
    Look,
    add_look,
    candidate_of_parts,
    digest_of_labels,
    ledger_path,
    ledger_path_of_log,
    ledgers_beside,
    read_ledger,
)
from judgeharness_integrations.analysis.calibration.items import (
    ONLY_CRITERION,
    Part,
    PartName,
    cases_of_part,
    check_candidates,
)
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.verdictlog.encoding import LABEL_COUNT
from judgeharness_integrations.verdictlog.files import read_records
from judgeharness_integrations.verdictlog.row import RETEST, Verdict, VerdictRow, is_probe, verdict_text, voting
from judgeharness_integrations.verdictlog.runfolder import folder_of

from .calibrating import CalibrationSet
from .cases import case_id_of, gold_of_cell
from .config import Config
from .judge import Judge
from .running import fingerprint_parts

if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "Joined",
    "gold_about",
    "joined",
    "read_gold",
]


@dataclass(frozen=True, kw_only=True)
class CandidateOptions:
    """What is said of candidates on a label set, and which files are read and written beside it."""

    labels: Path | None
    out: Path | None = None
    candidates: int | None = None
    holdout: float | None = None
    final: bool = False
    ledger: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Study:
    """Candidates on one label set: the part of it that is looked at, the ledgers, and how many were stated.

    A look is written to each of `ledgers`; those of `beside`, and all that lie in their folders, are read, too: what
    counts are the labels, not the file they are in. `alone`: the first ledger is that of one file of labels.
    """

    part: Part
    ledgers: Sequence[Path]
    beside: Sequence[Path]
    stated: int | None
    alone: bool

    def labels(self, labelled: CalibrationSet, clusters: Mapping[str, Hashable]) -> CalibrationSet:
        """Return the labels of the part; cases of one cluster stay together."""
        kept = cases_of_part(self.part, (case_id_of(case) for case in labelled.cases), clusters)
        examples = tuple(example for example in labelled.labeled_examples if case_id_of(example[0]) in kept)
        return replace(labelled, labeled_examples=examples)

    def count(self, golds: Mapping[str, Mapping[str, Verdict]], candidate: str, *, of_log: int = 1) -> int:
        """Write down that a candidate is measured, and return how many there are; odd things go to standard error.

        Args:
            golds: the labels.
            candidate: its digest.
            of_log: how many judges, runs and criteria of the log are decided by the labels: whoever takes one of them
                chose among all, unless it is stated how many were tried.

        """
        labels, now = digest_of_labels(golds), datetime.now(UTC).isoformat(timespec="seconds")
        look = Look(labels=labels, candidate=candidate, part=self.part, looked_at=now)
        own, *_ = [add_look(path, look) for path in self.ledgers]
        looks = {
            path: read_ledger(path).candidates(labels, self.part)
            for path in dict.fromkeys((*self.ledgers, *ledgers_beside(*self.beside)))
        }
        known = len(frozenset().union(*looks.values()))
        mine = own.candidates(labels, self.part)
        told = [f"{path} knows candidates on the same labels: they count, too." for path in looks if looks[path] - mine]
        if self.stated is None and of_log > known:
            told.append(
                f"{of_log} judges, runs and criteria of the log are decided by these labels: each is a candidate, "
                "unless --candidates says how many were tried."
            )
        for line in (*told, *self._odd(own, known, own.others(labels))):
            sys.stderr.write(f"{line}\n")
        return max(known, self.stated or of_log)

    def _odd(self, ledger: Ledger, known: int, others: int) -> list[str]:
        told, path = [], self.ledgers[0]
        if self.stated is not None and self.stated < known:
            told.append(
                f"{path} and its neighbours know {known} candidates on these labels, more than --candidates "
                f"{self.stated}."
            )
        if others and self.alone:
            told.append(
                f"{path} knows {others} candidates on other labels of this file, before it was changed: if the "
                "choice rests on them, say how many there are in all with --candidates."
            )
        if ledger.unreadable:
            told.append(f"{ledger.unreadable} lines of {path} cannot be read and are not counted.")
        return told

    def told(self, report: CalibrationReport) -> CalibrationReport:
        """Return a report that says which part it was measured on."""
        return replace(report, part=self.part.name, holdout=self.part.holdout)


def asked_candidate(judge: Judge, design: Design, model: str | None, *, seed: int = 0) -> str:
    """Return what tells a judge that is asked from others: its fingerprint, or without an identity name and design.

    Where what is measured depends on a `seed`, another one is another candidate.
    """
    parts = fingerprint_parts(judge, design, model) or {"judge": judge.name, **design.parts()}
    return candidate_of_parts({**parts, "seed": seed} if seed else parts)


def count_candidates(config: Config, labels: CalibrationSet, looks: Iterable[str]) -> CalibrationSet:
    """Count candidates (`asked_candidate`) on the labels a configuration calibrates on, and return these."""
    given = config.calibration
    if given is None or given.labels is None:
        return labels
    place, ledger = config.resolve(given.labels), given.ledger and config.resolve(given.ledger)
    study = study_of(CandidateOptions(labels=place, ledger=ledger or None), config.path)
    golds, _ = labels.golds()
    return replace(labels, candidates=max(study.count(golds, look) for look in looks))


def study_of(request: CandidateOptions, *read: Path | None, log: Path | None = None) -> Study:
    """Return what is asked for; refuse what does not go together.

    Args:
        request: what is said of candidates.
        read: other files that are read, none of which is the ledger.
        log: of which decisions are measured, with their labels or beside a file of them.

    """
    if request.final and request.holdout is None:
        raise UsageError("--final measures the chosen candidate on the part held back: give --holdout SHARE, too.")
    if request.holdout is not None and not request.final and request.out is not None:
        raise UsageError(
            "with --holdout numbers are for choosing, and are not saved: leave out --out, and give it with --final for "
            "the candidate that was chosen."
        )
    if request.candidates is not None:
        check_candidates(request.candidates)
    name: PartName = "all" if request.holdout is None else "held_back" if request.final else "choosing"
    beside = [] if request.labels is None else [ledger_path(request.labels)]
    if log is not None:
        beside.append(ledger_path_of_log(folder_of(log) or log))
    ledgers = list({path.parent.resolve(): path for path in reversed(beside)}.values())[::-1]  # one in a folder
    if request.ledger is not None:
        ledgers = [request.ledger]
    for ledger in ledgers:
        refuse_same("--ledger", ledger, request.labels, log, *read)
        known = read_ledger(ledger)
        if known.unreadable and not known.looks:
            raise ConfigError(
                f"{ledger} is no ledger of candidates: give another --ledger, in a configuration calibration.ledger."
            )
    return Study(
        part=Part(name=name, holdout=request.holdout),
        ledgers=ledgers,
        beside=beside,
        stated=request.candidates,
        alone=request.labels is not None,
    )


_SEVERAL = 2
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Rows with the labels of a file in place of their own.

    `unmatched` are the labelled cases that the rows are not about, `split` the (case id, criterion) of evenly split
    labels that were left out, `replaced` says whether the rows held labels before. `labelled` of `cases` have a label
    now. `strange` counts labels of criteria that the rows do not hold.
    """

    rows: tuple[VerdictRow, ...]
    unmatched: tuple[str, ...]
    split: tuple[tuple[str, str], ...]
    labelled: int
    cases: int
    replaced: bool
    strange: Mapping[str, int] = field(default_factory=dict)

    def notes(self, source: str, *, ties: bool = True) -> tuple[str, ...]:
        """Return what is to be known of the join, as sentences; without `ties` nothing of evenly split labels."""
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
        if ties and self.split:
            told.append(
                "evenly split labels that were left out, so that the labelled cases are those people agree on: "
                f"{len(self.split)}"
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
    ties: list[tuple[str, str]] = []
    for line, columns in records:
        case_id, parts = _labels(columns, f"{path}, line {line}")
        mine = labels.setdefault(case_id, {})
        for criterion, label in parts.items():
            if label is None:
                ties += [(case_id, criterion)] * _several(columns)
            elif criterion in mine:
                raise CaseError(f"{path}, line {line}: labels case {case_id!r:.80} twice: keep one label.")
            else:
                mine[criterion] = label
    examples = tuple(({"case_id": case_id}, parts) for case_id, parts in labels.items() if parts)
    return CalibrationSet(name or Path(path).name.split(".")[0], examples, source=source, ties=tuple(ties))


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
    golds, _ = labels.golds()
    asked = by_criterion(voting(rows))
    kept = (row for row in rows if row.perturbation == RETEST or not is_probe(row.perturbation))
    groups = {name: mine for name, mine in by_criterion(kept).items() if name in asked}  # a retest has labels, too
    if len(groups) > 1 and any(ONLY_CRITERION in mine for mine in golds.values()):
        raise UsageError(
            f"{labels.name!r} names no criterion, and the log holds {len(groups)}: add a column criterion."
        )
    found = tuple(
        replace(row, gold=verdict_text(gold) if texts and gold is not None else gold)
        for criterion, group in groups.items()
        for row in group
        for gold in [gold_about(golds.get(row.case_id, {}), criterion)]
    )
    cases, labelled = {row.case_id for row in rows}, {row.case_id for row in found if row.gold is not None}
    if not labelled and not golds and labels.split():
        raise UsageError(f"every label of {labels.name!r} is evenly split among annotators: label further cases.")
    if not labelled:
        ids = ", ".join(sorted(golds)[:_NAMED])
        raise UsageError(f"no label of {labels.name!r} ({ids:.80}, ...) is of a case and criterion of the log.")
    return Joined(
        rows=found,
        unmatched=tuple(case_id for case_id in map(case_id_of, labels.cases) if case_id not in cases),
        split=labels.split(),
        labelled=len(labelled),
        cases=len(cases),
        replaced=any(row.gold is not None for row in rows),
        strange=Counter(name for mine in golds.values() for name in mine if name not in {*groups, ONLY_CRITERION}),
    )


def gold_about(labels: Mapping[str, Verdict], criterion: str) -> Verdict | None:
    """Return the label of a criterion, or the one that names none."""
    return labels.get(criterion, labels.get(ONLY_CRITERION))
