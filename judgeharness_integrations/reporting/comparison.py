"""A comparison in words: on a terminal, in Markdown, as JSON and in a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from shlex import join
from typing import Any, Final

from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.comparison.difference import Difference
from judgeharness_integrations.analysis.comparison.pairing import State
from judgeharness_integrations.analysis.comparison.report import (
    COMPARISON_SCHEMA,
    DESIGN,
    ComparisonReport,
    CriterionComparison,
    Flip,
    change_text,
    difference_text,
    measure_text,
    shares,
    size_text,
    value_text,
)
from judgeharness_integrations.analysis.gates.gate import STOPPED
from judgeharness_integrations.analysis.result import Distribution
from judgeharness_integrations.analysis.runs.building import Bill
from judgeharness_integrations.verdictlog.encoding import counted, distribution_text, p_text, safe_text
from judgeharness_integrations.verdictlog.row import verdict_text, verdict_to_json

from .fragments import section_html
from .sections import Bullets, Finding, Section, Table, section_markdown
from .text import cost_text, tokens_text

FLIP_COLUMNS: Final = ("case", "before -> after", "samples before", "samples after", "gold", "p under noise")
_NAMED: Final = 5
_IN_REASON: Final = " expected of noise"  # as a reason that counts the flips says
_MOST_RELABELLED: Final = 0.1  # of the cases: labels that differ more often are not of one question
_OPEN: Final = frozenset({"no difference found", "cannot tell"})
_MEANINGS: Final = {
    "positive_rate": " (of all cases, abstained and not graded ones too)",
    "right_of_labelled": " (abstained and not graded cases are not right)",
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
    yield from report.apart
    yield from report.picked
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
    if not report.sequential and any(one.answer in _OPEN and one.cases_needed for one in report.criteria):
        level, twice = (f"{100 * share:g} %" for share in (report.alpha, 2 * report.alpha))
        yield (
            "adding cases because no difference was found is a second look: two runs of one judge are then found "
            f"different up to {twice} of the time, not {level}; --sequential keeps to {level} at every look"
        )
    looks = ", at every look at once, about the population the cases are from" if report.sequential else ""
    yield f"{_level(report)} (weighted Holm); intervals hold 95 % each{looks}; seed {report.seed}"


def lost(report: ComparisonReport, *, by_gold: bool = True) -> Iterator[str]:
    """Yield what of the first run is missing from the second: a judge, a criterion, or more than half of its cases.

    Cases whose gold label differs are of no use to a gate, either: labels that follow the judge hide that it got worse.
    Not so where answers are new, or `by_gold` is false: the gate is about rates then.
    A second run that its own gates ended, or a comparison while cases come in, has not lost what it left out.
    """
    if report.judges_before:
        judges = named(report.judges_before)
        yield f"judges of the first run missing from the second: {judges}; ask them, too, or choose others with --judge"
    if report.criteria_before:
        criteria = named([", ".join(one) for one in report.criteria_before])
        yield (
            f"criteria of the first run missing from the second: {criteria}; ask about them, too, or choose "
            "others with --criterion"
        )
    waited_for = report.sequential or "after" in report.stopped
    for one in () if waited_for else report.criteria:
        if (missing := len(one.only_before)) > one.cases:
            of = missing + one.cases
            yield f"{titled(one)}: {missing} of {of} cases of the first run are missing from the second; ask them, too"
    for one in report.criteria if by_gold and report.judged.question != "new answers" else ():
        if (differing := len(one.relabelled)) > one.cases * _MOST_RELABELLED:
            yield (
                f"{titled(one)}: gold labels of {differing} of {one.cases} cases differ between the runs; "
                "compare them under the same labels"
            )


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
        yield f"gold label differs between the runs, left out of what is right: {named(one.relabelled)}"
    if one.main is not None:
        means = _MEANINGS.get(one.main.measure, "")
        clusters = "" if one.main.clusters is None else f", {one.main.clusters} clusters"
        yield (
            f"tested: {measure_text(one.main)}{means}, {one.main.method}{clusters}; {one.main.rose} rose, "
            f"{one.main.fell} fell"
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
        what = "mean error" if found.scored else "accuracy"
        yield f"{side}: {what} {found.value:.3f} (n={found.n}), {found.sentence}"
    yield from dict.fromkeys(found.line for _, found in sides)


def _noise(one: CriterionComparison) -> Iterator[str]:
    noise = one.noise
    if noise.p is None:
        yield f"noise: not measured: {noise.reason}"
        return
    left = "".join(
        f"; {count} cases left out, {why}"
        for count, why in (
            (noise.copied, "whose answers one run took over from the other"),
            (noise.collapsed, "whose samples are copies of one another"),
        )
        if count
    )
    counts = (
        f"{noise.observed} flips of {noise.cases} cases, {noise.expected:.1f} expected of noise, 95 % of the time "
        f"{noise.low}-{noise.high}; "
    )
    told = "" if _IN_REASON in one.reason else counts
    yield (
        f"noise: {told}samples of the two runs change places in {noise.permutations} permutations; as many flips: p "
        f"{p_text(noise.p_count)}; answers as far apart: adjusted p {p_text(one.noise_p_adjusted)}{left}"
    )


def _power(one: CriterionComparison) -> Iterator[str]:
    power = one.predicted_power(_DROP)
    if one.main is None or power is None:
        return
    found = (
        "no change can be found with 80 % power"
        if one.minimum_detectable is None
        else f"80 % power for a change of {size_text(one.main, one.minimum_detectable)}"
    )
    needed = "more than 100,000" if one.cases_needed is None else f"{one.cases_needed:,}"
    unit = "points" if one.main.span == 1 else f"% of the scores' range ({one.main.span:g})"
    said = "" if found in one.reason else f"{found}; "  # where nothing was found the reason has it
    yield (
        f"power: {said}a {100 * power:.0f} % chance to find a change of {100 * _DROP:g} {unit}; {needed} cases find "
        f"one of {100 * one.detect:g} {unit}"
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
    between = "; " if any("," in name for name in names) else ", "
    shown = between.join(safe_text(name, 40) for name in names[:_NAMED])
    return f"{len(names)} ({shown}{f'{between}...' if len(names) > _NAMED else ''})"


_DROP = 0.1


def comparison_document(report: ComparisonReport) -> dict[str, Any]:
    """Return a comparison as plain JSON types."""
    return {
        "schema": COMPARISON_SCHEMA,
        "answer": report.answer,
        "finding": comparison_finding(report).document(),
        "before": {"source": report.before, "run": report.run_before},
        "after": {"source": report.after, "run": report.run_after},
        "same_run": report.same_run,
        "sequential": report.sequential,
        "stopped": list(report.stopped),
        "alpha": report.alpha,
        "seed": report.seed,
        "judged": asdict(report.judged) | {"sentence": report.judged.sentence},
        "configuration": [asdict(one) for one in report.configuration],
        "shifted": list(report.shifted),
        "certificates": list(report.certificates),
        "apart": list(report.apart),
        "only_before": _alone(report.judges_before, report.criteria_before),
        "only_after": _alone(report.judges_after, report.criteria_after),
        "criteria": [_criterion(one) for one in report.criteria],
        "bills": [
            {"judge": one.judge, "judge_after": one.judge_after, "before": _bill(one.before), "after": _bill(one.after)}
            for one in report.bills
        ],
        "unvaried": list(report.unvaried),
        "copies": list(report.copies),
    }


def _alone(judges: tuple[str, ...], criteria: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return {
        "judges": list(judges),
        "criteria": [{"judge": judge, "criterion": criterion} for judge, criterion in criteria],
    }


def _bill(bill: Bill) -> dict[str, Any]:
    return {"usage": asdict(bill.usage), "cost": bill.cost, "cost_remarks": list(bill.cost_remarks)}


def _criterion(one: CriterionComparison) -> dict[str, Any]:
    noise = asdict(one.noise)
    del noise["p_of_case"]  # stands with each flip
    return {
        "judge": one.judge,
        "judge_after": one.judge_after,
        "criterion": one.criterion,
        "kind": one.kind,
        "positive": one.positive,
        "answer": one.answer,
        "reason": one.reason,
        "cases": one.cases,
        "only_before": list(one.only_before),
        "only_after": list(one.only_after),
        "relabelled": list(one.relabelled),
        "main": None if one.main is None else asdict(one.main),
        "p_adjusted": one.p_adjusted,
        "level": one.level,
        "noise": noise,
        "noise_p_adjusted": one.noise_p_adjusted,
        "minimum_detectable": one.minimum_detectable,
        "predicted_power": {"drop": _DROP, "power": one.predicted_power(_DROP)},
        "cases_needed": {"detect": one.detect, "cases": one.cases_needed},
        "beside": [asdict(difference) for difference in one.beside],
        "controls_before": None if one.controls_before is None else one.controls_before.to_dict(),
        "controls_after": None if one.controls_after is None else one.controls_after.to_dict(),
        "transitions": [asdict(transition) for transition in one.transitions],
        "flips": [_flip(flip) for flip in one.flips],
    }


def _flip(flip: Flip) -> dict[str, Any]:
    return {
        "case_id": flip.case_id,
        "before": _state(flip.before, flip.before_distribution),
        "after": _state(flip.after, flip.after_distribution),
        "gold": None if flip.gold is None else verdict_to_json(flip.gold),
        "p": flip.p,
    }


def _state(state: State, distribution: Distribution) -> dict[str, Any]:
    return {
        "status": state.status,
        "verdict": None if state.verdict is None else verdict_to_json(state.verdict),
        "sample_distribution": [
            {"verdict": verdict_to_json(verdict), "count": count} for verdict, count in distribution.items()
        ],
    }


_MOST_CRITERIA: Final = 4  # that are told one by one
_FAR: Final = 0.1  # a change of a share that is named though nothing tested it


def comparison_finding(report: ComparisonReport) -> Finding:
    """Return what a comparison opens with: what was tested and what moved beside it, the same in every format."""
    if report.same_run:
        return Finding(answer="Both sides are the same run: nothing can differ", reasons=_reasons(report))
    return Finding(answer=headline(report), reasons=_reasons(report), next=_next(report))


def headline(report: ComparisonReport) -> str:
    """Return the answer in one sentence: of one criterion with its change, of several how many of each."""
    if len(report.criteria) == 1:
        return _answer(report.criteria[0])
    counts = Counter(one.answer for one in report.criteria)
    told = ", ".join(f"{counts[answer]} {answer}" for answer in dict.fromkeys((report.answer, *counts)))
    return f"{report.answer.capitalize()}: of {len(report.criteria)} criteria {told}"


def _answer(one: CriterionComparison) -> str:
    """Return what was tested and came out, and what moved beside it without a test."""
    tested = one.reason if one.main is None else change_text(one.main)
    quiet = one.answer == "no difference found" and one.main is not None
    moved = [_moved(other) for other in one.beside if _has_moved(other) and (quiet or other.measure == "abstention")]
    beside = f"; {'but ' if quiet else ''}{' and '.join(moved)}, not part of the test" if moved else ""
    told = f" in {tested.partition(':')[0]}" if quiet else f": {tested}"
    return f"{one.answer.capitalize()}{told}{beside}"


def _has_moved(other: Difference) -> bool:
    """Whether a measure that was not tested moved so far that a headline without it would mislead.

    Coverage is what abstention leaves; it is named where cases that are not graded move it alone.
    """
    if other.measure == "coverage" or other.difference is None:
        return False
    beyond = other.low is not None and other.high is not None and (other.low > 0 or other.high < 0)
    return beyond or (shares(other) and abs(other.difference) >= _FAR)


def _moved(other: Difference) -> str:
    """Return `abstained 4 -> 8 of 24`, or the change of another measure in its own unit."""
    sides = [other.before or 0.0, other.after or 0.0]
    if other.measure == "abstention":
        first, second = (f"{round(side * other.n):,}" for side in sides)
        return f"abstained {first} -> {second} of {counted(other.n, 'case')}"
    return f"{measure_text(other)} {value_text(other, other.before)} -> {value_text(other, other.after)} of {other.n}"


def _reasons(report: ComparisonReport) -> tuple[str, ...]:
    """Return why, criterion by criterion, and that configurations differ."""
    several = len(report.criteria) > 1
    many = len(report.criteria) > _MOST_CRITERIA
    told = [
        f"{titled(one)}: {_answer(one)}" if several else one.reason
        for one in report.criteria
        if not many or one.answer not in _OPEN
    ]
    if report.configuration:
        parts = ", ".join(dict.fromkeys(one.part for one in report.configuration))
        told.append(f"the configurations differ in {parts}: a change may be the harness's")
    return tuple(told)


def _next(report: ComparisonReport) -> str:
    """Return the command that follows: the cases that flipped, else how many cases would find a change."""
    if not report.arguments_after:
        return ""
    if any(one.flips for one in report.criteria) or report.answer not in _OPEN:
        return join(["judgeharness", "report", *report.arguments_after, "--html", "report.html"])
    detect = f"{report.criteria[0].detect:g}"
    return join(["judgeharness", "plan", "--pilot", report.arguments_after[0], "--difference", detect])


def comparison_section(report: ComparisonReport) -> Section:
    """Return a comparison for people: the finding, what flipped, then what was measured and what to know, folded."""
    found = comparison_finding(report)
    return Section(
        title=found.answer,
        blocks=(
            *found.opening(),
            *(_flips(one) for one in report.criteria if one.flips),
            *_measures(report),
            f"{report.before} -> {report.after}",
            *_changed(report),
            *(
                Section(title=titled(one), blocks=(Bullets(tuple(details(one))),), folded=True)
                for one in report.criteria
            ),
            Section(title="to know", blocks=(Bullets(tuple(caveats(report))),)),
        ),
    )


def _measures(report: ComparisonReport) -> Iterator[Table]:
    """Yield every measure before and after, what was tested first, of as many criteria as can be looked over."""
    for one in report.criteria[:_MOST_CRITERIA]:
        rows = [(found, found is one.main) for found in (*([] if one.main is None else [one.main]), *one.beside)]
        columns = ("measure", "before", "after", "cases", "change\n[95 %]", "p")
        cells = (
            (
                measure_text(found) + (" (tested)" if tested else ""),
                value_text(found, found.before),
                value_text(found, found.after),
                str(found.n),
                difference_text(found).replace(" [", "\n["),
                p_text(found.p),
            )
            for found, tested in rows
        )
        if rows:
            yield Table.of(titled(one), columns, cells)


def _changed(report: ComparisonReport) -> Iterator[Section]:
    if lines := tuple(differences(report)):
        yield Section(title="configurations differ: a change may be the harness's", blocks=(Bullets(lines),))


def _flips(one: CriterionComparison) -> Table:
    order = ", least likely under noise first" if any(flip.p is not None for flip in one.flips) else ""
    title = f"{titled(one)}: {len(one.flips):,} flipped{order}"
    return Table.of(title, FLIP_COLUMNS, map(flip_cells, one.flips), texts=5, examples=True)


def comparison_markdown(report: ComparisonReport) -> str:
    """Return a comparison as GitHub's Markdown."""
    return section_markdown(comparison_section(report))


def comparison_fragment(report: ComparisonReport) -> str:
    """Return a comparison as HTML that a notebook shows."""
    return section_html(comparison_section(report))
