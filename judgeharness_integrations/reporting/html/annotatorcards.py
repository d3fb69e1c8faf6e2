"""May a judge replace annotators: the answer for each of them, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport, AnnotatorTest
from judgeharness_integrations.analysis.statistics.means import t_interval
from judgeharness_integrations.verdictlog.encoding import counted, p_text

from .charts import NONE, Measure, interval_text, percent, whisker
from .judgecards import AnnotatorLine, AnnotatorsSection, Answer

_PASSES = 0.5
_MOST_LINES = 60  # of one forest; a crowd is summed up instead


def annotators_card(tested: AltTestReport, *, reason: str = "") -> AnnotatorsSection:
    """Return the answers of a test; `reason` says whom it leaves out."""
    return AnnotatorsSection(
        answers=tuple(_answer(test, tested) for test in tested.candidates),
        scope=(*tested.controls(), *tested.scope.sentences()),
        reason=reason,
        settings=f"Alternative annotator test, false discovery rate {tested.q:g}, annotators with at least "
        f"{counted(tested.min_instances, 'case')}",
        command="",
    )


def _answer(test: AltTest, report: AltTestReport) -> Answer:
    kind = " of each annotator's own rate" if test.multiplicative else ""
    shown = test.annotators[:_MOST_LINES]
    return Answer(
        judge=test.candidate,
        test=f"epsilon {test.epsilon:g}{kind}, score {test.score}",
        verdict="unmeasured" if test.passed is None else "yes" if test.passed else "no",
        sentence=_sentence(test),
        measures=tuple(_measures_of_annotators(test)),
        caveats=tuple(_caveats(test, report.scope.cluster)),
        lines=tuple(_lines(test, shown)),
        more_lines=len(test.annotators) - len(shown),
        skipped=test.skipped,
        clustered=report.scope.cluster is not None,
    )


def _sentence(test: AltTest) -> str:
    if test.passed is None:
        return test.reason or "nobody could be tested"
    beaten = f"{test.n_rejected} of {counted(test.m_tested, 'annotator')}"
    worse = f"worse than they are by {test.epsilon:g} or more" if test.epsilon else "no better than they are"
    least = math.ceil(test.m_tested * _PASSES)
    return f"For {beaten} it is ruled out that the judge is {worse}; it takes {least} to pass."


def _measures_of_annotators(test: AltTest) -> Iterator[Measure]:
    if test.omega is None or test.rho is None:
        return
    yield Measure(
        name="Winning rate (omega)",
        value=f"{test.omega:.2f}",
        of=f"{test.n_rejected} of {counted(test.m_tested, 'annotator')}",
        note="passes from 0.50",
        whisker=whisker(test.omega, mark=_PASSES),
    )
    low, high = test.rho_interval or (None, None)
    yield Measure(
        name="Advantage (rho) of the judge",
        value=percent(test.rho),
        interval=interval_text(low, high),
        of=f"over {counted(test.n_instances, 'case')}",
        note="at least as close to the other people as the one left out",
        whisker=whisker(test.rho, low, high, mark=test.rho_human),
    )
    yield Measure(name="Advantage (rho) of people", value=percent(test.rho_human), note="the mark beside the judge's")
    yield Measure(
        name="Ties",
        value=percent(test.tie_rate),
        of="of the comparisons, which both win",
        note="there is no other comparison"
        if test.decisive_rate is None
        else f"of the others the judge wins {percent(test.decisive_rate)}",
    )
    yield from _beside(test)


def _beside(test: AltTest) -> Iterator[Measure]:
    """Yield what the tests beside the paper's say."""
    for name, omega in (("Omega by Tango's test", test.omega_tango), ("Omega by clusters", test.omega_clustered)):
        if omega is not None:
            same = (omega >= _PASSES) == bool(test.passed)
            note = "says the same" if same else "says the opposite"
            yield Measure(name=name, value=f"{omega:.2f}", note=note, whisker=whisker(omega, mark=_PASSES))


def _caveats(test: AltTest, cluster: str | None) -> Iterator[str]:
    yield from test.warnings
    if test.clustered_reason:
        yield f"clustered by {cluster} nothing can be told: {test.clustered_reason}"
    if test.interval_reason:
        yield f"no interval of rho: {test.interval_reason}"


def _lines(test: AltTest, tests: Sequence[AnnotatorTest]) -> Iterator[AnnotatorLine]:
    intervals = [_interval(one) for one in tests]
    ends = [abs(end) for pair in intervals if pair for end in pair]
    reach = max([0.1, test.epsilon, *(abs(one.rho_f - one.rho_h) for one in tests), *ends])
    for one, limits in zip(tests, intervals, strict=True):
        difference = one.rho_f - one.rho_h
        low, high = limits or (None, None)
        edge = -test.epsilon * (one.rho_h if test.multiplicative else 1)
        yield AnnotatorLine(
            annotator=one.annotator,
            items=one.n,
            difference=f"{100 * difference:+.1f}",
            interval=interval_text(low, high),
            candidate=percent(one.rho_f),
            human=percent(one.rho_h),
            p=p_text(one.p_adjusted, none=NONE),
            tango_p=p_text(one.tango_p_adjusted, none=NONE),
            clustered_p=p_text(one.clustered_p_adjusted, none=NONE),
            rejected=one.rejected,
            whisker=whisker(difference, low, high, mark=edge, axis=(-reach, reach)),
        )


def _interval(one: AnnotatorTest) -> tuple[float, float] | None:
    """Return the 95 % t interval of the judge's rate minus the annotator's; None where nothing varies."""
    mean = (one.n_candidate_win - one.n_human_win) / one.n
    squares = one.n_candidate_win * (1 - mean) ** 2 + one.n_human_win * (1 + mean) ** 2 + one.n_tie * mean**2
    if one.n == 1 or not squares:
        return None
    return t_interval(mean, math.sqrt(squares / (one.n - 1) / one.n), one.n - 1)
