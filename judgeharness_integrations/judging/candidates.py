"""Candidates on one label set: which part of the labels is looked at, and who looked before."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import ConfigError, UsageError
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
from judgeharness_integrations.analysis.calibration.holdout import Part, PartName, cases_of_part, check_candidates
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.judging.cases import case_id_of
from judgeharness_integrations.judging.config import Config
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.labelset import CalibrationSet
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.verdictlog.row import Verdict
from judgeharness_integrations.verdictlog.runfolder import folder_of


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


def asked_candidate(judge: Judge, design: Design, model: str | None) -> str:
    """Return what tells a judge that is asked from others: its fingerprint, or without an identity name and design."""
    return candidate_of_parts(fingerprint_parts(judge, design, model) or {"judge": judge.name, **design.parts()})


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
