"""A report's cases as CSV: a line a judge, case and criterion."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.calibrationtext import calibration_word
from judgeharness_integrations.reporting.caseoutcome import case_outcome
from judgeharness_integrations.reporting.runs.goldlabels import gold_of
from judgeharness_integrations.usage import tokens_of
from judgeharness_integrations.verdictlog.encoding import defused
from judgeharness_integrations.verdictlog.row import Verdict, verdict_to_json

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import RunReport
    from judgeharness_integrations.result import CriterionResult, HarnessResult
    from judgeharness_integrations.usage import Usage

__all__ = ["CASE_COLUMNS", "case_table"]

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
            writer.writerow([_shown(cells.get(column)) for column in CASE_COLUMNS])
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


def _shown(cell: _Cell) -> _Cell:
    return defused(cell) if isinstance(cell, str) else cell
