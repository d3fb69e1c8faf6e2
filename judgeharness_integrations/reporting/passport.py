"""A passport for people: the worst contradiction and what is certified first, then every question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from judgeharness_integrations.reporting.sections import Block, Section, Strong, Table
from judgeharness_integrations.verdictlog.plain import counted, ends, fixed, percent

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.canary import CanaryReport
    from judgeharness_integrations.analysis.probability.passport import FormChange, Passport, QuestionPassport, Trust
    from judgeharness_integrations.analysis.statistics.means import Estimate

_CHANGES = ("form", "cases", "mean change\n[95 %]", "beyond the retest\n[95 %]", "one is off by\nat least")


def passport_section(passport: Passport) -> Section:
    """Return a passport for people."""
    return Section(title=f"passport of {passport.judge}: {_answer(passport)}", blocks=tuple(_blocks(passport)))


def canary_section(passport: Passport, reports: Mapping[str, CanaryReport]) -> Section:
    """Return what the rounds of a passport's canary say, question by question."""
    moved = [name for name, report in reports.items() if report.alarm is not None]
    still = f"nothing shows that {passport.judge} has moved"
    answer = f"{passport.judge} has moved: {', '.join(moved)}" if moved else still
    return Section(title=f"canary: {answer}", blocks=tuple(_rounds(reports)))


def _rounds(reports: Mapping[str, CanaryReport]) -> Iterator[Block]:
    columns = ("question", "rounds", "states", "evidence", "alarm from", "moved states")
    rows = (
        (
            name,
            str(report.days),
            str(report.states),
            fixed(report.evidence[-1], 2),
            fixed(report.needed, 0),
            "-" if report.alarm is None else str(len(report.moved)),
        )
        for name, report in reports.items()
    )
    yield Table.of("answers to frozen states", columns, rows)
    for name, report in reports.items():
        if not report.varied:
            yield f"{name}: no answer ever changed, so that another round of the same adds no evidence"
    level = sum(report.alpha for report in reports.values())
    yield (
        f"a model that has not moved raises an alarm in {percent(level)} % of passports at most, however often it is "
        "looked at"
    )


def _answer(passport: Passport) -> str:
    certified = [one for one in passport.questions if one.trust is not None and one.trust.threshold is not None]
    of = counted(len(passport.questions), "question")
    worst = max((form.bound.low or 0.0 for one in passport.questions for form in one.forms), default=0.0)
    off = f"; one of two wordings is off by {fixed(worst, 2)} at least" if worst > 0 else ""
    return f"answers to {len(certified)} of {of} are certified{off}"


def _blocks(passport: Passport) -> Iterator[Block]:
    if not passport.calibrated:
        model = passport.source.removeprefix("model:")
        yield Strong(f"the labels are those of {model}, a model: what is certified is agreement with it")
    for question in passport.questions:
        yield from _question(question)
    if passport.canary is not None and passport.canary.rounds:
        states, rounds = len(passport.canary.states), len(passport.canary.rounds)
        yield f"canary: {counted(states, 'frozen state')}, {counted(rounds, 'round')} of answers so far"


def _question(question: QuestionPassport) -> Iterator[Block]:
    yield Strong(f"{question.criterion}: {_decision(question)}")
    if question.trust is not None:
        yield from _trust(question.trust)
    if question.noise is None:
        yield f"{question.criterion}: nothing was asked twice, so that no change of form can be told from noise"
        return
    noise = question.noise
    yield (
        f"asked the very same again, answers move by {fixed(noise.change.value)} {_ends(noise.change)} on average and "
        f"are identical in {percent(noise.identical.value)} % of {counted(noise.n, 'case')}"
    )
    if question.forms:
        title = f"{question.criterion}: the same question in other forms"
        yield Table.of(title, _CHANGES, map(_change, question.forms))


def _decision(question: QuestionPassport) -> str:
    trust = question.trust
    if trust is None:
        return f"none of {counted(question.cases, 'case')} has a label, so that no answer is certified"
    if trust.threshold is None:
        more = "" if trust.labels_needed is None else f"; about {counted(trust.labels_needed, 'label')} would do"
        return f"no answer is certified: {trust.refusal}{more}"
    return (
        f"from a calibrated probability of {fixed(trust.threshold)} on, answers agree with the labels at least "
        f"{percent(trust.agreement)} % of the time, with confidence {percent(1 - trust.level)} %; "
        f"{percent(trust.covered)} % of {counted(question.cases, 'case')} reach it"
    )


def _trust(trust: Trust) -> Iterator[str]:
    if trust.map is None:
        return
    yield (
        f"{counted(trust.labelled, 'label')} in {counted(trust.clusters, 'cluster')}: skill over the base rate "
        f"{_estimate(trust.brier_skill)} (Brier), {_estimate(trust.log_skill)} (log); calibration error "
        f"{fixed(trust.ece_raw)} before the map and {fixed(trust.ece)} after it, out of fold; {trust.map}, fitted on "
        f"{counted(trust.map.labels, 'label')} that set no threshold"
    )


def _change(form: FormChange) -> tuple[str, ...]:
    bound = form.bound.low
    return (
        form.form,
        str(form.n),
        f"{fixed(form.change.value)}\n{_ends(form.change)}",
        f"{fixed(form.excess.value)}\n{_ends(form.excess)}",
        "-" if not bound else fixed(bound),
    )


def _estimate(found: Estimate | None) -> str:
    return "-" if found is None else f"{fixed(found.value)} {_ends(found)}"


def _ends(found: Estimate) -> str:
    return ends((found.low, found.high))
