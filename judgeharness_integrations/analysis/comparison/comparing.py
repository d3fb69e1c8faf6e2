"""One family of tests a report: the weights that Holm's procedure gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted, p_text

from ..aggregation.grouping import copied_cases
from ..calibration.controls import Controls
from ..gates.gate import NOT_DRAWN
from ..runs.building import Bill
from ..runs.report import RunReport
from ..runs.summarising import unvaried_systems
from ..sequential import unequal_clusters
from ..statistics.proportions import holm
from .difference import Difference, PowerBasis, least_p, power_basis
from .pairing import JudgePair, PairedCriterion, flipped, judge_pairs, paired_criteria, transitions
from .report import (
    DESIGN,
    Answer,
    BillChange,
    ComparisonReport,
    CriterionComparison,
    Flip,
    certificate_notes,
    change_text,
    configuration_differences,
    judged,
    judges_picked,
    shifted_sides,
    sides_apart,
    size_text,
)
from .splits import NoiseTest, noise_test
from .values import CaseTexts, MeasureChoice, Values, controls_beside, values_of

DIFFERENCE_WEIGHT: Final = 4.0
NOISE_WEIGHT: Final = 1.0


def first_levels(weights: Sequence[float], alpha: float) -> list[float]:
    """Return the level each test has to reach by itself, whatever the others say: its share of alpha."""
    total = sum(weights)
    return [alpha * weight / total for weight in weights]


_FALLS_ARE_BETTER = frozenset({"mean_error"})


def untested(values: Values, main: Difference | None) -> str:
    """Return why a criterion cannot be compared at all; empty where it can."""
    if not values.pairs:
        return "no case was measured in both runs"
    if values.kind == "mixed":
        return "decisions are scores on one side and labels on the other: compare runs of one rule and scale"
    for side, run in ((0, "before"), (1, "after")):
        if all(pair[side].status == "not_graded" for pair in values.states):
            return f"no case was graded {run}"
    if main is not None and main.p is None and main.n and values.sequential:
        return _without_evidence(values)
    if main is None or main.p is None:
        return "no case has a score on both sides"
    return ""


def _without_evidence(values: Values) -> str:
    if unequal := unequal_clusters(values.clusters):
        return f"{unequal}: compare runs of equally many cases a cluster, or without --sequential"
    return "a sequential comparison of scores needs the ends of their scale: give --scale 1:10"


def answered(
    main: Difference,
    noise: NoiseTest,
    *,
    p_adjusted: float,
    noise_adjusted: float | None,
    alpha: float,
    basis: PowerBasis | None,
    detectable: float | None,
) -> tuple[Answer, str]:
    """Return the answer about a criterion that was tested, and why."""
    found, beyond = p_adjusted <= alpha, noise_adjusted is not None and noise_adjusted <= alpha
    told = f"{change_text(main)}, p {p_text(main.p)}{_adjusted(main.p, p_adjusted)}"
    if found:
        answer = _direction(main)
        return answer, "; ".join([told, *_flips(noise, beyond=beyond)])
    least = 0.0 if main.clusters is None or "e-process" in main.method else least_p(main.clusters)
    too_few = f"{told}; {_cases_and_clusters(main)} too few to find any change"
    if beyond:
        net = too_few if least > alpha else f"no net change: {told}"
        return "flips more than noise", "; ".join([*_flips(noise, beyond=True), net])
    if least > alpha or (basis is not None and detectable is None):
        return "cannot tell", too_few
    smallest = "" if detectable is None else f"; 80 % power for a change of {size_text(main, detectable)}"
    if "e-process" in main.method:
        smallest = "; looked at as often as one likes, further cases may still show one"
    elif basis is None and main.difference is not None:
        smallest = "; nothing varies, so that the change it could find is not known"
    return "no difference found", "; ".join([f"{told}{smallest}", *_flips(noise, beyond=False)])


def without_failures(
    answer: Answer, reason: str, values: Values, main: Difference, *, level: float
) -> tuple[Answer, str]:
    """Return an answer with what failed beside it: a change that only failures make is none of the judge's."""
    before, after = values.failures
    reason = f"{reason}; {before} cases were not graded before, {after} after"
    if answer not in {"worse", "better", "different"}:
        return answer, reason
    graded = values.graded().main()
    same_way = (graded.difference or 0) * (main.difference or 0) >= 0
    if graded.p is not None and graded.p <= level and same_way:
        return answer, reason
    told = f"among cases graded in both runs nothing shows: {change_text(graded)}, p {p_text(graded.p)}"
    return "cannot tell", f"{reason}; failures are no verdicts, and {told}"


def of_designs(answer: Answer, parts: Sequence[str]) -> str:
    """Return what has to stand behind a reason where the runs measured in different ways; `parts` are those ways."""
    if not parts or answer in {"no difference found", "cannot tell"}:
        return ""
    return f"; the designs differ ({', '.join(parts)}), which can move the numbers of one and the same judge as far"


def _unshared(paired: PairedCriterion) -> str:
    """Return what has to stand behind a reason where a run has cases that the other has not: who left them out?"""
    before, after = len(paired.only_before), len(paired.only_after)
    if not before + after:
        return ""
    return f"; not of cases in one run alone ({before:,} only before, {after:,} only after)"


def _cases_and_clusters(main: Difference) -> str:
    """Return of how many cases a difference is, and of clusters the smallest p that a test of so many can reach."""
    if main.clusters is None:
        return counted(main.n, "case is", "cases are")
    of = f"{counted(main.n, 'case')} in {counted(main.clusters, 'cluster')}"
    return f"{of} (p cannot be below {p_text(least_p(main.clusters))}) are"


def _adjusted(p: float | None, adjusted: float) -> str:
    return "" if p_text(p) == p_text(adjusted) else f" (Holm {p_text(adjusted)})"


def _direction(main: Difference) -> Answer:
    if main.difference is None:
        return "different"
    rises = (main.difference > 0) is (main.measure not in _FALLS_ARE_BETTER)
    return "better" if rises else "worse"


def _flips(noise: NoiseTest, *, beyond: bool) -> Iterator[str]:
    if noise.p is None or noise.expected is None:
        return
    said = "more than noise explains" if beyond else "no more than noise explains"
    if not beyond and noise.low is not None and (noise.observed or 0) < noise.low:
        said = "fewer than noise would cause, as where answers are copies of one another (a cache, a seed)"
    if beyond and noise.high is not None and (noise.observed or 0) <= noise.high:
        # samples that all changed flip however they are split: the expected number says nothing then
        yield (
            f"{noise.observed} of {noise.cases} decisions flipped, between answers further apart than noise explains "
            f"(p {p_text(noise.p)})"
        )
        return
    yield (
        f"{noise.observed} of {noise.cases} decisions flipped, {said} "
        f"({noise.expected:.1f} expected of noise, 95 % of the time {noise.low}-{noise.high}; p {p_text(noise.p)})"
    )


_FEWEST: Final = 2_000
_MOST: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What was computed of a criterion before the family of tests is known; `main` is None where `untested`."""

    paired: PairedCriterion
    values: Values
    main: Difference | None
    noise: NoiseTest
    untested: str
    tolerance: float | None
    controls: tuple[Controls | None, Controls | None]
    texts: tuple[CaseTexts, CaseTexts]


def compare(
    before: RunReport,
    after: RunReport,
    *,
    judges: Sequence[str] | None = None,
    criteria: Sequence[str] | None = None,
    judge_before: str | None = None,
    judge_after: str | None = None,
    measure: MeasureChoice = "auto",
    detect: float = 0.05,
    alpha: float = 0.05,
    seed: int = 0,
    permutations: int | None = None,
    sequential: bool = False,
    scale: tuple[float, float] | None = None,
) -> ComparisonReport:
    """Compare two runs on the cases both measured.

    Per judge and criterion one difference is tested: the rate of PASS (or A), of scores the mean; where there is gold
    and the answers are not new, the share that is right or the mean distance from gold; the shares of all labels where
    none is positive. Beside it stands the test of whether decisions flip more than the judge's own noise makes. Both
    are one family over the whole report (weighted Holm, four fifths of a criterion's level to its difference).

    A case that a run measured several times under one name is paired measurement by measurement, and counts as one
    cluster: nothing is pooled, and none of them is taken for a case of its own.

    Args:
        before: the earlier run, or the first of two.
        after: the later one.
        judges: only these judges, which both runs have; all of them when None.
        criteria: only these criteria.
        judge_before: a judge of `before` ...
        judge_after: ... that is compared with this one of `after`, which may be the same report.
        measure: `gold` or `rate` instead of what is said above.
        detect: the change that `cases_needed` is about, as a share (of scores: of their range).
        alpha: how often two runs of one judge may be found to differ.
        seed: of permutations; the same seed gives the same report.
        permutations: how many; 2,000 a criterion, from 2,000 to 10,000, when None.
        sequential: whether `alpha` and intervals hold however often one looks while cases are added: evidence by
            betting instead of tests of a fixed number of cases, about the population the cases are from; flips are not
            tested against noise then.
        scale: the ends of scores, which a sequential comparison needs.

    Raises:
        UnknownNameError: a judge or criterion is not known.
        UsageError: nothing can be compared, or a number is out of range.

    """
    _check(detect=detect, alpha=alpha, permutations=permutations)
    chosen = judge_pairs(before, after, judges=judges, judge_before=judge_before, judge_after=judge_after)
    if sequential:
        _check_drawn(before, [one.before for one in chosen])
        _check_drawn(after, [one.after for one in chosen])
    paired = [one for judge in chosen for one in paired_criteria(before, after, judge)]
    if not paired:
        raise UsageError("the runs have no criterion in common: compare runs that ask about the same.")
    paired = _about(criteria, paired)
    content = judged((pair for one in paired for pair in one.pairs), before, after)
    count = permutations or min(_MOST, max(_FEWEST, _FEWEST * len(paired)))
    facts: dict[str, Any] = {
        "measure": measure,
        "new_answers": content.question == "new answers",
        "seed": seed,
        "sequential": sequential,
        "scale": scale,
    }
    texts = (before.case_texts, after.case_texts)
    found = [_found(one, values_of(one, **facts), texts=texts, seed=seed, permutations=count) for one in paired]
    configuration = configuration_differences(before, after, chosen)
    designs = {(one.judge, one.part) for one in configuration if one.part in DESIGN}
    return ComparisonReport(
        before=before.source,
        after=after.source,
        run_before=before.run,
        run_after=after.run,
        alpha=alpha,
        seed=seed,
        judged=content,
        configuration=configuration,
        criteria=tuple(_compared(found, detect=detect, alpha=alpha, designs=designs)),
        same_run=_same_run(before, after, chosen),
        sequential=sequential,
        stopped=tuple(_stopped(before, after)),
        bills=tuple(_bills(before, after, one) for one in chosen),
        unvaried=_of_both(before, after, lambda one: unvaried_systems(one.results, one.case_texts)),
        copies=_of_both(before, after, lambda one: copied_cases(row for result in one.results for row in result.rows)),
        shifted=tuple(shifted_sides(before, after, chosen)),
        certificates=tuple(certificate_notes(before, after, chosen)),
        apart=tuple(sides_apart(before, after, chosen)),
        picked=tuple(judges_picked(before, after, chosen)),
        **_one_sided(before, after, chosen, judges, criteria),
    )


def _of_both(before: RunReport, after: RunReport, told: Callable[[RunReport], Iterable[str]]) -> tuple[str, ...]:
    """Return what is to be said of the cases of both runs, once."""
    return tuple(dict.fromkeys((*told(before), *told(after))))


def _stopped(before: RunReport, after: RunReport) -> Iterator[Literal["before", "after"]]:
    if before.stopped:
        yield "before"
    if after.stopped:
        yield "after"


def _bills(before: RunReport, after: RunReport, pair: JudgePair) -> BillChange:
    bills = {"before": _bill(before, pair.before), "after": _bill(after, pair.after)}
    return BillChange(judge=pair.before, judge_after=pair.after, **bills)


def _bill(report: RunReport, judge: str) -> Bill:
    section = next(one for one in report.judges if one.judge == judge)
    return Bill(usage=section.usage, cost=section.cost, cost_remarks=section.cost_remarks)


def _check(*, detect: float, alpha: float, permutations: int | None) -> None:
    for name, value in (("detect", detect), ("alpha", alpha)):
        if not 0 < value < 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")
    if permutations is not None and permutations < 1:
        raise UsageError(f"permutations must be at least 1, not {permutations}.")


def _about(criteria: Sequence[str] | None, paired: Sequence[PairedCriterion]) -> list[PairedCriterion]:
    """Return the criteria that were asked for, all of them when none was named."""
    known = {one.criterion for one in paired}
    for name in criteria or ():
        if name not in known:
            raise UnknownNameError("criterion", name, known)
    return [one for one in paired if not criteria or one.criterion in criteria]


def _check_drawn(report: RunReport, judges: Sequence[str]) -> None:
    """Refuse, of a sequential comparison, a run that was cut off: evidence is of cases that come as they may."""
    for judge in judges:
        unanswered, cases = report.unanswered(judge)
        if unanswered:
            raise UsageError(
                f"{report.source} cannot be compared sequentially: {unanswered} of {cases} cases {NOT_DRAWN}: "
                "continue the run to its end, or compare on a fixed number of cases, without --sequential."
            )


def _found(
    paired: PairedCriterion, values: Values, *, texts: tuple[CaseTexts, CaseTexts], seed: int, permutations: int
) -> _Found:
    main = values.main() if values.pairs and values.kind != "mixed" else None
    reason = untested(values, main)
    scales = [side.tolerance for pair in paired.pairs for side in pair.sides if side.tolerance is not None]
    tolerance = max(scales, default=None) if values.kind == "numbers" else None
    if reason:
        noise = _no_test(reason)
    elif values.sequential:
        noise = _no_test(
            "a permutation of samples is a test of a fixed number of cases, not of a sequential comparison"
        )
    else:
        noise = noise_test(paired.pairs, tolerance=tolerance, seed=seed, permutations=permutations)
    return _Found(
        paired=paired,
        values=values,
        main=main,
        noise=noise,
        untested=reason,
        tolerance=tolerance,
        controls=controls_beside(values, texts),
        texts=texts,
    )


def _no_test(reason: str) -> NoiseTest:
    nothing: dict[str, Any] = dict.fromkeys(("observed", "expected", "low", "high", "p_count", "p", "permutations"))
    return NoiseTest(cases=0, **nothing, reason=reason)


def _compared(
    found: Sequence[_Found], *, detect: float, alpha: float, designs: Collection[tuple[str, str]]
) -> list[CriterionComparison]:
    tests: list[tuple[int, str, float, float]] = []
    for place, one in enumerate(found):
        if not one.untested and one.main is not None and one.main.p is not None:
            tests.append((place, "main", one.main.p, DIFFERENCE_WEIGHT))
            if one.noise.p is not None:
                tests.append((place, "noise", one.noise.p, NOISE_WEIGHT))
    weights = [weight for *_, weight in tests]
    adjusted = holm([p for *_, p, _ in tests], weights)
    keys = [(place, name) for place, name, *_ in tests]
    p_values = dict(zip(keys, adjusted, strict=True))
    levels = dict(zip(keys, first_levels(weights, alpha), strict=True))
    return [
        _criterion(
            one,
            p_adjusted=p_values.get((place, "main")),
            noise_adjusted=p_values.get((place, "noise")),
            level=levels.get((place, "main")),
            detect=detect,
            alpha=alpha,
            designs=sorted(part for judge, part in designs if judge == one.paired.judge.name),
        )
        for place, one in enumerate(found)
    ]


def _criterion(
    one: _Found,
    *,
    p_adjusted: float | None,
    noise_adjusted: float | None,
    level: float | None,
    detect: float,
    alpha: float,
    designs: Sequence[str],
) -> CriterionComparison:
    basis, facts = _answer(
        one,
        p_adjusted=p_adjusted,
        noise_adjusted=noise_adjusted,
        level=level,
        detect=detect,
        alpha=alpha,
        designs=designs,
    )
    values, paired = one.values, one.paired
    return CriterionComparison(
        judge=paired.judge.before,
        judge_after=paired.judge.after,
        criterion=paired.criterion,
        kind=values.kind,
        positive=values.positive,
        cases=len(values.pairs),
        only_before=paired.only_before,
        only_after=paired.only_after,
        relabelled=values.relabelled,
        repeated=paired.repeated,
        unpaired=paired.unpaired,
        controls_before=one.controls[0],
        controls_after=one.controls[1],
        transitions=transitions(values.states, numeric=values.kind == "numbers"),
        main=None if one.untested else one.main,
        beside=tuple(values.beside()) if values.pairs and values.kind != "mixed" else (),
        noise=one.noise,
        flips=_flips_of_comparing(one),
        p_adjusted=p_adjusted,
        noise_p_adjusted=noise_adjusted,
        level=level,
        detect=detect,
        power_basis=basis,
        **facts,
    )


def _answer(
    one: _Found,
    *,
    p_adjusted: float | None,
    noise_adjusted: float | None,
    level: float | None,
    detect: float,
    alpha: float,
    designs: Sequence[str],
) -> tuple[PowerBasis | None, dict[str, Any]]:
    """Return what the power is computed from, and the answer with its reason and what could have been found."""
    if one.main is None or p_adjusted is None or level is None:
        return None, {"answer": "cannot tell", "reason": one.untested, "minimum_detectable": None, "cases_needed": None}
    basis = power_basis(one.main, level=level, significant=p_adjusted <= alpha)
    detectable = None if basis is None else basis.detectable()
    answer, reason = answered(
        one.main,
        one.noise,
        p_adjusted=p_adjusted,
        noise_adjusted=noise_adjusted,
        alpha=alpha,
        basis=basis,
        detectable=detectable,
    )
    if any(one.values.failures):
        answer, reason = without_failures(answer, reason, one.values, one.main, level=level)
    return basis, {
        "answer": answer,
        "reason": reason + of_designs(answer, designs) + _unshared(one.paired),
        "minimum_detectable": detectable,
        "cases_needed": None if basis is None else basis.cases(detect),
    }


def _flips_of_comparing(one: _Found) -> tuple[Flip, ...]:
    """Return the flipped cases, those least likely under noise first."""
    chances = one.noise.p_of_case
    flips = [
        Flip(
            case_id=pair.name,
            before=before,
            after=after,
            before_distribution=pair.sides[0].sample_distribution,
            after_distribution=pair.sides[1].sample_distribution,
            gold=gold,
            p=chances.get(pair.name),
            results=(pair.before, pair.after),
            texts=(one.texts[0].get(pair.case_id, {}), one.texts[1].get(pair.case_id, {})),
        )
        for pair, (before, after), gold in zip(one.values.pairs, one.values.states, one.values.golds, strict=True)
        if flipped(before, after, one.tolerance)
    ]
    return tuple(sorted(flips, key=lambda flip: (flip.p is None, flip.p, flip.case_id)))


def _same_run(before: RunReport, after: RunReport, judges: Sequence[JudgePair]) -> bool:
    """Whether both sides are the very same rows of the same judges."""
    return all(judge.before == judge.after for judge in judges) and (before.source, before.run, before.results) == (
        after.source,
        after.run,
        after.results,
    )


def _one_sided(
    before: RunReport,
    after: RunReport,
    chosen: Sequence[JudgePair],
    judges: Sequence[str] | None,
    criteria: Sequence[str] | None,
) -> dict[str, Any]:
    """Return what only one run has; judges and criteria that were not asked for are not missed."""
    facts: dict[str, Any] = {}
    sides = ((before, after, "before"), (after, before, "after"))
    wanted = judges is None and all(judge.before == judge.after for judge in chosen)
    for mine, theirs, side in sides:
        others = {result.judge for result in theirs.results}
        alone = dict.fromkeys(r.judge for r in mine.results if wanted and r.judge not in others)
        facts[f"judges_{side}"] = tuple(alone)
        facts[f"criteria_{side}"] = tuple(
            (judge.name, name)
            for judge in chosen
            for name in _criteria(mine, getattr(judge, side))
            if not criteria and name not in _criteria(theirs, judge.after if side == "before" else judge.before)
        )
    return facts


def _criteria(report: RunReport, judge: str) -> dict[str, None]:
    return dict.fromkeys(name for result in report.results if result.judge == judge for name in result.criteria)
