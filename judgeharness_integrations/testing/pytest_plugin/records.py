"""Results on their way: from a test to the end of the session, and between processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeharness_integrations.analysis.document import recorded_line
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.analysis.runs.folder import recorded_result
from judgeharness_integrations.judging.importing import imported_rule
from judgeharness_integrations.verdictlog.plain import distribution_text, number_text, safe_text
from judgeharness_integrations.verdictlog.row import verdict_text


@dataclass(frozen=True, kw_only=True)
class Record:
    """A result, which knows the test that asked for it, and the texts that were judged."""

    result: HarnessResult
    texts: Mapping[str, str]

    @property
    def test(self) -> str:
        """The test's node id."""
        return self.result.test or ""


def as_line(record: Record) -> str:
    """Return a record as one line of ASCII: `judgeharness report` reads files of such lines."""
    return json.dumps(recorded_line(record.result, record.texts), allow_nan=False)


def from_line(line: str, *, folder: Path) -> Record:
    """Return the record of a line; a rule given as `module:function` is imported, also from `folder`.

    Raises:
        ConfigError: its rule is a function that no text names.

    """
    found: dict[str, Any] = json.loads(line)
    document, rule = found["result"], None
    shown = document["aggregation_rule"] or ""
    if document["design"]["rule"] is None and ":" in shown:
        rule = imported_rule(shown, folder=folder, where="aggregation_rule")
    return Record(result=recorded_result(found, rule=rule), texts=found["case"])


def texts_by_case(records: Iterable[Record]) -> dict[str, Mapping[str, str]]:
    """Return what was judged by case; nothing of a case that is another one in another test."""
    found: dict[str, Mapping[str, str]] = {}
    differ = set()
    for record in records:
        case = record.result.case_id
        if found.setdefault(case, record.texts) != record.texts:
            differ.add(case)
    return {case: texts for case, texts in found.items() if texts and case not in differ}


def properties(result: HarnessResult, *, number: int = 1) -> Iterator[tuple[str, str]]:
    """Yield names and values: `judgeharness.verdict` and so on.

    The second measurement of a test is `judgeharness.2.verdict`; with several criteria each is named as well, as in
    `judgeharness.politeness.verdict`.
    """
    start = "judgeharness" if number == 1 else f"judgeharness.{number}"
    yield f"{start}.case", safe_text(result.case_id)
    yield f"{start}.judge", safe_text(result.judge)
    if result.judge_model is not None:
        yield f"{start}.judge_model", safe_text(result.judge_model)
    yield f"{start}.rule", "informal" if result.informal else safe_text(result.aggregation_rule)
    yield f"{start}.calls", str(result.usage.calls)
    yield f"{start}.calibration", _calibration(result)
    for name, measured in result.criteria.items():
        criterion = f"{start}.{safe_text(name, 60)}" if len(result.criteria) > 1 else start
        for what, value in _measurement(measured):
            yield f"{criterion}.{what}", value


def _measurement(measured: CriterionResult) -> Iterator[tuple[str, str]]:
    yield "verdict", "none" if measured.verdict is None else safe_text(verdict_text(measured.verdict))
    yield "status", measured.status
    yield "distribution", distribution_text(measured.sample_distribution)
    yield "samples", f"{measured.valid} valid of {measured.planned}"
    yield "consistency", number_text(measured.consistency_rate)


def _calibration(result: HarnessResult) -> str:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return "uncalibrated"
    return safe_text(f"{report.word} on {report.name}" if state.valid else f"calibration {state}")
