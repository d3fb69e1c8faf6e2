"""`summary.json` of a run: per judge and criterion what was decided, from the rows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from judgeharness_integrations import __version__
from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.aggregation.grouping import DEFAULT_CRITERION, by_criterion
from judgeharness_integrations.cli._failures import failures, without_replay_advice
from judgeharness_integrations.config import Config, redacted, without_secrets
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.plan import Plan
from judgeharness_integrations.replay import CaseDecision, JudgeReplay, case_decisions, replay_criterion
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_to_json

__all__ = ["RUN_SCHEMA", "JudgeTally", "summary_document"]

RUN_SCHEMA = "judgeharness.run/1"


@dataclass(kw_only=True)
class JudgeTally:
    """One judge of a run: what was planned (case id -> samples), and what its results say beyond their rows."""

    judge: Judge
    model: str | None
    plan: Plan
    planned: Mapping[str, int]
    states: Counter[str] = field(default_factory=Counter)
    tolerances: dict[str, float] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    rewrites: int = 0
    fingerprint: str | None = None
    calibration: dict[str, Any] | None = None

    def add(self, result: HarnessResult, document: Mapping[str, Any]) -> None:
        """Take in the result of one case."""
        self.states[result.state] += 1
        self.rewrites += result.usage.rewrites
        self.fingerprint = result.fingerprint
        self.calibration = document["calibration"] or self.calibration
        self.warnings.update(dict.fromkeys(result.warnings))
        self.skipped.update(result.skipped.keys())  # counts names; a mapping would add up its reasons
        for name, measured in result.criteria.items():
            if measured.tolerance is not None:
                self.tolerances[name] = measured.tolerance


def summary_document(
    config: Config,
    harness: JudgeHarness,
    tallies: Sequence[JudgeTally],
    rows: Sequence[VerdictRow],
    *,
    stopped: BaseException | None = None,
) -> dict[str, Any]:
    """Return the summary of a run as JSON keeps it; cases that were not finished are counted as not graded.

    `judged_cases` have a row; `not_asked_cases` have none (never asked, or cut off before an answer) and are among
    `not_graded_cases`. `attempts_spent` is what the budget counted: rewrites, calibration and calls that were cut off
    included; `attempts` in `usage` is what the rows say. `stopped` is what ended the run early, an interrupt or an
    error.
    """
    settings = config.model_dump(mode="json", exclude_none=True)
    judges = [
        _judge(tally, harness, [row for row in rows if row.judge == tally.judge.name], settings) for tally in tallies
    ]
    error = _error(judges, stopped)
    return {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "run": harness.run,
        "state": _state(harness, tallies, stopped, error),
        "error": None if error is None else without_secrets(error, settings),
        "rule": harness.design.rule.name,
        "rule_fixed": "before",
        "perturbations": list(harness.design.perturbations),
        "repetitions": harness.design.repetitions,
        **{
            name: sum(judge[name] for judge in judges)
            for name in ("judged_cases", "not_graded_cases", "not_asked_cases")
        },
        "attempts_spent": None if harness.budget is None else harness.budget.spent,
        "usage": _total([judge["usage"] for judge in judges]),
        "judges": judges,
        "config": redacted(settings),
    }


def _error(judges: Sequence[Mapping[str, Any]], stopped: BaseException | None) -> str | None:
    if isinstance(stopped, Exception):
        return str(stopped)
    return next((entry["error"] for judge in judges for entry in judge["criteria"] if entry["error"]), None)


def _state(
    harness: JudgeHarness, tallies: Sequence[JudgeTally], stopped: BaseException | None, error: str | None
) -> str:
    if error is not None:
        return "failed"
    if stopped is not None or any(tally.states["interrupted"] for tally in tallies):
        return "interrupted"
    return "budget_exhausted" if harness.budget is not None and harness.budget.exhausted else "complete"


def _judge(
    tally: JudgeTally, harness: JudgeHarness, rows: Sequence[VerdictRow], settings: Mapping[str, Any]
) -> dict[str, Any]:
    declared = [criterion.name for criterion in tally.judge.criteria or ()]
    groups = by_criterion(rows, declared) or {DEFAULT_CRITERION: []}
    missing: set[str] = set()
    criteria = [_criterion(tally, harness, name, group, missing) for name, group in groups.items()]
    unasked = len(tally.planned.keys() - {row.case_id for row in rows})
    identity = tally.judge.identity
    return {
        "judge": tally.judge.name,
        "model": tally.model or (identity.model if identity is not None else None),
        "identity": None if identity is None else redacted(identity.to_dict()),
        "fingerprint": tally.fingerprint,
        "plan": {**asdict(tally.plan), "total": tally.plan.total},
        "judged_cases": len(tally.planned) - unasked,
        "not_graded_cases": len(missing),
        "not_asked_cases": unasked,
        "criteria": criteria,
        "failures": failures(rows, settings),
        "calibration": tally.calibration,
        "skipped_perturbations": dict(tally.skipped),
        "warnings": list(tally.warnings),
        "usage": _usage(rows, tally.rewrites),
    }


def _criterion(
    tally: JudgeTally, harness: JudgeHarness, name: str, rows: Sequence[VerdictRow], missing: set[str]
) -> dict[str, Any]:
    error = None
    try:
        with without_replay_advice():
            measured, cases = _folded(tally, harness, name, rows)
    except JudgeHarnessError as problem:  # the rule cannot read these answers: nothing of them is graded
        error = str(problem)
        measured, cases = _folded(tally, harness, name, [])
    missing.update(case.case_id for case in cases if case.decision.status == "not_graded")
    verdicts = Counter(case.decision.verdict for case in cases if case.decision.status == "decided")
    interval = measured.accuracy_interval
    return {
        **measured.to_dict(),
        "accuracy_decided_95": None if interval is None else list(interval),
        "decided_with_gold": measured.labelled,
        "verdicts": [
            {"verdict": verdict_to_json(verdict), "count": count} for verdict, count in verdicts.most_common()
        ],
        "error": error,
    }


def _folded(
    tally: JudgeTally, harness: JudgeHarness, name: str, rows: Sequence[VerdictRow]
) -> tuple[JudgeReplay, list[CaseDecision]]:
    design = harness.design
    common: dict[str, Any] = {"min_valid": design.min_valid, "planned": tally.planned}
    tolerance = tally.tolerances.get(name, design.tolerance)
    measured = replay_criterion(
        rows, design.rule, judge=tally.judge.name, criterion=name, tolerance=tolerance, **common
    )
    return measured, list(case_decisions(rows, design.rule, **common))


def _usage(rows: Sequence[VerdictRow], rewrites: int) -> dict[str, Any]:
    """Return what the rows say a judge cost; tokens and seconds are None where no call reported them."""

    def total(name: str) -> Any:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        return sum(known) if known else None

    made = [row for row in rows if row.attempts != 0]  # a perturbation that failed left nothing to ask
    calls = {row.key if row.call_id is None else row.call_id for row in made}
    return {
        "calls": len(calls),
        "rewrites": rewrites,
        **{name: total(name) for name in ("attempts", "input_tokens", "output_tokens", "latency_s")},
    }


def _total(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for usage in usages for name in usage)
    known = {name: [usage[name] for usage in usages if usage[name] is not None] for name in names}
    return {name: sum(values) if values else None for name, values in known.items()}
