"""Who agrees with whom as tables: each rater, each pair, all humans at once, the candidates and the majority."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from rich.console import RenderableType

from judgeharness_integrations.analysis.agreement.bootstrap import Bootstrap, Coefficient
from judgeharness_integrations.analysis.agreement.kappa import COEFFICIENTS
from judgeharness_integrations.analysis.agreement.kappatable import (
    AgreementTable,
    ConsensusAgreement,
    PairAgreement,
    RaterAgreement,
    agreement_table,
)
from judgeharness_integrations.analysis.agreement.panel import Panel
from judgeharness_integrations.analysis.agreement.ratings import Weights
from judgeharness_integrations.cli._alttest import Limits, Row, limits, number, panel_of, titled
from judgeharness_integrations.cli._names import one_of
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli.kappa import KappaRequest
from judgeharness_integrations.reporting.figures import check_drawable
from judgeharness_integrations.reporting.terminal import percent, safe

__all__ = ["kappa_of_logs", "kappa_tables"]


_MOST_COLUMNS = 12
_NAME = 20
_CELL = 14
_MOST_RATERS = 12  # of whom pairs are listed without being asked for
_MOST_NOTES = 12
_LABEL_TITLE = "by label: coefficients of all at once, then means of pairs"


def kappa_tables(report: AgreementTable, *, width: int, listed: bool = False) -> Iterator[RenderableType]:
    """Yield the parts of a report, for a terminal of so many characters; `listed`: every pair of many raters too."""
    yield from _preface(report)
    yield _rater_table(report)
    columns, shown = len(report.humans), listed or len(report.raters) <= _MOST_RATERS
    if shown and report.pairs:
        yield _matrix(report) if columns <= _MOST_COLUMNS and _fits(columns, width) else _pair_list(report)
    yield from _left_out(report, shown=shown)
    if report.groups:
        yield _group_table(report)
    if report.consensus:
        yield _consensus_table(report)
    for sentence in report.controls():
        yield safe(sentence, 400)
    if report.per_label:
        columns = len(report.candidates) + len(report.groups) + 1
        yield _label_table(report) if _fits(columns, width) else _label_list(report)
    yield from _notes(report, pairs=shown)


def _fits(columns: int, width: int) -> bool:
    return _NAME + _CELL * columns <= width


def _between(interval: Limits) -> str:
    return limits(interval, 2)


def _level(report: AgreementTable) -> str:
    return f"{100 * report.bootstrap.level:g} %"


def _humans(report: AgreementTable) -> str:
    """Return what those are called who are compared with each other."""
    return "humans" if report.candidates else "raters"


def _preface(report: AgreementTable) -> Iterator[RenderableType]:
    title = report.pairs[0].coefficient.title
    yield safe(f"{len(report.raters)} raters, {report.items} items; coefficient of pairs: {title}", 200)
    if report.order:
        yield safe(f"declared scale: {', '.join(report.order)}", 400)
    if report.kind == "sets":
        yield "sets agree when they are the same; by label: is it in the set or not"
    if report.intervals:
        yield safe(f"intervals: {report.intervals}", 200)
    if any(row.folded for row in report.raters):
        yield safe(f"several answers of one rater about one item are folded by: {report.rule}", 200)


def _rater_table(report: AgreementTable) -> RenderableType:
    folded = any(row.folded for row in report.raters)
    columns = [
        "rater",
        *(["role"] if report.candidates else []),
        "items\nanswered",
        "failed\nrows",
        *(["items\nfolded", "un-\ndecided"] if folded else []),
        "mean",
        _level(report),
        f"of\n{_humans(report)}",
    ]
    title = f"each rater with the other {_humans(report)}"
    texts = 2 if report.candidates else 1
    rows = (_rater(row, roles=bool(report.candidates), folded=folded) for row in report.raters)
    return titled(title, columns, rows, texts=texts)


def _rater(row: RaterAgreement, *, roles: bool, folded: bool) -> Row:
    role = [row.role] if roles else []
    repeats = [str(row.folded), str(row.undecided)] if folded else []
    mean = (number(row.mean), _between(row.interval), str(row.humans))
    return [safe(row.rater), *role, str(row.answers), str(row.failed), *repeats, *mean]


def _left_out(report: AgreementTable, *, shown: bool) -> Iterator[RenderableType]:
    """Yield what is not shown of the pairs."""
    if not shown:
        yield f"\npairs: {len(report.pairs)}, listed with --pairs or --json"
    if report.crowd:
        yield "the pairs are too many for intervals of each and of the means of raters"
    if report.unshared:
        yield f"{report.unshared} more pairs share no item"


def _matrix(report: AgreementTable) -> RenderableType:
    """Return the pairs as a triangle over numbered columns, candidates below it."""
    place = {name: number for number, name in enumerate(report.humans, start=1)}
    cells = {(pair.second, pair.first): pair.coefficient for pair in report.pairs}
    # nobody stands below the last human but candidates
    columns = report.humans if report.candidates else report.humans[:-1]
    rows: list[Row] = []
    for row in report.raters:
        number = f"{place[row.rater]} " if row.rater in place else ""
        rows.append([safe(f"{number}{row.rater}"), *(_cell(cells.get((row.rater, human))) for human in columns)])
    title = f"pairs: value, {_level(report)}, items both answered"
    return titled(title, ["rater", *(str(place[human]) for human in columns)], rows)


def _cell(found: Coefficient | None) -> str:
    return "" if found is None else f"{number(found.value)}\n{_between(found.interval)}\n{found.items}"


def _pair_list(report: AgreementTable) -> RenderableType:
    columns = ("rater", "with", "value", _level(report), "agree\n%", "by\nchance %", "items")
    return titled("pairs, over the items both answered", columns, map(_pair, report.pairs), texts=2)


def _pair(pair: PairAgreement) -> Row:
    return [safe(pair.first), safe(pair.second), *_measured(pair.coefficient), str(pair.coefficient.items)]


def _measured(found: Coefficient) -> list[str]:
    return [number(found.value), _between(found.interval), percent(found.observed), percent(found.expected)]


def _group_table(report: AgreementTable) -> RenderableType:
    singles = any(found.singles for found in report.groups)
    columns = [
        "coefficient",
        "value",
        _level(report),
        "agree\n%",
        "by\nchance %",
        "items\nused",
        *(["with one\nanswer"] if singles else []),
        "cate-\ngories",
    ]
    return titled(
        f"all {_humans(report)} at once", columns, (_group(found, singles=singles) for found in report.groups)
    )


def _group(found: Coefficient, *, singles: bool) -> Row:
    alone = [str(found.singles)] if singles else []
    return [safe(found.title), *_measured(found), str(found.items), *alone, str(found.categories)]


def _consensus_table(report: AgreementTable) -> RenderableType:
    median = report.consensus[0].rule == "median"
    said = "median" if median else "most frequent answer"
    columns = (
        "candidate",
        "value",
        _level(report),
        "agree\n%",
        "by\nchance %",
        "items",
        "items with\na median" if median else "items with\none",
        *([] if median else ["ties for\nthe most"]),
    )
    rows = (_consensus(row, ties=not median) for row in report.consensus)
    return titled(f"candidates against the humans' {said}", columns, rows)


def _consensus(row: ConsensusAgreement, *, ties: bool) -> Row:
    counts = [row.coefficient.items, row.consensus, *([row.ties] if ties else [])]
    return [safe(row.candidate), *_measured(row.coefficient), *map(str, counts)]


def _label_parts(report: AgreementTable, made: AgreementTable) -> list[tuple[str, float | None, Limits]]:
    """Return the coefficients of all humans about one label, then the means of pairs with humans."""
    groups = [(found.title.split(",", maxsplit=1)[0], found.value, found.interval) for found in made.groups]
    means = [(row.rater, row.mean, row.interval) for row in made.raters if row.role == "candidate"]
    return [*groups, (f"{_humans(report)}, mean", made.human_mean, made.human_interval), *means]


def _label_table(report: AgreementTable) -> RenderableType:
    parts = {label: _label_parts(report, made) for label, made in report.per_label.items()}
    first = next(iter(parts.values()))
    columns = ["label", *(safe(name, 30).plain.replace(" ", "\n", 1) for name, _, _ in first)]
    rows: Iterator[Row] = (
        [safe(label), *(f"{number(value)}\n{_between(limits)}" for _, value, limits in mine)]
        for label, mine in parts.items()
    )
    return titled(_LABEL_TITLE, columns, rows)


def _label_list(report: AgreementTable) -> RenderableType:
    rows: Iterator[Row] = (
        [safe(label), safe(name), number(value), _between(limits)]
        for label, made in report.per_label.items()
        for name, value, limits in _label_parts(report, made)
    )
    return titled(_LABEL_TITLE, ("label", "of", "value", _level(report)), rows, texts=2)


def _notes(report: AgreementTable, *, pairs: bool) -> Iterator[RenderableType]:
    """Yield why a value or an interval is missing: of all at once first, then of the pairs that are shown."""
    found = [(coefficient.title, coefficient) for coefficient in report.groups]
    found += [
        (f"{row.candidate} against the {'median' if row.rule == 'median' else 'most frequent answer'}", row.coefficient)
        for row in report.consensus
    ]
    if pairs:
        found += [(f"{pair.first} with {pair.second}", pair.coefficient) for pair in report.pairs]
    notes = [
        f"{name}: no {'value' if coefficient.value is None else 'interval'}, {coefficient.reason}"
        for name, coefficient in found
        if coefficient.reason
    ]
    for note in notes[:_MOST_NOTES]:
        yield safe(note, 200)
    if len(notes) > _MOST_NOTES:
        yield f"and {len(notes) - _MOST_NOTES} more of the kind, each with its reason under --json"


_WEIGHTS: tuple[Weights, ...] = get_args(Weights)


def kappa_of_logs(request: KappaRequest) -> None:
    """Read labels, measure who agrees with whom and print it."""
    coefficient = one_of("coefficient", request.coefficient, COEFFICIENTS)
    weights = None if request.weights is None else one_of("weights", request.weights, _WEIGHTS)
    check_drawable(request.plot)
    panel = panel_of(request)
    humans, candidates = _chosen(panel, request)
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
    _print(table, ", ".join(map(str, request.logs)), drawn, pairs=request.pairs)


def _chosen(panel: Panel, request: KappaRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return who is compared with each other, and the candidates beside them."""
    if not request.raters:
        candidates = panel.select(request.candidates, what="candidate")
        return tuple(name for name in panel.raters if name not in candidates), candidates
    return panel.roles(humans=request.raters, candidates=request.candidates, what="rater")


def _draw(table: AgreementTable, folder: Path) -> list[Path]:
    from judgeharness_integrations.reporting.figures import draw_kappa  # noqa: PLC0415 - matplotlib, for plots alone

    return draw_kappa(table, folder)


def _print(table: AgreementTable, source: str, drawn: Sequence[Path], *, pairs: bool) -> None:
    from judgeharness_integrations.reporting.terminal import console, safe  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"agreement in {source}", 200))
    for part in kappa_tables(table, width=screen.width, listed=pairs):
        screen.print(part)
    for path in drawn:
        screen.print(safe(f"drawn: {path}", 400), soft_wrap=True)
