"""Where the spread of a rubric's verdicts comes from: cases, runs of a case in an evaluation, samples of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.aggregation.variance import variance_split
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["RubricVariance", "rubric_variances"]


@dataclass(frozen=True, kw_only=True)
class RubricVariance:
    """Variance components of "a single sample says PASS" (1 or 0), for one rubric under one configuration.

    `between_cases`: the turns of eval cases differ. `between_runs`: the agent answers differently when a case is run
    again in one evaluation (`num_runs`). `between_samples`: the judge says different things about one answer,
    perturbations included. A case that was evaluated twice counts as two cases: between evaluations the agent, its
    model or its tools may have been changed, which is no noise of the agent, so it must not enter `between_runs`. What
    evaluations differ by is therefore in `between_cases`, which cases that come twice otherwise make too small:
    `AdkResults.latest` is free of both.

    None means not estimable: one case, one run of each case, one sample of each run, or samples that may stop early
    (`curtail`). Where no case ran twice, `between_cases` holds what runs would add to it. Components that came out
    negative are 0 and named in `clipped`.
    `cases`, `runs` and `samples` count what the estimate rests on; samples that failed are in none of them.
    """

    metric: str
    rubric: str
    fingerprint: str | None
    between_cases: float | None
    between_runs: float | None
    between_samples: float | None
    cases: int
    runs: int
    samples: int
    clipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return one line: the components, and what they rest on."""
        parts = {"cases": self.between_cases, "runs": self.between_runs, "samples": self.between_samples}
        shown = ", ".join(f"{name} {component_text(value)}" for name, value in parts.items())
        counts = f"{self.cases} cases, {self.runs} runs, {self.samples} samples"
        clipped = f"; negative, set to 0: {', '.join(self.clipped)}" if self.clipped else ""
        return f"{safe_text(self.metric, 80)} · {safe_text(self.rubric, 60)}: between {shown} ({counts}{clipped})"


def component_text(value: float | None) -> str:
    """Return a component with three decimals, `-` when it cannot be estimated."""
    return "-" if value is None else f"{value:.3f}"


def rubric_variances(results: Sequence[AdkResult]) -> tuple[RubricVariance, ...]:
    """Split the variance of each metric, configuration and rubric.

    Invocations that no result of ADK knows are left out; where none is known, each is a case of its own. Metrics
    whose questions are others in every invocation (sentences) have no variance between cases or runs.
    """
    whole = [one for one in results if not one.result.counts_alone]
    known = [one for one in whole if one.joined] or whole
    groups: dict[tuple[str, str | None, str], list[VerdictRow]] = {}
    for one in known:
        if one.pooled is None:
            for rubric in one.result.criteria:
                rows = [row for row in one.result.rows if row.criterion == rubric]
                groups.setdefault((one.metric, one.fingerprint, rubric), []).extend(_nested(one, rows))
    return tuple(_split(*key, rows) for key, rows in groups.items())


def _nested(one: AdkResult, rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Return valid rows with the turn of an evaluation's eval case as case and the run as what is nested in it."""
    place = [one.evaluation, one.app, one.eval_set_id, one.eval_id, one.turn] if one.joined else [one.result.case_id]
    case_id = json.dumps(place)
    return [replace(row, case_id=case_id, perturbation=str(one.run)) for row in rows if row.verdict is not None]


def _split(metric: str, fingerprint: str | None, rubric: str, rows: Sequence[VerdictRow]) -> RubricVariance:
    split = variance_split([] if samples_planned(rows) else rows)
    return RubricVariance(
        metric=metric,
        rubric=rubric,
        fingerprint=fingerprint,
        between_cases=split.between_cases,
        between_runs=split.between_perturbations,
        between_samples=split.between_repetitions,
        cases=len({row.case_id for row in rows}),
        runs=len({(row.case_id, row.perturbation) for row in rows}),
        samples=len(rows),
        clipped=tuple({"perturbations": "runs"}.get(name, name) for name in split.clipped),
    )
