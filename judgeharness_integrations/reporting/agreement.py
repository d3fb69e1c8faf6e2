"""Agreement with people: each rater, each pair, and who may replace the annotators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport, AnnotatorTest, Scope
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, p_text, percent

from .fragments import section_html
from .sections import Block, Bullets, Section, Strong, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.agreement.hypothesis import RhoDifference
    from judgeharness_integrations.analysis.agreement.kappa import Coefficient
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


_MOST_COMPARED = 6  # candidates of which every two are compared


def alt_test_section(report: AltTestReport, *, source: str = "") -> Section:
    """Return an alternative annotator test for people: who passes first."""
    groups, names = grouped(report), Names.of(report)
    return Section(
        title="alternative annotator test" + (f" of {source}" if source else f", q = {report.q:g}"),
        blocks=(
            *map(Strong, verdicts(groups, names, report.scope.cluster)),
            *(f"warning: {sentence}" for sentence in warnings_of(groups, names)),
            *report.controls(),
            *_alttest_preface(report),
            _rho_table(groups, names),
            _omega_table(groups, names, report),
            *_annotators(report, names),
            *_comparisons(report),
            *_fellows(report.scope),
            Section(title="scope", blocks=(Bullets(tuple(report.scope.sentences())),)),
        ),
    )


def alttest_fragment(report: AltTestReport) -> str:
    """Return an alternative annotator test as HTML that a notebook shows."""
    return section_html(alt_test_section(report))


def _alttest_preface(report: AltTestReport) -> Iterator[str]:
    scope, multiplicative = report.scope, report.candidates[0].multiplicative
    yield f"{len(scope.humans)} humans: {', '.join(scope.humans)}"
    yield f"score: {', '.join(dict.fromkeys(test.score for test in report.candidates))}"
    if scope.cluster is not None:
        yield f"clusters: {scope.clusters} of {scope.cluster}"
    kind = "multiplicative" if multiplicative else "additive"
    yield f"H0: the candidate is worse than the human by epsilon ({kind}) or more; rejected is good for the candidate"
    yield "rho: how often the candidate is as close to the other humans as the human is, or closer"
    yield "omega: share of annotators for whom the t-test rejects H0; a candidate passes from .5"
    yield f"Benjamini-Yekutieli at q = {report.q:g}, annotators with {report.min_instances} instances or more"
    if multiplicative:
        yield "Tango's test is of additive epsilons alone"


def _rho_table(groups: Sequence[AlttestGroup], names: Names) -> Table:
    columns = ("candidate", "in-\nstances", "tested", "rho", "95 %", "rho of\nhumans", "ties\n%", "wins\n%")
    title = "rho: average advantage probability (ties: both win; wins: the candidate's share of the rest)"
    return Table.of(title, columns, (_rho(group[0], names) for group in groups))


def _rho(test: AltTest, names: Names) -> list[str]:
    tested = f"{test.m_tested} of {test.m_tested + len(test.skipped)}"
    rates = (fixed(test.rho), ends(test.rho_interval), fixed(test.rho_human))
    shares = (percent(test.tie_rate), percent(test.decisive_rate))
    return [names.of_test(test), str(test.n_instances), tested, *rates, *shares]


def _omega_table(groups: Sequence[AlttestGroup], names: Names, report: AltTestReport) -> Table:
    columns = ("candidate", "test", *(f"{test.epsilon:g} " for test in groups[0]))
    rows = (row for group in groups for row in _omegas(group, names, report.scope.cluster))
    return Table.of("omega by epsilon (* passes)", columns, rows, texts=2)


def _omegas(group: AlttestGroup, names: Names, cluster: str | None) -> Iterator[list[str]]:
    name = names.of_test(group[0])
    yield [name, "t", *(f"{fixed(test.omega)}{'*' if test.passed else ' '}" for test in group)]
    if not group[0].multiplicative:
        yield ["", "Tango", *(f"{fixed(test.omega_tango)} " for test in group)]
    if cluster is not None:
        yield ["", f"t by {cluster}", *(f"{fixed(test.omega_clustered)} " for test in group)]


def _comparisons(report: AltTestReport) -> Iterator[Block]:
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
    yield Table.of(title, columns, (_comparison(one, several=several) for one in shown))
    reasons: dict[str, list[str]] = {}
    for one in shown:
        if one.reason:
            reasons.setdefault(one.reason, []).append(f"{one.first} - {one.second}")
    for reason, pairs in reasons.items():
        which = "all" if len(pairs) == len(shown) else ", ".join(dict.fromkeys(pairs))
        yield f"no interval of {which}: {reason}"


def _best(report: AltTestReport, score: str) -> list[RhoDifference]:
    """Return the comparisons with the candidate of the highest rho, it first."""
    rho = {test.candidate: test.rho for test in report.candidates if test.score == score and test.rho is not None}
    best = max(rho, key=rho.__getitem__, default=None)
    pairs = [pair for pair in report.comparisons if pair.score == score and best in {pair.first, pair.second}]
    return [pair if pair.first == best else pair.turned() for pair in pairs]


def _comparison(one: RhoDifference, *, several: bool) -> list[str]:
    who = f"{one.first} - {one.second}" + (f" ({one.score})" if several else "")
    rates = (fixed(one.rho_first), fixed(one.rho_second), fixed(one.difference))
    return [who, str(one.instances), *rates, ends(one.interval)]


_LONGEST_TABLE = 60
_MOST_HUMANS = 12


def _annotators(report: AltTestReport, names: Names) -> Iterator[Block]:
    """Yield a table for each candidate, where there is one epsilon and they are not too long."""
    lines = sum(len(test.annotators) for test in report.candidates)
    if not lines:
        return
    if lines > _LONGEST_TABLE or len({test.epsilon for test in report.candidates}) > 1:
        yield "every annotator's test: with one candidate and one epsilon, or in --json"
        return
    for test in (one for one in report.candidates if one.annotators):
        yield _table(test, names, clustered=report.scope.cluster is not None)
    yield "rho_f: rho of the candidate against this annotator; rho_h: of this annotator against the candidate"


def _table(test: AltTest, names: Names, *, clustered: bool) -> Table:
    beside = [*([] if test.multiplicative else ["Tango\np"]), *(["p by\ncluster"] if clustered else [])]
    columns = ["annotator", "items", "rho_f", "rho_h", "t", "p", "p ad-\njusted", "H0 re-\njected", *beside]
    title = f"{names.of_test(test)} at epsilon {test.epsilon:g}"
    return Table.of(title, columns, (_annotator(one, test, clustered=clustered) for one in test.annotators))


def _annotator(one: AnnotatorTest, test: AltTest, *, clustered: bool) -> list[str]:
    own = [fixed(one.rho_f), fixed(one.rho_h), fixed(one.t), p_text(one.p), p_text(one.p_adjusted)]
    beside = [
        *([] if test.multiplicative else [p_text(one.tango_p)]),
        *([p_text(one.clustered_p)] if clustered else []),
    ]
    return [one.annotator, str(one.n), *own, "yes" if one.rejected else "no", *beside]


def _fellows(scope: Scope) -> Iterator[Block]:
    """Yield how the humans stand among each other, unless they are too many to read."""
    if not 0 < len(scope.fellows) <= _MOST_HUMANS:
        return
    scores = list(scope.fellows[0].ap)
    columns = ["annotator", "items\nshared", *(f"AP\n{name}" for name in scores), "mean\nkappa", "stands\napart"]
    rows: list[list[str]] = [
        [
            one.annotator,
            str(one.n),
            *(fixed(one.ap[name]) for name in scores),
            fixed(one.mean_kappa),
            "-" if one.outlying is None else "yes" if one.outlying else "no",
        ]
        for one in scope.fellows
    ]
    yield Table.of("the humans among each other (AP: share of the others each does at least as well as)", columns, rows)


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
