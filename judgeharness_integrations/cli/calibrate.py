"""What `judgeharness calibrate` does: it asks about labelled cases, or looks for drift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import typer

from judgeharness_integrations._documents import refuse_same
from judgeharness_integrations._errors import BudgetError, ConfigError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport, LabelledItem
from judgeharness_integrations.analysis.calibration.drift import (
    DEFAULT_ALPHA,
    DEFAULT_MARGIN,
    CriterionDrift,
    DriftReport,
    History,
    append_history,
    check_levels,
    drift,
    history_line,
    past_days,
    read_history,
)
from judgeharness_integrations.analysis.calibration.driftanswer import DEFAULT_ANCHORS, Place, anchor_items, same_label
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION
from judgeharness_integrations.analysis.fingerprint import design_of_rows
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import asked_candidate, study_of
from judgeharness_integrations.judging.cases import Case, case_id_of
from judgeharness_integrations.judging.config import Config, build_harness_options, build_judge, load_config
from judgeharness_integrations.judging.execution.observing import Span, default_observers
from judgeharness_integrations.judging.execution.preparing import clusters_of_cases
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.judging.tiers import prices_of
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.terminal import console, say
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.encoding import check_columns, counted, safe_text
from judgeharness_integrations.verdictlog.row import is_number

from ._asking import Asking, agree, asked_tiers, judge_model
from ._command import GATE_FAILED, NOT_GRADED, OK, names_in, part_of, terminable
from ._following import Following, after_calibrating
from ._label_options import CalibrateRequest
from ._output import check_file, failures, print_json, told, without_replay_advice
from ._replay import rule_of
from .calibrate_log import Folding, Request, calibrate_log, deliver, items_of, place_of, refuse_of_log, rows_of_one


def calibrate_or_check(request: CalibrateRequest) -> int:
    """Calibrate or look for drift, by asking or on a log, and return the exit code."""
    after = after_calibrating(request) if request.check is None else Following()
    asked = part_of(request, Request, by=", ".join(names_in(request.by)) or None, following=after)
    config, log, rule, check = request.config, request.log, request.rule, request.check
    if log is not None:
        _refuse_both(check and config, check and request.labels, request.max_calls)
    checking = {name: getattr(request, name) for name in ("anchors", "margin", "alpha", "history")}
    checking["strict"] = request.strict or None
    if check is not None or any(value is not None for value in checking.values()):
        wanted = check_of(check, asked, read=(config, request.labels, log), **checking)
        if log is not None:
            return check_log(log, rule, wanted)
        return check_config(config, wanted, rule=rule, max_calls=request.max_calls, yes=request.yes)
    if log is not None:
        return calibrate_log(log, rule, asked, config=config)
    return calibrate_config(config, asked, rule=rule, max_calls=request.max_calls, yes=request.yes)


def _refuse_both(config: Path | None, labels: Path | None, max_calls: int | None) -> None:
    """Refuse a log together with what only asking needs."""
    unread = {"CONFIG": config, "--labels": labels, "--max-calls": max_calls}
    given = [name for name, value in unread.items() if value is not None]
    if given:
        raise UsageError(f"--log measures what was already answered: leave out {', '.join(given)}.")


class _NotGraded:
    """An observer that counts the cases that ended without a verdict, and keeps the samples that failed."""

    def __init__(self) -> None:
        self.cases = self.all = 0
        self.failed: list[VerdictRow] = []

    def begin(self, span: Span) -> None:
        """Nothing happens at a span's start."""

    def end(self, span: Span) -> None:
        """Count a case that ended not graded."""
        result = span.outcome.get("result")
        if span.kind == "case" and result is not None:
            self.all += 1
            self.cases += any(measured.status == "not_graded" for measured in result.criteria.values())
            self.failed += [row for row in result.rows if not row.ok]


@terminable()
def calibrate_config(path: Path | None, request: Request, *, rule: str | None, max_calls: int | None, yes: bool) -> int:
    """Ask one judge of a configuration about labelled cases, save the calibration, return the exit code."""
    if path is None or request.labels is None or (request.out is None and request.holdout is None):
        raise UsageError("give CONFIG with --labels FILE and --out FILE, or --log LOG with --rule RULE.")
    refuse_of_log(rule, request.run)
    config = load_config(path)
    if request.out is not None:
        check_file(request.out)
        refuse_same("--out", request.out, path, request.labels)
    check_drawable(request.plot)
    place = place_of(config, request.judge)
    everything = CalibrationSet.from_file(
        request.labels, name=request.name, source=request.declared_source, positive=request.positive, by=request.by
    )
    check_columns(everything.by, {name for case in everything.cases for name in dict(getattr(case, "attributes", {}))})
    study = study_of(request, path, request.out)
    clusters = clusters_of_cases(everything.cases)
    labelled = study.labels(everything, clusters.by_case())
    judge = build_judge(config, place)
    limit = config.execution.max_calls if max_calls is None else max_calls
    count = _NotGraded()
    options = build_harness_options(config) | {"observers": (*default_observers(), count), "max_calls": limit}
    harness = JudgeHarness(**options)
    plan = harness.plan(judge, labelled.cases)
    tier = asked_tiers(config, engine="local").get(judge.name)
    agree(
        [Asking(judge=judge.name, model=config.judges[place].model, plan=plan, tier=tier)],
        config,
        labelled.cases,
        prices=prices_of(config),
        max_calls=limit,
        yes=yes,
        stderr=True,
        remarks=clusters.copied,
    )
    model = judge_model(judge, config.judges[place])
    candidate = asked_candidate(judge, harness.design_for(judge), model)
    labelled = replace(labelled, candidates=study.count(everything.golds()[0], candidate))
    try:
        with without_replay_advice():
            report = harness.calibrate(judge, labelled, model)
    except KeyboardInterrupt:  # which typer would end the command for without a word
        raise typer.Abort from None
    deliver(study.told(report), request)
    return _exit_code(count, judge.name, config)


def _exit_code(count: _NotGraded, judge: str, config: Config) -> int:
    """Say on standard error why cases and samples failed, and return the exit code."""
    if count.cases:
        what = f"{count.cases} of {count.all} cases ended not_graded: too few valid answers."
        typer.echo(what, err=True)
    for line in told(judge, failures(count.failed, config.model_dump())):
        typer.echo(line, err=True)
    return NOT_GRADED if count.cases else OK


_SHOWN: Final = 5
_NAMED: Final = 3


def print_drift(report: DriftReport, *, judge: str, notes: Sequence[str], history: History, path: Path) -> None:
    """Print a check with the last few of its history."""
    screen = console()
    for line in (*_lines(report, judge, notes), *_history(history, path)):
        say(screen, line)


def _lines(report: DriftReport, judge: str, notes: Sequence[str]) -> Iterator[str]:
    yield f"drift: {report.answer}"
    for change in report.design_changes:
        yield f"what is asked is not what was calibrated: {safe_text(change, 300)}"
    renamed = "" if judge == report.judge else f" (calibrated: {safe_text(report.judge, 60)})"
    yield f"judge: {safe_text(judge, 60)}{renamed}"
    yield f"against: {safe_text(report.calibration, 60)}, measured {safe_text(report.measured_at, 60)}"
    yield from (safe_text(note) for note in notes)
    if report.candidates is not None and report.candidates > 1:
        count = report.candidates
        yield f"chosen from {count} candidates, by chance too: tests at {report.alpha:g} / {count}"
    yield f"anchors: {report.cases}" + _left_out(report)
    if report.changes is None:
        yield f"fingerprint: cannot be compared: {report.incomparable}"
    else:
        changed = ", ".join(map(safe_text, report.changes))
        yield f"fingerprint: {changed} changed" if changed else "fingerprint: unchanged"
    for one in report.criteria.values():
        yield f"{safe_text(one.criterion, 60)}: {one.answer}: {one.reason}"
        yield from (f"  {line}" for line in (_numbers(one), *_evidence(one), _movement(one), _power(one)))


def _left_out(report: DriftReport) -> str:
    told = (("not found", report.missing), ("gold label changed", report.relabelled))
    return "".join(f"; {what}: {_named(places)}" for what, places in told if places)


def _named(places: Sequence[Place]) -> str:
    names = [safe_text(case_id, 40) for case_id, _ in places[:_NAMED]]
    return f"{len(places)} ({', '.join(names)}{', ...' if len(places) > _NAMED else ''})"


def _numbers(one: CriterionDrift) -> str:
    interval = (
        "no interval" if one.low is None or one.high is None else f"95 % interval [{one.low:+.3f}, {one.high:+.3f}]"
    )
    tested = f"p {one.p:.3g}" + ("" if one.p == one.p_adjusted else f" (Holm {one.p_adjusted:.3g})")
    if one.kind == "numbers":
        mean = "not measured" if one.difference is None else f"{one.difference:+.3f}"
        return f"mean distance from gold {mean}, {interval}; sign test {tested} (n={one.n})"
    shares = f"{one.correct_before}/{one.n} correct before, {one.correct_now}/{one.n} now"
    return f"{shares}: difference {one.difference:+.3f}, {interval}; exact McNemar {tested}"


def _evidence(one: CriterionDrift) -> Iterator[str]:
    """Yield what all checks together say, where there were some before."""
    if one.checks is None or one.checks < 2 or one.evidence is None:  # noqa: PLR2004 - one check is a test
        return
    if one.always_low is not None and one.always_high is not None:
        yield f"95 % over all days, however often one looks: [{one.always_low:+.3f}, {one.always_high:+.3f}]"
    if not one.varied:
        yield f"the same decisions in all {one.checks} checks: asking again about the same anchors adds no evidence"
        return
    p = min(1.0, 1 / one.evidence)
    yield f"evidence of change over {one.checks} checks: {one.evidence:.3g} to 1 (p {p:.3g}, however often one looks)"


def _movement(one: CriterionDrift) -> str:
    kinds = (
        ("abstained", one.abstained_before, one.abstained_now),
        ("not graded", one.not_graded_before, one.not_graded_now),
    )
    apart = "".join(f"; {what} {before} before, {now} now" for what, before, now in kinds if before or now)
    ways = f"{one.worse} for the worse, {one.better} for the better"
    neither = f", {same} neither" if (same := one.changed - one.worse - one.better) else ""
    return f"{one.changed} of {one.n} verdicts changed: {ways}{neither}{apart}"


def _power(one: CriterionDrift) -> str:
    if one.minimum_detectable is None:
        anchors = "1 anchor is" if one.n == 1 else f"{one.n} anchors are"
        found = f"{anchors} too few for the test to find any change"
    else:
        found = (
            f"smallest net change the test finds at n={one.n} with 80 % power: {one.minimum_detectable:.3f} of anchors"
        )
    near = one.low is not None and one.high is not None and -one.margin <= one.low and one.high <= one.margin
    if one.answer != "inconclusive" or (near and one.anchors_needed is None):
        return found
    needed = "more than 100,000" if one.anchors_needed is None else f"about {one.anchors_needed}"
    return f"{found}; {needed} anchors are needed to tell a change of {one.margin:.3g} from none"


def _history(history: History, path: Path) -> Iterator[str]:
    checks = history.checks[-_SHOWN:]
    known = counted(len(history.checks), "check")
    yield f"history: {known} in {safe_text(str(path), 200)}"
    for check in checks:
        when, answer = (safe_text(str(check.get(name)), 40) for name in ("checked_at", "answer"))
        yield f"  {when}  {answer}{_past(check)}"
    if history.unreadable:
        yield f"  lines that cannot be read, and are kept: {history.unreadable}"


def _past(check: Mapping[str, Any]) -> str:
    told = [
        f"  {safe_text(str(one.get('criterion')), 40)} {one['difference']:+.3f} (n={safe_text(str(one.get('n')), 20)})"
        for one in check["criteria"]
        if isinstance(one, dict) and is_number(one.get("difference"))
    ]
    changes = check.get("changes")
    changed = (
        [safe_text(", ".join(map(str, changes)), 100) + " changed"] if isinstance(changes, list) and changes else []
    )
    return "".join(told) + "".join(f"  {text}" for text in changed)


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a check is asked for."""

    old: CalibrationReport
    request: Request
    history: Path
    anchors: int = DEFAULT_ANCHORS
    margin: float = DEFAULT_MARGIN
    alpha: float = DEFAULT_ALPHA
    strict: bool = False


def check_of(path: Path | None, request: Request, *, read: Sequence[Path | None] = (), **options: Any) -> Check:
    """Return what is to be checked; refuse what does not go together.

    Args:
        path: the saved calibration.
        request: what calibrating is asked for.
        read: the other files, which are no history.
        options: further fields of `Check`, None for what was not given.

    """
    given = {name: value for name, value in options.items() if value is not None}
    if path is None:
        names = ", ".join(f"--{name}" for name in given)
        raise UsageError(f"{names} goes with --check OLD.json, the calibration to compare with.")
    calibrating = {"--out": request.out, "--name": request.name, "--positive": request.positive, "--by": request.by}
    if extra := [name for name, value in calibrating.items() if value is not None]:
        raise UsageError(f"--check compares with a calibration and saves none: leave out {', '.join(extra)}.")
    defaults: dict[str, Any] = {"history": path.with_suffix(".history.jsonl")}
    check = Check(old=CalibrationReport.load(path), request=request, **(defaults | given))
    check_levels(margin=check.margin, alpha=check.alpha)
    try:
        check_file(check.history)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--out", "--history")) from error
    _check_history(check.history, path, *read)
    return check


def _check_history(history: Path, *read: Path | None) -> None:
    """Refuse, before anything is asked, a file that holds something else."""
    refuse_same("--history", history, *read)
    known = read_history(history)
    if known.unreadable and not known.checks:
        raise ConfigError(f"{history} is no history of checks: give another --history.")


def check_log(log: Path, rule: str | None, check: Check) -> int:
    """Compare what a rule decides about a log with the calibration; nothing is asked."""
    if rule is None:
        raise UsageError("--log needs --rule: which rule's decisions are to be compared?")
    chosen = rule_of(rule)
    before = check.old.known_design.get("rule", chosen.name)
    if before != chosen.name:
        raise UsageError(
            f"the calibration {check.old.name!r} was measured with rule {before}: give --rule {before!r}, as "
            "what another rule decides is no drift of the judge."
        )
    with without_replay_advice():
        judge, rows, _ = rows_of_one(log, check.request.judge, check.request.run)
        items = items_of(Folding(rule=chosen).decisions(rows))
    report = _drift(check, items, None, design_of_rows(rows, chosen.name))
    _keep_and_print(report, check, judge, "nothing was asked", f"rule: {chosen.name}")
    return _drift_exit_code(report, check)


@terminable()
def check_config(path: Path | None, check: Check, *, rule: str | None, max_calls: int | None, yes: bool) -> int:
    """Ask the judge of a configuration about the anchors again, compare, and return the exit code."""
    request = check.request
    if path is None or request.labels is None:
        raise UsageError("give CONFIG with --labels FILE and --check OLD.json, or --log LOG with --rule RULE.")
    refuse_of_log(rule, request.run)
    config = load_config(path)
    place = place_of(config, request.judge or _same_judge(config, check.old))
    labels = CalibrationSet.from_file(request.labels)
    wanted = anchor_items(check.old.items, check.anchors)
    golds = _golds(labels, wanted)
    cases = _cases(labels, wanted, golds)
    if not cases:  # `drift` says why
        _drift(check, _unasked(golds))
    judge = build_judge(config, place)
    model = judge_model(judge, config.judges[place])
    limit = config.execution.max_calls if max_calls is None else max_calls
    options = build_harness_options(config) | {"observers": default_observers() or None, "max_calls": limit}
    harness = JudgeHarness(**options)
    plan = harness.plan(judge, cases)
    tier = asked_tiers(config, engine="local").get(judge.name)
    agree(
        [Asking(judge=judge.name, model=config.judges[place].model, plan=plan, tier=tier)],
        config,
        cases,
        prices=prices_of(config),
        max_calls=limit,
        yes=yes,
        stderr=request.as_json,
    )
    results = _ask_anchors(harness, judge, cases, model)
    failed = [row for result in results for row in result.rows if not row.ok]
    for line in told(judge.name, failures(failed, config.model_dump())):
        typer.echo(line, err=True)
    if not any(row.outcome != "error" for result in results for row in result.rows):
        typer.echo("no anchor could be judged, so nothing can be said about drift.", err=True)
        return NOT_GRADED
    design = harness.design_for(judge)
    report = _drift(check, _items(results, golds), fingerprint_parts(judge, design, model), design.parts())
    _keep_and_print(report, check, judge.name, str(plan))
    return _drift_exit_code(report, check)


def _ask_anchors(harness: JudgeHarness, judge: Judge, cases: Sequence[Case], model: str | None) -> list[HarnessResult]:
    try:
        with without_replay_advice():
            results = list(harness.evaluate_many(judge, cases, model))
    except KeyboardInterrupt:  # which typer would end the command for without a word
        raise typer.Abort from None
    if any(result.state != "complete" for result in results):
        raise BudgetError("the calls allowed ended before all anchors were judged: raise max_calls.")
    return results


def _same_judge(config: Config, old: CalibrationReport) -> str | None:
    """Return the name of the judge that was calibrated, where the configuration still has it."""
    return old.judge if old.judge in [judge.name for judge in config.judges] else None


def _golds(labels: CalibrationSet, wanted: Mapping[Place, LabelledItem]) -> dict[Place, Any]:
    """Return the gold labels that the file holds for anchors; one without a criterion is of a case's only one."""
    known, _ = labels.golds()
    found = {(case_id, name): known.get(case_id, {}) for case_id, name in wanted}
    golds = {place: mine.get(place[1], mine.get(ONLY_CRITERION)) for place, mine in found.items()}
    return {place: gold for place, gold in golds.items() if gold is not None}


def _unasked(golds: Mapping[Place, Any]) -> list[LabelledItem]:
    return [
        LabelledItem(case_id=case_id, criterion=name, gold=gold, verdict=None, status="not_graded")
        for (case_id, name), gold in golds.items()
    ]


def _cases(labels: CalibrationSet, wanted: Mapping[Place, LabelledItem], golds: Mapping[Place, Any]) -> list[Case]:
    """Return the cases of anchors that can be compared: they are in the file, under the gold label of then."""
    usable = {item.case_id for item in _unasked(golds) if same_label(wanted[item.case_id, item.criterion], item)}
    return [case for case in labels.cases if case_id_of(case) in usable]


def _items(results: Sequence[HarnessResult], golds: Mapping[Place, Any]) -> list[LabelledItem]:
    """Return what was decided about every anchor in the file; a criterion without an answer is not graded."""
    by_case = {result.case_id: result for result in results}
    items = []
    for item in _unasked(golds):
        result = by_case.get(item.case_id)
        measured = None if result is None else result.criteria.get(item.criterion)
        items.append(
            item
            if measured is None
            else LabelledItem(
                case_id=item.case_id,
                criterion=item.criterion,
                gold=item.gold,
                verdict=measured.verdict,
                status=measured.status,
            )
        )
    return items


def _drift(
    check: Check,
    items: Iterable[LabelledItem],
    parts: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
) -> DriftReport:
    levels: dict[str, Any] = {"anchors": check.anchors, "margin": check.margin, "alpha": check.alpha}
    past = past_days(read_history(check.history), check.old)
    return drift(check.old, items, parts=parts, design=design, past=past, **levels)


def _keep_and_print(report: DriftReport, check: Check, judge: str, cost: str, *notes: str) -> None:
    """Keep the check in the history, and print it with the checks before."""
    if "rule" not in check.old.known_design:
        notes = (*notes, "the calibration does not say its rule: it may be another")
    line = history_line(report, judge=judge, checked_at=datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        append_history(check.history, line)
    finally:  # what was paid for is told all the same
        if check.request.as_json:
            print_json(report.to_dict() | {"judge_now": judge, "cost": cost, "history": str(check.history)})
        else:
            print_drift(
                report, judge=judge, notes=(cost, *notes), history=read_history(check.history), path=check.history
            )


def _drift_exit_code(report: DriftReport, check: Check) -> int:
    if report.answer == "drifted" or (check.strict and report.answer == "inconclusive"):
        return GATE_FAILED
    return NOT_GRADED if any(one.not_graded_now for one in report.criteria.values()) else OK
