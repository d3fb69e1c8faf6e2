"""An alternative annotator test as tables: advantage probabilities, omega, annotators, what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from judgeharness_integrations.agreement.alttest.report import AltTest, AltTestReport, AnnotatorTest
from judgeharness_integrations.agreement.alttest.winningrate import RhoDifference
from judgeharness_integrations.cli._printing import percent, safe, table

__all__ = ["alt_test_tables"]

_ALMOST_ZERO = 0.001
_LONGEST_TABLE = 60
_SENTENCE = 400


def alt_test_tables(report: AltTestReport) -> Iterator[RenderableType]:
    """Yield the tables of a report, then a sentence for each candidate, the warnings and the scope."""
    groups = _grouped(report.candidates)
    yield safe(f"humans: {', '.join(report.scope.humans)}", 200)
    yield f"score: {', '.join(dict.fromkeys(safe(test.score).plain for test in report.candidates))}"
    kind = "multiplicative" if report.candidates[0].multiplicative else "additive"
    yield f"H0: the candidate is worse than the human by epsilon ({kind}) or more"
    yield "rho: how often the candidate is as close to the other humans as the human is, or closer"
    yield "omega: share of annotators for whom the t-test rejects H0; a candidate passes from .5"
    yield f"Benjamini-Yekutieli at q = {report.q:g}, annotators with {report.min_instances} instances or more"
    yield _rho_table(groups)
    yield _omega_table(groups, report.scope.cluster)
    yield from _annotator_tables(report)
    if report.comparisons:
        yield _comparison_table(report.comparisons)
    yield ""
    for group in groups:
        yield safe(_verdict(group), _SENTENCE)
    for warning in dict.fromkeys(f"{_name(one)}: {text}" for one in report.candidates for text in one.warnings):
        yield safe(f"warning: {warning}", _SENTENCE)
    yield "\nscope"
    for sentence in report.scope.sentences():
        yield safe(f"- {sentence}", _SENTENCE)


def _grouped(tests: Sequence[AltTest]) -> list[list[AltTest]]:
    """Return the tests of each candidate and score; they differ in epsilon alone."""
    groups: dict[tuple[str, str], list[AltTest]] = {}
    for test in tests:
        groups.setdefault((test.candidate, test.score), []).append(test)
    return list(groups.values())


def _name(test: AltTest) -> str:
    return f"{test.candidate} ({test.score})"


def _rho_table(groups: Sequence[Sequence[AltTest]]) -> RenderableType:
    columns = ("candidate", "in-\nstances", "tested", "rho", "95 %", "rho of\nhumans", "ties\n%", "wins, %\nof rest")
    return table("rho: average advantage probability", columns, (_rho(group[0]) for group in groups))


def _rho(test: AltTest) -> list[str | Text]:
    tested = f"{test.m_tested} of {test.m_tested + len(test.skipped)}"
    rates = (_number(test.rho), _interval(test.rho_interval), _number(test.rho_human))
    shares = (percent(test.tie_rate), percent(test.decisive_rate))
    return [safe(_name(test)), str(test.n_instances), tested, *rates, *shares]


def _omega_table(groups: Sequence[Sequence[AltTest]], cluster: str | None) -> RenderableType:
    columns = ("candidate", "test", *(f"{test.epsilon:g} " for test in groups[0]))
    return table(
        "omega by epsilon (* passes)", columns, (row for group in groups for row in _omegas(group, cluster)), texts=2
    )


def _omegas(group: Sequence[AltTest], cluster: str | None) -> Iterator[list[str | Text]]:
    yield [safe(_name(group[0])), "t", *(f"{_number(test.omega)}{'*' if test.passed else ' '}" for test in group)]
    if not group[0].multiplicative:
        yield ["", "Tango", *(f"{_number(test.omega_tango)} " for test in group)]
    if cluster is not None:
        yield ["", safe(f"t by {cluster}", 30), *(f"{_number(test.omega_clustered)} " for test in group)]


def _annotator_tables(report: AltTestReport) -> Iterator[RenderableType]:
    lines = sum(len(test.annotators) for test in report.candidates)
    if not lines:
        return
    if lines > _LONGEST_TABLE or len({test.epsilon for test in report.candidates}) > 1:
        yield "\nevery annotator's test: with one candidate and one epsilon, or in --json"
        return
    clustered = report.scope.cluster is not None
    last = ("p by\ncluster",) if clustered else ()
    columns = ("annotator", "instances", "rho_f", "rho_h", "t", "p", "p\nadjusted", "H0\nrejected", "Tango\np", *last)
    for test in (one for one in report.candidates if one.annotators):
        title = f"{safe(_name(test)).plain} at epsilon {test.epsilon:g}"
        yield table(title, columns, (_annotator(one, clustered=clustered) for one in test.annotators))


def _annotator(one: AnnotatorTest, *, clustered: bool) -> list[str | Text]:
    own = [_number(one.rho_f), _number(one.rho_h), _number(one.t), _p(one.p), _p(one.p_adjusted)]
    decided = ["yes" if one.rejected else "no", _p(one.tango_p)]
    return [safe(one.annotator), str(one.n), *own, *decided, *([_p(one.clustered_p)] if clustered else [])]


def _comparison_table(comparisons: Sequence[RhoDifference]) -> RenderableType:
    columns = ("candidates", "common\ninstances", "rho\nfirst", "rho\nsecond", "differ-\nence", "95 %")
    return table("rho compared on the instances both answered (paired)", columns, map(_comparison, comparisons))


def _comparison(one: RhoDifference) -> list[str | Text]:
    who = Text.assemble(safe(one.first), " - ", safe(one.second), " (", safe(one.score), ")")
    rates = (_number(one.rho_first), _number(one.rho_second), _number(one.difference))
    return [who, str(one.instances), *rates, _interval(one.interval)]


def _verdict(group: Sequence[AltTest]) -> str:
    """Return what was found of one candidate and score."""
    test = group[0]
    if test.passed is None:
        return f"{_name(test)}: {test.reason}"
    if len(group) > 1:
        passing = ", ".join(f"{one.epsilon:g}" for one in group if one.passed)
        return f"{_name(test)} " + (f"passes at epsilon {passing}." if passing else "passes at no epsilon tried.")
    word = "passes" if test.passed else "does not pass"
    counts = f"{test.n_rejected} of {test.m_tested} annotators"
    return f"{_name(test)} {word} at epsilon {test.epsilon:g}: H0 is rejected for {counts}."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(value: tuple[float, float] | None) -> str:
    return "-" if value is None else f"{value[0]:.3f} to {value[1]:.3f}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.001" if value < _ALMOST_ZERO else f"{value:.3f}"
