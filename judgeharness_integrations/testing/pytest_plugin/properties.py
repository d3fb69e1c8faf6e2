"""A measurement as JUnit properties of the test that asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.reporting.plain import distribution_text, number_text, safe_text
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import verdict_text

__all__ = ["properties"]


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
