"""The calibration and certificate a replay is held against: a file's, or those a run was judged with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.calibration.saved import CalibrationState, SavedMeasurement
from judgeharness_integrations.certifying.certificate import Certificate, HeldCertificate
from judgeharness_integrations.certifying.transport import certificate_on_run, certified_cases
from judgeharness_integrations.replay.anchoring import replay_anchor, replay_state
from judgeharness_integrations.replay.deciding import case_decisions
from judgeharness_integrations.replay.report import ReplayReport
from judgeharness_integrations.reporting.runs.folder import (
    Calibrations,
    calibrations_of_run,
    certificates_of_run,
    documents_of_run,
)
from judgeharness_integrations.verdictlog import VerdictRow

__all__ = ["anchored", "calibrations_of", "certificates_of"]


def calibrations_of(log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]]) -> Calibrations:
    """Return the calibrations of a replay of these rows of judges.

    Raises:
        ConfigError: the file cannot be read.
        UsageError: it is of another judge than any of these.

    """
    if path is None:
        return calibrations_of_run(log, judges)
    report = CalibrationReport.load(path)
    if report.judge not in judges:
        raise _of_another(f"{path}", report, judges, "calibrate")
    return {report.judge: (report, None)}


def certificates_of(
    log: Path, path: Path | None, judges: Mapping[str, Sequence[VerdictRow]], rule: Rule
) -> dict[str, HeldCertificate]:
    """Return judge -> the certificate its decisions under a rule stand under, and whether it holds for them.

    One of a file holds where the rows are of a run that notes the same fingerprint, until it expires; what a run's own
    was worth to it was noted with its results.

    Raises:
        ConfigError: the file cannot be read.
        UsageError: it is of another judge than any of these.

    """
    if path is None:
        return certificates_of_run(log, judges, rule)
    given = Certificate.load(path)
    if given.judge not in judges:
        raise _of_another(f"{path}", given, judges, "certify")
    rows = judges[given.judge]
    return {given.judge: (given, replay_state(given, rows, rule, _held(given, documents_of_run(log, rows))))}


def _held(certificate: Certificate, documents: Sequence[Mapping[str, Any]]) -> CalibrationState | None:
    """Return whether a certificate of a file holds for the run of these results; None where nobody knows."""
    known = {one["fingerprint"] for one in documents} - {None}
    if not known or certificate.fingerprint is None:
        return None
    if known == {certificate.fingerprint}:
        return certificate.state(certificate.parts, now=datetime.now(UTC))
    answered = " or ".join(sorted(known))
    return CalibrationState(status="expired", reason=f"fingerprint {certificate.fingerprint} before, {answered} now")


def _of_another(path: str, saved: SavedMeasurement, judges: Iterable[str], command: str) -> UsageError:
    names = ", ".join(judges)
    return UsageError(f"{path} is of judge {saved.judge!r:.60}, the log of {names:.200}: {command} that judge.")


def anchored(
    report: ReplayReport,
    known: Calibrations,
    judges: Mapping[str, Sequence[VerdictRow]],
    rule: Rule,
    *,
    min_valid: int | None,
    stopped: bool,
) -> ReplayReport:
    """Return a replay with what calibrations and certificates are worth for the decisions of its rule.

    Args:
        report: the replay.
        known: the calibrations.
        judges: the rows of each judge.
        rule: what decided.
        min_valid: see `replay`.
        stopped: whether asking ended because of what was answered: such cases are compared with no labelled ones.

    """
    anchors = {
        judge: replay_anchor(known[judge][0], rows, rule, held=known[judge][1], min_valid=min_valid)
        for judge, rows in judges.items()
        if judge in known
    }
    certificates: dict[str, HeldCertificate] = {}
    for judge, held in report.certificates.items():
        groups = by_criterion(judges[judge])
        decided = {name: case_decisions(group, rule, min_valid=min_valid) for name, group in groups.items()}
        beside = anchors.get(judge)
        certificates[judge] = certificate_on_run(
            held,
            None if stopped else certified_cases(held[0], decided),
            None if beside is None else known[judge][0],
            None if beside is None else beside.state,
        )
    return replace(report, anchors=tuple(anchors.values()), certificates=certificates)
