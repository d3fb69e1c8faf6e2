"""What `judgeharness rank` does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, get_args

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.clusters import CLUSTER, copied_cases
from judgeharness_integrations.analysis.aggregation.grouping import by_case, by_judge
from judgeharness_integrations.analysis.aggregation.rules import RuleLike
from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.ranking.analyses import Material, Portfolio, portfolio_of
from judgeharness_integrations.analysis.ranking.comparing import Against
from judgeharness_integrations.analysis.ranking.correctness import Failures, Policy, Ties
from judgeharness_integrations.analysis.ranking.curation import CutTies
from judgeharness_integrations.analysis.ranking.judgefacts import read_judge_facts
from judgeharness_integrations.analysis.ranking.pointwise import pairs_of_scores
from judgeharness_integrations.analysis.ranking.ranking import leaderboard, versus
from judgeharness_integrations.analysis.ranking.rating import EipOptions, method_named
from judgeharness_integrations.analysis.ranking.studying import RankRequest, RankStudy, study
from judgeharness_integrations.analysis.runs.summarising import unvaried_systems
from judgeharness_integrations.cli._judge_options import RankOptions, RankOutput
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._reading import rows_of_log, without_garbage_collection
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._shared_options import names_in, one_of
from judgeharness_integrations.cli.benchmark.options import BenchmarkRankOptions
from judgeharness_integrations.cli.report import case_texts
from judgeharness_integrations.verdictlog.row import VerdictRow

_TIES: tuple[Ties, ...] = get_args(Ties)
_QUICK = ("methods", "groups", "against", "score_gaps")


@dataclass(frozen=True, kw_only=True)
class RankFiles:
    """What a folder was given.

    `undrawn`: pictures that had nothing to show; `older`: others of their kinds in it; `missing`: why none was drawn.
    """

    folder: Path
    tables: tuple[Path, ...]
    pictures: tuple[Path, ...]
    undrawn: tuple[str, ...]
    older: tuple[str, ...]
    missing: str = ""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of single answers beside verdicts about pairs; `why`: why there are none, where that is worth a line."""

    rows: Sequence[VerdictRow] = ()
    why: str = ""


class RankSource(Protocol):
    """Where the rows of a ranking are; each method reads when it is called."""

    @property
    def title(self) -> str:
        """What is ranked, as the report's first line says it."""
        ...

    @property
    def rule_fixed(self) -> RuleFixed:
        """Whether the rule was chosen before the samples."""
        ...

    def rows(self) -> list[VerdictRow]:
        """Return the rows to rank by."""
        ...

    def pointwise(self, found: RankStudy) -> RankStudy | None:
        """Return the study of the scores that the same judges gave single answers; None where none is wished for."""
        ...

    def scores(self, found: RankStudy) -> Scores:
        """Return the scores of single answers that lie beside the rows."""
        ...

    def against(self, found: RankStudy) -> Against | None:
        """Return the same judges on other pairs; None where that is not wished for."""
        ...


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """A verdict log, and other logs beside it."""

    options: RankOptions

    @property
    def title(self) -> str:
        """The log's path."""
        return str(self.options.log)

    @property
    def rule_fixed(self) -> RuleFixed:
        """A log does not say for which rule it was sampled."""
        return "after"

    def rows(self) -> list[VerdictRow]:
        """Read the log."""
        return rows_of_log(self.options.log, run=self.options.run, labels=self.options.labels)

    def pointwise(self, found: RankStudy) -> RankStudy | None:
        """Study the log of scores."""
        return None if self.options.pointwise is None else _pointwise(found, self.options.pointwise)

    def scores(self, found: RankStudy) -> Scores:  # noqa: ARG002 - a source of scores needs it
        """Return none: a log holds pairs or scores."""
        return Scores()

    def against(self, found: RankStudy) -> Against | None:
        """Compare with the other log."""
        return None if self.options.against is None else _against(found, self.options, self.options.against)


def rank_log(options: RankOptions) -> None:
    """Read a log, rank its judges, write what is asked for and print the report."""
    request = request_of(
        options,
        ties=None if options.ties is None else one_of("ties policy", options.ties, _TIES),
        flagged=options.flagged,
        eip=_eip(options),
    )
    rank_source(LogSource(options=options), request, options.output, audit=options.audit, cases=options.cases)


def request_of(options: RankOptions | BenchmarkRankOptions, **own: Any) -> RankRequest:
    """Return what a ranking is asked for by options that both commands have, and `own` ones of either.

    Raises:
        UnknownNameError: a method, rule or policy is not known; the nearest is offered.
        UsageError: a number is out of range, or the facts cannot be read.

    """
    return RankRequest(
        method=method_named(options.method),
        rule=None if options.rule is None else _rule(options.rule),
        criteria=options.criteria,
        judges=options.judges,
        failures=failures_named(options.failures),
        by=", ".join(names_in(options.by)) or None,
        cluster=options.cluster,
        cut=options.cut,
        cut_ties=cut_ties_named(options.cut_ties),
        facts={} if options.judges_info is None else read_judge_facts(options.judges_info),
        **own,
    )


def failures_named(name: str) -> Failures:
    """Return the policy for failed answers of a name, as `one_of` does."""
    known: tuple[Failures, ...] = get_args(Failures)
    return one_of("failures policy", name, known)


def cut_ties_named(name: str) -> CutTies:
    """Return the policy for pairs tied at the cut of a name, as `one_of` does."""
    known: tuple[CutTies, ...] = get_args(CutTies)
    return one_of("policy for ties at the cut", name, known)


def _rule(spec: str) -> RuleLike:
    return rule_of(spec) if ":" in spec else Policy.of(spec).rule


def _eip(options: RankOptions) -> EipOptions:
    low, _, high = options.score_range.partition(":")
    try:
        limits = float(low), float(high)
    except ValueError:
        raise UsageError(f"--score-range is LOW:HIGH, as 0:1, not {options.score_range!r:.40}.") from None
    return EipOptions(
        alpha=options.alpha, tolerance=options.tolerance, low=limits[0], high=limits[1], all_equal=options.all_equal
    )


def rank_source(
    source: RankSource, request: RankRequest, output: RankOutput, *, audit: str | None = None, cases: Path | None = None
) -> Portfolio:
    """Rank the judges of a source, write what is asked for, print the report and return what it says.

    `audit` is a column of labels about the pairs; `cases` a file with the texts of the judged cases.
    """
    with without_garbage_collection(), _progress() as tell:
        material = material_of(source, request, output, audit=audit, cases=cases)
        quick = _QUICK if material.pointwise is None else (*_QUICK, "robustness")
        made = portfolio_of(material, names=None if output.out is not None else quick, tell=tell)
        document = _document(made)
        written = None if output.out is None else _write_tables(material, made, document, output.out, tell)
    if written is not None and written.missing:
        typer.echo(written.missing, err=True)
    if output.as_json:
        print_json(document)
    else:
        _print(material.found, made, written, source, whole=output.whole)
    return made


def material_of(
    source: RankSource, request: RankRequest, output: RankOutput, *, audit: str | None = None, cases: Path | None = None
) -> Material:
    """Read what is ranked and what is to be said of it."""
    rows = source.rows()
    found = study(rows, request)
    if audit is not None:
        found.matrix.column(audit)
    known = request.facts
    if known and not any(name in known or name.partition("@")[0] in known for name in found.matrix.judges):
        raise UsageError("--judges-info names no judge of the log: name judges, or their models, as the log does.")
    scores = source.scores(found)
    return Material(
        found=found,
        report=replace(
            leaderboard(found),
            unvaried=_unvaried(rows, cases),
            copies=_copies(pairs_of_scores(found.scored) if found.scored else rows, request),
        ),
        pointwise=source.pointwise(found),
        scores=scores.rows,
        unscored=scores.why,
        against=source.against(found),
        audit=audit,
        seed=output.seed,
        draws=output.draws,
    )


@dataclass(frozen=True)
class _Case:
    """A case of a log."""

    case_id: str
    rows: Sequence[VerdictRow]


def _unvaried(rows: Sequence[VerdictRow], texts: Path | None) -> tuple[str, ...]:
    """Return what is to be said of judged systems that answer every input alike; nothing where no texts are given."""
    if texts is None:
        return ()
    cases = [_Case(case_id, group) for (_, case_id), group in by_case(rows).items()]
    return tuple(unvaried_systems(cases, case_texts(texts)))


def _copies(rows: Sequence[VerdictRow], request: RankRequest) -> tuple[str, ...]:
    """Return what is to be said of pairs that ask what others ask, by the judge that was asked most."""
    most = max(by_judge(rows).values(), key=len, default=())
    return tuple(copied_cases(most, request.cluster or CLUSTER))


def _pointwise(found: RankStudy, log: Path) -> RankStudy:
    """Return the study of the scores that judges of the log gave single answers."""
    request = replace(found.request, rule=None, ties=None, criteria=(), judges=(), by=None, flagged=None, cluster=None)
    scored = study(rows_of_log(log), request)
    if not scored.scored:
        raise UsageError(f"{log}: --pointwise takes scores of single answers, with columns pair and side (A or B).")
    return scored


def _against(found: RankStudy, options: RankOptions, other: Path) -> Against:
    labels = (_stem(options.log), _stem(other))
    if labels[0] == labels[1]:
        labels = (str(options.log), str(other))
    return versus(found, rows_of_log(other, labels=options.labels), labels=labels)


def _stem(log: Path) -> str:
    return log.name.partition(".")[0] or log.name


def _document(made: Portfolio) -> dict[str, Any]:
    return made.report.to_dict() | {"analyses": made.to_dict()}


def _write_tables(
    material: Material, made: Portfolio, document: dict[str, Any], folder: Path, tell: Callable[[str], object]
) -> RankFiles:
    from judgeharness_integrations.reporting.figures import undrawable  # noqa: PLC0415 - few write
    from judgeharness_integrations.reporting.rankplots.drawing import draw_all  # noqa: PLC0415 - few write
    from judgeharness_integrations.reporting.ranktables import tables_of, write_document, write_tables  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    tables = write_tables(tables_of(material.found, made), folder)
    write_document(document, folder / "rank.json")
    missing = undrawable()
    drawn = {} if missing else draw_all(material.found, made, folder, tell=tell)
    mine = {*tables, *(path for paths in drawn.values() for path in paths)}
    there = (path for kind in ("csv", "png", "svg") for path in folder.glob(f"*.{kind}"))
    return RankFiles(
        folder=folder,
        tables=tuple(tables),
        pictures=tuple(path for paths in drawn.values() for path in paths),
        undrawn=tuple(name for name, paths in drawn.items() if not paths),
        older=tuple(sorted(path.name for path in there if path not in mine)),
        missing="" if missing is None else f"no picture was drawn: {missing}",
    )


@contextmanager
def _progress() -> Iterator[Callable[[str], object]]:
    """Yield what shows one line that is written over; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield len
        return

    def show(line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line.replace('_', ' ')[:100]}\r")
        sys.stderr.flush()

    try:
        yield show
    finally:
        show("")


def _print(found: RankStudy, made: Portfolio, written: RankFiles | None, source: RankSource, *, whole: bool) -> None:
    from judgeharness_integrations.reporting.rankanalyses import analysed_section  # noqa: PLC0415 - JSON needs none
    from judgeharness_integrations.reporting.terminal import console, safe, show_section  # noqa: PLC0415

    screen = console()
    section = analysed_section(found, made, source=source.title, rule_fixed=source.rule_fixed, whole=whole)
    show_section(section, screen, every=whole)
    if written is None:
        return
    pictures = len({path.stem for path in written.pictures})
    drawn = "" if written.missing else f"{pictures} pictures (PNG, SVG), "
    what = f"{drawn}{len(written.tables)} tables (CSV), rank.json"
    screen.print()
    screen.print(safe(f"written to {written.folder}: {what}", 400), soft_wrap=True)
    if written.undrawn:
        names = ", ".join(name.replace("_", " ") for name in written.undrawn)
        screen.print(f"not drawn, since there is nothing to show: {names}", soft_wrap=True)
    if written.older:
        screen.print(safe(f"in the folder from before, not of this ranking: {', '.join(written.older)}", 600))
