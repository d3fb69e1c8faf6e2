"""A report as JUnit XML, which every CI server shows: a suite a judge and criterion, a test case a case."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from judgeharness_integrations.analysis.boundary import CaseOutcome, case_outcome
from judgeharness_integrations.analysis.runs.report import never_asked
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart, gold_of
from judgeharness_integrations.reporting.calibrationtext import calibration_word
from judgeharness_integrations.reporting.text import dissent, headline, rationale, shown_order
from judgeharness_integrations.verdictlog.plain import number_text
from judgeharness_integrations.verdictlog.row import verdict_text, verdict_to_json

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.design import Design
    from judgeharness_integrations.analysis.gates.report import GateCheck, GateReport
    from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
    from judgeharness_integrations.analysis.runs.report import JudgeSection, OnAbstain, RunReport

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
