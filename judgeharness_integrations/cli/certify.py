"""What `judgeharness certify` does: which decisions of a log stand, printed and saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import typer

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.grouping import CLUSTER, without_copies
from judgeharness_integrations.analysis.aggregation.rules import Rule, deciding_rule
from judgeharness_integrations.analysis.calibration.candidates import candidate_of_items
from judgeharness_integrations.analysis.calibration.saved import labelled_last_asked
from judgeharness_integrations.analysis.certifying.applying import SCORES
from judgeharness_integrations.analysis.certifying.cascade import PEOPLE, Cascade, cascade_log, certify_cascade
from judgeharness_integrations.analysis.certifying.certificate import Certificate, certificate_text
from judgeharness_integrations.analysis.certifying.measuring import Wanted, certify
from judgeharness_integrations.analysis.runs.folder import prices_of_run
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import study_of
from judgeharness_integrations.judging.config import load_config
from judgeharness_integrations.judging.tiers import dearer_first, prices_of
from judgeharness_integrations.labelling.labellog import Annotators, annotators_beside
from judgeharness_integrations.reporting.calibrationtext import cascade_finding, certificate_finding
from judgeharness_integrations.reporting.measured import cascade_section
from judgeharness_integrations.reporting.sections import Section
from judgeharness_integrations.reporting.terminal import console, say, show_section
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

from ._command import GATE_FAILED, OK, names_in, part_of
from ._following import after_certifying, after_certifying_judges
from ._label_options import CertifyRequest
from ._output import check_file, print_json, without_replay_advice
from .calibrate_log import (
    ConfiguredLog,
    Folding,
    Request,
    candidates_on,
    exploratory,
    items_of,
    labelled_columns,
    labelled_rows,
    opened,
    print_and_save,
    refuse_stopped,
    refuse_unended,
    rows_of_one,
)

_RULE = "majority | median"


def certify_log(request: CertifyRequest) -> int:
    """Certify a judge of a log, or several that are asked in turn; return the exit code."""
    if request.cascade:
        return certify_judges(request)
    if request.criterion is not None:
        raise UsageError("--criterion goes with --cascade: without it every criterion of the log is certified.")
    return certify_decisions(request)


def certify_decisions(request: CertifyRequest) -> int:
    """Certify what a log decides, print and save; return the exit code."""
    log, rule, config = request.log, request.rule, request.config
    wanted = part_of(request, Wanted, stratum=", ".join(names_in(request.by)) or None, candidates=1)
    asked = part_of(request, Request, by=None)
    if rule is not None and config is not None:
        raise UsageError("give --rule or --config, not both: the rule is the configuration's.")
    if asked.out is not None:
        check_file(asked.out)
        refuse_same("--out", asked.out, log, asked.labels, config)
    with without_replay_advice():
        judge, answered, others = rows_of_one(log, asked.judge, asked.run)
        refuse_unended(log, answered, asked.run, what="a certificate")
        study = study_of(asked, config, asked.out, log=log)
        labelled, rows, notes = labelled_rows(
            answered,
            log,
            asked,
            cluster=wanted.cluster or CLUSTER,
            copies=without_copies,
            read=annotators_beside(answered),
        )
        people = Annotators.of(labelled)
        configured = None if config is None else ConfiguredLog(config, rows)
        folding = Folding.of(rule or _RULE, configured)
        decided = folding.decisions(rows)
        notes += labelled_columns(decided)
        if configured is not None:
            notes += configured.check(log, decided)
        chosen = folding.rule
        special = _looked_for(wanted)
        if configured is not None and not special:  # what calibrating its configuration looks at, too
            candidate = configured.candidate
        else:
            what = ", ".join((deciding_rule(chosen, rows).name, *special))
            items = [item for item in items_of(decided) if item.gold is not None]
            candidate = candidate_of_items(judge, what, items)
        golds, _ = labelled.golds()
        count = study.count(golds, candidate, of_log=candidates_on(golds, rows, others))
        certificate = certify(
            people.draw(rows),
            chosen,
            replace(wanted, candidates=count),
            people.labels,
            shares=people.shares,
            parts=folding.parts,
            min_valid=folding.min_valid,
            measured_at=labelled_last_asked(rows) or datetime.now(UTC).isoformat(timespec="seconds"),
        )
    if asked.as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
    fixed: tuple[str, ...] = ()
    if configured is None:
        unknown = "no --config: nobody can tell which judge it holds for"
        fixed = (*exploratory(log, judge, rows, folding), unknown)
    opening = _opened(request, certificate, chosen)
    lines = (f"rule: {chosen.name}", *fixed, *map(safe_text, notes), *certificate_text(certificate))
    kept = asked if certificate.granted else replace(asked, out=None)
    print_and_save(certificate, kept, lambda: (opening, *lines))
    return GATE_FAILED if any(one.threshold is None for one in certificate.selections) else OK


def _opened(request: CertifyRequest, certificate: Certificate, rule: Rule) -> Section:
    """Return what the command opens with: what is certified, and what comes next."""
    after = after_certifying(request, certificate, rule.name)
    return opened(certificate_finding(certificate, before=after.before, following=after.next))


def _looked_for(wanted: Wanted) -> tuple[str, ...]:
    """Return what makes another candidate of one rule on the same labels: another score, other strata or clusters."""
    score = None if wanted.score == SCORES[0] else wanted.score
    by = None if wanted.stratum is None else f"by {wanted.stratum}"
    cluster = None if wanted.cluster is None else f"cluster {wanted.cluster}"
    return tuple(filter(None, (score, by, cluster)))


def certify_judges(request: CertifyRequest) -> int:
    """Certify the judges of a cascade, print and save it; return the exit code, 1 where no step is certified."""
    names = [name for name in names_in(request.cascade) if name != PEOPLE]
    asked, wanted = _checked(request, names)
    with without_replay_advice():
        judged = [_judged(request, asked, name, cluster=wanted.cluster or CLUSTER) for name in names]
        rows = [row for one in judged for row in one.rows]
        criterion = _criterion(request, rows)
        people = Annotators.of(judged[0].labels)
        cascade = certify_cascade(
            people.draw(rows),
            [(name, one.folding.rule) for name, one in zip(names, judged, strict=True)],
            replace(wanted, candidates=_candidates(request, asked, judged)),
            people.labels,
            shares=people.shares,
            criterion=criterion,
            measured_at=labelled_last_asked(rows) or datetime.now(UTC).isoformat(timespec="seconds"),
            parts={name: one.folding.parts for name, one in zip(names, judged, strict=True)},
            min_valid=judged[0].folding.min_valid,
        )
    _print(request, cascade, judged, rows)
    if cascade.granted and asked.out is not None:
        cascade.save(asked.out)
        if not asked.as_json:
            say(console(), f"saved to {asked.out}")
    return OK if cascade.granted else GATE_FAILED


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """The rows of a judge with labels, how they are decided, what is to be said of them, and who else is in the log."""

    judge: str
    rows: Sequence[VerdictRow]
    labels: CalibrationSet
    folding: Folding
    notes: tuple[str, ...]
    others: Any


def _checked(request: CertifyRequest, names: Sequence[str]) -> tuple[Request, Wanted]:
    wanted = part_of(request, Wanted, stratum=", ".join(names_in(request.by)) or None, candidates=1)
    asked = part_of(request, Request, by=None)
    if request.judge is not None:
        raise UsageError("give --judge or --cascade, not both: the judges are the cascade's.")
    if request.rule is not None and request.config is not None:
        raise UsageError("give --rule or --config, not both: the rule is the configuration's.")
    if request.config is not None:
        config = load_config(request.config)
        models = {one.name: one.model for one in config.judges}
        dearer_first([(name, models.get(name)) for name in names], prices_of(config))
    if asked.out is not None:
        check_file(asked.out)
        refuse_same("--out", asked.out, request.log, asked.labels, request.config)
    return asked, wanted


def _judged(request: CertifyRequest, asked: Request, name: str, *, cluster: str) -> _Judged:
    _, answered, others = rows_of_one(request.log, name, asked.run)
    refuse_stopped(request.log, asked.run, what="a certificate")
    labels, rows, notes = labelled_rows(
        answered, request.log, asked, cluster=cluster, copies=without_copies, read=annotators_beside(answered)
    )
    configured = None if request.config is None else ConfiguredLog(request.config, rows)
    folding = Folding.of(request.rule or _RULE, configured)
    decided = folding.decisions(rows)
    notes += labelled_columns(decided)
    if configured is not None:
        notes += configured.check(request.log, decided)
    elif said := exploratory(request.log, name, rows, folding):
        notes += said
    return _Judged(judge=name, rows=rows, labels=labels, folding=folding, notes=notes, others=others)


def _criterion(request: CertifyRequest, rows: Sequence[VerdictRow]) -> str:
    known = list(dict.fromkeys(row.criterion for row in rows if row.outcome == "ok"))
    if request.criterion is None and len(known) != 1:
        named = ", ".join(map(safe_text, known)) or "without an answer"
        raise UsageError(
            f"the log holds {len(known)} criteria ({named}), and a cascade decides one that all its judges answer: say "
            "which, with --criterion."
        )
    return request.criterion or known[0]


def _candidates(request: CertifyRequest, asked: Request, judged: Sequence[_Judged]) -> int:
    """Count the cascade among what was looked at with its labels: other judges of the log are looks of their own."""
    study = study_of(asked, request.config, asked.out, log=request.log)
    golds, _ = judged[0].labels.golds()
    items = [item for one in judged for item in items_of(one.folding.decisions(one.rows)) if item.gold is not None]
    rule: Rule = judged[0].folding.rule
    what = f"{deciding_rule(rule, judged[0].rows).name}, in turn"
    candidate = candidate_of_items(" > ".join(one.judge for one in judged), what, items)
    beside = candidates_on(golds, judged[0].rows, judged[0].others) - (len(judged) - 1)
    return study.count(golds, candidate, of_log=max(1, beside))


def _print(request: CertifyRequest, cascade: Cascade, judged: Sequence[_Judged], rows: Sequence[VerdictRow]) -> None:
    notes = list(dict.fromkeys(f"{one.judge}: {safe_text(note)}" for one in judged for note in one.notes))
    made: Mapping[str, Any] | None = None
    if cascade.granted:
        made = cascade_log(rows, cascade, prices=prices_of_run(request.log)).to_dict()
    if request.as_json:
        for note in notes:
            typer.echo(note, err=True)
        print_json(cascade.to_dict())
        return
    screen, after = console(), after_certifying_judges(request, cascade)
    show_section(opened(cascade_finding(cascade, before=after.before, following=after.next)), screen)
    for line in notes:
        say(screen, line)
    for place, step in enumerate(cascade.steps, start=1):
        say(screen, f"step {place}: {safe_text(step.judge)}, rule {step.rule.name}")
        for line in certificate_text(step.certificate):
            say(screen, f"  {line}")
    if made is not None:
        say(screen, "what it makes of this log, the labels it was certified on included:")
        show_section(cascade_section(made), screen)
