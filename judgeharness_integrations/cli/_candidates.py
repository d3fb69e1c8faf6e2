"""What `judgeharness calibrate` knows of candidates: which part of the labels is looked at, and who looked before."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import typer

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.calibration import CalibrationReport, CalibrationSet
from judgeharness_integrations.calibration.candidates import (
    Ledger,
    Look,
    add_look,
    candidate_of_parts,
    digest_of_labels,
    ledger_path,
    ledger_path_of_log,
    read_ledger,
)
from judgeharness_integrations.calibration.holdout import Part, PartName, cases_of_part
from judgeharness_integrations.calibration.simultaneous import check_candidates
from judgeharness_integrations.cases import case_id_of
from judgeharness_integrations.cli._calibration_output import Request, refuse_same
from judgeharness_integrations.config import Config
from judgeharness_integrations.design import Design
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.running import fingerprint_parts
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["Study", "asked_candidate", "counted", "study_of"]


@dataclass(frozen=True, kw_only=True)
class Study:
    """Candidates on one label set: the part of it that is looked at, the ledger, and how many were stated.

    `alone`: the ledger is that of one file of labels.
    """

    part: Part
    ledger: Path
    stated: int | None
    alone: bool

    def labels(self, labelled: CalibrationSet, clusters: Mapping[str, Hashable]) -> CalibrationSet:
        """Return the labels of the part; cases of one cluster stay together."""
        kept = cases_of_part(self.part, (case_id_of(case) for case in labelled.cases), clusters)
        examples = tuple(example for example in labelled.labeled_examples if case_id_of(example[0]) in kept)
        return replace(labelled, labeled_examples=examples)

    def count(self, golds: Mapping[str, Mapping[str, Verdict]], candidate: str) -> int:
        """Write down that a candidate is measured, and return how many there are; odd things go to standard error."""
        labels, now = digest_of_labels(golds), datetime.now(UTC).isoformat(timespec="seconds")
        ledger = add_look(self.ledger, Look(labels=labels, candidate=candidate, part=self.part, looked_at=now))
        known = len(ledger.candidates(labels, self.part))
        for line in self._odd(ledger, known, ledger.others(labels)):
            typer.echo(line, err=True)
        return max(known, self.stated or 1)

    def _odd(self, ledger: Ledger, known: int, others: int) -> list[str]:
        told = []
        if self.stated is not None and self.stated < known:
            told.append(
                f"{self.ledger} knows {known} candidates on these labels, more than --candidates {self.stated}."
            )
        if others and self.alone:
            told.append(
                f"{self.ledger} knows {others} candidates on other labels of this file, before it was changed: if the "
                "choice rests on them, say how many there are in all with --candidates."
            )
        if ledger.unreadable:
            told.append(f"{ledger.unreadable} lines of {self.ledger} cannot be read and are not counted.")
        return told

    def told(self, report: CalibrationReport) -> CalibrationReport:
        """Return a report that says which part it was measured on."""
        return replace(report, part=self.part.name, holdout=self.part.holdout)


def asked_candidate(judge: Judge, design: Design, model: str | None) -> str:
    """Return what tells a judge that is asked from others: its fingerprint, or without an identity name and design."""
    return candidate_of_parts(fingerprint_parts(judge, design, model) or {"judge": judge.name, **design.parts()})


def counted(config: Config, labels: CalibrationSet, looks: Iterable[str], *, as_json: bool = False) -> CalibrationSet:
    """Count candidates (`asked_candidate`) on the labels a configuration calibrates on, and return these."""
    given = config.calibration
    if given is None or given.labels is None:
        return labels
    place, ledger = config.resolve(given.labels), given.ledger and config.resolve(given.ledger)
    study = study_of(Request(labels=place, ledger=ledger or None, as_json=as_json), place, config.path)
    golds, _ = labels.golds()
    return replace(labels, candidates=max(study.count(golds, look) for look in looks))


def study_of(request: Request, place: Path, *read: Path | None) -> Study:
    """Return what is asked for; refuse what does not go together.

    Args:
        request: what calibrating is asked for.
        place: the file or folder that holds the labels.
        read: other files that are read, none of which is the ledger.

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
    beside = ledger_path(place) if request.labels == place else ledger_path_of_log(place)
    ledger = request.ledger or beside
    refuse_same("--ledger", ledger, place, *read)
    known = read_ledger(ledger)
    if known.unreadable and not known.looks:
        raise ConfigError(
            f"{ledger} is no ledger of candidates: give another --ledger, in a configuration calibration.ledger."
        )
    return Study(
        part=Part(name=name, holdout=request.holdout),
        ledger=ledger,
        stated=request.candidates,
        alone=request.labels == place,
    )
