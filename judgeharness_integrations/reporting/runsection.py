"""A run, log or session for people: gates, what was measured, the cases that matter, every judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from judgeharness_integrations._rendering import renderer
from judgeharness_integrations.analysis.boundary import EXPLORATORY, NO_VERDICT, CaseOutcome, case_outcome
from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.analysis.runs.report import never_asked
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart, gold_of
from judgeharness_integrations.reporting.calibrationtext import (
    alike,
    anchor_text,
    calibrated_rates,
    calibration_section,
)
from judgeharness_integrations.reporting.fragments.rendering import section_html
from judgeharness_integrations.reporting.gates import gates_section
from judgeharness_integrations.reporting.limits import limits
from judgeharness_integrations.reporting.markdown import section_markdown
from judgeharness_integrations.reporting.measured import (
    Measured,
    measured_table,
    named_after,
    rate_text,
    result_text,
)
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Strong, Table
from judgeharness_integrations.reporting.text import cost_text, dissent, rationale, tokens_text
from judgeharness_integrations.verdictlog.plain import counted, distribution_text, ends, fixed, percent
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.report import GateReport
    from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
    from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary, FlipRate
    from judgeharness_integrations.analysis.usage import Usage

_MOST_JUDGES: Final = 4  # whose parts are not folded away
_MOST_CASES: Final = 50  # of a kind
_MOST_LABELS: Final = 20
_MOST_SENTENCES: Final = 10  # about what was not measured
_KINDS: Final = {
    "failed": "Failed",
    "not_graded": "Not graded",
    "abstained": "Abstained",
    "divided": "Decided, but divided",
    "rest": "Decided without dissent",
}


def report_section(report: RunReport, *, gates: GateReport | None = None, every: bool = False) -> Section:
    """Return a report for people.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said is shown.
        every: all cases, instead of the first of each kind that matters.

    """
    return Section(title=f"report of {report.source}", blocks=tuple(_blocks(report, gates, every=every)))


def markdown_report(report: RunReport, *, gates: GateReport | None = None, every: bool = False) -> str:
    """Return a report as GitHub's Markdown; see `report_section`."""
    return section_markdown(report_section(report, gates=gates, every=every), every=every)


def report_fragment(report: RunReport) -> str:
    """Return a report as HTML that a notebook shows."""
    return section_html(report_section(report))


def _blocks(report: RunReport, gates: GateReport | None, *, every: bool) -> Iterator[Block]:
    run = f"run {report.run}, " if report.run else ""
    yield f"{run}state: {report.state_text}, {counted(report.cases, 'case')}; intervals are at 95 % over cases"
    for section in report.judges:
        yield from (Strong(f"{section.judge}: {alert}") for alert in section.alerts)
    if (shown := gates or report.gates) is not None:
        yield gates_section(shown, of_run=gates is None)
    if not report.summaries:
        yield "nothing was measured"
        return
    yield measured_table(entry for section in report.judges for entry in measured_entries(section))
    yield from _not_better(report)
    yield from _designs(report)
    yield from _cases_that_matter(report, every=every)
    yield from _judges(report)
    for section in report.judges:
        yield from (*_measure_tables(section), *_card(section))
    if report.annotators is not None:
        blocks = renderer(report.annotators, "section")(report.annotators).blocks
        yield Section(title="may the judges replace annotators?", blocks=blocks, folded=True)
    elif report.annotators_reason:
        yield f"not compared with annotators: {report.annotators_reason.rstrip('.')}"
    yield from _not_measured(report, None if every else _MOST_SENTENCES)


def measured_entries(section: JudgeSection) -> Iterator[Measured]:
    """Yield a line for each criterion of a judge."""
    for name, one in _named(section):
        yield Measured(
            name=name,
            replay=one.replay,
            result=result_text(one),
            accuracy=one.accuracy,
            chance=one.chance_consistency,
        )


def _named(section: JudgeSection) -> Iterator[tuple[str, CriterionSummary]]:
    """Yield criteria with what they are called beside the others of the judge: its name, criterion and design."""
    designs = designs_apart(one.design for one in section.criteria)
    for one in section.criteria:
        yield named_after(section.judge, one.criterion, designs[design_key(one.design)]), one


def _not_better(report: RunReport) -> Iterator[Strong]:
    """Yield which judges are not better than one that reads nothing, or not told from one by their labels."""
    for section in report.judges:
        for name, one in _named(section):
            if one.controls is not None and not one.controls.beaten:
                yield Strong(f"{name}: {one.controls.sentence}")
        if section.calibrated and section.calibration is not None and (why := section.calibration.untold()):
            yield Strong(f"{section.judge}: {why}")


def _designs(report: RunReport) -> Iterator[str]:
    """Yield how the numbers came about, a sentence a design."""
    if report.informal:
        yield "one sample a case, informal: verdicts as they came, nothing was measured"
        return
    designs = dict.fromkeys(
        (one.design.rule.name, one.design.rule_fixed, one.design.perturbations, one.design.repetitions)
        for one in report.summaries
    )
    for rule, fixed_when, perturbations, repetitions in designs:
        when = "before the samples" if fixed_when == "before" else "after the samples: exploratory"
        yield f"rule: {rule}, chosen {when}; {', '.join(perturbations)} x {repetitions}"
    yield (
        "results and decided are shares of all planned cases, so abstained and not graded ones count; a mean score is "
        "of decided cases, right is of decided cases with gold"
    )


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


def _cases_that_matter(report: RunReport, *, every: bool) -> Iterator[Section]:
    """Yield tables of the cases that matter, the most divided first; of every case only if so wished."""
    groups: dict[str, list[_Case]] = {name: [] for name in _KINDS}
    for result in report.results:
        for measured in result.criteria.values():
            gold = gold_of(result, measured.criterion)
            case = _Case(result=result, measured=measured, gold=gold, found=case_outcome(measured, gold))
            groups[case.kind].append(case)
    if not every:
        del groups["rest"]
    for name, cases in groups.items():
        if cases:
            cases.sort(key=lambda case: case.consistency)
            title = f"{_KINDS[name]}: {counted(len(cases), 'case')}"
            yield Section(title=title, blocks=(_case_table(report, cases, every=every),), folded=True)


def _case_table(report: RunReport, cases: Sequence[_Case], *, every: bool) -> Table:
    columns = ["case", "judge · criterion", "decision", "samples", "consistency %", "gold", "reasons"]
    shown = cases if every else cases[:_MOST_CASES]
    rows = [_case_row(case) for case in shown]
    if report.case_texts:
        columns.append("judged")
        rows = [[*row, _judged(report, case)] for row, case in zip(rows, shown, strict=True)]
    return Table.of("", columns, rows, texts=len(columns), examples=True, left=len(cases) - len(shown))


def _case_row(case: _Case) -> list[str]:
    measured, result = case.measured, case.result
    return [
        result.case_id,
        f"{result.judge} · {measured.criterion}",
        "NOT GRADED" if measured.verdict is None else verdict_text(measured.verdict),
        f"{distribution_text(measured.sample_distribution)} of {measured.planned}",
        "-" if result.informal else percent(measured.consistency_rate),
        "-" if case.gold is None else verdict_text(case.gold),
        _reasons(case) or "-",
    ]


def _reasons(case: _Case) -> str:
    if case.measured.status == "not_graded":
        return case.measured.reason
    name = case.measured.criterion
    rows = (row for row in (rationale(case.result, name), dissent(case.result, name)) if row is not None)
    return "\n".join(f"{verdict_text(row.verdict)}: {_line(row.reasoning or row.raw or '')}" for row in rows)


def _judged(report: RunReport, case: _Case) -> str:
    texts = report.case_texts.get(case.result.case_id, {})
    return "\n".join(f"{name}: {_line(text)}" for name, text in texts.items()) or "-"


def _line(text: str) -> str:
    return " ".join(text.split())


def _measure_tables(section: JudgeSection) -> Iterator[Section]:
    models = f" ({', '.join(section.models)})" if section.models else ""
    for name, one in _named(section):
        table = Table.of("", ("measure", "value"), _measures(one))
        yield Section(title=f"every measure of {name}{models}", blocks=(table,), folded=True)


def _judges(report: RunReport) -> Iterator[Block]:
    """Yield what is known of every judge, under its name where there are several."""
    told = [(section.judge, Bullets(tuple(_about(section)))) for section in report.judges]
    if len(told) == 1:
        yield told[0][1]
    elif len(told) > _MOST_JUDGES:
        blocks = tuple(Section(title=judge, blocks=(lines,)) for judge, lines in told)
        yield Section(title="every judge", blocks=blocks, folded=True)
    else:
        yield from (Section(title=judge, blocks=(lines,)) for judge, lines in told)


def _about(section: JudgeSection) -> Iterator[str]:
    for name, summary in _named(section):
        about = name.removeprefix(section.judge).removeprefix(" · ")
        for line in _of_criterion(summary):
            yield f"{about}: {line}" if about else line
    if section.not_asked:
        yield never_asked(section.not_asked, section.cases + section.not_asked)
    if (found := section.calibration) is not None:
        yield anchor_text(found, section.calibration_state)
        yield from calibrated_rates(section)
        if without := [one.criterion for one in section.criteria if one.criterion not in found.criteria]:
            yield f"uncalibrated: {found.name} holds no labels of {', '.join(dict.fromkeys(without))}"
    yield from alike(section)
    yield from (held_text(*one) for one in section.certificates)
    yield f"usage: {_bill(section.usage, section.cost, section.cost_remarks)}"
    if section.calibration_usage is not None:
        bill = _bill(section.calibration_usage, section.calibration_cost, section.cost_remarks)
        yield f"calibrating it, beside that: {bill}"
    yield from (f"warning: {warning}" for warning in section.every_warning)


def _not_measured(report: RunReport, most: int | None) -> Iterator[Section]:
    """Yield what was not measured, but for what the sentences about the rule and about failed samples say."""
    stopped_early = any(one.design.curtail for section in report.judges for one in section.criteria)
    listed = [
        one.line
        for one in limits(report)
        if (report.informal or one.sentence != EXPLORATORY) and (stopped_early or not one.sentence.endswith(NO_VERDICT))
    ]
    left = 0 if most is None else max(0, len(listed) - most)
    more = [f"and {counted(left, 'more sentence')} of this kind"] if left else []
    if listed:
        yield Section(title="not measured", blocks=(Bullets((*listed[:most], *more)),))


def _of_criterion(summary: CriterionSummary) -> Iterator[str]:
    """Yield how often verdicts differ with a perturbation and without one, what controls reach, and what failed."""
    beside = "" if summary.noise is None else f"; between two samples of none in {_flip(summary.noise)}"
    for flip in summary.flips:
        yield f"verdicts differ between none and {flip.perturbation} in {_flip(flip)}{beside}"
    if summary.controls is not None:
        yield summary.controls.line
        if summary.controls.beaten:  # that it is not stands before everything about the judge
            yield summary.controls.sentence
    answered = sum(summary.outcomes.values())
    left = 0 if summary.design.curtail else max(summary.planned - answered, 0)  # of early stopping they are no failures
    counts = {**{name: count for name, count in summary.outcomes.items() if name != "ok"}, "without an answer": left}
    if failed := {name: count for name, count in counts.items() if count}:
        told = ", ".join(f"{count} {name}" for name, count in failed.items())
        yield f"failed samples: {told} of {answered + left}"


def _flip(flip: FlipRate) -> str:
    interval = ends((flip.low, flip.high), 1, scale=100)
    return f"{percent(flip.value)} % of pairs {interval}, mean over {counted(flip.cases, 'case')}"


def _bill(used: Usage, cost: float | None, remarks: Sequence[str]) -> str:
    money = cost_text(cost, remarks) or "no prices given"
    told = f"{used.calls:,} calls, tokens {tokens_text(used) or 'unknown'}, {money}"
    parts = [f"{used.attempts:,} attempts", f"{used.rewrites:,} rewrites"]
    if used.reused:
        parts.append(f"{used.reused:,} answers re-used")
    if used.latency_s is not None:
        parts.append(f"{used.latency_s:.1f} s of waiting for the judge")
    return f"{told}; {', '.join(parts)}"


def _card(section: JudgeSection) -> Iterator[Section]:
    report, state = section.calibration, section.calibration_state
    if report is not None and state is not None and state.valid:
        yield replace(calibration_section(report), folded=True)


def _measures(summary: CriterionSummary) -> Iterator[tuple[str, str]]:
    for label in list(summary.verdicts)[:_MOST_LABELS] if summary.mean_score is None else ():
        yield f"decided {verdict_text(label)}", rate_text(summary.rate_of(label))
    if (mean := summary.mean_score) is not None:
        yield "mean score of decided cases", f"{fixed(mean.value)} {ends((mean.low, mean.high))} of {mean.n}"
    yield "decided", rate_text(summary.coverage)
    yield "abstained", rate_text(summary.abstention)
    yield "not graded", f"{summary.replay.not_graded} of {summary.cases}"
    yield "accuracy, of decided with gold", rate_text(summary.accuracy)
    if (error := summary.replay.mean_absolute_error) is not None:
        yield "mean absolute error of decided with gold", f"{fixed(error)} of {summary.replay.labelled}"
    if (controls := summary.controls) is not None:
        for one in controls.shown:
            told = one.reason if one.value is None else f"{fixed(one.value)} of {one.n}"
            yield f"control: {one.says}, {'mean error' if controls.scored else 'accuracy'}", told
    for name in ("consistency_rate", "chance_consistency", "agreement"):
        yield f"{name.replace('_', ' ')}, mean over cases", fixed(getattr(summary, name))
