"""What became of a benchmark's pairs, why, and what it took: answers, attempts, tokens and money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.curation import CutTies
from judgeharness_integrations.analysis.usage import Billed, Price, Spent, billed, price_of, summed
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.journal import StepUsage
from judgeharness_integrations.benchmark.pair import Conditions, Pair, Record, draw_conditions
from judgeharness_integrations.benchmark.results.checks import FlowRow, Reason, Survival
from judgeharness_integrations.benchmark.results.curation import Step, curated
from judgeharness_integrations.benchmark.results.rows import Mode
from judgeharness_integrations.benchmark.verdicts import Results

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.sql.runs import ModelUsage


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What became of the judged pairs; `cut_reason`, `alone` and `controls` as in `StatsReport`."""

    steps: tuple[Step, ...]
    cut_reason: str | None
    alone: int
    controls: tuple[str, ...] = ()


def planned_conditions(folder: BenchmarkFolder, pairs: Sequence[Pair]) -> list[Conditions]:
    """Return the conditions of every pair of a benchmark, those that are not written yet too."""
    settings = folder.settings()
    known = {pair.conditions.number: pair.conditions for pair in pairs}
    if settings.imported_from is None and len(known) < settings.n:
        documents, taxonomy = folder.documents(), folder.taxonomy()
        for number in range(settings.n):
            if number not in known:
                known[number] = draw_conditions(
                    number, documents=documents, taxonomy=taxonomy, drawing=settings.drawing
                )
    return [known[number] for number in sorted(known)]


def steps_of(results: Results, mode: Mode | None, *, cut: float, cut_ties: CutTies, columns: Sequence[str]) -> Steps:
    """Return what became of the judged pairs.

    Raises:
        UsageError: the cut is no share.

    """
    if not 0 <= cut < 1:
        raise UsageError(f"the share of pairs to cut must be at least 0 and below 1, not {cut}.")
    if mode is None:
        return Steps(steps=(), cut_reason=None, alone=0)
    rows, flags = results.rows[mode], results.audit is not None
    reason = None
    try:
        made = curated(rows, share=cut, cut_ties=cut_ties, flags=flags)
    except UsageError as error:
        made, reason = curated(rows, share=0, flags=flags), str(error).rstrip(".")
    return Steps(
        steps=made.steps(columns),
        cut_reason=reason,
        alone=len(made.alone),
        controls=tuple(made.before.controls()),
    )


class Cost(Record):
    """What one step took of one model: answers, attempts at them, tokens, money.

    Tokens are None where an answer did not report them; money also where no price is known.
    """

    step: str
    model: str
    answers: int = Field(ge=0)
    attempts: int = Field(ge=0)
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    cost_remarks: tuple[str, ...] = Field(
        default=(), description="Why the cost is not known, where it is the most it can be, whose prices it is by."
    )


def costs_of_steps(usages: Iterable[StepUsage], prices: Mapping[str, Price]) -> list[Cost]:
    """Return what the models that wrote and verified took."""
    return [_step(one, summed(_billed(spent, prices) for spent in _by_tier(one))) for one in usages]


def costs_of_judges(usages: Iterable[ModelUsage], prices: Mapping[str, Price], *, mode: str) -> list[Cost]:
    """Return what judges took in a mode; the price is that of the model an answer names, else that of its judge."""
    return [_judged(one, _paid(one, prices), mode) for one in usages]


def total_cost(costs: Sequence[Cost]) -> float | None:
    """Return what everything cost; None where the cost of a step is not known, or nothing was asked."""
    known = [one.cost for one in costs if one.cost is not None]
    return sum(known) if costs and len(known) == len(costs) else None


class AnnotatorPair(Record):
    """How two annotators agree on the pairs that both labelled; `kappa` is None where it is undefined."""

    annotators: tuple[str, str]
    pairs: int = Field(ge=0)
    agreed: int = Field(ge=0)
    kappa: float | None


class Audited(Record):
    """Pairs by what everybody who labelled them agreed on, which sum to `pairs`.

    `noise_rate` is `sampled_noise` of `sampled`, the pairs of the uniform sample that were labelled by those they were
    assigned to, with its 95 % interval; None without an assignment, since nobody knows how the labelled pairs were
    chosen.
    """

    annotators: tuple[str, ...]
    pairs: int = Field(ge=0)
    clean: int = Field(ge=0)
    ambiguous: int = Field(ge=0)
    noise: int = Field(ge=0)
    sampled: int = Field(ge=0)
    sampled_noise: int = Field(ge=0)
    noise_rate: float | None = Field(ge=0, le=1)
    noise_low: float | None = Field(ge=0, le=1)
    noise_high: float | None = Field(ge=0, le=1)
    agreement: tuple[AnnotatorPair, ...]


class StatsReport(Record):
    """What `judgeharness benchmark stats --json` prints.

    `mode` is None, and `steps` are empty, where nobody was asked. `cut`: the share of hardest pairs the steps show;
    `cut_reason`: why none could be. `alone`: unanimous pairs about which one judge alone was asked. `total_cost` is
    None where that of a step is not known. `controls` are sentences about judges that read nothing, on the judged
    pairs, and the judges that are not better than the best of them. `cascade`: from plan to what is kept, all pairs.
    """

    schema_: Literal["judgeharness.benchmark_stats/1"] = Field(default="judgeharness.benchmark_stats/1", alias="schema")
    generator: str | None
    verifier: str | None
    imported_from: str | None
    min_grounded: float
    flow: tuple[FlowRow, ...]
    reasons: tuple[Reason, ...]
    mode: Mode | None
    judges: tuple[str, ...]
    cut: float
    cut_reason: str | None
    alone: int = Field(ge=0)
    steps: tuple[Step, ...]
    costs: tuple[Cost, ...]
    total_cost: float | None
    audited: Audited | None
    controls: tuple[str, ...] = ()
    cascade: tuple[Survival, ...] = ()


def _by_tier(one: StepUsage) -> tuple[Spent, ...]:
    return one.spent or (Spent(one.input_tokens, one.output_tokens, one.model),)


def _step(one: StepUsage, bill: Billed) -> Cost:
    return Cost(
        step=one.step,
        model=one.model,
        answers=one.answers,
        attempts=one.tries,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        cost=bill.cost,
        cost_remarks=bill.remarks,
    )


def _judged(one: ModelUsage, bill: Billed, mode: str) -> Cost:
    return Cost(
        step=f"judge, {mode}",
        model=one.judge,
        answers=one.made_calls,
        attempts=one.made_calls if one.attempts is None else one.attempts,
        input_tokens=None if one.unpriced_calls else one.input_tokens,
        output_tokens=None if one.unpriced_calls else one.output_tokens,
        cost=bill.cost,
        cost_remarks=bill.remarks,
    )


def _paid(one: ModelUsage, prices: Mapping[str, Price]) -> Billed:
    """Return what answers cost; nothing where each of them failed, was re-used or came from a cache."""
    if one.unpriced_calls:
        return Billed(None)
    model = one.judge if one.judge in prices else one.model
    spent = Spent.of(one)._replace(model=model)
    return _billed(spent if one.input_tokens is not None else spent._replace(input_tokens=0, output_tokens=0), prices)


def _billed(spent: Spent, prices: Mapping[str, Price]) -> Billed:
    """Return what tokens cost; that a model has no price is told once, where the costs are summed."""
    return Billed(None) if price_of(spent.model, prices) is None else billed(spent, prices)
