"""A report as JSON (`schemas/report-1.json`), its cases as CSV, and JUnit XML, which every CI server shows."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from judgeharness_integrations.analysis.calibration.rates import rate_document
from judgeharness_integrations.analysis.result import CaseOutcome, CriterionResult, HarnessResult, case_outcome
from judgeharness_integrations.analysis.runs.report import (
    CriterionSummary,
    FlipRate,
    JudgeSection,
    OnAbstain,
    RunReport,
    never_asked,
)
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart, gold_of
from judgeharness_integrations.analysis.usage import Usage, tokens_of
from judgeharness_integrations.verdictlog.encoding import defused, number_text
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text, verdict_to_json

from .calibrationtext import calibration_word
from .runfindings import run_finding
from .text import dissent, headline, rationale, shown_order

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.design import Design
    from judgeharness_integrations.analysis.gates.gate import GateCheck, GateReport
    from judgeharness_integrations.analysis.probability.measuring import ProbabilitySummary
    from judgeharness_integrations.analysis.statistics.means import Estimate

REPORT_SCHEMA = "judgeharness.report/1"


def report_document(report: RunReport, *, gates: GateReport | None = None, results: bool = False) -> dict[str, Any]:
    """Return the report as JSON-able data.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said at its end (`gates_of` tells which).
        results: also every case's result (`judgeharness.result/1`); `results` is null without.

    """
    tested, shown = report.annotators, gates or report.gates
    tests = [
        {"test": one.test, "judge": one.judge, "case_id": one.case_id} for one in report.results if one.test is not None
    ]
    return {
        "schema": REPORT_SCHEMA,
        "finding": run_finding(report, gates).document(),
        "source": report.source,
        "run": report.run,
        "state": report.state,
        "created_at": report.created_at,
        "cases": report.cases,
        "informal": report.informal,
        "judges": [_judge(section) for section in report.judges],
        "annotators": None if tested is None else tested.to_dict(),
        "annotators_reason": report.annotators_reason,
        "gates": None if shown is None else shown.to_dict(),
        "gates_of": None if shown is None else "report" if gates is not None else "run",
        "results": [result.to_dict() for result in report.results] if results else None,
        **({"tests": tests} if tests else {}),
        **report.together,
    }


def _judge(section: JudgeSection) -> dict[str, Any]:
    calibration, state = section.calibration, section.calibration_state
    anchor = None
    if calibration is not None and state is not None:
        anchor = {
            "source": calibration.name,
            "labels": calibration.source,
            "word": calibration.word,
            "status": state.status,
            "reason": state.reason,
            "measured_at": calibration.measured_at,
            "shift": None if section.shift is None else section.shift.to_dict(),
        }
    return {
        "judge": section.judge,
        "models": list(section.models),
        "fingerprint": section.fingerprint,
        "cases": section.cases,
        "not_asked": section.not_asked,
        "calibrated": section.calibrated,
        "calibration": anchor,
        **(
            {"certificates": [given.record(state) for given, state in section.certificates]}
            if section.certificates
            else {}
        ),
        "criteria": [_criterion(summary, section) for summary in section.criteria],
        "usage": asdict(section.usage),
        "cost": section.cost,
        "calibration_usage": None if section.calibration_usage is None else asdict(section.calibration_usage),
        "calibration_cost": section.calibration_cost,
        "cost_remarks": list(section.cost_remarks),
        "skipped": dict(section.skipped),
        "alerts": list(section.alerts),
        "warnings": list(section.every_warning),
        "not_measured": dict(section.not_measured),
    }


def _criterion(summary: CriterionSummary, section: JudgeSection) -> dict[str, Any]:
    design, replay = summary.design, summary.replay
    anchor = section.calibration.criteria.get(summary.criterion) if section.calibrated and section.calibration else None
    return {
        "criterion": summary.criterion,
        "kind": replay.kind,
        "aggregation_rule": design.rule.name,
        "rule_fixed": design.rule_fixed,
        "perturbations": list(design.perturbations),
        "repetitions": design.repetitions,
        "min_valid": design.min_valid,
        "tolerance": design.tolerance,
        "curtail": design.curtail,
        "cases": summary.cases,
        "decided": replay.decided,
        "abstained": replay.abstained,
        "not_graded": replay.not_graded,
        "verdicts": [{"verdict": verdict_to_json(label), "count": count} for label, count in summary.verdicts.items()],
        "positive": summary.positive,
        "positive_rate": rate_document(summary.positive_rate),
        "coverage": rate_document(summary.coverage),
        "abstention": rate_document(summary.abstention),
        "accuracy": rate_document(summary.accuracy),
        "controls": None if summary.controls is None else summary.controls.to_dict(),
        "mean_score": _estimate(summary.mean_score),
        "mean_absolute_error": replay.mean_absolute_error,
        "consistency_rate": summary.consistency_rate,
        "chance_consistency": summary.chance_consistency,
        "agreement": summary.agreement,
        "flips": [_flip(flip) for flip in summary.flips],
        "noise": None if summary.noise is None else _flip(summary.noise),
        **({} if summary.probabilities is None else {"probabilities": _probabilities(summary.probabilities)}),
        "repeated": summary.repeated,
        "outcomes": dict(summary.outcomes),
        "planned_samples": summary.planned,
        "calibrated_precision": None if anchor is None else rate_document(anchor.precision),
        "calibrated_recall": None if anchor is None else rate_document(anchor.recall),
    }


def _flip(flip: FlipRate) -> dict[str, Any]:
    ends = {"value": flip.value, "low": flip.low, "high": flip.high}
    return {"perturbation": flip.perturbation, **ends, "n": flip.cases}


def _probabilities(found: ProbabilitySummary) -> dict[str, Any]:
    band, figures = found.band, found.figures
    return {
        "options": list(found.options),
        "retest": None
        if band is None
        else {"n": band.n, "change": _estimate(band.change), "identical": _estimate(band.identical)},
        "changes": [
            {
                "perturbation": name,
                "n": moved.n,
                "change": _estimate(moved.change),
                "excess": _estimate(moved.excess),
            }
            for name, moved in found.changes.items()
        ],
        "labelled": found.labelled,
        "unlabelled": found.unlabelled or None,
        "figures": None
        if figures is None
        else {
            "brier_skill": _estimate(figures.brier_skill),
            "log_skill": _estimate(figures.log_skill),
            "auc": _estimate(figures.auc),
            "ece": figures.calibration.ece,
            "ece_of_a_perfect_judge": figures.calibration.perfect,
            "excess_ece": _estimate(figures.calibration.excess),
            "curve": [{"probability": one.probability, "share": _estimate(one.share)} for one in figures.curve],
        },
    }


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high, "n": found.n}


CASE_COLUMNS: Final = (
    "judge",
    "case_id",
    "criterion",
    "verdict",
    "status",
    "reason",
    "outcome",
    "gold",
    "kind",
    "planned",
    "taken",
    "valid",
    "unparsed",
    "refused",
    "error",
    "distribution",
    "consistency_rate",
    "chance_consistency",
    "agreement",
    "sd",
    "flip_rates",
    "aggregation_rule",
    "rule_fixed",
    "informal",
    "calibration",
    "calibrated_precision",
    "calibrated_recall",
    "judge_model",
    "state",
    "calls",
    "attempts",
    "input_tokens",
    "output_tokens",
    "latency_s",
    "cached_input_tokens",
    "cache_write_tokens",
    "test",
)

_Cell = str | float | None


def case_table(report: RunReport) -> str:
    """Return the cases as CSV with the columns `CASE_COLUMNS`, in order of appearance; empty is what is not known.

    Texts are never formulas of a spreadsheet: a quote stands before one that would be. `distribution` is a JSON list of
    `{verdict, count}` over valid samples, `flip_rates` a JSON object perturbation -> share; a set of labels is a JSON
    list. `outcome` is `passed`, `failed`, `abstained` or `not_graded` (see `case_outcome`). What a case cost stands on
    the line of its first criterion alone, so that sums are right; `latency_s` is in seconds. `calibration` is `valid`,
    `expired`, `unverifiable` or `none`; where labels are a model's, `agreement with` it. `test` is pytest's node id.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CASE_COLUMNS)
    for result in report.results:
        for first, measured in _numbered(result):
            cells = _cells(result, measured) | (_cost(result.usage) if first else {})
            writer.writerow([_defused_cell(cells.get(column)) for column in CASE_COLUMNS])
    return text.getvalue()


def _numbered(result: HarnessResult) -> Iterator[tuple[bool, CriterionResult]]:
    yield from ((place == 0, measured) for place, measured in enumerate(result.criteria.values()))


def _cells(result: HarnessResult, measured: CriterionResult) -> dict[str, _Cell]:
    gold = gold_of(result, measured.criterion)
    informal = result.informal
    anchor = result.calibrated(measured.criterion)
    precision, recall = (None if anchor is None else anchor.precision, None if anchor is None else anchor.recall)
    return {
        "judge": result.judge,
        "case_id": result.case_id,
        "criterion": measured.criterion,
        "verdict": _verdict(measured.verdict),
        "status": measured.status,
        "reason": measured.reason,
        "outcome": case_outcome(measured, gold).outcome,
        "gold": _verdict(gold),
        "kind": "numbers" if measured.numeric else "labels",
        "planned": measured.planned,
        "taken": measured.taken,
        "valid": measured.valid,
        **{name: measured.outcomes.get(name, 0) for name in ("unparsed", "refused", "error")},
        "distribution": _json(
            [
                {"verdict": verdict_to_json(verdict), "count": count}
                for verdict, count in measured.sample_distribution.items()
            ]
        ),
        "consistency_rate": None if informal else measured.consistency_rate,
        "chance_consistency": None if informal else measured.chance_consistency,
        "agreement": measured.agreement,
        "sd": measured.sd,
        "flip_rates": _json(dict(measured.flip_rates) | dict(measured.prompt_sensitivity)),
        "aggregation_rule": None if informal else result.aggregation_rule,
        "rule_fixed": None if informal else result.rule_fixed,
        "informal": "true" if informal else "false",
        "calibration": calibration_word(result, measured.criterion),
        "calibrated_precision": None if precision is None else precision.value,
        "calibrated_recall": None if recall is None else recall.value,
        "judge_model": result.judge_model,
        "state": result.state,
        "test": result.test,
    }


def _cost(usage: Usage) -> dict[str, _Cell]:
    return {
        "calls": usage.calls,
        "attempts": usage.attempts,
        **tokens_of([usage]),
        "latency_s": usage.latency_s,
    }


def _verdict(verdict: Verdict | None) -> _Cell:
    return _json(sorted(verdict)) if isinstance(verdict, frozenset) else verdict


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _defused_cell(cell: _Cell) -> _Cell:
    return defused(cell) if isinstance(cell, str) else cell


# what XML 1.0 cannot hold, not even escaped
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 4000
_COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def junit_report(report: RunReport, *, on_abstain: OnAbstain = "failure", gates: GateReport | None = None) -> str:
    """Return the report as JUnit XML, in the shape that Jenkins, GitLab and the readers of Surefire files take.

    A test case a judge, case and criterion, with `JUDGE.CRITERION` as its class, and the design of a judge that has
    several; their suites are of one design each. PASS passes, FAIL is a failure, what
    could not be graded is an error (the harness's, not the case's), an abstention is what `on_abstain` says. Other
    labels are right or wrong against gold; without gold they pass, as scores do without `pass_at`, and the property
    `ungraded` says so. Gates are a suite of their own. `time` is what the judge took for the case, in seconds.

    Args:
        report: what was measured.
        on_abstain: `failure`, `skipped` or `passed`.
        gates: what gates said; one that failed is a failure, one that was not measured an error. Without, those of the
            run are shown.

    """
    root = ET.Element("testsuites", name="judgeharness")
    for name, pairs in _groups(report):
        suite = ET.SubElement(root, "testsuite", name=_text(name))
        _properties(suite, _about(report, [result for result, _ in pairs]))
        for result, measured in pairs:
            _case(suite, result, measured, on_abstain, name)
        _count(suite)
    for section in report.judges:
        if section.not_asked:
            _never_asked(ET.SubElement(root, "testsuite", name=_text(section.judge)), section)
    if (shown := gates or report.gates) is not None:
        suite = ET.SubElement(root, "testsuite", name="gates" if gates is not None else "gates of the run")
        if shown.caution:
            _properties(suite, [("caution", shown.caution)])
        for check in shown.checks:
            _gate(suite, check)
        _count(suite)
    for name in ("tests", *_COUNTS.values()):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    if any(suite.get("time") for suite in root):
        root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _never_asked(suite: ET.Element, section: JudgeSection) -> None:
    """Say that cases were planned and never asked, of which nobody knows here what they are called."""
    case = ET.SubElement(suite, "testcase", classname=_text(section.judge), name="cases never asked")
    message = never_asked(section.not_asked, section.cases + section.not_asked)
    ET.SubElement(case, "error", message=message, type="not_asked")
    _count(suite)


_Pairs = list[tuple["HarnessResult", "CriterionResult"]]


def _groups(report: RunReport) -> Iterator[tuple[str, _Pairs]]:
    """Yield the name and the cases of every suite: a judge, a criterion and, where it has several, a design."""
    designs: dict[str, list[Design]] = {}
    groups: dict[tuple[str, str, Hashable], _Pairs] = {}
    for result in report.results:
        key = design_key(result.design)
        designs.setdefault(result.judge, []).append(result.design)
        for name, measured in result.criteria.items():
            groups.setdefault((result.judge, name, key), []).append((result, measured))
    names = {judge: designs_apart(several) for judge, several in designs.items()}
    for (judge, criterion, key), pairs in groups.items():
        design = names[judge][key]
        yield f"{judge}.{criterion}" + (f" ({design})" if design else ""), pairs


def _about(report: RunReport, results: Sequence[HarnessResult]) -> Iterator[tuple[str, str]]:
    """Yield what holds for every case of a suite, which are of one design."""
    result = results[0]
    yield "source", report.source
    if report.run:
        yield "run", report.run
    yield "state", report.state
    yield "model", ", ".join(dict.fromkeys(one.judge_model or "unknown" for one in results))
    yield "perturbations", ", ".join(result.design.perturbations)
    yield "repetitions", str(result.repetitions)
    if not all(one.informal for one in results):
        yield "aggregation_rule", result.aggregation_rule
        yield "rule_fixed", result.rule_fixed


def _case(
    suite: ET.Element, result: HarnessResult, measured: CriterionResult, on_abstain: OnAbstain, name: str
) -> None:
    found = case_outcome(measured, gold_of(result, measured.criterion))
    case = ET.SubElement(suite, "testcase", classname=_text(name), name=_text(result.case_id))
    latencies = [
        row.latency_s for row in result.rows if row.criterion == measured.criterion and row.latency_s is not None
    ]
    if latencies:
        case.set("time", f"{sum(latencies):.3f}")
    _properties(case, _facts(result, measured, found))
    summary = headline(result, measured.criterion, decided=verdict_text(measured.verdict))
    tag = {"passed": None, "failed": "failure", "not_graded": "error"}.get(found.outcome, on_abstain)
    if tag not in {None, "passed"}:
        kind = {"failed": "verdict", "not_graded": "not_graded"}.get(found.outcome, "abstained")
        problem = ET.SubElement(case, str(tag), message=_text(found.reason))
        if tag != "skipped":
            problem.set("type", kind)
            problem.text = _text(summary)
    told = "\n".join([summary, *_reasons(result, measured)])
    ET.SubElement(case, "system-out").text = _text(told)


def _facts(result: HarnessResult, measured: CriterionResult, found: CaseOutcome) -> Iterator[tuple[str, str]]:
    gold = gold_of(result, measured.criterion)
    yield "verdict", verdict_text(measured.verdict) if measured.verdict is not None else "NOT GRADED"
    yield "status", measured.status
    counts = [{"verdict": verdict_to_json(v), "count": n} for v, n in measured.sample_distribution.items()]
    yield "sample_distribution", json.dumps(counts, ensure_ascii=False)
    yield "valid_samples", f"{measured.valid} of {measured.planned}"
    if measured.numeric and not isinstance(measured.verdict, str) and measured.verdict is not None:
        yield "score", verdict_text(measured.verdict)
    if gold is not None:
        yield "gold", verdict_text(gold)
    if result.informal:
        yield "informal", "one sample: a verdict as it came, nothing was measured"
    else:
        yield "consistency_rate", number_text(measured.consistency_rate)
    state, word = result.calibration_state, calibration_word(result, measured.criterion)
    yield "calibration", word if state is None or state.valid else str(state)
    if result.state != "complete":
        yield "state", result.state
    if result.test is not None:
        yield "test", result.test
    if (anchor := result.calibrated(measured.criterion)) is not None:
        yield "calibrated_precision", str(anchor.precision or "none")
        yield "calibrated_recall", str(anchor.recall or "none")
    if found.ungraded:
        yield "ungraded", found.ungraded


def _reasons(result: HarnessResult, measured: CriterionResult) -> Iterator[str]:
    for title, row in (
        ("rationale", rationale(result, measured.criterion)),
        ("strongest dissent", dissent(result, measured.criterion)),
    ):
        if row is not None:
            yield f"{title}, {verdict_text(row.verdict)}{shown_order(row)}: {row.reasoning or row.raw}"
    for error in dict.fromkeys(row.error for row in result.rows if row.error):
        yield f"failed sample: {error}"


def _gate(suite: ET.Element, check: GateCheck) -> None:
    name = " ".join(filter(None, (check.gate, check.judge, check.criterion, check.design)))
    case = ET.SubElement(suite, "testcase", classname="gates", name=_text(name))
    if check.caution:
        _properties(case, [("caution", check.caution)])
    if check.status != "passed":
        tag = "failure" if check.status == "failed" else "error"
        ET.SubElement(case, tag, message=_text(check.reason), type=check.status)
    ET.SubElement(case, "system-out").text = _text(check.reason)


def _properties(element: ET.Element, pairs: Iterable[tuple[str, str]]) -> None:
    parent = ET.SubElement(element, "properties")
    for name, value in pairs:
        ET.SubElement(parent, "property", name=name, value=_text(value))


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, name in _COUNTS.items():
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    times = [float(time) for case in cases if (time := case.get("time")) is not None]
    if times:
        suite.set("time", f"{sum(times):.3f}")


def _text(text: str) -> str:
    """Return a text that XML can hold, cut where it is very long."""
    shown = _NO_XML.sub("\ufffd", text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
