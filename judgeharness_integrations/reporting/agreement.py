"""Who agrees with whom: each rater, each pair, all humans at once, the candidates and the majority."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from judgeharness_integrations.reporting.fragments.rendering import section_html
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Table
from judgeharness_integrations.verdictlog.plain import counted, ends, fixed, percent

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.agreement.bootstrap import Coefficient
    from judgeharness_integrations.analysis.agreement.kappatable import (
        AgreementTable,
        ConsensusAgreement,
        PairAgreement,
        RaterAgreement,
    )

_MOST_RATERS: Final = 12  # of whom pairs are listed without being asked for
_MOST_NOTES: Final = 12
_Limits: TypeAlias = "tuple[float, float] | None"


def agreement_section(report: AgreementTable, *, source: str = "", pairs: bool = False) -> Section:
    """Return a table of agreement for people; `pairs`: every pair of many raters, too."""
    shown = pairs or len(report.raters) <= _MOST_RATERS
    return Section(
        title=f"agreement in {source}" if source else f"agreement about {counted(report.items, 'item')}",
        blocks=tuple(_blocks(report, shown=shown)),
    )


def agreement_fragment(report: AgreementTable) -> str:
    """Return a table of agreement as HTML that a notebook shows."""
    return section_html(agreement_section(report))


def _blocks(report: AgreementTable, *, shown: bool) -> Iterator[Block]:
    yield from _preface(report)
    yield _rater_table(report)
    if shown and report.pairs:
        columns = ("rater", "with", "role", "value", _level(report), "agree\n%", "by\nchance\n%", "items")
        yield Table.of("pairs, over the items both answered", columns, map(_pair, report.pairs), texts=3)
    if report.human_mean is not None:
        mean = f"{fixed(report.human_mean)} {ends(report.human_interval)}".removesuffix(" -")
        yield f"mean of pairs of {_humans(report)}: {mean}"
    yield from _left_out(report, shown=shown)
    if report.groups:
        yield _group_table(report)
    if report.consensus:
        yield _consensus_table(report)
    yield from report.controls()
    if report.per_label:
        title = "by label: coefficients of all at once, then means of pairs"
        yield Table.of(title, ("label", "of", "value", _level(report)), _labels(report), texts=2)
    if notes := tuple(_notes(report, pairs=shown)):
        more = len(notes) - _MOST_NOTES
        rest = (f"and {more} more of the kind, each with its reason under --json",) if more > 0 else ()
        yield Bullets((*notes[:_MOST_NOTES], *rest))


def _level(report: AgreementTable) -> str:
    return f"{100 * report.bootstrap.level:g} %"


def _humans(report: AgreementTable) -> str:
    """Return what those are called who are compared with each other."""
    return "humans" if report.candidates else "raters"


def _preface(report: AgreementTable) -> Iterator[str]:
    title = report.pairs[0].coefficient.title
    yield f"{len(report.raters)} raters, {report.items} items; coefficient of pairs: {title}"
    if report.order:
        yield f"declared scale: {', '.join(report.order)}"
    if report.kind == "sets":
        yield "sets agree when they are the same; by label: is it in the set or not"
    if report.intervals:
        yield f"intervals: {report.intervals}"
    yield from report.copies
    if any(row.folded for row in report.raters):
        yield f"several answers of one rater about one item are folded by: {report.rule}"


def _rater_table(report: AgreementTable) -> Table:
    roles, folded = bool(report.candidates), any(row.folded for row in report.raters)
    columns = [
        "rater",
        *(["role"] if roles else []),
        "items\nanswered",
        "failed\nrows",
        *(["items\nfolded", "un-\ndecided"] if folded else []),
        "mean",
        _level(report),
        f"of\n{_humans(report)}",
    ]
    rows = (_rater(row, roles=roles, folded=folded) for row in report.raters)
    return Table.of(f"each rater with the other {_humans(report)}", columns, rows, texts=2 if roles else 1)


def _rater(row: RaterAgreement, *, roles: bool, folded: bool) -> list[str]:
    role = [row.role] if roles else []
    repeats = [str(row.folded), str(row.undecided)] if folded else []
    mean = (fixed(row.mean), ends(row.interval, 2), str(row.humans))
    return [row.rater, *role, str(row.answers), str(row.failed), *repeats, *mean]


def _left_out(report: AgreementTable, *, shown: bool) -> Iterator[str]:
    """Yield what is not shown of the pairs."""
    if not shown:
        yield f"pairs: {len(report.pairs)}, listed with --pairs or --json"
    if report.crowd:
        yield "the pairs are too many for intervals of each and of the means of raters"
    if report.unshared:
        yield f"{report.unshared} more pairs share no item"


def _pair(pair: PairAgreement) -> list[str]:
    return [pair.first, pair.second, pair.role, *_measured(pair.coefficient), str(pair.coefficient.items)]


def _measured(found: Coefficient) -> list[str]:
    return [fixed(found.value), ends(found.interval, 2), percent(found.observed), percent(found.expected)]


def _group_table(report: AgreementTable) -> Table:
    singles = any(found.singles for found in report.groups)
    columns = [
        "coefficient",
        "value",
        _level(report),
        "agree\n%",
        "by\nchance\n%",
        "items\nused",
        *(["with one\nanswer"] if singles else []),
        "cate-\ngories",
    ]
    rows = (_group(found, singles=singles) for found in report.groups)
    return Table.of(f"all {_humans(report)} at once", columns, rows)


def _group(found: Coefficient, *, singles: bool) -> list[str]:
    alone = [str(found.singles)] if singles else []
    return [found.title, *_measured(found), str(found.items), *alone, str(found.categories)]


def _consensus_table(report: AgreementTable) -> Table:
    median = report.consensus[0].rule == "median"
    columns = (
        "candidate",
        "value",
        _level(report),
        "agree\n%",
        "by\nchance\n%",
        "items",
        "items with\na median" if median else "items with\none",
        *([] if median else ["ties for\nthe most"]),
    )
    rows = (_consensus(row, ties=not median) for row in report.consensus)
    return Table.of(f"candidates against the humans' {_middle(median=median)}", columns, rows)


def _middle(*, median: bool) -> str:
    return "median" if median else "most frequent answer"


def _consensus(row: ConsensusAgreement, *, ties: bool) -> list[str]:
    counts = [row.coefficient.items, row.consensus, *([row.ties] if ties else [])]
    return [row.candidate, *_measured(row.coefficient), *map(str, counts)]


def _labels(report: AgreementTable) -> Iterator[list[str]]:
    """Yield the coefficients of all humans about each label, then the means of pairs with humans."""
    for label, made in report.per_label.items():
        parts: list[tuple[str, float | None, _Limits]] = [
            *((found.title.split(",", maxsplit=1)[0], found.value, found.interval) for found in made.groups),
            (f"{_humans(report)}, mean", made.human_mean, made.human_interval),
            *((row.rater, row.mean, row.interval) for row in made.raters if row.role == "candidate"),
        ]
        yield from ([label, name, fixed(value), ends(interval, 2)] for name, value, interval in parts)


def _notes(report: AgreementTable, *, pairs: bool) -> Iterator[str]:
    """Yield why a value or an interval is missing: of all at once first, then of the pairs that are shown."""
    found = [(coefficient.title, coefficient) for coefficient in report.groups]
    found += [
        (f"{row.candidate} against the {_middle(median=row.rule == 'median')}", row.coefficient)
        for row in report.consensus
    ]
    if pairs:
        found += [(f"{pair.first} with {pair.second}", pair.coefficient) for pair in report.pairs]
    for name, coefficient in found:
        if coefficient.reason:
            yield f"{name}: no {'value' if coefficient.value is None else 'interval'}, {coefficient.reason}"
