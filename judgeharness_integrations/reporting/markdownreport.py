"""Reports as GitHub's Markdown, for summaries of jobs and comments on pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judgeharness_integrations.analysis.boundary import CaseOutcome, case_outcome
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart, gold_of
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.reporting.calibrationtext import alike, anchor_text, calibration_section, uncalibrated
from judgeharness_integrations.reporting.markdown import details, escaped, section_markdown, table
from judgeharness_integrations.reporting.text import cost_text, dissent, rationale, tokens_text
from judgeharness_integrations.verdictlog.plain import SENTENCE, counted, distribution_text
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport
    from judgeharness_integrations.analysis.gates.report import GateReport
    from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
    from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary, FlipRate
    from judgeharness_integrations.analysis.usage import Usage

__all__ = [
    "annotator_lines",
    "case_lines",
    "details",
    "escaped",
    "gate_lines",
    "headline_lines",
    "interval",
    "judge_lines",
    "markdown_report",
    "share",
    "table",
]


_MOST = 20
_TITLES = {
    "failed": "Failed",
    "not_graded": "Not graded",
    "abstained": "Abstained",
    "divided": "Decided, but divided",
    "rest": "Decided without dissent",
}


@dataclass(frozen=True, kw_only=True)
class _Case:
    result: HarnessResult
    measured: CriterionResult
    gold: Verdict | None
    found: CaseOutcome

    @property
    def kind(self) -> str:
        if self.found.outcome != "passed":
            return self.found.outcome
        return "divided" if self.consistency < 1 else "rest"

    @property
    def consistency(self) -> float:
        rate = self.measured.consistency_rate
        return 1.0 if rate is None else rate


def case_lines(report: RunReport, *, all_cases: bool) -> Iterator[str]:
    """Yield tables of the cases that matter, the most divided first; of every case only if so wished."""
    groups: dict[str, list[_Case]] = {name: [] for name in _TITLES}
    for case in _cases(report):
        groups[case.kind].append(case)
    if not all_cases:
        del groups["rest"]
    for name, cases in groups.items():
        if cases:
            cases.sort(key=lambda case: case.consistency)
            yield from _section(report, _TITLES[name], cases, len(cases) if all_cases else _MOST)


def _cases(report: RunReport) -> Iterator[_Case]:
    for result in report.results:
        for measured in result.criteria.values():
            gold = gold_of(result, measured.criterion)
            yield _Case(result=result, measured=measured, gold=gold, found=case_outcome(measured, gold))


def _section(report: RunReport, title: str, cases: Sequence[_Case], most: int) -> list[str]:
    columns = ["case", "judge · criterion", "decision", "samples", "consistency", "gold", "reasons"]
    shown = [_row(case) for case in cases[:most]]
    if report.case_texts:
        columns.append("judged")
        shown = [[*row, _judged(report, case)] for row, case in zip(shown, cases, strict=False)]
    lines = table(columns, shown, texts=len(columns))
    if len(cases) > most:
        lines += ["", f"{len(cases) - most} more are in the table of cases (CSV)."]
    return details(f"{title}: {counted(len(cases), 'case')}", lines)


def _row(case: _Case) -> list[str]:
    measured, result = case.measured, case.result
    decision = "NOT GRADED" if measured.verdict is None else verdict_text(measured.verdict)
    return [
        escaped(result.case_id, 60),
        escaped(f"{result.judge} · {measured.criterion}", 80),
        escaped(decision, 60),
        escaped(f"{distribution_text(measured.sample_distribution)} of {measured.planned}", 160),
        "-" if measured.consistency_rate is None or result.informal else f"{measured.consistency_rate:.3f}",
        "-" if case.gold is None else escaped(verdict_text(case.gold), 60),
        _reasons(case) or "-",
    ]


def _reasons(case: _Case) -> str:
    if case.measured.status == "not_graded":
        return escaped(case.measured.reason, 200)
    name = case.measured.criterion
    found = [(row.verdict, row.reasoning or row.raw or "") for row in (rationale(case.result, name),) if row]
    found += [(row.verdict, row.reasoning or row.raw or "") for row in (dissent(case.result, name),) if row]
    return "<br>".join(f"{escaped(verdict_text(verdict), 40)}: {escaped(text, 160)}" for verdict, text in found)


def _judged(report: RunReport, case: _Case) -> str:
    texts = report.case_texts.get(case.result.case_id, {})
    return "<br>".join(f"{escaped(name, 40)}: {escaped(text, 160)}" for name, text in texts.items()) or "-"


_COLUMNS = ("judge", "criterion", "result", "decided", "abstained", "not graded", "right, of gold", "consistency")
_MOST_LABELS = 4  # lines of a cell
_STATUS = {"passed": "✅ passed", "failed": "❌ failed", "not_measured": "⚠️ not measured"}


def share(rate: Rate | None) -> str:
    """Return `41.7 % [24.5, 61.2] of 24`."""
    if rate is None:
        return "-"
    return f"{100 * rate.value:.1f} % {interval(rate.low, rate.high, scale=100, digits=1)} of {rate.trials}"


def interval(low: float | None, high: float | None, *, scale: float = 1, digits: int = 3) -> str:
    """Return `[24.5, 61.2]`; that there is none, where none can be told."""
    if low is None or high is None:
        return "(no interval)"
    return f"[{scale * low:.{digits}f}, {scale * high:.{digits}f}]"


def headline_lines(report: RunReport) -> list[str]:
    """Return the table of every judge and criterion, and under it what it is to be read with."""
    rows = [row for section in report.judges for row in _rows(section)]
    if not rows:
        return ["Nothing was measured."]
    alerts = [f"⚠️ {escaped(f'{section.judge}: {alert}', 400)}" for section in report.judges for alert in section.alerts]
    told = [line for alert in alerts for line in (alert, "")]
    return [*told, *table((*_COLUMNS, "calibration"), rows, texts=2), "", *_no_better(report), *_notes(report)]


def _no_better(report: RunReport) -> Iterator[str]:
    """Yield which judges are not better than one that reads nothing, or not told from one."""
    for one in report.summaries:
        if one.controls is not None and not one.controls.beaten:
            yield f"⚠️ {escaped(f'{one.judge}, {one.criterion}: {one.controls.sentence}', 400)}.  "
    for section in report.judges:
        if section.calibrated and section.calibration is not None and (why := section.calibration.untold()):
            yield f"⚠️ {escaped(f'{section.judge}: {why}', 400)}.  "


def _rows(section: JudgeSection) -> Iterator[list[str]]:
    designs = designs_apart(one.design for one in section.criteria)
    for one in section.criteria:
        design = designs[design_key(one.design)]
        yield _row_of_headlines(section, one, f"{one.criterion} · {design}" if design else one.criterion)


def _row_of_headlines(section: JudgeSection, summary: CriterionSummary, name: str) -> list[str]:
    return [
        escaped(summary.judge, 60),
        escaped(name, 160),
        result_text(summary),
        share(summary.coverage),
        str(summary.replay.abstained),
        str(summary.replay.not_graded),
        _right(summary),
        _consistency(summary),
        _calibration(section, summary),
    ]


def result_text(summary: CriterionSummary) -> str:
    """Return the number people ask for first: a pass rate, a mean score, or how often each label was decided."""
    if summary.positive is not None:
        return f"{summary.positive} {share(summary.positive_rate)}"
    if summary.mean_score is not None:
        return f"mean {_mean(summary.mean_score)}"
    labels = list(summary.verdicts)
    told = [f"{escaped(verdict_text(label), 40)} {share(summary.rate_of(label))}" for label in labels[:_MOST_LABELS]]
    return "<br>".join([*told, *(["…"] if len(labels) > _MOST_LABELS else [])]) or "-"


def _right(summary: CriterionSummary) -> str:
    """Return how right decisions are against gold: the share of labels, or how far scores lie off."""
    error = summary.replay.mean_absolute_error
    return share(summary.accuracy) if error is None else f"off by {error:.3f}, mean of {summary.replay.labelled}"


def _calibration(section: JudgeSection, summary: CriterionSummary) -> str:
    """Return the state of a calibration; of one on a model's labels, what it shows instead."""
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        return "none"
    if not state.valid:
        return state.status
    if summary.criterion not in report.criteria:
        return "none"
    return "valid" if report.calibrated else escaped(report.word, 80)


def _mean(found: Estimate) -> str:
    return f"{found.value:.3f} {interval(found.low, found.high)} of {found.n}"


def _consistency(summary: CriterionSummary) -> str:
    if summary.consistency_rate is None:
        return "-"
    chance = summary.chance_consistency
    return f"{summary.consistency_rate:.3f}" + (f" (chance {chance:.3f})" if chance is not None else "")


def _notes(report: RunReport) -> Iterator[str]:
    """Yield how the numbers came about, a sentence a design."""
    designs = dict.fromkeys(
        (one.design.rule.name, one.design.rule_fixed, one.design.perturbations, one.design.repetitions)
        for one in report.summaries
    )
    for rule, fixed, perturbations, repetitions in designs:
        if report.informal:
            yield "One sample a case, informal: verdicts as they came, nothing was measured.  "
            continue
        when = "chosen before the samples" if fixed == "before" else "chosen after the samples: **exploratory**"
        names = ", ".join(escaped(name, 60) for name in perturbations)
        yield f"Rule {escaped(rule, 80)}, {when}; {names} x {repetitions}.  "
    yield (
        "Intervals are at 95 % over cases. Results and decided are shares of all planned cases, so abstained and not "
        "graded ones count; a mean score is of decided cases, right is of decided cases with gold."
    )


def gate_lines(gates: GateReport, *, of_run: bool = False) -> list[str]:
    """Return what the gates say, those that did not pass first; `of_run`: what the run said at its end."""
    failed = sum(check.status != "passed" for check in gates.checks)
    word = "✅ every gate passed" if gates.passed else f"❌ {failed} of {len(gates.checks)} gate checks did not pass"
    title = f"**Gates{' of the run' if of_run else ''}: {word}**"
    title += f" ({gates.basis})" if gates.sequential or gates.point_estimates else ""
    title += ", as they were at its end" if of_run else ""
    ordered = sorted(gates.checks, key=lambda check: check.status == "passed")
    rows = (
        [
            escaped(check.gate, 80),
            escaped(check.about, 160),
            _STATUS[check.status],
            escaped(check.reason, 400),
        ]
        for check in ordered
    )
    title += f"; {gates.price}" if gates.price else ""
    return [title, "", *table(("gate", "of", "status", "why"), rows, texts=4)]


_ANSWERS = {True: "may replace them", False: "may not", None: "not measured"}


def annotator_lines(report: RunReport) -> list[str]:
    """Return the test's answers, folded away; nothing where nobody asked for it."""
    if report.annotators is not None:
        return details("May the judges replace annotators?", _tested(report.annotators))
    if report.annotators_reason:
        return [f"Not compared with annotators: {escaped(report.annotators_reason.rstrip('.'), 300)}.", ""]
    return []


def _tested(tested: AltTestReport) -> Iterator[str]:
    columns = ("judge", "score", "epsilon", "answer", "omega", "of annotators", "rho", "of cases")
    yield from table(columns, (_row_of_annotators(one) for one in tested.candidates), texts=4)
    yield ""
    for sentence in (*tested.controls(), *tested.scope.sentences()):
        yield f"- {escaped(sentence, 400)}"


def _row_of_annotators(one: AltTest) -> list[str]:
    low, high = one.rho_interval or (None, None)
    return [
        escaped(one.candidate, 60),
        escaped(one.score, 40),
        f"{one.epsilon:g}",
        _ANSWERS[one.passed] + (f": {escaped(one.reason, 200)}" if one.reason else ""),
        "-" if one.omega is None else f"{one.omega:.2f}",
        f"{one.n_rejected} of {one.m_tested}",
        "-" if one.rho is None else f"{one.rho:.3f} {interval(low, high)}",
        str(one.n_instances),
    ]


_JUDGES_MOST_LABELS = 20


def judge_lines(section: JudgeSection) -> list[str]:
    """Return everything about a judge, folded away."""
    models = f" ({', '.join(section.models)})" if section.models else ""
    return details(escaped(f"Judge {section.judge}{models}", 160), _lines(section))


def _lines(section: JudgeSection) -> Iterator[str]:
    designs = designs_apart(one.design for one in section.criteria)
    for summary in section.criteria:
        design = designs[design_key(summary.design)]
        yield f"**{escaped(summary.criterion)}**" + (f" · {escaped(design, 160)}" if design else "")
        yield ""
        yield from table(("measure", "value"), _rates(summary), texts=1)
        yield ""
        failed = {name: count for name, count in summary.outcomes.items() if name != "ok" and count}
        if failed:
            asked = sum(summary.outcomes.values())
            yield f"Failed samples: {', '.join(f'{n} {name}' for name, n in failed.items())} of {asked}."
            yield ""
    yield from _anchor(section)
    yield ""
    for certificate in section.certificates:
        yield f"{escaped(held_text(*certificate), 600)}."
        yield ""
    yield _bill(section)
    if section.calibration_usage is not None:
        spent = ", ".join(_spent(section.calibration_usage, section.calibration_cost, section.cost_remarks))
        yield ""
        yield f"Calibrating it, beside that: {spent}."
    for warning in section.every_warning:
        yield f"- warning: {escaped(warning, SENTENCE)}"
    if section.not_measured:
        yield ""
        yield "Not measured:"
        yield ""
        for sentence, cases in section.not_measured.items():
            yield f"- {escaped(sentence, 300)} ({cases} of {section.cases} cases)"


def _rates(summary: CriterionSummary) -> Iterator[tuple[str, str]]:
    for label in list(summary.verdicts)[:_JUDGES_MOST_LABELS] if summary.mean_score is None else ():
        yield f"decided {escaped(verdict_text(label), 60)}", share(summary.rate_of(label))
    if (mean := summary.mean_score) is not None:
        yield "mean score of decided cases", f"{mean.value:.3f} {interval(mean.low, mean.high)} of {mean.n}"
    yield "decided", share(summary.coverage)
    yield "abstained", share(summary.abstention)
    yield "not graded", f"{summary.replay.not_graded} of {summary.cases}"
    yield "right, of decided with gold", share(summary.accuracy)
    if (error := summary.replay.mean_absolute_error) is not None:
        yield "mean absolute error of decided with gold", f"{error:.3f} of {summary.replay.labelled}"
    if (controls := summary.controls) is not None:
        for one in controls.shown:
            told = escaped(one.reason, 120) if one.value is None else f"{one.value:.3f} of {one.n}"
            yield f"control: {escaped(one.says, 80)}, {'mean error' if controls.scored else 'right'}", told
        yield "beside its controls", escaped(controls.sentence, 300)
    for name in ("consistency_rate", "chance_consistency", "agreement"):
        value = getattr(summary, name)
        yield f"{name.replace('_', ' ')}, mean over cases", "-" if value is None else f"{value:.3f}"
    for flip in summary.flips:
        yield f"verdicts differ between none and {escaped(flip.perturbation, 80)}, share of pairs", _flip(flip)
    if summary.noise is not None:
        yield "verdicts differ between two samples of none, share of pairs", _flip(summary.noise)


def _flip(flip: FlipRate) -> str:
    ends = interval(flip.low, flip.high, scale=100, digits=1)
    return f"{100 * flip.value:.1f} % {ends}, mean of {flip.cases}"


def _anchor(section: JudgeSection) -> Iterator[str]:
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        yield f"{uncalibrated(section.criteria).capitalize()}. Label some cases and calibrate on them."
        return
    yield f"Calibration: {'. '.join(escaped(text, 600) for text in (anchor_text(report, state), *alike(section)))}."
    if state.valid:
        yield ""
        yield section_markdown(calibration_section(report), depth=4)


def _bill(section: JudgeSection) -> str:
    never = f" {section.not_asked} cases were never asked." if section.not_asked else ""
    return f"Cost: {', '.join(_spent(section.usage, section.cost, section.cost_remarks))}.{never}"


def _spent(used: Usage, cost: float | None, remarks: Sequence[str]) -> Iterator[str]:
    yield f"{used.calls} calls"
    yield f"{used.attempts} attempts"
    yield f"{used.rewrites} rewrites"
    tokens = tokens_text(used)
    yield "tokens unknown" if tokens is None else f"{tokens} tokens"
    if used.reused:
        yield f"{used.reused} answers re-used"
    if used.latency_s is not None:
        yield f"{used.latency_s:.1f} s of waiting for the judge"
    yield escaped(cost_text(cost, remarks) or "no prices given", 600)


def markdown_report(report: RunReport, *, gates: GateReport | None = None, all_cases: bool = False) -> str:
    """Return the report as GitHub's Markdown; texts of judges and cases in it mean nothing to GitHub.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said is shown.
        all_cases: list every case, instead of the first 20 of each kind that matters.

    """
    return "\n".join(_lines_of_page(report, gates, all_cases=all_cases)) + "\n"


def _lines_of_page(report: RunReport, gates: GateReport | None, *, all_cases: bool) -> Iterator[str]:
    yield "## LLM judges, measured"
    yield ""
    run = f" · run {escaped(report.run, 60)}" if report.run else ""
    yield f"{escaped(report.source, 200)}{run} · {report.cases} cases · {report.state_text}"
    yield ""
    if (shown := gates or report.gates) is not None:
        yield from gate_lines(shown, of_run=gates is None)
        yield ""
    yield from headline_lines(report)
    yield ""
    yield from case_lines(report, all_cases=all_cases)
    for section in report.judges:
        yield from judge_lines(section)
    yield from annotator_lines(report)
