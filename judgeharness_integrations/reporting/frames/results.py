"""Results as a data frame: one row a case, judge and criterion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.reporting.calibrationtext import calibration_word
from judgeharness_integrations.reporting.frames.building import Columns, frame, label_and_score
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import TOKENS

if TYPE_CHECKING:
    import pandas as pd

    from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["report_frame", "result_frame", "results_frame"]

_COLUMNS: Final[Columns] = {
    "case_id": "text",
    "judge": "text",
    "judge_model": "text",
    "criterion": "text",
    "verdict": "text",
    "score": "number",
    "status": "text",
    "reason": "text",
    "planned": "count",
    "taken": "count",
    "ok": "count",
    "unparsed": "count",
    "refused": "count",
    "error": "count",
    "consistency_rate": "number",
    "chance_consistency": "number",
    "agreement": "number",
    "unbiased_rate": "number",
    "sd": "number",
    "largest_flip_rate": "number",
    "effective_samples": "count",
    "samples": "text",
    "censored": "flag",
    "aggregation_rule": "text",
    "rule_fixed": "text",
    "perturbations": "text",
    "repetitions": "count",
    "informal": "flag",
    "state": "text",
    "calibration": "text",
    "calibration_source": "text",
    "calibrated_precision": "number",
    "calibrated_recall": "number",
    "calls": "count",
    "attempts": "count",
    "input_tokens": "count",
    "output_tokens": "count",
    "latency_s": "number",
    "cached_input_tokens": "count",
    "cache_write_tokens": "count",
    "fingerprint": "text",
}


def results_frame(results: Iterable[HarnessResult]) -> pd.DataFrame:
    """Return one row a case, judge and criterion.

    `verdict` is text, ABSTAIN when abstained and NA when not graded; `score` is the same as a number where it is one.
    Counts of samples are by outcome. `largest_flip_rate` is that of the perturbation that flips most. `calibration` is
    `valid`, `expired`, `unverifiable` or, of a model's labels, `agreement with` it, NA without one. What a case used
    stands in the row of its first criterion, so that sums are right.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    return frame((record for result in results for record in _records(result)), _COLUMNS)


def result_frame(result: HarnessResult) -> pd.DataFrame:
    """Return one row a criterion of a result, as `results_frame` does."""
    return results_frame([result])


def report_frame(report: RunReport) -> pd.DataFrame:
    """Return one row a judge, case and criterion of a report, as `results_frame` does."""
    return results_frame(report.results)


def _records(result: HarnessResult) -> Iterator[dict[str, Any]]:
    used: dict[str, Any] = {name: getattr(result.usage, name) for name in _USED}
    for measured in result.criteria.values():
        yield _case(result) | _criterion(measured) | _calibrated(result, measured.criterion) | _folding(result) | used
        used = {}


_USED = ("calls", "attempts", *TOKENS, "latency_s")


def _case(result: HarnessResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in ("case_id", "judge", "judge_model", "state", "fingerprint")}


def _criterion(measured: CriterionResult) -> dict[str, Any]:
    verdict, score = label_and_score(measured.verdict)
    flips = [p.flip_rate for p in measured.perturbations if p.flip_rate is not None]
    names = ("criterion", "status", "reason", "planned", "taken", "agreement", "unbiased_rate", "sd", "censored")
    return {
        **{name: getattr(measured, name) for name in names},
        **measured.outcomes,
        "verdict": verdict,
        "score": score,
        "largest_flip_rate": max(flips, default=None),
        "effective_samples": measured.independence.effective,
        "samples": measured.independence.status,
        "consistency_rate": measured.consistency_rate,
        "chance_consistency": measured.chance_consistency,
    }


def _calibrated(result: HarnessResult, criterion: str) -> dict[str, Any]:
    word, rates = calibration_word(result, criterion), result.calibrated(criterion)
    return {
        "calibration": None if word == "none" else word,
        "calibration_source": result.calibration_source,
        "calibrated_precision": None if rates is None or rates.precision is None else rates.precision.value,
        "calibrated_recall": None if rates is None or rates.recall is None else rates.recall.value,
    }


def _folding(result: HarnessResult) -> dict[str, Any]:
    """Return how the samples were taken and folded; of a single one nothing was folded, nor is it consistent."""
    taken = {
        "perturbations": ", ".join(result.perturbations),
        "repetitions": result.repetitions,
        "informal": result.informal,
    }
    if result.informal:
        return taken | {"consistency_rate": None, "chance_consistency": None}
    return taken | {"aggregation_rule": result.aggregation_rule, "rule_fixed": result.rule_fixed}
