"""Results on their way: from a test to the end of the session, and between processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeharness_integrations.config.importing import imported_rule
from judgeharness_integrations.reporting.runs.recorded import recorded_line, recorded_result
from judgeharness_integrations.result import HarnessResult

__all__ = ["Record", "as_line", "from_line", "texts_by_case"]


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
