"""A plan for people: the cheapest design, what it stands on, every design, labels, decisions, advice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.analysis.gates.gate import NEAR_THE_BAR
from judgeharness_integrations.analysis.planning.study import MOST_CASES
from judgeharness_integrations.verdictlog.encoding import counted, percent

from .sections import Block, Section, Strong, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.planning import Components, Design, GStudy, Pilot, PlanningReport

_FIND_OUT = "find out why before you average over it"
_NO_DESIGN = (
    "no design: without variance two cases would reach any goal, which nobody should believe; take a pilot whose "
    "verdicts differ, a --rate between 0 and 1, or declare --variance"
)


def planning_section(report: PlanningReport, *, money: Iterable[str] = (), following: str = "") -> Section:
    """Return a plan for people: how many cases, calls and labels, then what that rests on.

    Args:
        report: the plan.
        money: what calls cost.
        following: the command that comes next.

    """
    return Section(title=_answer(report), blocks=tuple(_blocks(report, money, following)))


def _answer(report: PlanningReport) -> str:
    if (best := report.cheapest) is None:
        return f"plan: {_unreached(report) if report.designs else _NO_DESIGN.partition(':')[0]}"
    goal = report.goal
    wanted = f"a 95 % interval no wider than {goal.value:g}"
    both = ""
    if goal.kind != "width":
        wanted, both = f"finding a difference of {goal.value:g}", " of both systems"
    samples = f"{best.perturbations} x {best.repetitions} samples (perturbations x repetitions)"
    price = "" if best.price is None else f", {best.price:.2f} in money"
    return f"{best.cases} cases x {samples}, {best.calls} calls{both}{price}: the cheapest design for {wanted}"


def _unreached(report: PlanningReport) -> str:
    if report.shifts and any(one.affordable for one in report.designs):
        return "no design is marked: those within the limits average over perturbations that move the mean"
    within = "" if report.limits.cases is None and report.limits.calls is None else " within the limits"
    return f"no design{within} reaches the goal"


def _blocks(report: PlanningReport, money: Iterable[str], following: str) -> Iterator[Block]:
    yield from map(Strong, _shifts(report))
    if following:
        yield f"next: {following}"
    yield from (f"advice: {advice}" for advice in report.advice)
    yield f"wanted: {_wanted(report)}"
    yield from money
    if report.designs:
        yield _designs(report)
    yield from (*(_design_notes(report) if report.designs else (_NO_DESIGN,)), *_stopping(report))
    yield from _labels(report)
    yield from _basis(report)
    if report.variances is not None:
        yield _variances(report.variances)
        yield from _split(report)
    if report.majority:
        yield Section(title="how many samples decide as many would", blocks=(_majority(report),), folded=True)
    yield Section(title="gates that are looked at on the way", blocks=(NEAR_THE_BAR,), folded=True)


def basis_section(report: PlanningReport) -> Section:
    """Return what a plan stands on: its pilot, and where its variance is."""
    return Section(title="what it stands on", blocks=(*map(Strong, _shifts(report)), *_basis(report)))


def _shifts(report: PlanningReport) -> Iterator[str]:
    if (pilot := report.pilot) is None:
        return
    for one in pilot.shifts:
        then = "that is position bias, which asking in both orders balances" if one.swap else _FIND_OUT
        yield (
            f"{'note' if one.swap else 'warning'}: {one.perturbation} moves the {_mean(pilot)} from "
            f"{one.mean:.2f} ({one.reference}) to {one.shifted:.2f} (exact sign test over {one.cases} "
            f"cases, p {one.p:.1g}): {then}"
        )


def _mean(pilot: Pilot) -> str:
    return "mean score" if pilot.positive is None else f"share of {pilot.positive}"


def _basis(report: PlanningReport) -> Iterator[str]:
    pilot, parts = report.pilot, report.components
    if pilot is not None:
        yield (
            f"pilot: {pilot.judge}, {pilot.criterion}: {pilot.samples} samples of "
            f"{pilot.cases} cases, {pilot.failed} failed; {_mean(pilot)} {pilot.mean:.3f}"
            + ("" if pilot.agreement is None else f", agreement within a case {pilot.agreement:.3f}")
        )
    yield f"variance: {_variance(parts)}"
    yield from (f"note: {note}" for note in parts.notes)


def _variance(parts: Components) -> str:
    named = (("cases", parts.cases), ("perturbations", parts.perturbations), ("repetitions", parts.repetitions))
    return ", ".join(
        f"between {name} not measured"
        if value is None
        else f"between {name} {value:.4g} ({percent(value / parts.total if parts.total else None)} %)"
        for name, value in named
    )


def _wanted(report: PlanningReport) -> str:
    goal, decisions = report.goal, f"of decisions under {report.rule}"
    if goal.kind == "width":
        return f"95 % interval {decisions} no wider than {goal.value:g}, {_assured(report)}"
    return (
        f"difference of {goal.value:g} between two systems {decisions}, found by compare, {_assured(report)} "
        f"(same cases, {_correlated(report)})"
    )


def _correlated(report: PlanningReport) -> str:
    """Say on which correlation the promise stands, and what it takes without any."""
    correlation, design = report.goal.correlation, report.cheapest or next(iter(report.designs), None)
    if not report.components.split:
        return "taken to be uncorrelated" + _up_to(report)
    assumed = f"correlation {correlation:g} assumed"
    if not correlation or design is None or design.cases is None:
        return assumed
    without = f"{MOST_CASES} or more" if report.uncorrelated is None else str(report.uncorrelated)
    size = f"{design.perturbations} x {design.repetitions}"
    return f"{assumed}: of what is said of a case in the long run; {size} takes {without} cases at 0"


def _up_to(report: PlanningReport) -> str:
    """Say how often it is found at best: the promise is the lower end of what may be."""
    if report.up_to is None:
        return ""
    return f"; in up to {100 * report.up_to:.0f} % at the correlation asked for, if no verdict is noise"


def _assured(report: PlanningReport) -> str:
    goal = report.goal
    if goal.assurance is not None:
        told = "" if report.pilot is None else ", the pilot's uncertainty included"
        return f"in {'at least ' if report.at_least else ''}{100 * goal.assurance:g} % of studies{told}"
    if goal.kind == "difference":
        return f"expected: in {100 * goal.share:g} % of studies, if what is planned with is right"
    if report.pilot is not None:
        return "expected if the pilot is right, met in .22 to .66 of studies"
    return "expected, met in about half of the studies"


def _designs(report: PlanningReport) -> Table:
    columns = ["pertur-\nbations", "repe-\ntitions", "cases", "calls", report.goal.kind]
    tokens, price = report.limits.tokens_per_call is not None, report.limits.price_per_call is not None
    columns += ["tokens"] * tokens + ["price"] * price + [""]
    rows = [[*_row(one, tokens=tokens, price=price), _mark(one, report)] for one in report.designs]
    return Table.of("the fewest cases that reach it, for each design", columns, rows, texts=0)


def _mark(one: Design, report: PlanningReport) -> str:
    if one.cheapest:
        return "cheapest"
    if report.shifts and one.perturbations > 1:
        return "averages a shift"
    if one.cases is None:
        return "out of reach"
    return "" if one.affordable else "over limits"


def _row(one: Design, *, tokens: bool, price: bool) -> list[str]:
    cells = [str(one.perturbations), str(one.repetitions)]
    cells += ["-" if value is None else str(value) for value in (one.cases, one.calls)]
    cells.append("-" if one.reached is None else f"{one.reached:.3g}")
    cells += ["-" if one.tokens is None else f"{one.tokens:.0f}"] * tokens
    cells += ["-" if one.price is None else f"{one.price:.2f}"] * price
    return cells


def _majority(report: PlanningReport) -> Table:
    """Return the risk by number of samples; with a tie counted as half, more samples never do worse."""
    rows = [(str(one.samples), percent(one.differs + one.tied / 2), percent(one.tied)) for one in report.majority]
    columns = ("N", "differs from the long run,\na tie counting half, %", "tied, %")
    return Table.of("majority of N samples", columns, rows, texts=0)


def _variances(found: GStudy) -> Table:
    """Return where the variance of single verdicts is."""
    rows = [(part.source, f"{part.variance:.4g}", percent(part.share)) for part in found.parts]
    levels = ", ".join(f"{name} {count}" for name, count in found.levels.items())
    title = f"where the variance is ({found.of}; {found.samples} samples; levels: {levels})"
    return Table.of(title, ("source", "variance", "%"), rows)


def _split(report: PlanningReport) -> Iterator[str]:
    found, best = report.variances, report.split
    yield from (f"note: {note}" for note in (found.notes if found else ()))
    if found and found.clipped:
        yield f"note: negative and counted as 0: {', '.join(found.clipped)}"
    if best is not None:
        against = "" if best.alone is None else f"; 1 x 1 x 1: {best.alone:.3g}"
        yield (
            f"best split of {report.limits.calls} calls for the mean of all samples: {counted(best.cases, 'case')} x "
            f"{counted(best.prompts, 'prompt')} x {counted(best.orders, 'order')} x "
            f"{counted(best.repetitions, 'sample')}, "
            f"standard error {best.error:.3g}{against}"
        )


def _design_notes(report: PlanningReport) -> Iterator[str]:
    known = report.components.split or report.goal.kind == "difference"
    guess = "" if known else "; a pilot with repetitions may show that fewer do"
    if report.fewest_cases is None:
        yield "floor: each of these designs takes more than 10 million cases"
    else:
        yield f"floor: none of these designs takes fewer than {report.fewest_cases} cases{guess}"
    for name, one in (("as configured", report.present), ("most precise within the limits", report.attainable)):
        if one is not None and one.reached is not None:
            yield (
                f"{name}: {one.perturbations} x {one.repetitions} samples (perturbations x repetitions) of {one.cases} "
                f"cases, {one.calls} calls: {report.goal.kind} {one.reached:.3g}"
            )


def _stopping(report: PlanningReport) -> Iterator[str]:
    """Say what early stopping takes, of a judge that never wavers and of the pilot's."""
    found = report.early_stopping
    if found is None:
        return
    takes = f"of {counted(found.planned, 'sample')} a case {report.rule} takes {found.steady} of a steady judge"
    if found.expected is not None:
        saved = f"{percent(found.saved)} % of the calls saved" if found.saved else "nothing saved"
        takes += f", {found.expected:.2f} expected over {counted(found.cases, 'pilot case')} ({saved})"
    yield f"early stopping (curtail: true): {takes}; decisions are those of all samples"


def _labels(report: PlanningReport) -> Iterator[str]:
    number = f"more than {MOST_CASES}" if report.labels is None else str(report.labels)
    yield (
        f"labels: {number} for a 95 % interval {report.label_width:g} wide at a rate of {report.rate:g}: items for "
        "agreement, items the judge calls positive for precision, items people call positive for sensitivity"
    )
    found = report.corrected
    if found is None:
        return
    if found.fewest_cases is None:
        yield "corrected rate: no labels help, as sensitivity + specificity is not above 1"
    elif found.positives is None:
        yield (
            f"corrected rate: {found.cases} judged cases are too few for a width of {report.label_width:g} whatever is "
            f"labelled; it takes at least {found.fewest_cases}"
        )
    else:
        yield (
            f"corrected rate: {found.positives} labelled positives and {found.negatives} labelled negatives for a "
            f"width of {report.label_width:g} on {found.cases} judged cases (judged rate {found.judged_rate:.3f})"
        )
