"""What `judgeharness plan` does: a configuration and a pilot are read, nothing is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_case, by_criterion
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.planning import Components, Facts, Goal, Limits, Pilot, pilot_of, planned
from judgeharness_integrations.planning.advice import LabelSource
from judgeharness_integrations.planning.report import Wanted
from judgeharness_integrations.replay import rows_about, rows_of_judges

if TYPE_CHECKING:
    from judgeharness_integrations.prices import Price
    from judgeharness_integrations.verdictlog.row import VerdictRow

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
    prices: Mapping[str, Price] = field(default_factory=dict)
    told: tuple[str, ...] = ()


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
    pilot, rows = (None, ()) if asked.pilot is None else _pilot(asked.pilot, asked.judge, asked.criterion)
    price, money = _price_per_call(asked, configured, rows)
    limits = Limits(
        cases=configured.cases if asked.cases is None else asked.cases,
        calls=configured.max_calls if asked.budget is None else asked.budget,
        price_per_call=price,
    )
    if asked.sensitivity is not None and limits.cases is None:
        raise UsageError("a corrected rate needs the number of judged cases: give --cases, or a configuration of them.")
    report = planned(
        wanted,
        pilot=pilot,
        components=None if asked.variance is None else _declared(asked.variance),
        limits=limits,
        facts=Facts(labels=asked.labels, temperature=configured.temperature),
    )
    if as_json:
        print_json(report.to_dict())
        return
    from judgeharness_integrations.cli._plan_tables import print_planning  # noqa: PLC0415 - JSON needs no tables

    print_planning(report, money=money)


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


def _price_per_call(
    asked: Asked, configured: _Configured, rows: Sequence[VerdictRow]
) -> tuple[float | None, Sequence[str]]:
    """Return what a call costs, and where that is known from: --price, else the pilot's calls by the prices."""
    if asked.price is not None or not configured.prices:
        return asked.price, ()
    if not rows:
        return None, configured.told
    from judgeharness_integrations.cli._summary_usage import UsageSums, bill_of  # noqa: PLC0415 - loads SQLAlchemy

    sums = UsageSums()
    for case in by_case(rows).values():
        sums.add(case)
    calls, bill = sum(used.made_calls for used in sums.usages), bill_of(sums.usages, configured.prices)
    if bill.cost is None or not calls:
        return None, (f"money: not known: {'; '.join(bill.remarks) or 'the pilot made no calls'}",)
    each = bill.cost / calls
    why = "; ".join((f"the mean of the pilot's {calls} calls by the prices given", *bill.remarks))
    return each, (f"money: {each:.5f} a call, {why}",)


def _pilot(log: Path, judge: str | None, criterion: str | None) -> tuple[Pilot, Sequence[VerdictRow]]:
    """Return what a log says of one judge and criterion, and all rows of that judge."""
    from judgeharness_integrations.verdictlog import read_log  # noqa: PLC0415 - only pilots are read

    every = read_log(log)
    rows = rows_about(every, None if criterion is None else [criterion])
    judges = rows_of_judges(rows, None if judge is None else [judge])
    if len(judges) > 1:
        raise UsageError(f"{log} holds {len(judges)} judges: choose one with --judge.")
    [(name, mine)] = judges.items()
    groups = by_criterion(mine)
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} criteria: choose one with --criterion.")
    [group] = groups.values()
    return pilot_of(group), [row for row in every if row.judge == name]  # tokens stand on a call's first row


def _configured(path: Path) -> _Configured:
    """Read a configuration, and the number of its cases; no judge is built."""
    from judgeharness_integrations.cli._plan_money import Asking, money_notes  # noqa: PLC0415 - few give one
    from judgeharness_integrations.config import build_cases, load_config  # noqa: PLC0415
    from judgeharness_integrations.plan import Plan  # noqa: PLC0415
    from judgeharness_integrations.presets import preset  # noqa: PLC0415
    from judgeharness_integrations.pricetable import prices_of  # noqa: PLC0415

    config = load_config(path)
    harness: dict[str, Any] = config.harness.model_dump(exclude_none=True)
    if config.harness.shape is not None:
        harness = preset(config.harness.preset or "standard", config.harness.shape) | harness
    temperatures = {judge.model_options.get("temperature") for judge in config.judges}
    temperature = temperatures.pop() if len(temperatures) == 1 else None
    cases = None if config.cases is None else build_cases(config)
    prices = prices_of(config)
    single = Plan(cases=1, calls=1)
    asking = [Asking(judge=judge.name, model=judge.model, plan=single) for judge in config.judges]
    return _Configured(
        cases=None if cases is None else len(cases),
        prices=prices,
        told=tuple(money_notes(asking, prices, cases or ())),
        present=(len(harness["perturbations"]), harness["repetitions"]),
        max_calls=config.execution.max_calls,
        temperature=temperature if isinstance(temperature, (int, float)) else None,
    )
