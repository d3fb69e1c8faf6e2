"""What `judgeharness certify` does: which decisions of a log stand, printed and saved."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import typer

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.grouping import CLUSTER, without_copies
from judgeharness_integrations.analysis.aggregation.rules import Rule, deciding_rule
from judgeharness_integrations.analysis.calibration.candidates import candidate_of_items
from judgeharness_integrations.analysis.calibration.saved import labelled_last_asked
from judgeharness_integrations.analysis.certifying.applying import SCORES
from judgeharness_integrations.analysis.certifying.certificate import Certificate, certificate_text
from judgeharness_integrations.analysis.certifying.measuring import Wanted, certify
from judgeharness_integrations.cli._annotators import Annotators, annotators_beside
from judgeharness_integrations.cli._command import GATE_FAILED, OK, names_in, part_of
from judgeharness_integrations.cli._following import after_certifying
from judgeharness_integrations.cli._label_options import CertifyRequest
from judgeharness_integrations.cli._output import check_file, without_replay_advice
from judgeharness_integrations.cli.calibrate_log import (
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
    refuse_unended,
    rows_of_one,
)
from judgeharness_integrations.judging.candidates import study_of
from judgeharness_integrations.reporting.certificatefindings import certificate_finding
from judgeharness_integrations.reporting.sections import Section
from judgeharness_integrations.verdictlog.encoding import safe_text

_RULE = "majority | median"


def certify_log(request: CertifyRequest) -> int:
    """Certify a judge of a log, or several that are asked in turn; return the exit code."""
    if request.cascade:
        from judgeharness_integrations.cli._certify_cascade import certify_judges  # noqa: PLC0415 - few have several

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
