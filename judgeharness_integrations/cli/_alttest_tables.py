"""An alternative annotator test for people: the verdicts first, then the tables they rest on, then the scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from judgeharness_integrations.agreement.alttest.report import AltTestReport
from judgeharness_integrations.cli._agreement_printing import Row, limits, number, titled
from judgeharness_integrations.cli._alttest_annotators import annotator_tables, fellow_table
from judgeharness_integrations.cli._alttest_verdicts import Group, Names, grouped, verdicts, warnings_of
from judgeharness_integrations.cli._printing import percent, safe

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.report import AltTest
    from judgeharness_integrations.agreement.alttest.winningrate import RhoDifference

__all__ = ["alt_test_tables"]

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


def _rho_table(groups: Sequence[Group], names: Names) -> RenderableType:
    columns = ("candidate", "in-\nstances", "tested", "rho", "95 %", "rho of\nhumans", "ties\n%", "wins\n%")
    title = "rho: average advantage probability (ties: both win; wins: the candidate's share of the rest)"
    return titled(title, columns, (_rho(group[0], names) for group in groups))


def _rho(test: AltTest, names: Names) -> Row:
    tested = f"{test.m_tested} of {test.m_tested + len(test.skipped)}"
    rates = (number(test.rho), limits(test.rho_interval), number(test.rho_human))
    shares = (percent(test.tie_rate), percent(test.decisive_rate))
    return [safe(names.of_test(test)), str(test.n_instances), tested, *rates, *shares]


def _omega_table(groups: Sequence[Group], names: Names, report: AltTestReport) -> RenderableType:
    columns = ("candidate", "test", *(f"{test.epsilon:g} " for test in groups[0]))
    rows = (row for group in groups for row in _omegas(group, names, report.scope.cluster))
    return titled("omega by epsilon (* passes)", columns, rows, texts=2)


def _omegas(group: Group, names: Names, cluster: str | None) -> Iterator[Row]:
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
