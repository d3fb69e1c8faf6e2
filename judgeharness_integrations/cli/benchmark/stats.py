"""What `judgeharness benchmark stats` and `rank` print."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.rules import RuleLike
from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.ranking.comparing import Against, EloChange, OwnSet, Slope
from judgeharness_integrations.analysis.ranking.contrasts import LEVEL
from judgeharness_integrations.analysis.ranking.panels import facts_of
from judgeharness_integrations.analysis.ranking.ranking import versus
from judgeharness_integrations.analysis.ranking.studying import RankRequest, RankStudy, study
from judgeharness_integrations.analysis.usage import Price, price_of
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import ANSWERS, BenchmarkFolder
from judgeharness_integrations.benchmark.results.checks import FlowRow, flow, reasons, survival
from judgeharness_integrations.benchmark.results.judgments import (
    AUDIT,
    CRITERIA,
    GROUPS,
    NOISE,
    Mode,
    in_one_order,
    order_rule,
)
from judgeharness_integrations.benchmark.taxonomy import sampled_ids
from judgeharness_integrations.benchmark.verdicts import (
    MODES,
    Audited,
    Cost,
    Results,
    StatsReport,
    costs_of_judges,
    costs_of_steps,
    planned_conditions,
    steps_of,
    total_cost,
    write_judgments,
)
from judgeharness_integrations.reporting.sections import Block, Bullets, Table
from judgeharness_integrations.reporting.terminal import console
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, p_text, percent
from judgeharness_integrations.verdictlog.row import VerdictRow

from .._output import print_json, show
from ..rank import Scores, cut_ties_named, rank_source, request_of
from .asking import cost_blocks, read_model_file
from .curate import alone_notes, step_table
from .options import BenchmarkRankOptions, StatsRequest
from .tables import check_answered, columns_named, grouped, print_failed, reason_blocks

_LAYERS: Final = {"form": "form", "coherence": "coher-\nence", "adherence": "adher-\nence", "grounding": "ground-\ning"}
_STEPS: Final = {
    "written": "written",
    "form": "form",
    "coherence": "coherence",
    "adherence": "adherence",
    "grounding": "grounding",
    "judged": "asked of a judge",
    "flagged": "no noise",
    "ambiguous": "not ambiguous",
    "unanimous_right": "not all right",
    "unanimous_wrong": "not all wrong",
    "unanswered": "answered",
    "hardest": "not the hardest",
}
_TITLES: Final = {"unread": "un-\nread", "unverified": "unver-\nified"}


def stats_blocks(report: StatsReport, folder: Path) -> Iterator[Block]:
    """Yield what became of a benchmark's pairs, why, what it took and what people found."""
    whole = report.flow[0]
    yield f"benchmark of {folder}: {_origin(report)}"
    yield f"{whole.accepted} of {counted(whole.planned, 'planned pair')} accepted, {whole.judged} judged"
    yield _cascade_table(report)
    yield _flow_table(report.flow)
    unread = "unread: no answer of the verifier could be read; neither accepted nor rejected"
    unverified = (
        "unverified: nobody checked them in full, and no layer rejected any; judgeharness benchmark verify checks what "
        "nobody did"
    )
    yield Bullets((*([unread] if whole.unread else []), *([unverified] if whole.unverified else [])))
    yield from reason_blocks("why pairs were rejected", [one.to_dict() for one in report.reasons])
    yield from _steps(report)
    yield from cost_blocks(report.costs, title="what it took", words=("attempts", "money"))
    if report.costs:
        unknown = "not known, since some answers have no price (--models) or do not say their tokens"
        yield Bullets((f"money in all: {unknown if report.total_cost is None else fixed(report.total_cost, 4)}",))
    if report.audited is not None:
        yield from _audited_blocks(report.audited)


def _origin(report: StatsReport) -> str:
    if report.imported_from is not None:
        return f"converted from {report.imported_from}"
    return f"written by {report.generator}, verified by {report.verifier or 'nobody'}"


def _cascade_table(report: StatsReport) -> Table:
    """Return how many pairs each step took, from the plan to what is kept; steps of people only where they looked."""
    rows = [
        [_STEPS[one.step], str(one.entered), str(one.lost), str(one.left), percent(one.rate), percent(one.share)]
        for one in report.cascade
        if one.lost or one.step not in ("flagged", "ambiguous")
    ]
    columns = ("step", "pairs", "lost", "left", "survived %", "of planned %")
    return Table.of("from the plan to what is kept", columns, rows)


def _flow_table(rows: Sequence[FlowRow]) -> Table:
    """Return what share of the planned pairs was written, came through each layer and was accepted."""
    whole = rows[0]
    written = ["written"] if whole.unfinished else []
    open_ends = [name for name in ("unread", "unverified") if getattr(whole, name)]

    def cells(row: FlowRow) -> list[str]:
        first, *others = _through(row)
        left = [first, *others] if written else others
        shares = [percent(count / row.planned if row.planned else None) for count in (*left, row.accepted)]
        ends = [str(getattr(row, name)) for name in open_ends]
        return [str(row.planned), *shares[:-1], *ends, shares[-1], str(row.judged)]

    columns = (
        "pairs",
        "planned",
        *written,
        *_LAYERS.values(),
        *map(_TITLES.__getitem__, open_ends),
        "accepted",
        "judged",
    )
    return Table.of("left after each layer, in per cent of the planned pairs", columns, grouped(rows, cells))


def _through(row: FlowRow) -> Iterator[int]:
    """Yield how many were written, and how many are left after each layer."""
    left = row.planned - row.unfinished
    yield left
    for layer in _LAYERS:
        left -= getattr(row, layer)
        yield left


def _steps(report: StatsReport) -> Iterator[Block]:
    if report.mode is None:
        yield "nobody was asked: judgeharness benchmark judge asks judges"
        return
    judges = counted(len(report.judges), "judge")
    yield step_table(f"what {judges} told apart, {report.mode}, in per cent of the judged", report.steps)
    cut = [] if report.cut_reason is None else [f"none is cut as the hardest: {report.cut_reason}"]
    yield Bullets((*report.controls, *alone_notes(report.alone), *cut))


def _audited_blocks(one: Audited) -> Iterator[Block]:
    labels = f"{one.clean} clean, {one.ambiguous} ambiguous, {one.noise} noise"
    yield f"{counted(one.pairs, 'pair')} labelled by {', '.join(one.annotators)}: {labels}"
    rate = "not measured; judgeharness audit --assign draws the uniform sample it needs"
    if one.noise_rate is not None:
        rate = (
            f"{percent(one.noise_rate)} % ({one.sampled_noise} of {one.sampled} of the uniform sample), 95 % "
            f"{percent(one.noise_low)} to {percent(one.noise_high)}"
        )
    agreed = (
        f"{' and '.join(two.annotators)} agree on {two.agreed} of {two.pairs}, kappa {fixed(two.kappa)}"
        for two in one.agreement
    )
    yield Bullets((f"noise rate: {rate}", *agreed))


def stats_of_benchmark(request: StatsRequest) -> None:
    """Print what became of a benchmark's pairs and what it took."""
    home = BenchmarkFolder(request.folder)
    results = read_results(home)
    report = _report(home, results, request)
    if request.as_json:
        print_json(report.to_dict())
    else:
        show(stats_blocks(report, request.folder))


def _report(home: BenchmarkFolder, results: Results, request: StatsRequest) -> StatsReport:
    columns = columns_named(request.by, GROUPS)
    settings = home.settings()
    mode = results.mode(request.mode) if results.judged else None
    if mode is not None:
        results.of_mode(mode)  # refuses one in which nobody was asked
    found = steps_of(results, mode, cut=request.cut, cut_ties=cut_ties_named(request.cut_ties), columns=columns)
    costs = _costs(home, read_model_file(request.models).prices)
    planned = planned_conditions(home, results.pairs)
    became = flow(results.pairs, planned, judged=results.judged, columns=columns)
    return StatsReport(
        generator=settings.generator,
        verifier=settings.verifier,
        imported_from=settings.imported_from,
        min_grounded=settings.min_grounded,
        flow=became,
        reasons=reasons(results.pairs),
        mode=mode,
        judges=() if mode is None else results.table(mode).judges,
        cut=request.cut,
        cut_reason=found.cut_reason,
        alone=found.alone,
        steps=found.steps,
        controls=found.controls,
        costs=tuple(costs),
        total_cost=total_cost(costs),
        audited=_audited(home),
        cascade=survival(became[0], found.steps[0] if found.steps else None),
    )


def _costs(home: BenchmarkFolder, prices: Mapping[str, Price]) -> list[Cost]:
    costs: list[Cost] = []
    if (home.path / ANSWERS).is_file():
        with home.journal() as journal:
            costs += costs_of_steps(journal.usage(), prices)
    if home.verdicts.is_file():
        with home.log() as log:
            for mode in MODES:
                costs += costs_of_judges(log.usage(mode), prices, mode=mode)
    return costs


def _audited(home: BenchmarkFolder) -> Audited | None:
    if not home.audit.is_dir():
        return None
    from judgeharness_integrations.audit.labels import audited_of, read_assignment, read_labels  # noqa: PLC0415 - of audited benchmarks

    return audited_of(read_labels(home.path), read_assignment(home.path))


def against_blocks(one: Against, *, parallel: int, scores: bool) -> Iterator[Block]:
    """Yield both rankings beside each other.

    Args:
        one: the rankings.
        parallel: pairs that were judged in both sets and drawn alike.
        scores: the ratings are EIP scores, from 0 to 1, rather than Elo.

    """
    changes = {change.judge: change for change in one.changes}
    digits, unit = (3, "EIP") if scores else (0, "Elo")
    columns = ("judge", "rank", "there", unit, "there", "change", "95 %", "p", "wrote")
    found = sum(change.significant for change in one.changes)
    told = f", {found} of {len(changes)} changes significant" if changes else ""
    rows = (_row(slope, changes.get(slope.judge), digits) for slope in one.slopes)
    yield Table.of(f"{one.name} against {one.name_against}{told}", columns, rows)
    yield Bullets(tuple(_lines(one, parallel)))


def _row(slope: Slope, change: EloChange | None, digits: int) -> list[str]:
    moved = slope.elo_against - slope.elo if change is None else change.change
    return [
        slope.judge,
        str(slope.rank),
        str(slope.rank_against),
        fixed(slope.elo, digits),
        fixed(slope.elo_against, digits),
        f"{moved:+.{digits}f}",
        "-" if change is None or change.p is None else ends(change.ci95, digits),
        "-" if change is None else p_text(change.p_adjusted),
        ", ".join(slope.wrote),
    ]


def _lines(one: Against, parallel: int) -> Iterator[str]:
    if one.changes:
        yield (
            "change: with the mean of these judges held; p: adjusted for all of them (Benjamini-Hochberg), significant "
            f"up to {LEVEL:g}"
        )
    yield f"{parallel} pairs that were judged in both sets were drawn alike" + (
        "; both sets are taken as independent all the same, which makes intervals rather too wide"
        if one.changes
        else ""
    )
    if one.own_sets:
        for own in one.own_sets:
            yield _preference(own)
    elif one.changes:
        yield "self-preference: cannot be said, no judge of both sets wrote one of them"


def _preference(one: OwnSet) -> str:
    if one.gain is None:
        return f"self-preference of {one.judge}: cannot be said, {one.reason}"
    judges = counted(one.others, "judge")
    told = f"self-preference of {one.judge}: {one.gain:+.0f} Elo towards its own set ({one.own}) beside the mean change"
    if one.ci95 is None:
        return f"{told} of {judges} that wrote neither; no interval, for want of any spread"
    low, high = one.ci95
    worth = "which is no more than chance gives" if low <= 0 <= high else "which chance hardly gives"
    return f"{told} of {judges} that wrote neither, 95 % {low:+.0f} to {high:+.0f}, {worth}"


def with_prices(request: RankRequest, models: Path | None, rows: Iterable[VerdictRow]) -> RankRequest:
    """Return a request that knows what the judges of some rows cost; prices among its facts come first.

    Raises:
        ConfigError: the file cannot be read.

    """
    prices = read_model_file(models).prices
    if not prices:
        return request
    facts = dict(request.facts)
    for judge, model in sorted({(row.judge, row.model or row.judge) for row in rows}):
        known = facts_of(judge, request.facts)
        price = price_of(judge if judge in prices else model, prices)
        if price is not None and known.input_price is None and known.output_price is None:
            facts[judge] = replace(
                known,
                input_price=price.input,
                output_price=price.output,
                cached_input_price=price.cached_input,
                cache_write_price=price.cache_write,
                tiers=price.tiers,
            )
    return replace(request, facts=facts)


_NO_SCORES: Final = (
    "none of these judges scored both conversations of a pair; judgeharness benchmark judge --mode pointwise asks them"
)


def rank_benchmark(options: BenchmarkRankOptions) -> None:
    """Rank the judges of a benchmark, write its `judgments.jsonl` and what is asked for, and print the report."""
    request, sample = request_of(options), options.sample
    home = BenchmarkFolder(options.folder)
    everything = read_results(home)
    names = None if sample is None else sampled_ids(sample)
    results = everything if names is None else everything.only(names)
    chosen = results.mode(options.mode)
    check_answered(results, chosen, request.judges)
    source = _Source(
        results=results, chosen=chosen, other=_other(options.against, names), rule=request.rule, sample=sample
    )
    if options.flagged:
        _check_audited(results)
    asked = source.asked(request.judges)
    rule = "both_orders" if all(order_rule(rows) == "both_orders" for rows in asked) else "one_order"
    request = replace(with_prices(request, options.models, source.rows()), rule=request.rule or rule)
    request = replace(request, criteria=request.criteria or CRITERIA, flagged=NOISE if options.flagged else None)
    made = rank_source(source, request, options.output, audit=AUDIT if _labelled(results, chosen) else None)
    write_judgments(everything, home)
    if options.output.as_json:
        source.print_failed(request, stderr=True)
        return
    console().print()
    if results.rejected:
        what = counted(results.rejected, "judged pair is", "judged pairs are")
        show([f"{what} left out: verification rejected them."])
    source.print_failed(request)
    if source.rule is None:
        _print_orders(asked)
    for one in made.against:
        show(against_blocks(one, parallel=source.parallel, scores=request.method == "eip"))


@dataclass(frozen=True, kw_only=True)
class _Source:
    """The rows of a benchmark about pairs, in one of the modes, and those of its parallel set."""

    results: Results
    chosen: Mode
    other: Results | None
    rule: RuleLike | None
    sample: Path | None = None

    @property
    def rule_fixed(self) -> RuleFixed:
        """The rule is that of the orders `benchmark judge` asked in, chosen before it did, unless one is wished for."""
        return "before" if self.rule is None else "after"

    @property
    def title(self) -> str:
        of = "" if self.sample is None else f", pairs of {self.sample.name}"
        return f"{self.results.folder}, {self.chosen}{of}"

    def rows(self) -> list[VerdictRow]:
        return self.results.of_mode(self.chosen)

    def asked(self, judges: Sequence[str]) -> list[list[VerdictRow]]:
        """Return the rows that are compared, set by set; of some judges where any are named."""
        sets = [self.rows()] if self.other is None else [self.rows(), self.other.of_mode(self.chosen)]
        return [[row for row in rows if not judges or row.judge in judges] for rows in sets]

    def pointwise(self, found: RankStudy) -> RankStudy | None:
        """Return the same judges by their answers about single conversations, where those were asked too."""
        if self.chosen == "pointwise" or not self.results.rows["pointwise"]:
            return None
        plain = RankRequest(rule="one_order", criteria=found.request.criteria, failures=found.request.failures)
        return study(self.results.rows["pointwise"], plain)

    def scores(self, found: RankStudy) -> Scores:
        """Return the scores of single conversations by the judges that are ranked."""
        mine = [row for row in self.results.scores if row.judge in found.matrix.judges]
        return Scores(rows=mine, why="" if mine else _NO_SCORES)

    def against(self, found: RankStudy) -> Against | None:
        if self.other is None:
            return None
        if found.request.flagged is not None:
            _check_audited(self.other)
        return versus(found, self.other.of_mode(self.chosen), labels=_labels(self.results, self.other))

    def print_failed(self, request: RankRequest, *, stderr: bool = False) -> None:
        """Say whose calls failed, in either set."""
        sets = [self.results] if self.other is None else [self.results, self.other]
        print_failed(sets, self.chosen, failures=request.failures, judges=request.judges, stderr=stderr)

    @property
    def parallel(self) -> int:
        """How many pairs judged in both sets were drawn alike, so that only the generator differs."""
        mine, theirs = (self._drawn(one) if one is not None else set() for one in (self.results, self.other))
        return len(mine & theirs)

    def _drawn(self, results: Results) -> set[str]:
        judged = {row.case_id for row in results.rows[self.chosen]}
        return {pair.conditions.to_line() for pair in results.pairs if pair.pair_id in judged}


def _other(folder: Path | None, names: Collection[str] | None) -> Results | None:
    """Return the parallel set, of some pairs those that have the same numbers in it."""
    found = None if folder is None else read_results(BenchmarkFolder(folder))
    return found if found is None or names is None else found.shared(names)


def _labels(results: Results, other: Results) -> tuple[str, str]:
    """Return what to call the two sets: by who wrote them where that tells them apart."""
    writers = [sorted({pair.generator for pair in one.pairs}) for one in (results, other)]
    if all(len(names) == 1 for names in writers) and writers[0] != writers[1]:
        return writers[0][0], writers[1][0]
    return str(results.folder), str(other.folder)


def _check_audited(results: Results) -> None:
    if results.audit is None:
        raise UsageError(
            f"nobody labelled a pair of {results.folder}: label some with judgeharness audit, or leave out --flagged."
        )


def _labelled(results: Results, mode: Mode) -> bool:
    """Whether people agreed on any pair that was judged."""
    return any(AUDIT in row.attributes for row in results.rows[mode])


def _print_orders(sets: Sequence[Sequence[VerdictRow]]) -> None:
    """Say who keeps the others from being measured by both orders."""
    one = sorted({judge for rows in sets for judge in in_one_order(rows)})
    if one and any(row.swapped for rows in sets for row in rows):
        told = (
            f"{', '.join(one)}: asked in one order alone, so that everybody is measured by the order as given; "
            "judgeharness benchmark judge --orders both asks for the other one, --judge leaves judges out."
        )
        show([told])
