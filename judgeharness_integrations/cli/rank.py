"""What `judgeharness rank`, `agreement` and `compare` do: judges, annotators and runs beside one another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, Protocol, get_args

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.grouping import CLUSTER, by_case, by_judge, copied_cases
from judgeharness_integrations.analysis.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.analysis.agreement.kappa import COEFFICIENTS, Bootstrap
from judgeharness_integrations.analysis.agreement.kappatable import AgreementTable, agreement_table
from judgeharness_integrations.analysis.agreement.panel import Panel
from judgeharness_integrations.analysis.agreement.ratings import Weights
from judgeharness_integrations.analysis.comparison import ComparisonReport, compare
from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.ranking.analyses import Material, Portfolio, portfolio_of
from judgeharness_integrations.analysis.ranking.comparing import Against
from judgeharness_integrations.analysis.ranking.correctness import Failures, Policy, Ties
from judgeharness_integrations.analysis.ranking.panels import read_judge_facts
from judgeharness_integrations.analysis.ranking.pointwise import pairs_of_scores
from judgeharness_integrations.analysis.ranking.ranking import leaderboard, versus
from judgeharness_integrations.analysis.ranking.rating import EipOptions, method_named
from judgeharness_integrations.analysis.ranking.studying import CutTies, RankRequest, RankStudy, study
from judgeharness_integrations.analysis.runs import RunReport, read_report
from judgeharness_integrations.analysis.runs.folder import lost_samples
from judgeharness_integrations.analysis.runs.summarising import unvaried_systems
from judgeharness_integrations.judging.casefiles import texts_of_cases, texts_of_run
from judgeharness_integrations.judging.cases import read_cases
from judgeharness_integrations.reporting.agreement import agreement_section, alt_test_section
from judgeharness_integrations.reporting.comparison import comparison_section, lost
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.terminal import console, safe, show_section
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

from ._command import GATE_FAILED, OK, names_in, one_of
from ._judge_options import AltTestRequest, KappaRequest, RankOptions, RankOutput
from ._output import asked_of_log, print_json, rows_of_log, without_garbage_collection, write_file
from ._replay import rule_of
from ._run_options import CompareRequest
from .benchmark.options import BenchmarkRankOptions

_TIES: tuple[Ties, ...] = get_args(Ties)
_QUICK = ("methods", "groups", "against", "score_gaps")


@dataclass(frozen=True, kw_only=True)
class RankFiles:
    """What a folder was given.

    `drawn`: picture -> its files, `undrawn`: pictures that had nothing to show; `older`: others of their kinds in it;
    `missing`: why none was drawn.
    """

    folder: Path
    tables: tuple[Path, ...]
    drawn: Mapping[str, Sequence[Path]]
    undrawn: tuple[str, ...]
    older: tuple[str, ...]
    missing: str = ""

    @property
    def pictures(self) -> list[Path]:
        """The files of all pictures."""
        return [path for paths in self.drawn.values() for path in paths]


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
        return asked_of_log(self.options.log, run=self.options.run, labels=self.options.labels)

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
        if written is not None:
            _write_index(material.found, made, written, source)
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
    for judge, mine in by_judge(rows).items():
        for line in lost_samples(mine):
            typer.echo(safe_text(f"{judge}: {line}"), err=True)
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
    return tuple(unvaried_systems(cases, texts_of_cases(read_cases(texts))))


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
    return versus(found, asked_of_log(other, labels=options.labels), labels=labels)


def _stem(log: Path) -> str:
    return log.name.partition(".")[0] or log.name


def _document(made: Portfolio) -> dict[str, Any]:
    return made.report.to_dict() | {"analyses": made.to_dict()}


def _write_tables(
    material: Material, made: Portfolio, document: dict[str, Any], folder: Path, tell: Callable[[str], object]
) -> RankFiles:
    from judgeharness_integrations.reporting.figures import undrawable  # noqa: PLC0415 - few write
    from judgeharness_integrations.reporting.rankpage import tables_of, write_document, write_tables  # noqa: PLC0415
    from judgeharness_integrations.reporting.rankplots.drawing import draw_all  # noqa: PLC0415 - few write

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
        drawn=drawn,
        undrawn=tuple(name for name, paths in drawn.items() if not paths),
        older=tuple(sorted(path.name for path in there if path not in mine)),
        missing="" if missing is None else f"no picture was drawn: {missing}",
    )


def _write_index(found: RankStudy, made: Portfolio, written: RankFiles, source: RankSource) -> None:
    from judgeharness_integrations.reporting.ranking import analysed_section  # noqa: PLC0415 - few write
    from judgeharness_integrations.reporting.rankpage import (  # noqa: PLC0415 - few write
        INDEX,
        rank_finding,
        rank_page,
    )

    page = rank_page(
        analysed_section(found, made, source=source.title, rule_fixed=source.rule_fixed),
        rank_finding(made.report),
        pictures=written.drawn,
        files=[*(path.name for path in (*written.tables, *written.pictures)), "rank.json"],
        priced=any(one.measures.cost is not None for one in made.report.judges),
    )
    write_file(written.folder / INDEX, page, "--out")


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


_FOLLOWING: Final = "the same command with --out ranking writes ranking/index.html, with pictures and tables"


def _print(found: RankStudy, made: Portfolio, written: RankFiles | None, source: RankSource, *, whole: bool) -> None:
    from judgeharness_integrations.reporting.ranking import analysed_section  # noqa: PLC0415 - JSON needs none

    screen = console()
    following = _FOLLOWING if written is None else f"open {written.folder / 'index.html'}"
    section = analysed_section(
        found, made, source=source.title, rule_fixed=source.rule_fixed, whole=whole, following=following
    )
    show_section(section, screen, every=whole)
    if written is None:
        return
    pictures = len({path.stem for path in written.pictures})
    drawn = "" if written.missing else f"{pictures} pictures (PNG, SVG), "
    what = f"index.html, {drawn}{len(written.tables)} tables (CSV), rank.json"
    screen.print()
    screen.print(safe(f"written to {written.folder}: {what}", 400), soft_wrap=True)
    if written.undrawn:
        names = ", ".join(name.replace("_", " ") for name in written.undrawn)
        screen.print(f"not drawn, since there is nothing to show: {names}", soft_wrap=True)
    if written.older:
        screen.print(safe(f"in the folder from before, not of this ranking: {', '.join(written.older)}", 600))


_MOST_STEPS = 1000


def panel_of(request: AltTestRequest | KappaRequest) -> Panel:
    """Return the panel that the logs of a request hold."""
    from judgeharness_integrations.analysis.agreement import Columns, read_panel  # noqa: PLC0415 - brings numpy

    named = [name.strip() for given in request.columns for name in given.split(",")]
    columns = Columns(item=request.item, rater=request.rater, labels=tuple(name for name in named if name))
    with without_garbage_collection():
        return read_panel(
            *request.logs, criterion=request.criterion, labels=request.labels, cluster=request.cluster, columns=columns
        )


def epsilons_of(texts: Sequence[str]) -> list[float]:
    """Return the epsilons of numbers, comma lists and inclusive ranges `low:high:step`, in exact decimals and order.

    Raises:
        UsageError: a text is none of them.

    """
    return sorted({float(value) for text in texts for part in text.split(",") for value in _steps(part.strip())})


def _steps(text: str) -> Iterator[Decimal]:
    try:
        numbers = [Decimal(part) for part in text.split(":")]
    except InvalidOperation:
        numbers = []
    if len(numbers) not in (1, 3) or not all(number.is_finite() for number in numbers):
        raise UsageError(f"--epsilon is a number such as 0.2 or a range such as 0:0.3:0.05, not {text!r:.40}.")
    if len(numbers) == 1:
        yield numbers[0]
        return
    low, high, step = numbers
    if step <= 0 or high < low or (high - low) / step > _MOST_STEPS:
        raise UsageError(f"--epsilon {text!r:.40} is no range: write low:high:step with low <= high and step > 0.")
    for place in range(int((high - low) / step) + 1):
        yield low + place * step


def run_alt_test(request: AltTestRequest) -> None:
    """Read the panel, test every candidate and print the report."""
    steps = epsilons_of(request.epsilons)
    check_drawable(request.plot)
    from judgeharness_integrations.analysis.agreement.alttest import alt_test  # noqa: PLC0415 - brings scipy

    report = alt_test(
        panel_of(request),
        humans=request.humans,
        candidates=request.candidates,
        scores=[name.strip() for given in request.scores for name in given.split(",")] or None,
        epsilons=steps,
        multiplicative=request.multiplicative,
        q=request.q,
        min_instances=request.min_instances,
        panel_description=request.panel_description,
    )
    if request.plot is not None:
        from judgeharness_integrations.reporting.agreementfigures import draw_alt_test  # noqa: PLC0415 - brings matplotlib

        draw_alt_test(report, request.plot)
    if request.as_json:
        print_json(report.to_dict())
        return
    screen = console()
    show_section(alt_test_section(report, source=", ".join(map(str, request.logs))), screen)
    if request.plot is not None:
        screen.print(safe(f"\nplots: {request.plot}", 200))


_WEIGHTS: tuple[Weights, ...] = get_args(Weights)


def kappa_of_logs(request: KappaRequest) -> None:
    """Read labels, measure who agrees with whom and print it."""
    coefficient = one_of("coefficient", request.coefficient, COEFFICIENTS)
    weights = None if request.weights is None else one_of("weights", request.weights, _WEIGHTS)
    check_drawable(request.plot)
    panel = panel_of(request)
    humans, candidates = _compared(panel, request)
    table = agreement_table(
        panel,
        humans=humans,
        candidates=candidates,
        coefficient=coefficient,
        weights=weights,
        order=tuple(name.strip() for name in request.order.split(",")) if request.order else (),
        bootstrap=Bootstrap(replicates=request.resamples, seed=request.seed),
    )
    drawn = [] if request.plot is None else _draw(table, request.plot)
    if request.as_json:
        print_json(table.to_dict())
        return
    screen = console()
    section = agreement_section(table, source=", ".join(map(str, request.logs)), pairs=request.pairs)
    show_section(section, screen)
    for path in drawn:
        screen.print(safe(f"drawn: {path}", 400), soft_wrap=True)


def _compared(panel: Panel, request: KappaRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return who is compared with each other, and the candidates beside them."""
    if not request.raters:
        candidates = panel.select(request.candidates, what="candidate")
        return tuple(name for name in panel.raters if name not in candidates), candidates
    return panel.roles(humans=request.raters, candidates=request.candidates, what="rater")


def _draw(table: AgreementTable, folder: Path) -> list[Path]:
    from judgeharness_integrations.reporting.agreementfigures import draw_kappa  # noqa: PLC0415 - matplotlib, for plots alone

    return draw_kappa(table, folder)


_STANDARD_OUTPUT: Final = Path("-")
_CHANGED: Final = frozenset({"worse", "better", "different", "flips more than noise"})
_UNTOLD: Final = "cannot tell"  # what is not measured passes no gate: a judge that is down is not seen to be worse


def compare_runs(request: CompareRequest) -> int:
    """Read both runs, compare them, print or write the report and return the exit code."""
    if request.as_json and request.markdown == _STANDARD_OUTPUT:
        raise UsageError("--json and --markdown - both print on standard output: write Markdown to a file.")
    scale = request.ends
    with without_garbage_collection():
        report = _compare_compared(request, scale)
    if request.html is not None:
        write_file(request.html, report.to_html(), "--html")
    if request.markdown is not None and request.markdown != _STANDARD_OUTPUT:
        write_file(request.markdown, report.to_markdown(), "--markdown")
    if request.as_json:
        print_json(report.to_dict())
    elif request.markdown == _STANDARD_OUTPUT:
        sys.stdout.write(report.to_markdown())
    else:
        show_section(comparison_section(report), console(), every=request.every)
    return _exit_code(report, request)


def _compare_compared(request: CompareRequest, scale: tuple[float, float] | None) -> ComparisonReport:
    rule = None if request.rule is None else rule_of(request.rule)
    before = _read(request, 0, rule)
    twice = request.sources[0] == request.sources[1] and request.runs[0] == request.runs[1]
    found = compare(
        before,
        before if twice else _read(request, 1, rule),
        judges=request.judges or None,
        criteria=request.criteria or None,
        judge_before=request.judges_paired[0],
        judge_after=request.judges_paired[1],
        measure=request.measure,
        detect=request.detect,
        alpha=request.alpha,
        seed=request.seed,
        permutations=request.permutations,
        sequential=request.sequential,
        scale=scale,
    )
    return replace(found, arguments_after=request.arguments_after)


def _read(request: CompareRequest, side: int, rule: Rule | None) -> RunReport:
    source, run = request.sources[side], request.runs[side]
    if source.is_dir() and run is not None:
        raise UsageError(f"{source} is the folder of one run: leave out --run-{'ab'[side]}.")
    options: dict[str, Any] = {
        "run": run,
        "labels": request.labels,
        "min_valid": request.min_valid,
        "tolerance": request.tolerance,
    }
    texts, missing = texts_of_run(source) if source.is_dir() and request.texts else ({}, "")
    try:
        return read_report(source, rule, **options, case_texts=texts, texts_missing=missing)
    except UsageError as error:
        if "choose one with --run." not in str(error):
            raise
        raise UsageError(str(error).replace("--run.", f"--run-{'ab'[side]}.")) from error


def _exit_code(report: ComparisonReport, request: CompareRequest) -> int:
    if (fail_on := request.fail_on) is None:
        return OK
    missing = tuple(lost(report, by_gold=request.measure != "rate"))
    for sentence in missing:
        typer.echo(f"--fail-on {fail_on}: {sentence}", err=True)
    answers = {one.answer for one in report.criteria}
    failing = {"worse": {"worse", _UNTOLD}, "changed": {*_CHANGED, _UNTOLD}}[fail_on]
    return GATE_FAILED if missing or answers & failing else OK
