"""What judges said about a benchmark's pairs, read from its folder; what became of the pairs, and what it took."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.studying import CutTies
from judgeharness_integrations.analysis.usage import Billed, Price, Spent, billed, price_of, summed
from judgeharness_integrations.verdictlog.row import ModelUsage, VerdictRow

from .folder import BenchmarkFolder, StepUsage
from .pair import Conditions, Pair, Record, draw_conditions
from .results.checks import FlowRow, Reason, Survival
from .results.curation import Step, curated
from .results.judgments import (
    JUDGMENTS,
    SCORE,
    JointTable,
    Judgment,
    Mode,
    joined,
    joint_table,
    judged_rows,
    judgments_of,
    pair_rows,
)

MODES: Final[tuple[Mode, ...]] = ("pairwise", "pointwise")
_UNREAD: Final[Mapping[str, Any]] = {"reasoning": None, "raw": None, "error": None}


@dataclass(frozen=True, kw_only=True)
class Results:
    """A benchmark as it stands.

    `rows`: mode -> a row an answer about a pair that was not rejected, with its columns and gold; those of single
    conversations are folded into pairs. `rejected`: judged pairs that verification rejected since, which are not among
    them. `audit`: pair id -> what people agreed on; None where nobody labelled any pair. `failed`: mode -> (judge, pair
    id) of calls that failed; they are no answers, and not among the rows. `scores`: of single conversations, columns
    `pair` and `side`, gold the better side.
    """

    folder: Path
    pairs: tuple[Pair, ...]
    rows: Mapping[Mode, tuple[VerdictRow, ...]]
    rejected: int
    audit: Mapping[str, str | None] | None
    failed: Mapping[Mode, frozenset[tuple[str, str]]] = field(default_factory=dict)
    scores: tuple[VerdictRow, ...] = ()

    @cached_property
    def judged(self) -> frozenset[str]:
        """Ids of the pairs that any judge answered about, in any mode."""
        return frozenset(row.case_id for rows in self.rows.values() for row in rows)

    def of_mode(self, mode: Mode) -> list[VerdictRow]:
        """Return the rows of a mode.

        Raises:
            UsageError: no pair was judged in it.

        """
        if not self.rows[mode]:
            if self.failed.get(mode):
                judges = ", ".join(sorted({judge for judge, _ in self.failed[mode]}))
                raise UsageError(
                    f"no call of {judges} about {self.folder} was answered: ask again with judgeharness benchmark "
                    "judge."
                )
            other = [name for name in MODES if self.rows[name]]
            hint = ": ask judges with judgeharness benchmark judge"
            if other:
                hint = f"; it was judged {other[0]}: give --mode {other[0]}"
            elif self.rejected:
                hint = f" but for {self.rejected} that verification rejected: ask judges about others"
            raise UsageError(f"no pair of {self.folder} was judged {mode}{hint}.")
        return list(self.rows[mode])

    def only(self, names: Collection[str]) -> Results:
        """Return what there is about some pairs alone.

        Raises:
            UsageError: one of the names is none of the pairs.

        """
        states = {pair.pair_id: pair.state for pair in self.pairs}
        strange = [name for name in names if name not in states]
        if strange:
            raise UsageError(f"{self.folder} has no pair {strange[0]!r:.80}: give a sample of this benchmark's pairs.")
        return self._of(frozenset(names))

    def shared(self, names: Collection[str]) -> Results:
        """Return what there is about those of some names that are pairs here, as a parallel set has them."""
        return self._of(frozenset(names))

    def _of(self, names: frozenset[str]) -> Results:
        rejected = sum(pair.state == "rejected" and pair.pair_id in names for pair in self.pairs)
        return replace(
            self,
            pairs=tuple(pair for pair in self.pairs if pair.pair_id in names),
            rows={mode: tuple(row for row in rows if row.case_id in names) for mode, rows in self.rows.items()},
            rejected=min(self.rejected, rejected),
            failed={mode: frozenset(one for one in told if one[1] in names) for mode, told in self.failed.items()},
            scores=tuple(row for row in self.scores if row.attributes["pair"] in names),
        )

    def mode(self, wished: str | None) -> Mode:
        """Return the mode of a name; without one pairwise, or the other where only that was asked.

        Raises:
            UnknownNameError: there is none of that name; the nearest is offered.

        """
        if wished is not None:
            return mode_named(wished)
        return "pointwise" if self.rows["pointwise"] and not self.rows["pairwise"] else "pairwise"

    def table(self, mode: Mode) -> JointTable:
        """Return who was right about what in a mode; an empty table where nobody was asked."""
        return joint_table(self.rows[mode])

    def judgments(self) -> list[Judgment]:
        """Return every judgment, by mode, pair and judge."""
        return list(judgments_of((mode, self.table(mode)) for mode in MODES))


def mode_named(name: str) -> Mode:
    """Return the mode of a name.

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    for mode in MODES:
        if mode == name:
            return mode
    raise UnknownNameError("mode", name, MODES)


def results_of(folder: BenchmarkFolder, *, audit: Mapping[str, str | None] | None) -> Results:
    """Read a benchmark's pairs and what judges answered, and join both with what people said of the pairs.

    Args:
        folder: the benchmark.
        audit: pair id -> what people agreed on; None where nobody labelled any pair.

    Raises:
        UsageError: there is no benchmark, or a file of it cannot be read.
        LogStorageError: the verdict log cannot be read.

    """
    folder.check()
    pairs = tuple(folder.pairs())
    counted = [pair for pair in pairs if pair.state != "rejected"]
    raw, single = _raw(folder)
    known = {pair.pair_id: pair for pair in counted}
    return Results(
        folder=folder.path,
        pairs=pairs,
        rows={mode: tuple(joined(rows, counted, audit=audit)) for mode, rows in raw.items()},
        rejected=len({row.case_id for rows in raw.values() for row in rows} - known.keys()),
        audit=audit,
        failed={mode: _failed(rows, known) for mode, rows in raw.items()},
        scores=tuple(_scores(single, known)),
    )


def read_table(folder: BenchmarkFolder, pairs: Iterable[Pair]) -> JointTable:
    """Return who was right about what, as `Results.table` does for the mode that results are told in without a wish.

    Nothing else of the rows is kept: neither what judges wrote nor the columns of pairs.

    Args:
        folder: the benchmark.
        pairs: all of it, as they were read before.

    Raises:
        UsageError: rows do not fit together.
        LogStorageError: the verdict log cannot be read.

    """
    counted = {pair.pair_id: pair for pair in pairs if pair.state != "rejected"}
    if not folder.verdicts.is_file():
        return joint_table([])
    with folder.log() as log:
        rows = judged_rows(log.rows(run="pairwise"), counted)
        if not rows:
            single = (replace(row, **_UNREAD) for row in log.rows(run="pointwise"))
            rows = judged_rows(pair_rows(single), counted)
    return joint_table(rows)


def write_judgments(results: Results, folder: BenchmarkFolder) -> None:
    """Write `judgments.jsonl` anew: the same answers give the same bytes."""
    folder.write_records(JUDGMENTS, results.judgments())


def _raw(folder: BenchmarkFolder) -> tuple[dict[Mode, list[VerdictRow]], list[VerdictRow]]:
    """Return mode -> rows about pairs, and the rows about single conversations."""
    if not folder.verdicts.is_file():
        return {mode: [] for mode in MODES}, []
    with folder.log() as log:
        about_pairs, single = (list(log.rows(run=mode)) for mode in MODES)
    return {"pairwise": about_pairs, "pointwise": pair_rows(single)}, single


def _scores(single: Iterable[VerdictRow], known: Mapping[str, Pair]) -> Iterator[VerdictRow]:
    """Yield the scores that count: of pairs that do, by calls that were answered."""
    for row in single:
        pair = known.get(str(row.attributes["pair"]))
        if pair is not None and row.criterion == SCORE and row.outcome != "error":
            yield replace(row, gold=pair.conditions.better, **_UNREAD)


def _failed(rows: Iterable[VerdictRow], known: Collection[str]) -> frozenset[tuple[str, str]]:
    return frozenset((row.judge, row.case_id) for row in rows if row.outcome == "error" and row.case_id in known)


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
        steps=made.steps(columns), cut_reason=reason, alone=len(made.alone), controls=tuple(made.before.controls())
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
    return [_step(usage, summed(_billed(spent, prices) for spent in _by_tier(usage))) for usage in usages]


def costs_of_judges(usages: Iterable[ModelUsage], prices: Mapping[str, Price], *, mode: str) -> list[Cost]:
    """Return what judges took in a mode; the price is that of the model an answer names, else that of its judge."""
    return [_judged(usage, _paid(usage, prices), mode) for usage in usages]


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
