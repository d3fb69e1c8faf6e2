"""What a run or log found: may one rely on the judge here, why not, and what to do next; the same in every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import join
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from judgeharness_integrations.analysis.certifying.certificate import promise_text
from judgeharness_integrations.analysis.gates.gate import (
    OF_CALIBRATION,
    STOPPED,
    GateCheck,
    GateReport,
    parse_expression,
)
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult, case_outcome
from judgeharness_integrations.analysis.runs.report import (
    CriterionSummary,
    FlipRate,
    JudgeSection,
    RunReport,
    never_asked,
    nothing_graded,
)
from judgeharness_integrations.analysis.runs.summarising import gold_of
from judgeharness_integrations.verdictlog.encoding import counted, fixed, p_text, percent

from .calibrationtext import answered, calibrated_rates, uncalibrated
from .measured import criterion_names, rate_text
from .sections import Finding

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.controls import Control, Controls
    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport

_LEVEL: Final = 0.05
_NAMED: Final = 4  # judges with a sentence of their own
_SWAP: Final = "position_swap"
_BARS: Final = tuple(f"{metric}>" for metric in ("accuracy", *OF_CALIBRATION))  # of gates on how often a judge is right

Reliance: TypeAlias = Literal["yes", "no bar", "no", "not shown"]
_SAID: Final[dict[Reliance, str]] = {
    "yes": "You may rely on {judge} here, within these limits: {why}",
    "no bar": "{judge}: {why}",
    "no": "Do not rely on {judge} here: {why}",
    "not shown": "Do not rely on {judge} yet: {why}",
}


def run_finding(report: RunReport, gates: GateReport | None = None, *, has_page: bool = False) -> Finding:
    """Return what a report opens with.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said.
        has_page: whether the page is written already, so that writing it is not what comes next.

    """
    if not report.judges:
        return Finding(answer="Nothing was judged", reasons=(), next="")
    found = [(section, *_reliance(report, section, gates or report.gates)) for section in report.judges]
    sentences = [_SAID[reliance].format(judge=section.judge, why=why) for section, reliance, why in found]
    if len(found) == 1:
        reasons = (*_alerts(report, sentences), *_reasons(report, found[0][0]))
        return Finding(answer=sentences[0], reasons=reasons, next=_next(report, has_page=has_page))
    of = len(found)
    answer = f"Do not rely on any of the {of} judges yet"
    if trusted := [section.judge for section, reliance, _ in found if reliance == "yes"]:
        answer = f"You may rely on {len(trusted)} of {of} judges here, as far as their labels go{_names(trusted)}"
    elif open_ := [section.judge for section, reliance, _ in found if reliance == "no bar"]:
        verb = "is" if len(open_) == 1 else "are"
        answer = f"{len(open_)} of {of} judges {verb} calibrated, and cleared no bar{_names(open_)}"
    if of > _NAMED:
        told = _counts([reliance for _, reliance, _ in found])
    else:
        told = [*sentences, *(line for section in report.judges for line in _positions(report, section))]
    return Finding(answer=answer, reasons=(*_alerts(report, told), *told), next=_next(report, has_page=has_page))


def _names(judges: Sequence[str]) -> str:
    return f": {', '.join(judges)}" if len(judges) <= _NAMED else ""


def _alerts(report: RunReport, told: Sequence[str]) -> Iterator[str]:
    """Yield what is to be said before any number, where no sentence says it."""
    for section in report.judges:
        about = f"{section.judge}: " if len(report.judges) > 1 else ""
        yield from (f"{about}{alert}" for alert in section.alerts if not any(alert in line for line in told))


def _positions(report: RunReport, section: JudgeSection) -> Iterator[str]:
    for name, one in criterion_names(section):
        yield from (f"{name}: {line}" for line in position_sentences(one, stopped=report.stopped))


def _counts(found: Sequence[Reliance]) -> list[str]:
    """Return how many of many judges are not to be relied on, and of how many nothing is shown."""
    words: dict[Reliance, str] = {
        "no bar": "calibrated, and cleared no bar",
        "no": "not to be relied on here",
        "not shown": "not to be relied on yet",
    }
    return [f"{found.count(name)} of {len(found)} judges: {word}" for name, word in words.items() if name in found]


def _reliance(report: RunReport, section: JudgeSection, gates: GateReport | None) -> tuple[Reliance, str]:
    """Return whether one may rely on a judge, and the reason that weighs most."""
    if not any(one.graded for one in section.criteria):
        why = nothing_graded(section.cases + section.not_asked)
        return "no", next((alert for alert in section.alerts if alert.startswith(why)), why)
    if report.informal:
        return "not shown", "each case was asked once, so nothing was measured"
    checks = [] if gates is None else [one for one in gates.checks if one.judge == section.judge]
    return next(_against(report, section, checks), None) or _standing(section, checks)


def _standing(section: JudgeSection, checks: Sequence[GateCheck]) -> tuple[Reliance, str]:
    """Return what decisions stand on where nothing speaks against the judge; without a bar it is not recommended."""
    held = [certificate for certificate, state in section.certificates if state.valid and certificate.calibrated]
    untold = any(one.untold for certificate in held for one in certificate.selections)
    if held and len(held) == len(section.certificates) and not untold:
        return "yes", f"its decided cases {' and '.join(dict.fromkeys(map(promise_text, held)))}"
    if section.calibrated and section.calibration is not None:
        return _held_to(section, section.calibration, checks)
    if section.calibration is not None:
        return "not shown", "its calibration does not hold" if _expired(section) else "its labels are a model's"
    labelled = any(one.replay.labelled for one in section.criteria)
    return "not shown", uncalibrated(section.criteria) if labelled else "no decided case has a gold label"


def _expired(section: JudgeSection) -> bool:
    return section.calibration_state is None or not section.calibration_state.valid


def _held_to(section: JudgeSection, report: CalibrationReport, checks: Sequence[GateCheck]) -> tuple[Reliance, str]:
    """Return how right a calibration says a judge is, and which bars it cleared: without one, that none was set."""
    rates = dict(_rates(section, report))
    if not rates:
        return "not shown", f"how often it is right is not measured on {report.name}"
    told = f"{', '.join(_about(name, rate) for name, rate in rates.items())}, calibrated on {report.name}"
    bars = [one for one in checks if one.gate.replace(" ", "").startswith(_BARS)]
    cleared = [bar for bar in bars if bar.low is not None and parse_expression(bar.gate).holds(bar.low)]
    without = [
        name
        for name, one in criterion_names(section, alone="")
        if one.criterion not in {bar.criterion for bar in cleared}
    ]
    if not without:
        return "yes", f"{told}; it passes {' and '.join(dict.fromkeys(bar.gate for bar in cleared))}"
    about = f" for {', '.join(without)}" if cleared else ""
    if any(bar not in cleared for bar in bars):
        return "no bar", f"{told}; its interval clears no bar{about}"
    return "no bar", f"{told}; no bar was set{about}"


def _rates(section: JudgeSection, report: CalibrationReport) -> Iterator[tuple[str, str]]:
    """Yield how right each criterion is by its calibration, with interval and denominator, by the name it is called."""
    for name, one in criterion_names(section, alone=""):
        measured = report.criteria.get(one.criterion)
        if measured is not None and (measured.accuracy is not None or measured.errors is not None):
            yield name, answered(measured, report)


def _against(report: RunReport, section: JudgeSection, checks: Sequence[GateCheck]) -> Iterator[tuple[Reliance, str]]:
    """Yield what speaks against a judge, what weighs most first."""
    for name, one in criterion_names(section, alone=""):
        if one.controls is not None and one.controls.best is not None and not one.controls.beaten:
            yield "no" if one.controls.worse else "not shown", _about(name, _no_better(one.controls, one.controls.best))
    if section.calibrated and section.calibration is not None:
        yield from _beside_nothing(section, section.calibration)
    for check in checks:
        if check.status == "failed":
            yield "no", f"it fails the gate {check.gate}"
    for check in checks:
        if check.status == "not_measured":
            yield "not shown", f"{check.gate} was not measured"
    for name, one in criterion_names(section, alone=""):
        if _leans(one, stopped=report.stopped):
            yield "no", _about(name, "it has a position bias")


def _no_better(controls: Controls, best: Control) -> str:
    """Return that a judge is not better than one that reads nothing; with which difference is told below."""
    part = "" if best.n == controls.n else f"{best.n} of "
    return f"it is {controls.standing} ({part}{counted(controls.n, 'decided case')} with a gold label)"


def _about(name: str, sentence: str) -> str:
    return f"{name}: {sentence}" if name else sentence


def _beside_nothing(section: JudgeSection, report: CalibrationReport) -> Iterator[tuple[Reliance, str]]:
    """Yield that labels do not show a judge to be better than one that reads nothing, with the rate that shows it."""
    if why := report.untold():
        yield "not shown", why
    for name, one in criterion_names(section, alone=""):
        measured = report.criteria.get(one.criterion)
        controls = None if measured is None else measured.controls
        if measured is None or controls is None or controls.best is None or controls.beaten:
            continue
        found: Reliance = "no" if controls.worse else "not shown"
        yield found, _about(name, f"{answered(measured, report)}, {controls.standing}")


def _reasons(report: RunReport, section: JudgeSection) -> Iterator[str]:
    """Yield what stands behind the answer about a single judge: right, decided, steady, finished."""
    yield from calibrated_rates(section)
    for name, one in criterion_names(section, alone=""):
        steady = position_sentences(one, stopped=report.stopped)
        for line in (*_rightness(one), *_undecided(one), *steady, *failed_samples(one)):
            yield _about(name, line)
    if section.not_asked:
        yield never_asked(section.not_asked, section.cases + section.not_asked)
    if report.stopped:
        yield f"the run {STOPPED}"


def _rightness(one: CriterionSummary) -> Iterator[str]:
    if one.accuracy is not None:
        yield f"right on {rate_text(one.accuracy)} decided cases with a gold label"
    elif one.replay.mean_absolute_error is not None:
        yield f"off by {fixed(one.replay.mean_absolute_error)} on average of {counted(one.replay.labelled, 'score')}"
    if one.controls is not None:
        yield one.controls.sentence
    if one.apart:
        yield one.apart


def _undecided(one: CriterionSummary) -> Iterator[str]:
    if one.replay.abstained:
        of = f"{one.replay.abstained:,} of {counted(one.cases, 'case')}"
        yield f"abstained on {of} ({percent(one.replay.abstained / one.cases)} %)"
    if one.replay.not_graded:
        yield f"{one.replay.not_graded:,} of {counted(one.cases, 'case')} not graded"


def failed_samples(summary: CriterionSummary) -> Iterator[str]:
    """Yield how many samples ended without a verdict, by how they ended; nothing where none did."""
    answered = sum(summary.outcomes.values())
    left = 0 if summary.design.curtail else max(summary.planned - answered, 0)  # of early stopping they are no failures
    counts = {**{name: count for name, count in summary.outcomes.items() if name != "ok"}, "without an answer": left}
    if failed := {name: count for name, count in counts.items() if count}:
        told = ", ".join(f"{count} {name}" for name, count in failed.items())
        yield f"failed samples: {told} of {answered + left}"


def position_sentences(one: CriterionSummary, *, stopped: bool = False) -> Iterator[str]:
    """Yield whether a judge has a position bias: what swapping flips beside what asking again alone flips.

    Both are means over cases of the share of pairs of verdicts that differ, with one denominator where it is one. The
    lean is tested by McNemar over cases that always or never took the first answer (`JudgeReplay`).
    """
    swap = next((flip for flip in one.flips if flip.perturbation == _SWAP), None)
    if swap is None:
        if one.noise is not None:
            yield f"asking again flips {_flips(one.noise)}"
        return
    lean = _lean(one)
    if one.noise is None:
        untold = "position bias cannot be told from noise, as nothing was asked twice"
        yield f"{untold}: swapping flips {_flips(swap)}{lean}"
        return
    if _leans(one, stopped=stopped):
        answer = "position bias shown"
    elif swap.low > one.noise.high:
        answer = "swapping changes verdicts more than asking again"
    elif swap.value > one.noise.value:
        answer = "position bias neither shown nor ruled out"
    else:
        answer = "no position bias shown"
    pairs = "of pairs of verdicts, mean over"
    if swap.cases == one.noise.cases:
        told = f"swapping flips {percent(swap.value)} %, asking again flips {percent(one.noise.value)} %"
        yield f"{answer}: {told} ({pairs} {counted(swap.cases, 'case')}){lean}"
    else:
        yield f"{answer}: swapping flips {_flips(swap)}, asking again flips {_flips(one.noise)}{lean}"


def _flips(flip: FlipRate) -> str:
    return f"{percent(flip.value)} % (of pairs of verdicts, mean over {counted(flip.cases, 'case')})"


def _lean(one: CriterionSummary) -> str:
    """Return to which answer a judge leans, with the test; empty where it was not tested or leans to neither."""
    replay = one.replay
    first, second, p = replay.always_first, replay.always_second, replay.position_bias_p
    if first is None or second is None or p is None or first == second:
        return ""
    side = "first" if first > second else "second"
    says = f"leans to the {side} answer" if p <= _LEVEL else f"a lean to the {side} answer is not proven"
    return (
        f"; {says} (of pairs of samples {first} always chose the first, {second} the second; over cases, p {p_text(p)})"
    )


def _leans(one: CriterionSummary, *, stopped: bool) -> bool:
    """Whether a lean is proven; of a run that its gates stopped no test over a fixed number of cases holds."""
    p = one.replay.position_bias_p
    return p is not None and p <= _LEVEL and not stopped


def _next(report: RunReport, *, has_page: bool) -> str:
    """Return the command that follows: labels where nothing is calibrated, else the page unless there is one."""
    if not report.arguments:
        return ""
    whole = report.run is not None and "--rule" not in report.arguments
    if whole and not all(section.calibrated for section in report.judges):
        return join(["judgeharness", "audit", report.arguments[0]])
    return "" if has_page else join(["judgeharness", "report", *report.arguments, "--html", "report.html"])


def attention(measured: CriterionResult, result: HarnessResult) -> tuple[int, float]:
    """Return how soon a case is to be looked at, the smallest first.

    Abstained and not graded cases, then wrong ones and those that fail, then decided ones that are divided, the most
    divided first.
    """
    rate = measured.consistency_rate
    steady = 1.0 if rate is None else rate
    outcome = case_outcome(measured, gold_of(result, measured.criterion)).outcome
    kinds = {"abstained": 0, "not_graded": 1, "failed": 2}
    return kinds.get(outcome, 3 if steady < 1 else 4), steady
