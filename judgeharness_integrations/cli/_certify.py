"""What `judgeharness certify` does: which decisions of an existing log agree with its labels as often as asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import CLUSTER
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.calibration.candidates import candidate_of_items
from judgeharness_integrations.calibration.designs import design_changes, design_of_rows
from judgeharness_integrations.certifying.measuring import Labels, Wanted, certify
from judgeharness_integrations.certifying.sureness import SCORES
from judgeharness_integrations.cli._calibrate_log import decided_items, labelled_rows, rows_of_one
from judgeharness_integrations.cli._calibration_output import EXPLORATORY, Request, print_and_save, refuse_same
from judgeharness_integrations.cli._candidates import study_of
from judgeharness_integrations.cli._failures import without_replay_advice
from judgeharness_integrations.cli._reading import stop_notes
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.design import Fingerprint
from judgeharness_integrations.prices import same_model
from judgeharness_integrations.reporting.certificatetext import certificate_text
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.folder import documents_of_run
from judgeharness_integrations.verdictlog import VerdictRow

__all__ = ["certify_log"]

_RULE = "majority | median"


def certify_log(log: Path, wanted: Wanted, request: Request, *, rule: str | None, config: Path | None) -> int:
    """Certify, print and save; return the exit code."""
    if rule is not None and config is not None:
        raise UsageError("give --rule or --config, not both: the rule is the configuration's.")
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, log, request.labels, config)
    with without_replay_advice():
        judge, answered = rows_of_one(log, request.judge, request.run)
        for note in stop_notes(log, request.run):
            raise UsageError(
                f"{note}, and neither is a certificate: ask the other cases, with run and without --until."
            )
        study = study_of(request, request.labels or log, log, request.labels, config, request.out)
        labelled, rows, notes = labelled_rows(answered, log, request, cluster=wanted.cluster or CLUSTER)
        configured = None if config is None else _Configured(config, rows)
        chosen = rule_of(rule or _RULE) if configured is None else configured.rule
        what = _looked_for(wanted, chosen)
        items = [item for item in decided_items(rows, chosen) if item.gold is not None]
        count = study.count(labelled.golds()[0], candidate_of_items(judge, what, items))
        certificate = certify(
            rows,
            chosen,
            replace(wanted, candidates=count),
            Labels(name=labelled.name, source=labelled.source, consensus=labelled.consensus, ties=labelled.golds()[1]),
            parts=None if configured is None else configured.parts,
            min_valid=None if configured is None else configured.min_valid,
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    if configured is not None:
        configured.check(log, certificate.curtailed)
    if request.as_json:
        for note in notes:
            typer.echo(safe_text(note), err=True)
    fixed = () if configured is not None else (EXPLORATORY, "no --config: nobody can tell which judge it holds for")
    lines = (f"rule: {chosen.name}", *fixed, *map(safe_text, notes), *certificate_text(certificate))
    kept = request if certificate.granted else replace(request, out=None)
    print_and_save(certificate, kept, lambda: lines)
    return GATE_FAILED if any(one.threshold is None for one in certificate.selections) else OK


def _looked_for(wanted: Wanted, rule: Rule) -> str:
    """Return what is another candidate on the same labels: another rule or score, other strata or clusters."""
    score = None if wanted.score == SCORES[0] else wanted.score
    by = None if wanted.stratum is None else f"by {wanted.stratum}"
    cluster = None if wanted.cluster is None else f"cluster {wanted.cluster}"
    return ", ".join(filter(None, (rule.name, score, by, cluster)))


class _Configured:
    """The judge and the design of a configuration, whose rows are certified; nobody is asked."""

    def __init__(self, path: Path, rows: Sequence[VerdictRow]) -> None:
        from judgeharness_integrations.cli._asking import judge_model  # noqa: PLC0415 - few give a configuration
        from judgeharness_integrations.cli._calibrate import place_of  # noqa: PLC0415
        from judgeharness_integrations.config import build_harness_options, build_judge, load_config  # noqa: PLC0415
        from judgeharness_integrations.harness import JudgeHarness  # noqa: PLC0415
        from judgeharness_integrations.running import fingerprint_parts  # noqa: PLC0415

        config = load_config(path)
        place = place_of(config, rows[0].judge)
        judge = build_judge(config, place)
        learn: Any = getattr(judge, "learn", None)
        if learn is not None:
            for row in rows:
                learn(row.attributes)  # how it answers, as it did then
        self._design = JudgeHarness(**build_harness_options(config)).design_for(judge)
        self._path, self._rows = path, rows
        self.rule: Rule = self._design.rule
        self.min_valid = self._design.min_valid
        declared = judge_model(judge, config.judges[place])
        self._model = declared or (None if judge.identity is None else judge.identity.model)
        self.parts: Mapping[str, Any] | None = fingerprint_parts(judge, self._design, declared)

    def check(self, log: Path, curtailed: bool) -> None:  # noqa: FBT001 - what the rows say
        """Refuse a configuration that is not the one the rows were asked with."""
        changes = design_changes(design_of_rows(self._rows, self.rule.name), self._design.parts())
        if self._design.curtail != curtailed:
            changes += (f"early stopping {curtailed} before, {self._design.curtail} now",)
        changes = changes or tuple(self._other_judge(log))
        if changes:
            raise UsageError(f"the log was not run with {self._path}: {'; '.join(changes)}.")

    def _other_judge(self, log: Path) -> Iterator[str]:
        """Yield why another judge was asked: by the results of the run, else by the model the rows name."""
        answered = documents_of_run(log, self._rows)
        known = {one["fingerprint"] for one in answered} - {None}
        if known and self.parts is not None:
            now = Fingerprint(self.parts).digest
            if now not in known:
                yield f"the judge's fingerprint was {' or '.join(sorted(known))}, now it is {now}"
            return
        models = {row.model for row in self._rows} - {None}
        if others := sorted(name for name in models if name and self._model and not same_model(self._model, name)):
            yield f"model {safe_text(', '.join(others))} before, {safe_text(str(self._model))} now"
