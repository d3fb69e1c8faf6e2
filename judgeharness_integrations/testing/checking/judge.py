"""What the rows of a check cannot tell: why something was not asked, and what the judge was shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import BudgetError, JudgeDownError, PlanError
from judgeharness_integrations.analysis.checking.excess import PERTURBED, property_of
from judgeharness_integrations.analysis.checking.statistics import CheckReport, PropertyCheck, WorstCase
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.judge import Judge, JudgeLike
from judgeharness_integrations.judging.perturbations import Context, Perturbation, Rewriter
from judgeharness_integrations.judging.recording import unrecorded
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES, VerdictRow, probe_name

from .asking import (
    Asked,
    CheckPlan,
    aimed,
    ask,
    base_verdicts,
    check_options,
    chosen_perturbations,
    chosen_probes,
    planned,
)

if TYPE_CHECKING:
    from judgeharness_integrations.judging.plan import Plan
    from judgeharness_integrations.judging.probes import AdversarialProbe

__all__ = ["acheck_judge", "check_judge", "plan_check"]


_POSITION = "position"


_KNOWN = (_POSITION, *PERTURBED, *PROBE_PROPERTIES)


_NEEDS = {
    "paraphrase": "not asked: it needs a rewriter",
    "prompt_variant": "not asked: it needs a rewriter, or instructions in other words",
}


_NOTHING_TO_SHOW = "the judge's own verdicts left this probe nothing to show"


def explained(properties: Iterable[PropertyCheck], plan: CheckPlan, asked: Asked) -> tuple[PropertyCheck, ...]:
    """Return the properties, those that are not checked with the reason why nothing was asked about them.

    Perturbations and probes of the caller's own stand there, too, when nothing was asked about them.
    """
    reasons = _reasons(plan, asked)
    found = [
        replace(check, reason=reasons[check.name]) if check.status == "not_checked" and check.name in reasons else check
        for check in properties
    ]
    criteria, known = dict.fromkeys(one.criterion for one in found), {*_KNOWN, *(one.name for one in found)}
    missing = [
        PropertyCheck(name=name, criterion=criterion, status="not_checked", reason=reason)
        for criterion in criteria
        for name, reason in reasons.items()
        if name not in known
    ]
    return (*found, *missing)


def notes(plan: CheckPlan, asked: Asked, *, seed: int) -> Iterator[str]:
    """Yield what is to be known about the samples: which cases were drawn, and why they are not all."""
    if len(plan.cases) < plan.found:
        yield f"{len(plan.cases)} of {plan.found} cases, drawn with seed {seed}"
    if asked.ended is not None:
        yield f"not everything that was planned was asked: {asked.ended}"


def _reasons(plan: CheckPlan, asked: Asked) -> dict[str, str]:
    """Return property -> why there is no answer about it."""
    reasons = {name: _NEEDS.get(name, "not asked") for name in _KNOWN}
    reasons |= {_property(name): reason.rstrip(".") for name, reason in plan.unfit.items()}
    for change in plan.changes:
        reasons.pop(_property(change.name), None)
    for probe in plan.probes:
        reasons[probe.property] = _NOTHING_TO_SHOW
    planned = {_property(change.name) for change in plan.changes} | {probe.property for probe in plan.probes}
    answered = {_property(row.perturbation) for row in asked.rows}
    if asked.ended is not None:
        reasons |= dict.fromkeys(planned, f"not asked any more: {asked.ended}")
    return {name: reason for name, reason in reasons.items() if name not in answered}


def _property(name: str) -> str:
    """Return the property of a perturbation in the log, or of a probe."""
    if (probe := probe_name(name)) is not None:
        return probe.property
    return _POSITION if name == "position_swap" else property_of(name) or name


_MOST: Final = 500


_LEAD: Final = 80  # of what stands before the change
_BETWEEN: Final = "\n\n"  # several texts that changed


def with_shown(
    report: CheckReport, plan: CheckPlan, rows: Iterable[VerdictRow], *, criteria: Sequence[Criterion] | None, seed: int
) -> CheckReport:
    """Return a report whose worst cases say what the judge was shown.

    Args:
        report: of a judge that was asked.
        plan: what was planned of these cases at least.
        rows: what it answered: they tell which answer was attacked.
        criteria: what the judge declares.
        seed: of the check.

    """
    attacks = aimed(plan.cases, base_verdicts(rows), criteria=criteria)
    changes = {change.name: change for change in (*plan.changes, *attacks)}
    cases = {case.case_id: case.plan.case for case in plan.cases}

    def with_text(worst: WorstCase) -> WorstCase:
        cuts = _changed_text(cases.get(worst.case_id), changes.get(worst.perturbation), worst, seed)
        return replace(worst, shown=_BETWEEN.join(cut.text for cut in cuts) if cuts else None, changed=_spans(cuts))

    found = (replace(check, worst=tuple(map(with_text, check.worst))) for check in report.properties)
    return replace(report, properties=tuple(found))


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text around its change, and from where to where the change brought it in; equal ends: it took something out."""

    text: str
    start: int
    end: int


def _changed_text(case: Case, change: Perturbation | None, worst: WorstCase, seed: int) -> list[_Cut]:
    if change is None or not isinstance(case, (str, AnswerCase)):
        return []
    changed = _changed(case, change, f"{seed}|{worst.case_id}|{change.name}")
    before, after = _texts(case), _texts(changed)
    if not after or sorted(before) == sorted(after):  # only their order changed
        return []
    pairs = [(old, new) for old, new in zip_longest(before, after, fillvalue="") if old != new]
    return [_cut(old, new, _MOST // len(pairs)) for old, new in pairs]


def _spans(cuts: Sequence[_Cut]) -> tuple[tuple[int, int], ...]:
    """Return where the changes stand in the cuts that were joined."""
    found, place = list[tuple[int, int]](), 0
    for cut in cuts:
        if cut.start < cut.end:
            found.append((place + cut.start, place + cut.end))
        place += len(cut.text) + len(_BETWEEN)
    return tuple(found)


def _changed(case: Case, change: Perturbation, seed: str) -> Case:
    """Return the changed case as the judge was shown it; the case as it is where that takes asking a rewriter."""
    source = Random(seed.encode(errors="surrogatepass"))  # noqa: S311 - the same as when it was asked
    making = change.applied(case, Context(random=source, rewrite=_unasked))
    try:
        making.send(None)
    except StopIteration as made:
        return made.value
    except Exception:  # noqa: BLE001 - of a change of the caller's own, whose sample says what went wrong
        return case
    making.close()
    return case


async def _unasked(rewriter: Rewriter, text: str) -> str:
    raise NotImplementedError


def _texts(case: Case) -> list[str]:
    """Return every text a judge is shown of a case, what the answers are called, how the judge is told and asked."""
    if not isinstance(case, AnswerCase):
        return [case] if isinstance(case, str) else []
    presentation = case.presentation
    names = " / ".join(presentation.slot_names or ())
    form = "" if presentation.form is None else str(presentation.form)
    return [*case.all_texts(), names, presentation.instructions or "", form]


def _cut(before: str, after: str, most: int) -> _Cut:
    """Return a text around its first change."""
    same = _alike(before, after)
    kept = _alike(before[same:][::-1], after[same:][::-1])
    start = max(0, min(same - _LEAD, len(after) - most))
    piece = after[start : start + most]
    lead = "…" if start else ""
    ends = (min(place - start, most) + len(lead) for place in (same, len(after) - kept))
    return _Cut(f"{lead}{piece}{'…' if start + most < len(after) else ''}", *ends)


def _alike(first: str, second: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (old, new) in pairs if old != new), min(len(first), len(second)))


_NO_VERDICT = "the judge gave no verdict of any case as it is: there was nothing to attack"


def check_judge(
    judge: JudgeLike,
    cases: Iterable[Case],
    *,
    judge_model: str | None = None,
    perturbations: Sequence[str | Perturbation] | None = None,
    probes: Sequence[str | AdversarialProbe] | None = None,
    repetitions: int = 3,
    max_cases: int | None = 50,
    tolerance: float = 0.1,
    alpha: float = 0.05,
    score_tolerance: float | None = None,
    seed: int = 0,
    **asking: Any,
) -> CheckReport:
    """Ask a judge about cases as they are, changed where nothing may change, and attacked; report what it does.

    Every case is asked `repetitions` times as it is, once under each perturbation that fits it, and once under each
    probe: an attack on the answer that lost, a sentinel in place of the one that won, by the judge's own first verdict.

    Args:
        judge: a `Judge`, or a plain sync or async callable that takes the case.
        cases: the cases; gold labels, where they have some, give the accuracy beside the consistency.
        judge_model: the model behind the judge, for the report and the limiter.
        perturbations: what must not matter; None takes `position_swap`, `name_swap`, `format_change` and `slot_names`,
            with a `rewriter` also `paraphrase` and `prompt_variant`, with `instructions` each of these wordings. What
            fits no case is `not_checked`, with the reason.
        probes: names (`injection.direct_order`), families (`injection`) or probes of one's own; None takes all, an
            empty list none.
        repetitions: samples of every case as it is: the noise that flips are compared with.
        max_cases: how many of the cases are drawn; None takes all.
        tolerance: the largest effect that passes, as a share.
        alpha: the chance of any false `fail` in the report.
        score_tolerance: how far two scores lie apart, in points, and are the same verdict; None takes a ninth of the
            scale that the judge or the case declares, else of the range of the scores it gave.
        seed: seed of the draw of cases, and of every random choice a change makes.
        asking: options of `JudgeHarness`: `rewriter`, `instructions`, `log`, `run`, `reuse`, `keep`, `observers`,
            `max_concurrency`, `timeout_s`, `max_attempts`, `retrying`, `requests_per_minute`, `tokens_per_minute`,
            `max_calls`, `budget`, `executor`. With a `SqlLog` and a `run` nothing is asked twice.

    Raises:
        UsageError: cases, judge and options do not fit together; nothing was asked.
        BudgetError: the plan needs more than `max_calls`; nothing was asked.
        JudgeDownError: the judge answers nothing, by errors that no waiting heals.

    """
    return run_sync(
        acheck_judge(
            judge,
            cases,
            judge_model=judge_model,
            perturbations=perturbations,
            probes=probes,
            repetitions=repetitions,
            max_cases=max_cases,
            tolerance=tolerance,
            alpha=alpha,
            score_tolerance=score_tolerance,
            seed=seed,
            **asking,
        )
    )


async def acheck_judge(
    judge: JudgeLike,
    cases: Iterable[Case],
    *,
    judge_model: str | None = None,
    perturbations: Sequence[str | Perturbation] | None = None,
    probes: Sequence[str | AdversarialProbe] | None = None,
    repetitions: int = 3,
    max_cases: int | None = 50,
    tolerance: float = 0.1,
    alpha: float = 0.05,
    score_tolerance: float | None = None,
    seed: int = 0,
    **asking: Any,
) -> CheckReport:
    """Check a judge; see `check_judge`."""
    judge = as_judge(judge)
    _check_levels(tolerance=tolerance, alpha=alpha, score_tolerance=score_tolerance)
    plan = _plan(
        judge,
        cases,
        asking,
        perturbations=perturbations,
        probes=probes,
        repetitions=repetitions,
        max_cases=max_cases,
        seed=seed,
    )
    with unrecorded():
        asked = await ask(judge, plan, judge_model=judge_model, seed=seed, options=asking)
    if asked.down and all(row.outcome == "error" for row in asked.rows):
        raise JudgeDownError(f"{asked.ended}.")
    if not asked.rows:
        raise BudgetError(f"nothing was answered that could be reported ({asked.ended}): allow more.")
    levels = {"tolerance": tolerance, "alpha": alpha, "score_tolerance": score_tolerance}
    report = _report(judge, plan, asked, judge_model=judge_model, seed=seed, levels=levels)
    if asking.get("keep", "text") != "text":
        return report
    return with_shown(report, plan, asked.rows, criteria=judge.criteria, seed=seed)


def plan_check(
    judge: JudgeLike,
    cases: Iterable[Case],
    *,
    perturbations: Sequence[str | Perturbation] | None = None,
    probes: Sequence[str | AdversarialProbe] | None = None,
    repetitions: int = 3,
    max_cases: int | None = 50,
    seed: int = 0,
    **asking: Any,
) -> Plan:
    """Return what `check_judge` would cost at most; nothing is asked."""
    plan = _plan(
        as_judge(judge),
        cases,
        asking,
        perturbations=perturbations,
        probes=probes,
        repetitions=repetitions,
        max_cases=max_cases,
        seed=seed,
    )
    return plan.cost


def _plan(
    judge: Judge,
    cases: Iterable[Case],
    asking: Mapping[str, Any],
    *,
    perturbations: Sequence[str | Perturbation] | None,
    probes: Sequence[str | AdversarialProbe] | None,
    repetitions: int,
    max_cases: int | None,
    seed: int,
) -> CheckPlan:
    check_options(asking)
    for name, value in {"repetitions": repetitions, "max_cases": max_cases}.items():
        if type(value) is not int or value < 1:
            if name == "max_cases" and value is None:
                continue
            raise PlanError(f"{name} must be a whole number of at least 1, not {value!r}.")
    instructions = asking.get("instructions", ())
    return planned(
        judge,
        cases,
        changes=chosen_perturbations(perturbations, rewriter=asking.get("rewriter"), instructions=instructions),
        attacks=chosen_probes(probes),
        repetitions=repetitions,
        max_cases=max_cases,
        seed=seed,
    )


def _report(
    judge: Judge, plan: CheckPlan, asked: Asked, *, judge_model: str | None, seed: int, levels: Mapping[str, Any]
) -> CheckReport:
    from judgeharness_integrations.analysis.checking.conformance import check_rows  # noqa: PLC0415 - likewise
    from judgeharness_integrations.analysis.checking.samples import SCORE_STEPS  # noqa: PLC0415 - likewise

    identity, scales, unset = judge.identity, _scales(judge, plan), levels["score_tolerance"] is None
    report = check_rows(
        asked.rows,
        judge=judge.name,
        score_tolerances={name: (high - low) / SCORE_STEPS for name, (low, high) in scales.items()} if unset else None,
        lowest_scores={name: low for name, (low, _) in scales.items()},
        probe_expectations={probe.property: probe.expectation for probe in plan.probes},
        longer={case.case_id: _longer(case.case) for case in plan.cases},
        temperature=None if identity is None else identity.parameters.get("temperature"),
        **levels,
    )
    return replace(
        report,
        judge_model=judge_model or (identity.model if identity is not None else None) or report.judge_model,
        properties=_explained(report.properties, plan, asked),
        notes=(*notes(plan, asked, seed=seed), *report.notes),
    )


def _longer(case: Case) -> str | None:
    from judgeharness_integrations.analysis.calibration.controls import longer_answer  # noqa: PLC0415 - needed once asked

    return longer_answer(case.output, case.output_b) if isinstance(case, PairwiseCase) else None


def _explained(properties: Iterable[PropertyCheck], plan: CheckPlan, asked: Asked) -> tuple[PropertyCheck, ...]:
    """Return the properties with the reasons that rows alone cannot tell; without any verdict nothing is attacked."""
    found = explained(properties, plan, asked)
    if asked.ended is not None or base_verdicts(asked.rows):
        return found
    attacks = {probe.property for probe in plan.probes}
    return tuple(replace(check, reason=_NO_VERDICT) if check.name in attacks else check for check in found)


def _check_levels(*, tolerance: float, alpha: float, score_tolerance: float | None) -> None:
    """Refuse, before anything is asked, what no report can be made with."""
    for name, value in {"tolerance": tolerance, "alpha": alpha}.items():
        if type(value) not in (int, float) or not 0 < value < 1:
            raise PlanError(f"{name} must be a number between 0 and 1, not {value!r}.")
    if score_tolerance is None:
        return
    if type(score_tolerance) not in (int, float) or not 0 <= score_tolerance < math.inf:
        raise PlanError(f"score_tolerance must be a number of at least 0, not {score_tolerance!r}.")


def _scales(judge: Judge, plan: CheckPlan) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest score of criteria with a declared scale."""
    own = (criterion for case in plan.cases for criterion in case.own_criteria)
    declared = (*(judge.criteria or ()), *own)
    return {criterion.name: criterion.scale for criterion in declared if criterion.scale is not None}
