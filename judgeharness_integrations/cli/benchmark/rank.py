"""The judges of a benchmark on its parallel set as text: changes of Elo, what they are worth, self-preference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.rules import RuleLike
from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.ranking.comparing import Against, EloChange, OwnSet, Slope
from judgeharness_integrations.analysis.ranking.contrasts import LEVEL
from judgeharness_integrations.analysis.ranking.judgefacts import facts_of
from judgeharness_integrations.analysis.ranking.ranking import versus
from judgeharness_integrations.analysis.ranking.studying import RankRequest, RankStudy, study
from judgeharness_integrations.analysis.usage import price_of
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.results.judgments import AUDIT, CRITERIA, NOISE, Mode, in_one_order, order_rule
from judgeharness_integrations.benchmark.selection import sampled_ids
from judgeharness_integrations.benchmark.verdicts import Results, write_judgments
from judgeharness_integrations.cli.benchmark.asking import read_model_file
from judgeharness_integrations.cli.benchmark.options import BenchmarkRankOptions
from judgeharness_integrations.cli.benchmark.tables import check_answered, print_failed
from judgeharness_integrations.cli.rank import Scores, rank_source, request_of
from judgeharness_integrations.reporting.terminal import Row, console, safe, table
from judgeharness_integrations.verdictlog.plain import counted, ends, fixed, p_text
from judgeharness_integrations.verdictlog.row import VerdictRow

_LONGEST, _SENTENCE = 40, 600


def print_against(one: Against, *, parallel: int, scores: bool) -> None:
    """Print both rankings beside each other.

    Args:
        one: the rankings.
        parallel: pairs that were judged in both sets and drawn alike.
        scores: the ratings are EIP scores, from 0 to 1, rather than Elo.

    """
    screen = console()
    changes = {change.judge: change for change in one.changes}
    digits, unit = (3, "EIP") if scores else (0, "Elo")
    rows = [_row(slope, changes.get(slope.judge), digits) for slope in one.slopes]
    columns = ("judge", "rank", "there", unit, "there", "change", "95 %", "p", "wrote")
    found = sum(change.significant for change in one.changes)
    told = f", {found} of {len(changes)} changes significant" if changes else ""
    screen.print(table(safe(f"{one.name} against {one.name_against}{told}", 2 * _SENTENCE).plain, columns, rows))
    for line in _lines(one, parallel):
        screen.print(safe(f"- {line}", _SENTENCE), soft_wrap=True)


def _row(slope: Slope, change: EloChange | None, digits: int) -> Row:
    moved = slope.elo_against - slope.elo if change is None else change.change
    return [
        safe(slope.judge, _LONGEST),
        str(slope.rank),
        str(slope.rank_against),
        fixed(slope.elo, digits),
        fixed(slope.elo_against, digits),
        f"{moved:+.{digits}f}",
        "-" if change is None or change.p is None else ends(change.ci95, digits),
        "-" if change is None else p_text(change.p_adjusted),
        safe(", ".join(slope.wrote), _LONGEST),
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
    screen = console()
    if results.rejected:
        what = counted(results.rejected, "judged pair is", "judged pairs are")
        screen.print(f"\n{what} left out: verification rejected them.", soft_wrap=True)
    source.print_failed(request)
    if source.rule is None:
        _print_orders(asked)
    for one in made.against:
        print_against(one, parallel=source.parallel, scores=request.method == "eip")


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
        names = ", ".join(one)
        console().print(
            safe(
                f"\n{names}: asked in one order alone, so that everybody is measured by the order as given; "
                "judgeharness benchmark judge --orders both asks for the other one, --judge leaves judges out.",
                600,
            ),
            soft_wrap=True,
        )
