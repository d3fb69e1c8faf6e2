"""JH003: verdicts become a number nobody compared with people."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.folding import folds_of
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection, described
from judgeharness_integrations.migration.labels_in_sight import labels_in_sight
from judgeharness_integrations.migration.recognising.adk import JUDGES
from judgeharness_integrations.migration.rules.rule import Rule

__all__ = ["UNCALIBRATED_AGGREGATION"]

_CODE = "JH003"
_ADVICE = "measure the rule on human labels (judgeharness calibrate) or call it uncalibrated"


def _python(inspection: Inspection) -> Iterator[Finding]:
    seen = set()
    for site in inspection.used:
        flow = inspection.flow(site)
        folds = folds_of(inspection.view, flow)
        if not folds or labels_in_sight(inspection.view, flow):
            continue
        for fold in folds:
            if fold.node not in seen:
                seen.add(fold.node)
                message = f"verdicts of {described(site)} become {fold.way} without human labels in sight: {_ADVICE}."
                yield inspection.finding(_CODE, fold.node, message, site)


def _config(inspection: ConfigInspection) -> Iterator[Finding]:
    for site in inspection.judges:
        if site.kind in JUDGES and site.samples != 1:
            message = f"a majority of {site.samples} samples of {site.kind} meets a threshold uncalibrated: {_ADVICE}."
            yield inspection.finding_at(_CODE, site, message)


UNCALIBRATED_AGGREGATION = Rule(
    code=_CODE,
    name="uncalibrated aggregation",
    explanation=(
        "Single verdicts are counted or averaged, and the number is used as if it were the share of good answers: its "
        "error is the judge's error, which nobody has measured. Found where verdicts of a judge, collected over cases "
        "or repeats, become a share, a mean, a majority or a threshold, and the file neither names human labels or a "
        "measure of agreement nor compares verdicts with anything. Label some cases, calibrate the rule, and correct "
        "the rate (judgeharness label, calibrate, corrected-rate)."
    ),
    python=_python,
    config=_config,
)
