"""What `judgeharness corrected-rate` does: which of the three ways in, and what is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.text import Text

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.calibration.corrected import (
    CorrectedRate,
    LabelsAre,
    RateEstimate,
    corrected_rate_of_counts,
)
from judgeharness_integrations.cli._calibration_output import EXPLORATORY
from judgeharness_integrations.cli._corrected_log import of_log
from judgeharness_integrations.cli._corrected_request import Counts, Origin, Request
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, safe, table
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["assumption", "measured", "print_corrected"]

_TITLES = {
    "labels_alone": "labels alone",
    "ppi_plus_plus": "PPI++",
    "tenenbein": "Tenenbein",
    "rogan_gladen": "Rogan-Gladen, Lee interval",
    "rogan_gladen_delta": "Rogan-Gladen, delta interval",
}
_ASSUMPTIONS: dict[str, LabelsAre] = {"random": "random", "other-mix": "other_mix", "undeclared": "undeclared"}
_SENTENCES: dict[LabelsAre, str] = {
    "random": "random: the labelled items are a random sample of the items",
    "other_mix": "other-mix: they come from another mix of items, on which the judge errs as often",
    "undeclared": "undeclared",
}
_COUNT = re.compile(r"([0-9]{1,12})/([0-9]{1,12})")


def assumption(text: str | None) -> LabelsAre:
    """Return the assumption an option names."""
    named = "undeclared" if text is None else text.replace("_", "-")
    if named not in _ASSUMPTIONS:
        raise UnknownNameError("sampling assumption", named, _ASSUMPTIONS)
    return _ASSUMPTIONS[named]


def measured(request: Request, counts: Counts) -> tuple[CorrectedRate, Origin]:
    """Return the corrected rate the options ask for, and where it comes from."""
    if request.log is None:
        return _of_counts(request, counts), Origin()
    if counts.given:
        raise UsageError(f"a LOG is counted, or counts are given: leave out {', '.join(counts.given)}.")
    if request.rule is None:
        raise UsageError("LOG needs --rule: which rule's decisions are to be corrected?")
    return of_log(request, request.log, request.rule)


def _of_counts(request: Request, counts: Counts) -> CorrectedRate:
    with_log = ("rule", "judge", "criterion", "calibration", "gold", "cluster")
    wrong = [f"--{name}" for name in with_log if getattr(request, name) is not None]
    if wrong or request.labels:
        raise UsageError(f"{', '.join(wrong) or '--labels'} goes with a LOG, which is not given.")
    sizes = (counts.passed, counts.of, counts.sensitivity, counts.specificity)
    passed, of, sensitivity, specificity = sizes
    if passed is None or of is None or sensitivity is None or specificity is None:
        raise UsageError("give LOG with --rule, or all of --passed, --of, --sensitivity and --specificity.")
    return corrected_rate_of_counts(
        judged_passes=passed,
        judged_total=of,
        sensitivity=_count(sensitivity, "--sensitivity"),
        specificity=_count(specificity, "--specificity"),
        labels_are=request.labels_are,
        positive=request.positive,
    )


def _count(text: str, option: str) -> tuple[int, int]:
    found = _COUNT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise UsageError(f"{option} is a count of labelled items like 180/200, not {safe_text(text, 40)!r}.")
    return int(found[1]), int(found[2])


def print_corrected(report: CorrectedRate, origin: Origin, *, as_json: bool) -> None:
    """Print the report as JSON or as tables."""
    if as_json:
        print_json(report.to_dict() | asdict(origin) | {"notes": [*report.notes, *origin.notes]})
        return
    screen = console()
    for line in _head(report, origin):
        screen.print(Text(line), soft_wrap=True)
    rows = [_row(report, estimate) for estimate in report.estimates]
    screen.print(table("estimates", ("", "estimator", "assumes", "rate", "95 % interval", "SE"), rows, texts=3))
    for line in _tail(report, origin):
        screen.print(Text(line), soft_wrap=True)


def _head(report: CorrectedRate, origin: Origin) -> Iterator[str]:
    label = safe_text(report.positive or "the positive label", 60)
    if origin.judge is not None:
        yield f"judge: {safe_text(origin.judge, 60)}, criterion {safe_text(origin.criterion or '', 60)}"
        yield f"rule: {origin.rule}"
        yield EXPLORATORY
    undecided = f"; {report.undecided} abstained or not graded count as not {label}" if report.undecided else ""
    clusters = "" if report.clusters is None else f", in {report.clusters} clusters with the labelled ones"
    yield f"judged {label}: {report.judged or 'no item'}{undecided}{clusters}"
    errors = f"sensitivity {report.sensitivity or 'none'}, specificity {report.specificity or 'none'}"
    yield f"labelled items: {report.labelled}, {errors}"
    yield f"labels are {_SENTENCES[report.labels_are]}"


def _row(report: CorrectedRate, estimate: RateEstimate) -> tuple[Any, ...]:
    chosen = "*" if estimate.method == report.chosen else ""
    interval = "-" if estimate.interval is None else "[{:.3f}, {:.3f}]".format(*estimate.interval)
    if estimate.outside and estimate.interval is None and estimate.raw_low is not None:
        interval = "outside [0, 1]"
    rate = "-" if estimate.estimate is None else f"{estimate.estimate:.3f}"
    if estimate.raw is not None and not 0 <= estimate.raw <= 1:
        rate = f"outside [0, 1] ({estimate.raw:.3f})"
    error = "-" if estimate.se is None else f"{estimate.se:.4f}"
    assumes = "same errors" if estimate.method.startswith("rogan_gladen") else "random labels"
    return chosen, safe(_TITLES[estimate.method]), assumes, rate, interval, error


def _tail(report: CorrectedRate, origin: Origin) -> Iterator[str]:
    best = report.best
    if best is None:
        yield "chosen: nothing"
    else:
        weight = "" if best.weight is None else f", lambda {best.weight:.3f}"
        yield f"chosen (*): {_TITLES[best.method]}; it assumes that {best.assumes}"
        yield f"  from {best.basis}{weight}"
    reasons: dict[str, str] = {}
    for estimate in report.estimates:
        if estimate.reason and reasons.setdefault(estimate.reason, estimate.method) == estimate.method:
            yield f"{_TITLES[estimate.method]}: {estimate.reason}"
    for note in (*report.notes, *origin.notes):
        yield f"note: {safe_text(note)}"
