"""What `judgeharness plan` does: a configuration and a pilot are read, nothing is asked."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_case, by_criterion
from judgeharness_integrations.aggregation.rules import Rule, pass_mark, rule
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._plan_certify import certificate_plan, print_certificate
from judgeharness_integrations.cli.plan import PlanRequest
from judgeharness_integrations.planning import (
    Components,
    Facts,
    Goal,
    GStudy,
    Limits,
    Pilot,
    gstudy,
    pilot_of,
    planned,
)
from judgeharness_integrations.planning.report import Wanted
from judgeharness_integrations.replay import rows_about, rows_of_judges

if TYPE_CHECKING:
    from judgeharness_integrations.prices import Price
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["print_plan"]

_WIDTH: Final = 0.1
_PARTS: Final = 3


@dataclass(frozen=True, kw_only=True)
class _Configured:
    """What of a configuration matters here."""

    cases: int | None = None
    present: tuple[int, int] | None = None
    max_calls: int | None = None
    rule: Rule | None = None
    min_valid: int | None = None
    temperature: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    told: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Read:
    """What a log says."""

    pilot: Pilot | None = None
    variances: GStudy | None = None
    every: Sequence[VerdictRow] = ()


def print_plan(asked: PlanRequest) -> None:
    """Plan and print."""
    _check(asked)
    configured = _Configured() if asked.config is None else _configured(asked.config)
    folds = configured.rule if asked.rule is None else rule(asked.rule)
    wanted = Wanted(
        goal=_goal(asked),
        rule=folds,
        min_valid=configured.min_valid,
        rate=asked.rate,
        perturbations=asked.perturbations,
        present=configured.present,
        sensitivity=asked.sensitivity,
        specificity=asked.specificity,
    )
    read = _Read() if asked.pilot is None else _read(asked.pilot, asked.judge, asked.criterion, folds)
    price, money = _price_per_call(asked, configured, read.every)
    limits = Limits(
        cases=configured.cases if asked.cases is None else asked.cases,
        calls=configured.max_calls if asked.budget is None else asked.budget,
        price_per_call=price,
    )
    if asked.sensitivity is not None and limits.cases is None:
        raise UsageError("a corrected rate needs the number of judged cases: give --cases, or a configuration of them.")
    report = planned(
        wanted,
        pilot=read.pilot,
        variances=read.variances,
        components=None if asked.variance is None else _declared(asked.variance),
        limits=limits,
        facts=Facts(labels=asked.labels, temperature=configured.temperature),
    )
    certificate = None
    if asked.certify is not None and read.pilot is not None:
        about = rows_about(read.every, [read.pilot.criterion])
        certificate = certificate_plan(
            about,
            agreement=asked.certify,
            delta=asked.delta,
            assurance=wanted.goal.share,
            candidates=1 if asked.candidates is None else asked.candidates,
            rule=folds,
        )
    if asked.as_json:
        print_json(report.to_dict() | ({} if certificate is None else {"certificate": asdict(certificate)}))
        return
    from judgeharness_integrations.cli._plan_tables import print_planning  # noqa: PLC0415 - JSON needs no tables

    print_planning(report, money=money)
    if certificate is not None:
        print_certificate(certificate)


def _check(asked: PlanRequest) -> None:
    if asked.width is not None and asked.difference is not None:
        raise UsageError("give --width or --difference, not both: they are two goals.")
    if asked.variance is not None and asked.pilot is not None:
        raise UsageError("give --pilot or --variance, not both: the pilot measures what --variance declares.")
    if asked.pilot is None and (asked.judge is not None or asked.criterion is not None):
        raise UsageError("--judge and --criterion choose rows of a pilot: give --pilot LOG.")
    if asked.certify is not None and asked.pilot is None:
        raise UsageError("--certify needs votes with gold labels: give --pilot LOG.")
    if asked.certify is None and asked.candidates is not None:
        raise UsageError("--candidates are those a certificate is chosen from: give --certify AGREEMENT, too.")
    if (asked.sensitivity is None) != (asked.specificity is None):
        raise UsageError("a corrected rate needs both --sensitivity and --specificity.")


def _goal(asked: PlanRequest) -> Goal:
    if asked.difference is None:
        return Goal(value=_WIDTH if asked.width is None else asked.width, assurance=asked.assured)
    return Goal(kind="difference", value=asked.difference, correlation=asked.correlation, assurance=asked.assured)


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
    asked: PlanRequest, configured: _Configured, rows: Sequence[VerdictRow]
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


def _read(log: Path, judge: str | None, criterion: str | None, folds: Rule | None) -> _Read:
    """Return what a log says of one judge and criterion: the pilot, where its variance is, all rows of that judge."""
    from judgeharness_integrations.cli._reading import rows_of_log  # noqa: PLC0415 - only pilots are read

    every = rows_of_log(log)
    rows = rows_about(every, None if criterion is None else [criterion])
    pattern = judge is not None and "*" in judge
    names = fnmatch.filter({row.judge for row in rows}, judge) if pattern and judge is not None else []
    judges = rows_of_judges(rows, names or (None if judge is None else [judge]))
    if len(judges) > 1 and not pattern:
        raise UsageError(f"{log} holds {len(judges)} judges: choose one with --judge, or its prompts with a pattern.")
    groups = by_criterion([row for mine in judges.values() for row in mine])
    if len(groups) > 1:
        raise UsageError(f"{log} holds {len(groups)} criteria: choose one with --criterion.")
    [group] = groups.values()
    asked = [_under_prompt(row, judge or "") for row in group] if pattern else group
    pilot = pilot_of(asked, pass_at=None if folds is None else pass_mark(folds))
    mine = [row for row in every if row.judge in judges]  # tokens stand on a call's first row
    return _Read(pilot=pilot, variances=gstudy(group, positive=pilot.positive), every=mine)


def _under_prompt(row: VerdictRow, pattern: str) -> VerdictRow:
    """Return the row of a judge that is one prompt of several as one under a perturbation of that name."""
    return replace(row, judge=pattern, perturbation=f"{row.judge}+{row.perturbation}")


def _configured(path: Path) -> _Configured:
    """Read a configuration, and the number of its cases; no judge is built."""
    from judgeharness_integrations.cli._plan_money import Asking, money_notes  # noqa: PLC0415 - few give one
    from judgeharness_integrations.config import build_cases, load_config  # noqa: PLC0415
    from judgeharness_integrations.config.importing import imported_rule  # noqa: PLC0415
    from judgeharness_integrations.plan import Plan  # noqa: PLC0415
    from judgeharness_integrations.presets import preset  # noqa: PLC0415
    from judgeharness_integrations.pricetable import prices_of  # noqa: PLC0415

    config = load_config(path)
    harness: dict[str, Any] = config.harness.model_dump(exclude_none=True)
    if config.harness.shape is not None:
        harness = preset(config.harness.preset or "standard", config.harness.shape) | harness
    folds: str | None = harness.get("aggregation_rule")
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
        rule=None if folds is None else imported_rule(folds, folder=config.folder, where="harness.aggregation_rule"),
        min_valid=config.harness.min_valid,
        temperature=temperature if isinstance(temperature, (int, float)) else None,
    )
