"""A log and the configuration it was run with: which judge and design its rows are of, and that they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.calibration.designs import design_changes, design_of_rows
from judgeharness_integrations.design import Fingerprint
from judgeharness_integrations.prices import same_model
from judgeharness_integrations.replay import CaseDecision
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.reporting.runs.folder import documents_of_run
from judgeharness_integrations.verdictlog import VerdictRow

__all__ = ["ConfiguredLog"]


class ConfiguredLog:
    """The judge and the design of a configuration, whose rows are measured; nobody is asked."""

    def __init__(self, path: Path, rows: Sequence[VerdictRow]) -> None:
        from judgeharness_integrations.cli._asking import judge_model  # noqa: PLC0415 - few give a configuration
        from judgeharness_integrations.cli._calibrate import place_of  # noqa: PLC0415
        from judgeharness_integrations.config import build_harness_options, build_judge, load_config  # noqa: PLC0415
        from judgeharness_integrations.harness import JudgeHarness  # noqa: PLC0415
        from judgeharness_integrations.labelling.candidates import asked_candidate  # noqa: PLC0415
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
        self.candidate = asked_candidate(judge, self._design, declared)

    def check(self, log: Path, decided: Mapping[str, Sequence[CaseDecision]]) -> tuple[str, ...]:
        """Refuse a configuration that is not the one the rows were asked with, and say where that cannot be told.

        Args:
            log: where they stand.
            decided: criterion -> what was decided about their cases.

        """
        curtailed = any(case.curtailed for cases in decided.values() for case in cases)
        changes = design_changes(design_of_rows(self._rows, self.rule.name), self._design.parts())
        if self._design.curtail != curtailed:
            changes += (f"early stopping {curtailed} before, {self._design.curtail} now",)
        known = {one["fingerprint"] for one in documents_of_run(log, self._rows)} - {None}
        changes = changes or tuple(self._other_judge(known))
        if changes:
            raise UsageError(f"the log was not run with {self._path}: {'; '.join(changes)}.")
        if known or self.parts is None:
            return ()
        unknown = "a log apart from its run's folder does not say which prompt was asked"
        return (f"{unknown}: that it was that of {self._path} is taken from you",)

    def _other_judge(self, known: Collection[str]) -> Iterator[str]:
        """Yield why another judge was asked: by the fingerprints of the run's results, else by the model rows name."""
        if known and self.parts is not None:
            now = Fingerprint(self.parts).digest
            if now not in known:
                yield f"the judge's fingerprint was {' or '.join(sorted(known))}, now it is {now}"
            return
        models = {row.model for row in self._rows} - {None}
        if others := sorted(name for name in models if name and self._model and not same_model(self._model, name)):
            yield f"model {safe_text(', '.join(others))} before, {safe_text(str(self._model))} now"
