"""What a certificate takes, by a labelled pilot: the part of `judgeharness plan` that `--certify` adds."""

from __future__ import annotations

import fnmatch
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.grouping import Clusters, by_case, by_criterion, without_copies
from judgeharness_integrations.analysis.aggregation.rules import Rule, pass_mark, rule
from judgeharness_integrations.analysis.calibration.items import check_candidates, simultaneous_alpha
from judgeharness_integrations.analysis.calibration.population import column_text
from judgeharness_integrations.analysis.certifying.sequence import CertificatePrice, agreed_votes, stratified_prices
from judgeharness_integrations.analysis.planning import (
    Components,
    Facts,
    Goal,
    GStudy,
    Limits,
    Pilot,
    PlanningReport,
    gstudy,
    pilot_of,
    planned,
)
from judgeharness_integrations.analysis.planning.grid import early_stopping
from judgeharness_integrations.analysis.planning.report import Wanted
from judgeharness_integrations.analysis.replay import rows_about, rows_of_judges
from judgeharness_integrations.analysis.runs.folder import rule_of_run
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.reporting.terminal import console, say, show_section, table
from judgeharness_integrations.verdictlog.encoding import SENTENCE, check_columns, counted, percent, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow, voting

from ._asking import Asking, asked_tiers, input_of, money_notes
from ._command import names_in
from ._label_options import PlanRequest
from ._output import print_json

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.usage import Price

_PRICED: Final = "majority"


@dataclass(frozen=True, kw_only=True)
class CertificatePlan:
    """What a certificate takes: `by_votes` a case; `labels` is how many the pilot holds.

    `assurance` is the share of studies in which it is to be granted, `candidates` of how many it is the chosen one.
    `strata` are those of the column `by`, each of which is granted in that share of studies; no number of labels
    does for those of `beyond`.
    """

    agreement: float
    delta: float
    assurance: float
    candidates: int
    labels: int
    by_votes: tuple[CertificatePrice, ...]
    by: str | None = None
    strata: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


def certificate_plan(
    rows: Sequence[VerdictRow],
    *,
    agreement: float,
    delta: float,
    assurance: float,
    candidates: int,
    rule: Rule | None,
    by: str | None = None,
) -> CertificatePlan:
    """Return what a certificate takes by the votes of one criterion of a pilot, of each stratum where `by` says them.

    Raises:
        UsageError: the pilot does not tell, labelled cases share clusters, as prices are of independent ones, or the
            rule is not the one that is priced.

    """
    check_candidates(candidates)
    rows, _ = without_copies(rows)  # what the pilot's notes say of them is printed with the plan
    _check_priced(rows, rule)
    strata, labels = _strata(rows, by), len(agreed_votes(by_case(rows).values()))
    level = simultaneous_alpha(delta, candidates)
    asked: dict[str, Any] = {"agreement": agreement, "share": assurance, "cases": labels}
    prices = stratified_prices(list(strata.values()), delta=level, labels=labels, **asked)
    if not prices:
        of_each = "" if by is None else f", in each stratum of {by}"
        raise UsageError(
            "--certify needs a pilot with gold labels and several votes a case, which differ within cases and between "
            f"them{of_each}: give such a --pilot LOG{'' if by is None else ', or plan without --by'}."
        )
    return CertificatePlan(
        agreement=agreement,
        delta=delta,
        assurance=assurance,
        candidates=candidates,
        labels=labels,
        by_votes=prices,
        by=by,
        strata=() if by is None else tuple(strata),
        beyond=()
        if by is None or _done(prices)
        else tuple(
            name
            for name, votes in strata.items()
            if not _done(stratified_prices([votes], delta=level / len(strata), **asked))
        ),
    )


def _done(prices: Sequence[CertificatePrice]) -> bool:
    """Whether some number of labels does."""
    return any(price.labels is not None for price in prices)


def _check_priced(rows: Sequence[VerdictRow], rule: Rule | None) -> None:
    if rule is not None and rule.name != _PRICED:
        raise UsageError(
            f"--certify prices decisions of the rule {_PRICED}, not of {rule.name}: give --rule {_PRICED}, or certify "
            "a labelled log under your rule, whose refusal says how many labels would do."
        )
    belonging = Clusters.of_rows(rows)
    labelled = [case_id for (_, case_id), mine in by_case(rows).items() if any(row.gold is not None for row in mine)]
    clusters = [belonging.of(case_id) for case_id in labelled]
    if len(set(clusters)) < len(clusters):
        raise UsageError(
            f"{len(clusters)} labelled cases of the pilot are in {len(set(clusters))} clusters, and --certify tells "
            "what a certificate takes of independent cases: give a --pilot LOG with one labelled case a cluster."
        )


def _strata(rows: Sequence[VerdictRow], by: str | None) -> dict[str, list[tuple[int, int]]]:
    """Return the votes of the labelled cases of each stratum; a case without a value is in none."""
    if by is None:
        return {"": agreed_votes(by_case(rows).values())}
    check_columns(by, {name for row in rows for name in row.attributes})
    strata: dict[str, list[Sequence[VerdictRow]]] = {}
    for mine in by_case(rows).values():
        if any(row.gold is not None for row in mine) and (name := column_text(mine, by)) is not None:
            strata.setdefault(name, []).append(mine)
    return {name: agreed_votes(cases) for name, cases in strata.items()}


def print_certificate(plan: CertificatePlan) -> None:
    """Print what a certificate takes."""
    screen = console()
    promise = f"decisions agree with labels {100 * plan.agreement:g} % of the time, with {100 * (1 - plan.delta):g} %"
    say(screen, f"certificate that {promise} confidence, the pilot's votes taken for certain:")
    if plan.by is not None:
        each = f"for each of {counted(len(plan.strata), 'stratum', 'strata')} of {plan.by}, by its part of the pilot's"
        say(screen, safe_text(f"{each} labels and at an equal share of delta"))
    if plan.candidates > 1:
        each = f"the chosen one of {plan.candidates} candidates, each tested at a level of {plan.delta:g} / "
        say(screen, f"{each}{plan.candidates}")
    columns = (
        "votes\na case",
        f"labels, or any\nmore, for {100 * plan.assurance:g} %\nof studies",
        "calls",
        "coverage, %",
        f"granted with\n{plan.labels} labels, %",
    )
    rows = [
        (
            str(one.votes),
            "-" if one.labels is None else str(one.labels),
            "-" if one.calls is None else str(one.calls),
            percent(one.coverage),
            percent(one.chance),
        )
        for one in plan.by_votes
    ]
    screen.print(table("what a certificate takes", columns, rows, texts=0))
    say(screen, _cheapest(plan))
    if met := [one for one in plan.by_votes if (one.chance or 0.0) >= plan.assurance and _beyond(one, plan.labels)]:
        say(screen, _met(plan, met))


def _beyond(price: CertificatePrice, labels: int) -> bool:
    return price.labels is None or price.labels > labels


def _met(plan: CertificatePlan, prices: Sequence[CertificatePrice]) -> str:
    """Return why the labels there are do, although more are asked for: a larger number may do worse."""
    votes = ", ".join(str(one.votes) for one in prices)
    return (
        f"with {votes} votes a case the {plan.labels} labels there are do as well, but not every larger number: with "
        "more labels the tests begin at fewer and surer decisions, and the first that fails ends them"
    )


def _cheapest(plan: CertificatePlan) -> str:
    calls, _, best = min(((one.calls, one.votes, one) for one in plan.by_votes if one.calls), default=(0, 0, None))
    if best is None:
        some = 0 < len(plan.beyond) < len(plan.strata)
        where = f" for {', '.join(plan.beyond)} of {plan.by}" if some else ""
        others = ": the other strata can be certified all the same" if some else ""
        return safe_text(f"no number of labels up to 20,000 does{where} with up to 60 votes a case{others}", SENTENCE)
    return f"fewest calls: {best.labels} labelled cases of {best.votes} votes, {calls} calls"


_WIDTH: Final = 0.1
_PARTS: Final = 3
_LEAST_CACHED, _LEAST_CACHED_BY_SOME = 1_024, 4_096  # tokens


@dataclass(frozen=True, kw_only=True)
class _Configured:
    """What of a configuration matters here."""

    cases: int | None = None
    present: tuple[int, int] | None = None
    max_calls: int | None = None
    rule: Rule | None = None
    min_valid: int | None = None
    temperature: float | None = None
    input_tokens: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    told: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Read:
    """What a log says, and the rule that is planned on: that of the run it is of, where none was named."""

    rule: Rule | None = None
    min_valid: int | None = None
    pilot: Pilot | None = None
    variances: GStudy | None = None
    every: Sequence[VerdictRow] = ()
    asked: Sequence[VerdictRow] = ()


def print_plan(asked: PlanRequest) -> None:
    """Plan and print."""
    _check(asked)
    configured = _Configured() if asked.config is None else _configured(asked.config)
    folds = configured.rule if asked.rule is None else rule(asked.rule)
    read = _Read(rule=folds) if asked.pilot is None else _read(asked.pilot, asked.judge, asked.criterion, folds)
    wanted = Wanted(
        goal=_goal(asked),
        rule=read.rule,
        min_valid=read.min_valid if configured.min_valid is None else configured.min_valid,
        rate=asked.rate,
        perturbations=asked.perturbations,
        present=configured.present,
        sensitivity=asked.sensitivity,
        specificity=asked.specificity,
    )
    price, money = _price_per_call(asked, configured, read.every)
    money = (*money, *_cache_notes(read, configured))
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
    samples, cases = _samples(read, configured)
    folds = rule(report.rule) if read.rule is None else read.rule
    stopping = early_stopping(folds, samples, cases=cases, min_valid=wanted.min_valid)
    report = replace(report, early_stopping=stopping)
    certificate = None
    if asked.certify is not None and read.pilot is not None:
        about = rows_about(read.every, [read.pilot.criterion])
        certificate = certificate_plan(
            about,
            agreement=asked.certify,
            delta=asked.delta,
            assurance=wanted.goal.share,
            candidates=1 if asked.candidates is None else asked.candidates,
            rule=read.rule,
            by=", ".join(names_in(asked.by)) or None,
        )
    if asked.as_json:
        print_json(report.to_dict() | ({} if certificate is None else {"certificate": asdict(certificate)}))
        return
    from judgeharness_integrations.reporting.plan import basis_section, planning_section  # noqa: PLC0415 - JSON needs

    if certificate is not None:
        print_certificate(certificate)
    alone = certificate is None or asked.names_goal
    following = _following(asked, report) if certificate is None else ""
    section = planning_section(report, money=money, following=following) if alone else basis_section(report)
    show_section(section, console(), every=asked.every)


def _following(asked: PlanRequest, report: PlanningReport) -> str:
    """Return the command that comes next: the planned run, or a plan by a pilot where none was given."""
    if report.cheapest is None:
        return ""
    if asked.config is not None:
        return join(["judgeharness", "run", str(asked.config)])
    if asked.pilot is None and asked.variance is None:
        return f"judgeharness plan --pilot LOG --{report.goal.kind} {report.goal.value:g}"
    return ""


def _samples(read: _Read, configured: _Configured) -> tuple[Sequence[tuple[str, bool]], Sequence[Sequence[VerdictRow]]]:
    """Return the samples of most cases of the pilot in plan order, and its cases; else those of the configuration."""
    cases = list(by_case(voting(read.asked)).values())
    if cases:
        asked = Counter(tuple((row.perturbation, row.swapped) for row in mine) for mine in cases)
        return max(asked, key=lambda samples: asked[samples]), cases
    perturbations, repetitions = configured.present or (0, 0)
    names = [(str(number), bool(number % 2)) for number in range(perturbations)]  # half of them swap where it matters
    return [name for name in names for _ in range(repetitions)], ()


def _cache_notes(read: _Read, configured: _Configured) -> Iterator[str]:
    """Say that prompts are too short for the providers' prompt caches, where repetitions would read them."""
    told = [row.input_tokens for row in read.every if row.input_tokens is not None]
    tokens = round(statistics.fmean(told)) if told else configured.input_tokens
    repeated = any(row.repetition for row in read.every) or (configured.present or (0, 1))[1] > 1
    if tokens is None or tokens >= _LEAST_CACHED_BY_SOME or not repeated:
        return
    if any(row.cached_input_tokens for row in read.every):  # so they were long enough
        return
    where = "the pilot's prompts" if told else "the texts of the cases, without instructions,"
    who = f"most providers cache none below {_LEAST_CACHED}, Gemini none below {_LEAST_CACHED_BY_SOME}"
    yield f"prompt cache: {where} have {tokens} tokens, and {who}: their repetitions may be read at the full price"


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
    if asked.certify is None and asked.by:
        raise UsageError("--by are strata a certificate is given for: give --certify AGREEMENT, too.")
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
    return Components(
        cases=cases,
        perturbations=perturbations,
        repetitions=repetitions,
        notes=("the variances are those given as --variance",),
    )


def _price_per_call(
    asked: PlanRequest, configured: _Configured, rows: Sequence[VerdictRow]
) -> tuple[float | None, Sequence[str]]:
    """Return what a call costs, and where that is known from: --price, else the pilot's calls by the prices."""
    if asked.price is not None or not configured.prices:
        return asked.price, ()
    if not rows:
        return None, configured.told
    from judgeharness_integrations.analysis.spending import UsageSums, bill_of  # noqa: PLC0415 - loads SQLAlchemy

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
    from ._output import rows_of_log  # noqa: PLC0415 - only pilots are read

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
    min_valid: int | None = None
    if folds is None and (own := rule_of_run(log, judges)) is not None:
        folds, min_valid = own
    asked = [_under_prompt(row, judge or "") for row in group] if pattern else group
    pilot = pilot_of(asked, pass_at=None if folds is None else pass_mark(folds))
    mine = [row for row in every if row.judge in judges]  # tokens stand on a call's first row
    variances = gstudy(group, positive=pilot.positive)
    return _Read(rule=folds, min_valid=min_valid, pilot=pilot, variances=variances, every=mine, asked=asked)


def _under_prompt(row: VerdictRow, pattern: str) -> VerdictRow:
    """Return the row of a judge that is one prompt of several as one under a perturbation of that name."""
    return replace(row, judge=pattern, perturbation=f"{row.judge}+{row.perturbation}")


def _configured(path: Path) -> _Configured:
    """Read a configuration, and the number of its cases; no judge is built."""
    from judgeharness_integrations.judging.config import build_cases, load_config  # noqa: PLC0415
    from judgeharness_integrations.judging.functionsource import imported_rule  # noqa: PLC0415
    from judgeharness_integrations.judging.harness import preset  # noqa: PLC0415
    from judgeharness_integrations.judging.tiers import prices_of  # noqa: PLC0415

    config = load_config(path)
    harness: dict[str, Any] = config.harness.model_dump(exclude_none=True)
    if config.harness.shape is not None:
        harness = preset(config.harness.preset or "standard", config.harness.shape) | harness
    folds: str | None = harness.get("aggregation_rule")
    temperatures = {judge.model_options.get("temperature") for judge in config.judges}
    temperature = temperatures.pop() if len(temperatures) == 1 else None
    cases = None if config.cases is None else build_cases(config)
    prices = prices_of(config)
    single, tiers = Plan(cases=1, calls=1), asked_tiers(config)
    asking = [Asking(judge=j.name, model=j.model, plan=single, tier=tiers[j.name]) for j in config.judges]
    return _Configured(
        cases=None if cases is None else len(cases),
        prices=prices,
        told=tuple(money_notes(asking, prices, cases or ())),
        present=(len(harness["perturbations"]), harness["repetitions"]),
        max_calls=config.execution.max_calls,
        rule=None if folds is None else imported_rule(folds, folder=config.folder, where="harness.aggregation_rule"),
        min_valid=config.harness.min_valid,
        temperature=temperature if isinstance(temperature, (int, float)) else None,
        input_tokens=input_of(cases or ()),
    )
