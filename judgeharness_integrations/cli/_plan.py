"""What `judgeharness plan` does: a configuration and a pilot are read, nothing is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.planning import Components, Facts, Goal, Limits, Pilot, pilot_of, planned
from judgeharness_integrations.planning.advice import LabelSource
from judgeharness_integrations.planning.report import Wanted
from judgeharness_integrations.replay import rows_about, rows_of_judges

__all__ = ["Asked", "print_plan"]

_WIDTH: Final = 0.1
_PARTS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of the command."""

    config: Path | None
    pilot: Path | None
    judge: str | None
    criterion: str | None
    variance: str | None
    width: float | None
    difference: float | None
    paired: bool
    correlation: float
    rate: float
    sensitivity: float | None
    specificity: float | None
    cases: int | None
    perturbations: int | None
    budget: int | None
    price: float | None
    labels: LabelSource | None


@dataclass(frozen=True, kw_only=True)
class _Configured:
    """What of a configuration matters here."""

    cases: int | None = None
    present: tuple[int, int] | None = None
    max_calls: int | None = None
    temperature: float | None = None


def print_plan(asked: Asked, *, as_json: bool) -> None:
    """Plan and print."""
    _check(asked)
    configured = _Configured() if asked.config is None else _configured(asked.config)
    wanted = Wanted(
        goal=_goal(asked),
        rate=asked.rate,
        perturbations=asked.perturbations,
        present=configured.present,
        sensitivity=asked.sensitivity,
        specificity=asked.specificity,
    )
    limits = Limits(
        cases=configured.cases if asked.cases is None else asked.cases,
        calls=configured.max_calls if asked.budget is None else asked.budget,
        price_per_call=asked.price,
    )
    if asked.sensitivity is not None and limits.cases is None:
        raise UsageError("a corrected rate needs the number of judged cases: give --cases, or a configuration of them.")
    report = planned(
        wanted,
        pilot=None if asked.pilot is None else _pilot(asked.pilot, asked.judge, asked.criterion),
        components=None if asked.variance is None else _declared(asked.variance),
        limits=limits,
        facts=Facts(labels=asked.labels, temperature=configured.temperature),
    )
    if as_json:
        print_json(report.to_dict())
        return
    from judgeharness_integrations.cli._plan_tables import print_planning  # noqa: PLC0415 - JSON needs no tables

    print_planning(report)


def _check(asked: Asked) -> None:
    if asked.width is not None and asked.difference is not None:
        raise UsageError("give --width or --difference, not both: they are two goals.")
    if asked.variance is not None and asked.pilot is not None:
        raise UsageError("give --pilot or --variance, not both: the pilot measures what --variance declares.")
    if asked.pilot is None and (asked.judge is not None or asked.criterion is not None):
        raise UsageError("--judge and --criterion choose rows of a pilot: give --pilot LOG.")
    if (asked.sensitivity is None) != (asked.specificity is None):
        raise UsageError("a corrected rate needs both --sensitivity and --specificity.")


def _goal(asked: Asked) -> Goal:
    if asked.difference is None:
        return Goal(kind="width", value=_WIDTH if asked.width is None else asked.width)
    return Goal(kind="difference", value=asked.difference, paired=asked.paired, correlation=asked.correlation)


def _declared(text: str) -> Components:
    """Return the components of `0.15,0.02,0.05`."""
    try:
        parts = [float(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) != _PARTS:
        raise UsageError(f"--variance is three numbers, CASES,PERTURBATIONS,REPETITIONS, not {text!r:.60}.")
    cases, perturbations, repetitions = parts
    return Components(cases=cases, perturbations=perturbations, repetitions=repetitions, notes=("declared",))


def _pilot(log: Path, judge: str | None, criterion: str | None) -> Pilot:
    from judgeharness_integrations.verdictlog import read_log  # noqa: PLC0415 - only pilots are read

    rows = rows_about(read_log(log), None if criterion is None else [criterion])
    judges = rows_of_judges(rows, None if judge is None else [judge])
    if len(judges) > 1:
        raise UsageError(f"{log} holds {len(judges)} judges: choose one with --judge.")
    [mine] = judges.values()
    groups = by_criterion(mine)
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} criteria: choose one with --criterion.")
    [group] = groups.values()
    return pilot_of(group)


def _configured(path: Path) -> _Configured:
    """Read a configuration, and the number of its cases; no judge is built."""
    from judgeharness_integrations.config import build_cases, load_config  # noqa: PLC0415 - few give one
    from judgeharness_integrations.presets import preset  # noqa: PLC0415

    config = load_config(path)
    harness: dict[str, Any] = config.harness.model_dump(exclude_none=True)
    if config.harness.shape is not None:
        harness = preset(config.harness.preset or "standard", config.harness.shape) | harness
    temperatures = {judge.model_options.get("temperature") for judge in config.judges}
    temperature = temperatures.pop() if len(temperatures) == 1 else None
    return _Configured(
        cases=None if config.cases is None else len(build_cases(config)),
        present=(len(harness["perturbations"]), harness["repetitions"]),
        max_calls=config.execution.max_calls,
        temperature=temperature if isinstance(temperature, (int, float)) else None,
    )
