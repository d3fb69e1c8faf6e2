"""Recorded results: a file with a line a result, as a process appended them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.reporting.document import result_document
from judgeharness_integrations.reporting.rebuilding import rebuilt_result
from judgeharness_integrations.reporting.runs.building import run_report
from judgeharness_integrations.reporting.runs.naming import told_apart
from judgeharness_integrations.result import HarnessResult

if TYPE_CHECKING:
    from judgeharness_integrations.aggregation.rules import RuleLike
    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["RECORDED_SCHEMA", "recorded_line", "recorded_result", "report_of_recorded"]

RECORDED_SCHEMA: Final = "judgeharness.recorded/1"


def recorded_line(result: HarnessResult, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a result with its rows, the texts that were judged, and the test that asked, as JSON keeps them."""
    document = result_document(result, rows=True)
    test = {"test": document.pop("test")} if "test" in document else {}
    return {"schema": RECORDED_SCHEMA, "result": document, "case": dict(texts), **test}


def recorded_result(line: Mapping[str, Any], *, rule: RuleLike | None = None) -> HarnessResult:
    """Return the result of what `recorded_line` returned."""
    return replace(rebuilt_result(line["result"], rule=rule), test=line.get("test"))


def report_of_recorded(
    lines: Iterable[Mapping[str, Any]], *, source: str, rule: RuleLike | None = None, **facts: Any
) -> RunReport:
    """Return the report of recorded results.

    Args:
        lines: what `recorded_line` returned.
        source: for people, where they come from.
        rule: the rule they were folded with, where that is a function of the caller's own.
        facts: further fields of `RunReport`; `case_texts` go before recorded ones.

    Raises:
        ConfigError: a line is of another schema, or damaged.

    """
    results, texts = [], {}
    for line in lines:
        if line.get("schema") != RECORDED_SCHEMA:
            raise ConfigError(f"{source}: not a record of schema {RECORDED_SCHEMA}: found {line.get('schema')!r:.60}.")
        results.append(recorded_result(line, rule=rule))
        texts[results[-1].case_id] = {str(name): str(text) for name, text in line["case"].items()}
    facts["case_texts"] = {**texts, **facts.get("case_texts", {})}
    return run_report(told_apart(results), source=source, **facts)
