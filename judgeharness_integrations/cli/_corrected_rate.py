"""What `judgeharness corrected-rate` is asked for, and where its numbers come from."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.cases import scores_of
from judgeharness_integrations.analysis.aggregation.grouping import CLUSTER, Clusters, by_criterion, copied_cases
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.calibration import (
    CalibrationReport,
    CriterionCalibration,
    Judged,
    measure_calibration,
)
from judgeharness_integrations.analysis.calibration.corrected import (
    CorrectedRate,
    LabelsAre,
    corrected_rate,
    corrected_rate_of_counts,
)
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION, read_labels
from judgeharness_integrations.analysis.calibration.population import population_of
from judgeharness_integrations.analysis.calibration.rogangladen import RateEstimate
from judgeharness_integrations.analysis.calibration.transport import (
    column_apart,
    facts_of_decisions,
    labelled_alone,
    shift_test,
    unlike,
    unlike_labelled,
)
from judgeharness_integrations.analysis.fingerprint import design_changes, design_of_rows
from judgeharness_integrations.analysis.replay import CaseDecision, case_decisions, rows_about, rows_of_judges
from judgeharness_integrations.analysis.replay.report import replay_anchor
from judgeharness_integrations.analysis.runs.folder import lost_samples, rule_fixed_of_run
from judgeharness_integrations.judging.candidates import joined, read_gold
from judgeharness_integrations.reporting.terminal import console, safe, say, table
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.encoding import counted, ends, percent, safe_text
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

from ._label_options import CorrectedRateRequest
from ._output import asked_of_log, print_json, stop_notes, without_replay_advice
from ._replay import rule_of
from .calibrate_log import EXPLORATORY


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the numbers come from; what does not apply is None."""

    judge: str | None = None
    criterion: str | None = None
    rule: str | None = None
    rule_fixed: str | None = None
    calibration: str | None = None
    notes: tuple[str, ...] = ()


def of_log(request: CorrectedRateRequest, log: Path, rule: str) -> tuple[CorrectedRate, Origin]:
    """Return the corrected rate of a log under a rule, and where it comes from."""
    chosen = rule_of(rule)
    with without_replay_advice():
        judge, criterion, rows = _rows(request, log)
        rows, split, notes = _with_labels(rows, request, criterion)
        known = {name for row in rows for name in row.attributes}
        if request.cluster not in {None, *known}:
            raise UnknownNameError("column", request.cluster or "", known)
        cases = list(case_decisions(rows, chosen))
    if any(is_number(case.decision.verdict) for case in cases):
        raise UsageError("the rule decides on scores, which have no rate: give it a threshold, as median(pass_at=7).")
    stop = stop_notes(log)
    notes += (*lost_samples(rows), *copied_cases(rows, request.cluster or CLUSTER))
    fixed = rule_fixed_of_run(log, {judge: rows}, chosen)
    origin = Origin(judge=judge, criterion=criterion, rule=chosen.name, rule_fixed=fixed, notes=notes)
    if request.calibration is None:
        tied = [case.case_id in split for case in cases]
        found = _with_gold(cases, request, criterion, log, split=tied)
    else:
        found, origin = _with_calibration(cases, request, request.calibration, origin, chosen)
    unchosen = tuple(f"nothing is chosen: {note}" for note in stop)
    return replace(found, chosen=None if stop else found.chosen, notes=(*found.notes, *unchosen)), origin


def _with_labels(
    rows: list[VerdictRow], request: CorrectedRateRequest, criterion: str
) -> tuple[list[VerdictRow], set[str], tuple[str, ...]]:
    """Return the rows with the labels of a file, where one is given, the cases people are split on, and sentences."""
    if request.gold is None:
        return rows, set(), ()
    if request.calibration is not None:
        raise UsageError("labels come from --gold or from --calibration: leave out one of them.")
    found = joined(rows, read_gold(request.gold), texts=request.labels)
    split = {case_id for case_id, name in found.split if name in (criterion, ONLY_CRITERION)}
    return list(found.rows), split, found.notes(str(request.gold), ties=False)


def _rows(request: CorrectedRateRequest, log: Path) -> tuple[str, str, list[VerdictRow]]:
    """Return the judge, the criterion and its rows; several need a name."""
    criteria = None if request.criterion is None else [request.criterion]
    rows = rows_about(asked_of_log(log, labels=request.labels), criteria)
    groups = rows_of_judges(rows, None if request.judge is None else [request.judge])
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} judges: choose one with --judge.")
    judge, mine = next(iter(groups.items()))
    by_name = by_criterion(mine)
    if len(by_name) > 1:
        raise UsageError(f"{log} holds {len(by_name)} criteria: choose one with --criterion.")
    criterion, rows = next(iter(by_name.items()))
    return judge, criterion, rows


def _with_gold(
    cases: Sequence[CaseDecision], request: CorrectedRateRequest, criterion: str, log: Path, *, split: Sequence[bool]
) -> CorrectedRate:
    labelled = [
        (
            place,
            Judged(
                gold=case.gold,
                verdict=case.decision.verdict,
                status=case.decision.status,
                scored=bool(scores_of(case)),
            ),
        )
        for place, case in enumerate(cases)
        if case.gold is not None
    ]
    if not labelled:
        raise UsageError(
            f"{log}: no row carries a gold label: give labels as --gold FILE (case_id, gold), or --calibration FILE."
        )
    items = read_labels([item for _, item in labelled])
    positive = measure_calibration(items, criterion=criterion, positive=request.positive).positive
    if positive is None:
        raise UsageError("the labels are not PASS and FAIL: name the label whose rate is asked for with --positive.")
    labels: list[bool | None] = [None] * len(cases)
    for (place, _), item in zip(labelled, items, strict=True):
        labels[place] = item.gold == positive
    return corrected_rate(
        judged=_judged(cases, positive),
        labels=labels,
        split=split,
        clusters=_clusters(cases, request.cluster),
        labels_are=assumption(request.labels_are),
        positive=positive,
        undecided=_undecided(cases),
        apart=_apart(cases, criterion),
    )


def _apart(cases: Sequence[CaseDecision], criterion: str) -> str:
    """Return why labels are no random sample of the items, or why nobody can tell; empty where they may be one."""
    if told := unlike_labelled(criterion, cases, _HARDLY):
        return told
    return _of_column(labelled_alone(criterion, cases))


def _apart_from_saved(report: CalibrationReport, cases: Sequence[CaseDecision], criterion: str) -> tuple[str, str]:
    """Return that the labelled cases of a calibration are not like those of the log, and which column tells them."""
    labelled = report.population
    if labelled is None:
        return "", ""
    facts = facts_of_decisions({criterion: cases}, column=labelled.column)
    here = population_of(facts, column=labelled.column, columns=labelled.columns)
    return unlike(shift_test(labelled, here), _HARDLY), _of_column(column_apart(labelled, here))


_HARDLY: Final = "these labels are hardly a random sample of the items"


def _of_column(told: str) -> str:
    return f"{told}; leave the column out where it only says which items were drawn" if told else ""


def _with_calibration(
    cases: Sequence[CaseDecision], request: CorrectedRateRequest, path: Path, origin: Origin, rule: Rule
) -> tuple[CorrectedRate, Origin]:
    if request.cluster is not None:
        raise UsageError("--cluster goes with gold labels in LOG: a saved calibration holds counts only.")
    report = CalibrationReport.load(path)
    measured = _measured(report, origin.criterion or "", path)
    positive = measured.positive
    if positive is None:
        why = "measures scores" if measured.errors is not None else "has no positive label"
        raise UsageError(f"{path} {why}: calibrate with --positive and a rule that decides on labels.")
    if request.positive not in (None, positive):
        raise UsageError(f"{path} is about the rate of {positive!r}, not of {request.positive!r:.60}.")
    _check_rule(report, origin, path)
    _check_words(cases, measured, positive, path)
    if measured.selection is not None and measured.selection.found:
        raise UsageError(f"{path} cannot correct a rate: {measured.selection.sentence}.")
    yes, no = (_errors(measured, positive, true=true) for true in (True, False))
    judged = _judged(cases, positive)
    apart, column = _apart_from_saved(report, cases, origin.criterion or "")
    corrected = corrected_rate_of_counts(
        judged_passes=judged.count(True),
        judged_total=len(judged),
        sensitivity=yes,
        specificity=no,
        labels_are=assumption(request.labels_are),
        positive=positive,
        undecided=_undecided(cases),
        apart=apart,
    )
    shifted = "" if apart else _shifted(report, cases, request, rule)
    if why := _dependent(measured, report, cases, request) or shifted:
        corrected = replace(corrected, chosen=None, notes=(*corrected.notes, f"nothing can be chosen: {why}"))
    notes = (*filter(None, (column,)), *_comparable(report, origin, cases))
    return corrected, replace(origin, calibration=report.name, notes=(*notes, *origin.notes))


def _dependent(
    measured: CriterionCalibration,
    report: CalibrationReport,
    cases: Sequence[CaseDecision],
    request: CorrectedRateRequest,
) -> str:
    """Return why intervals made of counts do not hold: items belong together, or are counted as labelled and as not."""
    keys = _clusters(cases, None)
    if len(set(keys)) < len(keys) or measured.clusters is not None:
        return "the intervals take items for independent, which they are not: give the labels as --gold FILE"
    if assumption(request.labels_are) == "random" and _shared(report, cases):
        return "labelled cases are counted among the others, too: give the labels as --gold FILE"
    return ""


def _shifted(
    report: CalibrationReport, cases: Sequence[CaseDecision], request: CorrectedRateRequest, rule: Rule
) -> str:
    """Return that labelled cases drawn at random would look like those of the log, and do not."""
    if assumption(request.labels_are) != "random":
        return ""
    shift = replay_anchor(report, [row for case in cases for row in case.rows], rule).shift
    return shift.sentence if shift is not None and shift.shifted else ""


def _shared(report: CalibrationReport, cases: Sequence[CaseDecision]) -> int:
    """Return how many cases of a log are among those of a calibration."""
    return len({case.case_id for case in cases} & {item.case_id for item in report.items})


def _measured(report: CalibrationReport, criterion: str, path: Path) -> CriterionCalibration:
    if criterion in report.criteria:
        return report.criteria[criterion]
    raise UnknownNameError(f"criterion of {path}", criterion, report.criteria)


def _check_rule(report: CalibrationReport, origin: Origin, path: Path) -> None:
    """Refuse the errors of another rule."""
    before = report.known_design.get("rule", origin.rule)
    if before != origin.rule:
        raise UsageError(
            f"{path} was measured with rule {before}, whose errors are not those of {origin.rule}: give --rule "
            f"{before!r}, or calibrate this rule."
        )


def _check_words(cases: Sequence[CaseDecision], measured: CriterionCalibration, positive: str, path: Path) -> None:
    """Refuse decisions that are in other words than the calibration's."""
    used = {verdict_text(case.decision.verdict) for case in cases if case.decision.status == "decided"}
    known = {positive, *measured.confusion, *(label for row in measured.confusion.values() for label in row)}
    if used and used.isdisjoint(known):
        words = ", ".join(sorted(used))
        raise UsageError(f"{path} is about {positive!r}, but the decisions are {words:.80}: they cannot be compared.")


def _errors(measured: CriterionCalibration, positive: str, *, true: bool) -> tuple[int, int]:
    """Return how many positive (other) labelled items were judged positive (not so), and how many there are."""
    rows = [row for gold, row in measured.confusion.items() if (gold == positive) == true]
    total, said = sum(sum(row.values()) for row in rows), sum(row.get(positive, 0) for row in rows)
    return said if true else total - said, total


def _comparable(report: CalibrationReport, origin: Origin, cases: Sequence[CaseDecision]) -> Iterator[str]:
    """Say what may differ between the configuration that was calibrated and the one behind the log."""
    known = "no fingerprint either" if report.fingerprint is None else f"the fingerprint {report.fingerprint}"
    yield (
        f"a log has no fingerprint, the calibration on {report.name} has {known}: whether judge and prompt are "
        "the same cannot be compared"
    )
    design = report.known_design
    yield from design_changes(design, design_of_rows([row for case in cases for row in case.rows], origin.rule or ""))
    if unknown := [name for name in ("rule", "perturbations", "repetitions") if name not in design]:
        yield f"the calibration does not say its {', '.join(unknown)}: they may be others"
    if report.judge != origin.judge:
        yield f"the calibration is of judge {report.judge!r}, the log of {origin.judge!r}"
    if not report.calibrated:
        yield f"the labels are those of {report.source.removeprefix('model:')}, not people's: so is the corrected rate"
    if report.excluded_ties:
        yield (
            f"the calibration leaves out {counted(report.excluded_ties, 'evenly split label')}, so that it speaks for "
            "cases people agree on: the rate with them is told where the labels are given as --gold FILE"
        )
    if same := _shared(report, cases):
        yield f"{same} cases of the log are among those it was calibrated on: the intervals take them for others"
    if labelled := sum(case.gold is not None for case in cases):
        yield f"{labelled} gold labels in the log were not used"


def _judged(cases: Sequence[CaseDecision], positive: str) -> list[bool | None]:
    """Return whether each decision is the positive label, None where there is none."""
    return [case.decision.verdict == positive if case.decision.status == "decided" else None for case in cases]


def _undecided(cases: Sequence[CaseDecision]) -> int:
    return sum(case.decision.status != "decided" for case in cases)


def _clusters(cases: Sequence[CaseDecision], column: str | None) -> list[Hashable]:
    """Return the cluster each item is in, by a column where one is named."""
    clusters = Clusters.of_cases(cases, column or CLUSTER)
    return [clusters.of(case.case_id) for case in cases]


_TITLES = {
    "labels_alone": "labels alone",
    "ppi_plus_plus": "PPI++",
    "tenenbein": "Tenenbein",
    "rogan_gladen": "Rogan-Gladen, Lee and Fieller",
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


def measured(request: CorrectedRateRequest) -> tuple[CorrectedRate, Origin]:
    """Return the corrected rate the options ask for, and where it comes from."""
    assumption(request.labels_are)  # that it can be read is known before a log is
    if request.log is None:
        return _of_counts(request), Origin()
    if given := request.counts.given:
        raise UsageError(f"a LOG is counted, or counts are given: leave out {', '.join(given)}.")
    if request.rule is None:
        raise UsageError("LOG needs --rule: which rule's decisions are to be corrected?")
    return of_log(request, request.log, request.rule)


def _of_counts(request: CorrectedRateRequest) -> CorrectedRate:
    with_log = ("rule", "judge", "criterion", "calibration", "gold", "cluster")
    wrong = [f"--{name}" for name in with_log if getattr(request, name) is not None]
    if wrong or request.labels:
        raise UsageError(f"{', '.join(wrong) or '--labels'} goes with a LOG, which is not given.")
    counts = request.counts
    sizes = (counts.passed, counts.of, counts.sensitivity, counts.specificity)
    passed, of, sensitivity, specificity = sizes
    if passed is None or of is None or sensitivity is None or specificity is None:
        raise UsageError("give LOG with --rule, or all of --passed, --of, --sensitivity and --specificity.")
    return corrected_rate_of_counts(
        judged_passes=passed,
        judged_total=of,
        sensitivity=_count(sensitivity, "--sensitivity"),
        specificity=_count(specificity, "--specificity"),
        labels_are=assumption(request.labels_are),
        positive=request.positive,
    )


def _count(text: str, option: str) -> tuple[int, int]:
    found = _COUNT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise UsageError(f"{option} is a count of labelled items like 180/200, not {safe_text(text, 40)!r}.")
    return int(found[1]), int(found[2])


def print_measured(request: CorrectedRateRequest) -> None:
    """Measure what is asked for and print it as JSON or as tables."""
    report, origin = measured(request)
    if request.as_json:
        print_json(report.to_dict() | asdict(origin) | {"notes": [*report.notes, *origin.notes]})
        return
    screen = console()
    say(screen, _answer(report), style="bold")
    if report.labels_are == "undeclared":
        say(screen, "next: the same command with --labels-are random, or --labels-are other-mix")
    for line in _head(report, origin):
        say(screen, line)
    rows = [_row(report, estimate) for estimate in report.estimates]
    screen.print(
        table("estimates", ("", "estimator", "items", "assumes", "rate", "95 % interval", "SE"), rows, texts=4)
    )
    for line in _tail(report, origin):
        say(screen, line)


def _answer(report: CorrectedRate) -> str:
    """Return the corrected rate beside the judged one, or that none is chosen."""
    label = safe_text(report.positive or "the positive label", 60)
    if report.labels_are == "undeclared":
        return f"no rate of {label} is chosen: what the labels are a sample of decides between the estimates below"
    if (best := report.best) is None or best.estimate is None:
        return f"no rate of {label} can be told; why stands below"
    interval = "no interval" if best.interval is None else f"95 % {ends(best.interval, 1, scale=100)}"
    return f"{label}: {percent(best.estimate)} % of all items ({interval}); the judge says {report.judged}"


def _head(report: CorrectedRate, origin: Origin) -> Iterator[str]:
    label = safe_text(report.positive or "the positive label", 60)
    if origin.judge is not None:
        yield f"judge: {safe_text(origin.judge, 60)}, criterion {safe_text(origin.criterion or '', 60)}"
        yield f"rule: {origin.rule}"
        if origin.rule_fixed == "after":
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
        rate = f"outside\n({estimate.raw:.3f})"
    error = "-" if estimate.se is None else f"{estimate.se:.4f}"
    assumes = "random labels" if estimate.items == "all" else "same errors"
    return chosen, safe(_TITLES[estimate.method]), estimate.items, assumes, rate, interval, error


def _tail(report: CorrectedRate, origin: Origin) -> Iterator[str]:
    best = report.best
    if best is None:
        yield "chosen: nothing"
    else:
        yield f"chosen (*): {_TITLES[best.method]}; it assumes that {best.assumes}"
        yield f"  from {best.basis}"
    for estimate in report.estimates:
        if estimate.weight is not None:
            yield f"{_TITLES[estimate.method]}: lambda {estimate.weight:.3f}"
    reasons: dict[str, str] = {}
    for estimate in report.estimates:
        if estimate.reason and reasons.setdefault(estimate.reason, estimate.method) == estimate.method:
            yield f"{_TITLES[estimate.method]}: {estimate.reason}"
    for note in (*report.notes, *origin.notes):
        yield f"note: {safe_text(note)}"
