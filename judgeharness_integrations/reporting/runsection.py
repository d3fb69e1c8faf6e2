"""A run, log or session for people: gates, what was measured, the cases that matter, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from shlex import join
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._lazy import renderer
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.certifying.certificate import held_text
from judgeharness_integrations.analysis.gates.gate import STOPPED, GateReport
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.analysis.result import (
    EXPLORATORY,
    NO_VERDICT,
    CaseOutcome,
    CriterionResult,
    HarnessResult,
    case_outcome,
)
from judgeharness_integrations.analysis.runs.report import (
    CriterionSummary,
    FlipRate,
    JudgeSection,
    RunReport,
    never_asked,
    state_text,
)
from judgeharness_integrations.analysis.runs.summarising import gold_of
from judgeharness_integrations.verdictlog.encoding import counted, distribution_text, ends, fixed, percent
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

from .calibrationtext import alike, anchor_text, calibrated_rates, calibration_section, uncalibrated
from .fragments import section_html
from .measured import (
    Measured,
    band_text,
    control_line,
    criterion_names,
    figures_text,
    gates_section,
    level_text,
    limits,
    measured_table,
    moved_text,
    named_after,
    not_simultaneous,
    rate_text,
    result_text,
    stopping_sentences,
    together_sections,
    verdict_shares,
)
from .runfindings import attention, failed_samples, run_finding
from .sections import Block, Bullets, Finding, Section, Strong, Table, section_markdown
from .text import cost_text, dissent, rationale, tokens_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.measuring import ProbabilitySummary
    from judgeharness_integrations.analysis.usage import Usage


def ended_section(
    document: Mapping[str, Any], folder: Path, *, log: str, certificates: Mapping[str, str] = MappingProxyType({})
) -> Section:
    """Return the summary of a run for people: what was decided, what to do next, then how it was measured.

    Args:
        document: the summary as JSON keeps it.
        folder: where its files are.
        log: what its log is called.
        certificates: judge -> what its decisions stand under.

    """
    found = ended_finding(document, folder)
    cases = document["judged_cases"] + document["not_asked_cases"]
    state = state_text(document["state"], not_graded=document["not_graded_cases"], cases=cases)
    return Section(
        title=found.answer,
        blocks=(
            *found.opening(),
            f"run {document['run']}, state: {state}",
            *_measured(document),
            *_ending_judges(document, certificates),
            *_ending_bill(document),
            *_places(folder, log),
        ),
    )


_NAMED: Final = 4  # judges, or their criteria, with a sentence of their own


def ended_finding(document: Mapping[str, Any], folder: Path) -> Finding:
    """Return what a run opens with: how much of it each judge decided, how often right, and the report it is read in.

    Args:
        document: the summary as JSON keeps it.
        folder: where the run is.

    """
    entries = [entry for judge in document["judges"] for entry in judge["criteria"]]
    lines = list(map(_decided_line, entries))
    if len(lines) > _NAMED:
        decided, cases = (sum(entry[name] for entry in entries) for name in ("decided", "cases"))
        lines = [f"{counted(len(document['judges']), 'judge')} made {decided:,} of {counted(cases, 'decision')}"]
    elif not _stopped(document):
        lines += filter(None, map(_no_better, entries))
    answer, *others = lines or ["nothing was judged"]
    page = join(["judgeharness", "report", str(folder), "--html", str(folder / "report.html")])
    return Finding(answer=answer, reasons=tuple(others), next=page if document["judged_cases"] else "")


def _no_better(entry: Mapping[str, Any]) -> str:
    """Return that a judge is not better than one that reads nothing, which the share it is right on does not say."""
    found = Controls.from_dict(entry["controls"]) if entry.get("controls") else None
    if found is None or found.beaten or found.best is None:
        return ""
    return f"{named_after(entry['judge'], entry['criterion'])}: {found.standing}"


def _decided_line(entry: Mapping[str, Any]) -> str:
    """Return `house decided 20 of 24 cases, 4 abstained; 100.0 % of 16 decided cases with gold are right [...]`."""
    found = JudgeReplay.from_dict(entry)
    left = {"abstained": found.abstained, "not graded": found.not_graded}
    told = "".join(f", {count:,} {what}" for what, count in left.items() if count)
    of = f"{found.decided:,} of {counted(found.cases, 'case')}"
    if found.accuracy is not None:
        labelled = counted(entry["decided_with_gold"], "decided case")
        interval = entry["accuracy_95"]
        told += f"; right on {percent(found.accuracy)} % of {labelled} with gold"
        told += "" if interval is None else f" {ends(tuple(interval), 1, scale=100)}"
    return f"{named_after(entry['judge'], entry['criterion'])} decided {of}{told}"


def _measured(document: Mapping[str, Any]) -> Iterator[Block]:
    if _stopped(document):
        yield Strong(f"the run {STOPPED}")
    for judge in document["judges"]:
        yield from (Strong(f"{judge['judge']}: {alert}") for alert in judge["alerts"])
    yield measured_table(_entry(entry, judge) for judge in document["judges"] for entry in judge["criteria"])
    yield f"rule: {document['rule']}, chosen before the samples"
    samples = counted(document["repetitions"], "sample")
    yield f"perturbations: {', '.join(document['perturbations'])}; {samples} each"


def _entry(entry: Mapping[str, Any], judge: Mapping[str, Any]) -> Measured:
    verdicts = {one["verdict"]: one["count"] for one in entry["verdicts"]}
    return Measured(
        name=named_after(entry["judge"], entry["criterion"]),
        replay=JudgeReplay.from_dict(entry),
        result=verdict_shares(verdicts, entry["cases"]),
        never=judge["not_asked_cases"],
    )


def _ending_judges(document: Mapping[str, Any], certificates: Mapping[str, str]) -> Iterator[str]:
    for judge in document["judges"]:
        for line in (
            *_ending_about(judge, stopped=_stopped(document)),
            *filter(None, [certificates.get(judge["judge"])]),
        ):
            yield f"{judge['judge']}: {line}"


def _ending_bill(document: Mapping[str, Any]) -> Iterator[str]:
    usage = document["usage"]
    cost = cost_text(usage["cost"], usage["cost_remarks"])
    attempts = f"{usage['attempts'] or 0} attempts in the log, {document['attempts_spent']} in all"
    told = f"usage: {usage['calls']} calls, {attempts}, tokens {tokens_text(usage) or 'unknown'}"
    yield told + ("" if cost is None else f", {cost}")
    for run, calls in document["reused_from"].items():
        yield f"re-used: {calls} calls that run {run} paid for"


def _places(folder: Path, log: str) -> Iterator[str]:
    yield f"log: {log}"
    yield f"written to {folder}:"
    yield "verdicts.jsonl, results.jsonl, summary.json"


def _stopped(document: Mapping[str, Any]) -> bool:
    """Whether asking ended because of what was answered."""
    return bool((document.get("gates") or {}).get("stopped"))


def _ending_about(judge: Mapping[str, Any], *, stopped: bool = False) -> Iterator[str]:
    yield from [uncalibrated(judge["criteria"])] if judge["calibration"] is None else _anchor(judge["calibration"])
    yield from (f"not measured: {sentence}" for sentence in judge["not_measured"])
    if unasked := judge["not_asked_cases"]:
        cases = judge["judged_cases"] + unasked
        yield f"{unasked} of {cases} cases, counted as not graded, were never asked or cut off before an answer"
    if judge["saved_calls"]:
        yield f"{judge['saved_calls']} calls saved by stopping early"
    yield from stopping_sentences(JudgeReplay.from_dict(entry) for entry in judge["criteria"])
    for entry in judge["criteria"]:
        if entry.get("controls"):
            yield _of(entry["criterion"], control_line(Controls.from_dict(entry["controls"]), stopped=stopped))
        if entry["error"]:
            yield f"{entry['criterion']} is not graded: {entry['error']}"
    for name, count in judge["skipped_perturbations"].items():
        yield f"{name} did not fit {count} cases and was skipped"
    for warning in judge["warnings"]:
        yield f"warning: {warning}"


def _anchor(calibration: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the labels say; those of a model are agreed with, and calibrate nothing."""
    word, status, reason = calibration["word"], calibration["status"], calibration["reason"]
    if word == "calibrated":
        yield f"calibration on {calibration['source']} is {status}" + (f": {reason}" if reason else "")
    else:
        yield f"{word} on {calibration['source']}" + ("" if status == "valid" else f" is {status}: {reason}")
    for name, rates in calibration["criteria"].items():
        shown = [f"{what} {_level(rates[what])}" for what in ("precision", "recall", "coverage") if rates[what]]
        if shown:
            yield _of(name, f"{', '.join(shown)}, n={rates['n']}")
        if rates.get("untold"):
            yield _of(name, rates["untold"])


def _of(criterion: str, line: str) -> str:
    """Return what is said of a criterion, with its name where it has one."""
    return ": ".join(filter(None, (named_after("", criterion), line)))


def _level(rate: Mapping[str, Any]) -> str:
    return level_text(rate["value"], rate["low"], rate["high"], rate["n"])


_MOST_JUDGES: Final = 4  # whose bills are not left to JSON
_MOST_CASES: Final = 50  # of a kind
_MOST_LABELS: Final = 20
_MOST_SENTENCES: Final = 10  # about what was not measured
_LEGEND: Final = (
    "results and decided are shares of all planned cases, so abstained and not graded ones count; a mean score is of "
    "decided cases, right is of decided cases with gold; intervals are at 95 % over cases"
)
_STEADY: Final = 4  # of `attention`: decided without dissent
_KINDS: Final = {
    "abstained": "Abstained",
    "not_graded": "Not graded",
    "failed": "Failed",
    "divided": "Decided, but divided",
    "rest": "Decided without dissent",
}


def report_section(
    report: RunReport, *, gates: GateReport | None = None, every: bool = False, has_page: bool = False
) -> Section:
    """Return a report for people.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said is shown.
        every: all cases, instead of the first of each kind that matters.
        has_page: whether the page is written already.

    """
    found = run_finding(report, gates, has_page=has_page)
    return Section(
        title=found.answer,
        blocks=(*found.opening(), *_blocks(report, gates, every=every)),
    )


def markdown_report(report: RunReport, *, gates: GateReport | None = None, every: bool = False) -> str:
    """Return a report as GitHub's Markdown; see `report_section`."""
    return section_markdown(report_section(report, gates=gates, every=every), every=every)


def report_fragment(report: RunReport) -> str:
    """Return a report as HTML that a notebook shows."""
    return section_html(report_section(report))


def _blocks(report: RunReport, gates: GateReport | None, *, every: bool) -> Iterator[Block]:
    if (shown := gates or report.gates) is not None:
        yield gates_section(shown, of_run=gates is None)
    run = f", run {report.run}" if report.run else ""
    where = f"{report.source}{run}, state: {report.state_text}, {counted(report.cases, 'case')}"
    if not report.summaries:
        yield from (where, "nothing was measured")
        return
    yield measured_table(entry for section in report.judges for entry in measured_entries(section))
    yield from together_sections(report.together)
    yield from filter(None, (not_simultaneous(report),))
    yield from _not_better(report)
    yield from _to_look_at(report)
    yield where
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
    if not report.informal:
        yield Section(title="how to read it", blocks=(_LEGEND,), folded=True)


def _to_look_at(report: RunReport) -> Iterator[Table]:
    """Yield the cases to look at first: abstained, not graded, wrong, then divided ones, the most divided first."""
    rows = sorted(
        (
            (attention(measured, result), result, measured)
            for result in report.results
            for measured in result.criteria.values()
        ),
        key=itemgetter(0),
    )
    found = [(result, measured) for (kind, _), result, measured in rows if kind < _STEADY]
    if found:
        several = len({(result.judge, measured.criterion) for _, result, measured in rows}) > 1
        columns = ("case", *(("judge",) if several else ()), "decision", "samples", "gold")
        cells = (_looked_at(result, measured, several=several) for result, measured in found[:_MOST_CASES])
        left = max(0, len(found) - _MOST_CASES)
        yield Table.of("cases to look at first", columns, cells, texts=len(columns), examples=True, left=left)


def _looked_at(result: HarnessResult, measured: CriterionResult, *, several: bool) -> tuple[str, ...]:
    gold = gold_of(result, measured.criterion)
    return (
        result.case_id,
        *((named_after(result.judge, measured.criterion),) if several else ()),
        "NOT GRADED" if measured.verdict is None else verdict_text(measured.verdict),
        f"{distribution_text(measured.sample_distribution)} of {measured.planned}",
        "-" if gold is None else verdict_text(gold),
    )


def measured_entries(section: JudgeSection) -> Iterator[Measured]:
    """Yield a line for each criterion of a judge."""
    for name, one in criterion_names(section):
        yield Measured(
            name=name,
            replay=one.replay,
            result=result_text(one),
            accuracy=one.accuracy,
            chance=one.chance_consistency,
        )


def _not_better(report: RunReport) -> Iterator[Strong]:
    """Yield which judges are not better than one that reads nothing, or not told from one by their labels."""
    for section in report.judges if len(report.judges) > 1 else ():  # of a single one the reasons say it
        for name, one in criterion_names(section):
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
    if any(case.result.test is not None for case in shown):
        columns.append("test")
        rows = [[*row, case.result.test or "-"] for row, case in zip(rows, shown, strict=True)]
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
    for name, one in criterion_names(section):
        table = Table.of("", ("measure", "value"), _measures(one))
        yield Section(title=f"every measure of {name}{models}", blocks=(table,), folded=True)


def _judges(report: RunReport) -> Iterator[Block]:
    """Yield what each judge cost and what is to be warned of; the rest about it is folded, under its name."""
    several = len(report.judges) > 1
    for section in report.judges:
        about = f"{section.judge}: " if several else ""
        lines = [*_standing(section, several=several), *(f"warning: {warning}" for warning in section.every_warning)]
        lines += _bills(section) if len(report.judges) <= _MOST_JUDGES else ()
        if lines:
            yield Bullets(tuple(f"{about}{line}" for line in lines))
    for section in report.judges:
        if lines := list(_about(section)):
            yield Section(title=section.judge, blocks=(Bullets(tuple(lines)),), folded=True)


def _standing(section: JudgeSection, *, several: bool) -> Iterator[str]:
    """Yield what a judge is anchored to, and what it did not answer, which of a single one the reasons say."""
    if section.calibration is not None:
        yield anchor_text(section.calibration, section.calibration_state)
    yield from (held_text(*one) for one in section.certificates)
    if several:
        for name, one in criterion_names(section, alone=""):
            yield from (f"{name}: {line}" if name else line for line in failed_samples(one))
        if section.not_asked:
            yield never_asked(section.not_asked, section.cases + section.not_asked)


def _bills(section: JudgeSection) -> Iterator[str]:
    yield f"usage: {_bill(section.usage, section.cost, section.cost_remarks)}"
    if section.calibration_usage is not None:
        bill = _bill(section.calibration_usage, section.calibration_cost, section.cost_remarks)
        yield f"calibrating it, beside that: {bill}"


def _about(section: JudgeSection) -> Iterator[str]:
    for name, summary in criterion_names(section):
        about = name.removeprefix(section.judge).removeprefix(" · ")
        for line in _of_criterion(summary):
            yield f"{about}: {line}" if about else line
    if (found := section.calibration) is not None:
        yield from calibrated_rates(section)
        if without := [one.criterion for one in section.criteria if one.criterion not in found.criteria]:
            yield f"uncalibrated: {found.name} holds no labels of {', '.join(dict.fromkeys(without))}"
    yield from alike(section)


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
    """Yield how often verdicts differ with a perturbation and without one, and what controls reach."""
    beside = "" if summary.noise is None else f"; between two samples of none in {_flip(summary.noise)}"
    for flip in summary.flips:
        yield f"verdicts differ between none and {flip.perturbation} in {_flip(flip)}{beside}"
    if (shares := summary.probabilities) is not None:
        yield from _of_probabilities(shares)
    if summary.controls is not None:
        yield summary.controls.line
        if summary.controls.beaten:  # that it is not stands before everything about the judge
            yield summary.controls.sentence


def _of_probabilities(shares: ProbabilitySummary) -> Iterator[str]:
    for name, moved in shares.changes.items():
        yield f"probabilities differ between none and {name} by {moved_text(moved)}"
    if against := band_text(shares):
        yield against
    if shares.figures is None:
        yield f"probabilities beside labels: not measured, {shares.unlabelled.rstrip('.')}"
    else:
        labels = counted(shares.labelled, "label")
        yield f"probabilities beside {labels}, as the judge gave them: {figures_text(shares.figures)}"


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
