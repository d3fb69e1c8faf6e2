"""What both commands of agreement print with: titles on lines of their own, numbers, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.agreement.alttestreport import AltTestReport
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._reading import without_garbage_collection
from judgeharness_integrations.cli.agreement import AltTestRequest
from judgeharness_integrations.cli.kappa import KappaRequest
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.terminal import percent, safe, table
from judgeharness_integrations.verdictlog.plain import p_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AnnotatorTest, Scope
    from judgeharness_integrations.analysis.agreement.hypothesis import RhoDifference
    from judgeharness_integrations.analysis.agreement.panel import Panel

__all__ = [
    "AlttestGroup",
    "Limits",
    "Names",
    "Row",
    "alt_test_tables",
    "annotator_tables",
    "epsilons_of",
    "fellow_table",
    "grouped",
    "limits",
    "number",
    "panel_of",
    "run_alt_test",
    "titled",
    "verdicts",
    "warnings_of",
]


Row: TypeAlias = "list[str | Text]"
Limits: TypeAlias = "tuple[float, float] | None"


def titled(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, texts: int = 1
) -> RenderableType:
    """Return a table under its title, which a narrow table does not break."""
    made = table(title, columns, rows, texts=texts)
    made.title = None
    return Group(Text(f"\n{title}", style="bold"), made)


def number(value: float | None, digits: int = 3) -> str:
    """Return `0.123`, `-` for what was not measured, and never a zero with a minus."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def limits(interval: Limits, digits: int = 3) -> str:
    """Return `0.050 to 0.130`."""
    return "-" if interval is None else " to ".join(number(limit, digits) for limit in interval)


_MOST_COMPARED = 6  # candidates of which every two are compared
_SENTENCE = 600


def alt_test_tables(report: AltTestReport) -> Iterator[RenderableType]:
    """Yield the parts of a report."""
    groups, names = grouped(report), Names.of(report)
    yield from _preface(report)
    yield ""
    for sentence in verdicts(groups, names, report.scope.cluster):
        yield safe(sentence, _SENTENCE)
    for sentence in warnings_of(groups, names):
        yield safe(f"warning: {sentence}", _SENTENCE)
    for sentence in report.controls():
        yield safe(sentence, _SENTENCE)
    yield _rho_table(groups, names)
    yield _omega_table(groups, names, report)
    yield from annotator_tables(report, names)
    yield from _comparisons(report)
    yield from fellow_table(report.scope)
    yield "\nscope"
    for sentence in report.scope.sentences():
        yield safe(f"- {sentence}", _SENTENCE)


def _preface(report: AltTestReport) -> Iterator[RenderableType]:
    scope, multiplicative = report.scope, report.candidates[0].multiplicative
    yield safe(f"{len(scope.humans)} humans: {', '.join(scope.humans)}", 200)
    yield safe(f"score: {', '.join(dict.fromkeys(test.score for test in report.candidates))}", 200)
    if scope.cluster is not None:
        yield safe(f"clusters: {scope.clusters} of {scope.cluster}", 200)
    kind = "multiplicative" if multiplicative else "additive"
    yield f"H0: the candidate is worse than the human by epsilon ({kind}) or more; rejected is good for the candidate"
    yield "rho: how often the candidate is as close to the other humans as the human is, or closer"
    yield "omega: share of annotators for whom the t-test rejects H0; a candidate passes from .5"
    yield f"Benjamini-Yekutieli at q = {report.q:g}, annotators with {report.min_instances} instances or more"
    if multiplicative:
        yield "Tango's test is of additive epsilons alone"


def _rho_table(groups: Sequence[AlttestGroup], names: Names) -> RenderableType:
    columns = ("candidate", "in-\nstances", "tested", "rho", "95 %", "rho of\nhumans", "ties\n%", "wins\n%")
    title = "rho: average advantage probability (ties: both win; wins: the candidate's share of the rest)"
    return titled(title, columns, (_rho(group[0], names) for group in groups))


def _rho(test: AltTest, names: Names) -> Row:
    tested = f"{test.m_tested} of {test.m_tested + len(test.skipped)}"
    rates = (number(test.rho), limits(test.rho_interval), number(test.rho_human))
    shares = (percent(test.tie_rate), percent(test.decisive_rate))
    return [safe(names.of_test(test)), str(test.n_instances), tested, *rates, *shares]


def _omega_table(groups: Sequence[AlttestGroup], names: Names, report: AltTestReport) -> RenderableType:
    columns = ("candidate", "test", *(f"{test.epsilon:g} " for test in groups[0]))
    rows = (row for group in groups for row in _omegas(group, names, report.scope.cluster))
    return titled("omega by epsilon (* passes)", columns, rows, texts=2)


def _omegas(group: AlttestGroup, names: Names, cluster: str | None) -> Iterator[Row]:
    name = safe(names.of_test(group[0]))
    yield [name, "t", *(f"{number(test.omega)}{'*' if test.passed else ' '}" for test in group)]
    if not group[0].multiplicative:
        yield ["", "Tango", *(f"{number(test.omega_tango)} " for test in group)]
    if cluster is not None:
        yield ["", safe(f"t by {cluster}", 30), *(f"{number(test.omega_clustered)} " for test in group)]


def _comparisons(report: AltTestReport) -> Iterator[RenderableType]:
    """Yield candidates compared with each other; of many, only with the best."""
    if not report.comparisons:
        return
    shown, title = list(report.comparisons), "rho compared on the instances both answered (paired)"
    if len({test.candidate for test in report.candidates}) > _MOST_COMPARED:
        shown = [
            pair for score in dict.fromkeys(test.score for test in report.candidates) for pair in _best(report, score)
        ]
        title += ", with the best alone; every pair is in --json"
    several = len({one.score for one in shown}) > 1
    columns = ("candidates", "common\ninstances", "rho\nfirst", "rho\nsecond", "differ-\nence", "95 %")
    yield titled(title, columns, (_comparison(one, several=several) for one in shown))
    reasons: dict[str, list[str]] = {}
    for one in shown:
        if one.reason:
            reasons.setdefault(one.reason, []).append(f"{one.first} - {one.second}")
    for reason, pairs in reasons.items():
        which = "all" if len(pairs) == len(shown) else ", ".join(dict.fromkeys(pairs))
        yield safe(f"no interval of {which}: {reason}", _SENTENCE)


def _best(report: AltTestReport, score: str) -> list[RhoDifference]:
    """Return the comparisons with the candidate of the highest rho, it first."""
    rho = {test.candidate: test.rho for test in report.candidates if test.score == score and test.rho is not None}
    best = max(rho, key=rho.__getitem__, default=None)
    pairs = [pair for pair in report.comparisons if pair.score == score and best in {pair.first, pair.second}]
    return [pair if pair.first == best else pair.turned() for pair in pairs]


def _comparison(one: RhoDifference, *, several: bool) -> Row:
    score = Text.assemble(" (", safe(one.score), ")") if several else ""
    who = Text.assemble(safe(one.first), " - ", safe(one.second), score)
    rates = (number(one.rho_first), number(one.rho_second), number(one.difference))
    return [who, str(one.instances), *rates, limits(one.interval)]


_LONGEST_TABLE = 60
_MOST_HUMANS = 12


def annotator_tables(report: AltTestReport, names: Names) -> Iterator[RenderableType]:
    """Yield a table for each candidate, where there is one epsilon and they are not too long."""
    lines = sum(len(test.annotators) for test in report.candidates)
    if not lines:
        return
    if lines > _LONGEST_TABLE or len({test.epsilon for test in report.candidates}) > 1:
        yield "\nevery annotator's test: with one candidate and one epsilon, or in --json"
        return
    for test in (one for one in report.candidates if one.annotators):
        yield _table(test, names, clustered=report.scope.cluster is not None)
    yield "rho_f: rho of the candidate against this annotator; rho_h: of this annotator against the candidate"


def _table(test: AltTest, names: Names, *, clustered: bool) -> RenderableType:
    beside = [*([] if test.multiplicative else ["Tango\np"]), *(["p by\ncluster"] if clustered else [])]
    columns = ["annotator", "items", "rho_f", "rho_h", "t", "p", "p ad-\njusted", "H0 re-\njected", *beside]
    title = f"{safe(names.of_test(test)).plain} at epsilon {test.epsilon:g}"
    return titled(title, columns, (_annotator(one, test, clustered=clustered) for one in test.annotators))


def _annotator(one: AnnotatorTest, test: AltTest, *, clustered: bool) -> Row:
    own = [number(one.rho_f), number(one.rho_h), number(one.t), p_text(one.p), p_text(one.p_adjusted)]
    beside = [
        *([] if test.multiplicative else [p_text(one.tango_p)]),
        *([p_text(one.clustered_p)] if clustered else []),
    ]
    return [safe(one.annotator), str(one.n), *own, "yes" if one.rejected else "no", *beside]


def fellow_table(scope: Scope) -> Iterator[RenderableType]:
    """Yield how the humans stand among each other, unless they are too many to read."""
    if not 0 < len(scope.fellows) <= _MOST_HUMANS:
        return
    scores = list(scope.fellows[0].ap)
    columns = ["annotator", "items\nshared", *(f"AP\n{name}" for name in scores), "mean\nkappa", "stands\napart"]
    rows: list[Row] = [
        [
            safe(one.annotator),
            str(one.n),
            *(number(one.ap[name]) for name in scores),
            number(one.mean_kappa),
            "-" if one.outlying is None else "yes" if one.outlying else "no",
        ]
        for one in scope.fellows
    ]
    yield titled("the humans among each other (AP: share of the others each does at least as well as)", columns, rows)


AlttestGroup: TypeAlias = "Sequence[AltTest]"
_PASSES = 0.5


@dataclass(frozen=True)
class Names:
    """What tests are called: by candidate, and by score where there are several."""

    several: bool

    @classmethod
    def of(cls, report: AltTestReport) -> Names:
        """Return the names of a report."""
        return cls(several=len({test.score for test in report.candidates}) > 1)

    def of_test(self, test: AltTest) -> str:
        """Return what one test is called."""
        return f"{test.candidate} ({test.score})" if self.several else test.candidate


def grouped(report: AltTestReport) -> list[AlttestGroup]:
    """Return the tests of each candidate and score; they differ in epsilon alone."""
    groups: dict[tuple[str, str], list[AltTest]] = {}
    for test in report.candidates:
        groups.setdefault((test.candidate, test.score), []).append(test)
    return list(groups.values())


def verdicts(groups: Sequence[AlttestGroup], names: Names, cluster: str | None) -> Iterator[str]:
    """Yield what was found of each candidate and score."""
    for group in groups:
        test, name = group[0], names.of_test(group[0])
        if test.passed is None:
            yield f"{name}: {test.reason}"
            continue
        if len(group) > 1:
            passing = [one for one in group if one.passed]
            found = f"passes at epsilon {_epsilons(passing)}" if passing else "passes at no epsilon tried"
        else:
            word = "passes" if test.passed else "does not pass"
            counts = f"{test.n_rejected} of {test.m_tested} annotators"
            found = f"{word} at epsilon {test.epsilon:g}: H0 is rejected for {counts}"
        yield f"{name} {found}{'' if cluster is None else _clustered(group, cluster)}."
    for reason in dict.fromkeys(test.clustered_reason for group in groups for test in group if test.clustered_reason):
        yield f"clustered by {cluster} nothing can be told: {reason}."


def _clustered(group: AlttestGroup, cluster: str) -> str:
    """Return what becomes of a pass when items that belong together are not taken as independent."""
    passing = [test for test in group if test.passed]
    untold = [test for test in passing if test.omega_clustered is None]
    lost = [test for test in passing if test.omega_clustered is not None and test.omega_clustered < _PASSES]
    found = ""
    if lost:
        where = "" if len(lost) == len(passing) else f" at epsilon {_epsilons(lost)}"
        found += f", but not{where} when clustered by {cluster}"
    if untold:
        where = "" if len(untold) == len(passing) else f" at epsilon {_epsilons(untold)}"
        found += f"; clustered by {cluster} it cannot be told{where}"
    return found


def _epsilons(tests: AlttestGroup) -> str:
    return ", ".join(f"{test.epsilon:g}" for test in tests)


def warnings_of(groups: Sequence[AlttestGroup], names: Names) -> Iterator[str]:
    """Yield every warning once, with the candidates and scores, and the epsilons where those are not all."""
    about: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        found: dict[str, list[AltTest]] = {}
        for test in group:
            gap = [f"no interval of rho: {test.interval_reason}"] if test.interval_reason else []
            for text in (*test.warnings, *gap):
                found.setdefault(text, []).append(test)
        for text, tests in found.items():
            where = "" if len(tests) == len(group) else f" at epsilon {_epsilons(tests)}"
            about.setdefault((text, where), []).append(names.of_test(group[0]))
    for (text, where), who in about.items():
        everybody = len(who) == len(groups) > 1
        yield f"{'every candidate' if everybody else ', '.join(who)}{where}: {text}"


_MOST_STEPS = 1000


def panel_of(request: AltTestRequest | KappaRequest) -> Panel:
    """Return the panel that the logs of a request hold."""
    from judgeharness_integrations.analysis.agreement import Columns, read_panel  # noqa: PLC0415 - brings numpy

    named = [name.strip() for given in request.columns for name in given.split(",")]
    columns = Columns(item=request.item, rater=request.rater, labels=tuple(name for name in named if name))
    with without_garbage_collection():
        return read_panel(
            *request.logs,
            criterion=request.criterion,
            labels=request.labels,
            cluster=request.cluster,
            columns=columns,
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
        from judgeharness_integrations.reporting.figures import draw_alt_test  # noqa: PLC0415 - brings matplotlib

        draw_alt_test(report, request.plot)
    if request.as_json:
        print_json(report.to_dict())
        return
    _print(report, request.logs, request.plot)


def _print(report: AltTestReport, logs: Sequence[Path], plot: Path | None) -> None:
    from judgeharness_integrations.reporting.terminal import console, safe  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"alternative annotator test of {', '.join(map(str, logs))}", 200))
    for part in alt_test_tables(report):
        screen.print(part)
    if plot is not None:
        screen.print(safe(f"\nplots: {plot}", 200))
