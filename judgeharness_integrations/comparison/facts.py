"""What every rendering of a comparison says, in the same words and order: on a terminal, in Markdown, in HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from judgeharness_integrations.calibration.controls import Controls
from judgeharness_integrations.comparison.configuration import DESIGN
from judgeharness_integrations.comparison.report import ComparisonReport, CriterionComparison, Flip
from judgeharness_integrations.comparison.words import change_text, measure_text, p_text, size_text
from judgeharness_integrations.gates.report import STOPPED
from judgeharness_integrations.reporting.billtext import cost_text, tokens_text
from judgeharness_integrations.reporting.plain import distribution_text, safe_text
from judgeharness_integrations.verdictlog.row import verdict_text

__all__ = ["FLIP_COLUMNS", "caveats", "details", "differences", "flip_cells", "named", "titled"]

FLIP_COLUMNS: Final = ("case", "before -> after", "samples before", "samples after", "gold", "p under noise")
_NAMED: Final = 5
_MEANINGS: Final = {
    "positive_rate": " (of all cases, abstained and not graded ones too)",
    "accuracy": " (of all cases with gold: abstained and not graded ones are not correct)",
    "mean_score": " (of cases with a score in both runs)",
    "mean_error": " (of cases with gold and a score in both runs)",
}


def titled(one: CriterionComparison) -> str:
    """Return the judge, or both judges, and the criterion, once where they are called the same."""
    judges = one.judge if one.judge == one.judge_after else f"{one.judge} -> {one.judge_after}"
    return safe_text(judges if judges == one.criterion else f"{judges}, {one.criterion}", 200)


def differences(report: ComparisonReport) -> Iterator[str]:
    """Yield what of the configurations differs: a change may be the harness's."""
    for one in report.configuration:
        before, after = (safe_text(value or "not known", 120) for value in (one.before, one.after))
        yield f"{safe_text(one.judge, 100)}: {one.part} {before} before, {after} now"


def caveats(report: ComparisonReport) -> Iterator[str]:
    """Yield what the numbers stand on: what was judged, what only one run has, and the level."""
    told = report.judged
    yield f"{told.sentence} (same {told.same}, new {told.new}, not known {told.unknown} of the cases)"
    for side in report.stopped:
        held = "; those of differences here hold at every look"
        advice = held if report.sequential else ": compare with --sequential"
        yield f"the run {side} {STOPPED}{advice}"
    yield from report.shifted
    yield from report.certificates
    if report.same_run:
        yield "both sides are the same run: nothing can differ"
    for side, judges, criteria in (
        ("before", report.judges_before, report.criteria_before),
        ("after", report.judges_after, report.criteria_after),
    ):
        if judges:
            yield f"judges only {side}, not compared: {named(judges)}"
        if criteria:
            yield f"criteria only {side}, not compared: {named([', '.join(one) for one in criteria])}"
    yield from report.unvaried
    yield from report.copies
    if worthless := [f"{titled(one)}, {side}" for one in report.criteria for side, _ in _not_better(one)]:
        yield f"not shown to be better than a judge that reads nothing: {named(worthless)}"
    yield from _bills(report)
    looks = ", at every look at once, about the population the cases are from" if report.sequential else ""
    yield f"{_level(report)} (weighted Holm); intervals hold 95 % each{looks}; seed {report.seed}"


def _bills(report: ComparisonReport) -> Iterator[str]:
    """Yield what each judge cost in both runs, where prices were given to one of them."""
    for one in report.bills:
        costs = [cost_text(bill.cost, bill.cost_remarks) for bill in (one.before, one.after)]
        if costs != [None, None]:
            judge = one.judge if one.judge == one.judge_after else f"{one.judge} -> {one.judge_after}"
            told = (
                f"{cost or 'no prices'}, {bill.usage.calls} calls, tokens {tokens_text(bill.usage) or 'unknown'}"
                for cost, bill in zip(costs, (one.before, one.after), strict=True)
            )
            yield safe_text(f"{judge}: before {'; after '.join(told)}", 1000)


def _level(report: ComparisonReport) -> str:
    parts = sorted({one.part for one in report.configuration if one.part in DESIGN})
    level = f"{100 * report.alpha:g} %"
    if not parts:
        return f"all tests together find two runs of one judge different at most {level} of the time"
    return (
        f"runs of one design would be found to differ at most {level} of the time; these differ in {', '.join(parts)}, "
        "so that runs of one judge can be found to differ far more often"
    )


def details(one: CriterionComparison) -> Iterator[str]:
    """Yield everything else about a criterion, a line a fact."""
    alone = f"; only before: {named(one.only_before)}" if one.only_before else ""
    alone += f"; only after: {named(one.only_after)}" if one.only_after else ""
    yield f"{'measurements' if one.repeated else 'cases'}: {one.cases} in both runs{alone}"
    if one.repeated:
        left = f"; {one.unpaired} without a partner left out" if one.unpaired else ""
        yield f"measured several times, paired in order, one cluster each: {named(one.repeated)}{left}"
    if one.relabelled:
        yield f"gold label differs between the runs, left out of accuracy: {named(one.relabelled)}"
    if one.main is not None:
        means = _MEANINGS.get(one.main.measure, "")
        clusters = "" if one.main.clusters is None else f", {one.main.clusters} clusters"
        yield (
            f"tested: {measure_text(one.main)}{means}, {one.main.method}{clusters}; {one.main.rose} rose, "
            f"{one.main.fell} fell; p {p_text(one.main.p)}, adjusted {p_text(one.p_adjusted)}"
        )
    yield from _controls(one)
    yield from _noise(one)
    yield from _power(one)
    yield from (f"beside: {change_text(other)}, p {p_text(other.p)} (not adjusted)" for other in one.beside)
    if one.transitions:
        told = ", ".join(f"{safe_text(t.before, 40)} -> {safe_text(t.after, 40)}: {t.count}" for t in one.transitions)
        yield f"all cases: {told}"


def _sides(one: CriterionComparison) -> list[tuple[str, Controls]]:
    sides = (("before", one.controls_before), ("after", one.controls_after))
    return [(side, found) for side, found in sides if found is not None]


def _not_better(one: CriterionComparison) -> list[tuple[str, Controls]]:
    return [(side, found) for side, found in _sides(one) if found.best is not None and not found.beaten]


def _controls(one: CriterionComparison) -> Iterator[str]:
    """Yield whether each side is better than a judge that reads nothing, and what such judges come to."""
    sides = _sides(one)
    for side, found in sides:
        yield f"{side}: {found.value:.3f} {'mean error' if found.scored else 'right'} (n={found.n}), {found.sentence}"
    yield from dict.fromkeys(found.line for _, found in sides)


def _noise(one: CriterionComparison) -> Iterator[str]:
    noise = one.noise
    if noise.p is None:
        yield f"noise: not told: {noise.reason}"
        return
    left = "".join(
        f"; {count} cases left out, {why}"
        for count, why in (
            (noise.copied, "whose answers one run took over from the other"),
            (noise.collapsed, "whose samples are copies of one another"),
        )
        if count
    )
    yield (
        f"noise: {noise.observed} flips of {noise.cases} cases; {noise.expected:.1f} expected if samples of the two "
        f"runs may change places, 95 % of the time {noise.low}-{noise.high} (as many: p {p_text(noise.p_count)}; as "
        f"far apart: p {p_text(noise.p)}, adjusted {p_text(one.noise_p_adjusted)}; {noise.permutations} "
        f"permutations){left}"
    )


def _power(one: CriterionComparison) -> Iterator[str]:
    power = one.predicted_power()
    if one.main is None or power is None:
        return
    found = (
        "no change can be found with 80 % power"
        if one.minimum_detectable is None
        else f"80 % power for a change of {size_text(one.main, one.minimum_detectable)}"
    )
    needed = "more than 100,000" if one.cases_needed is None else f"{one.cases_needed:,}"
    span = "" if one.main.span == 1 else f" of the scores' range ({one.main.span:g})"
    yield (
        f"power: {found}; {100 * power:.0f} % for a change of 10 %{span}; {needed} cases find one of "
        f"{100 * one.detect:g} %{span}"
    )


def flip_cells(flip: Flip) -> tuple[str, ...]:
    """Return the cells of a flipped case, by `FLIP_COLUMNS`."""
    return (
        safe_text(flip.case_id, 60),
        f"{safe_text(str(flip.before), 40)} -> {safe_text(str(flip.after), 40)}",
        distribution_text(flip.before_distribution),
        distribution_text(flip.after_distribution),
        "-" if flip.gold is None else safe_text(verdict_text(flip.gold), 40),
        p_text(flip.p),
    )


def named(names: Sequence[str]) -> str:
    """Return how many there are, and the first few of them."""
    shown = ", ".join(safe_text(name, 40) for name in names[:_NAMED])
    return f"{len(names)} ({shown}{', ...' if len(names) > _NAMED else ''})"
