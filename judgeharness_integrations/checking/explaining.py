"""What the rows of a check cannot tell: why something was not asked, and what the judge was shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.checking.asking import aimed, base_verdicts
from judgeharness_integrations.checking.properties.excess import PERTURBED, property_of
from judgeharness_integrations.checking.report import PropertyCheck
from judgeharness_integrations.perturbations import Context
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case, Criterion
    from judgeharness_integrations.checking.asking import Asked, CheckPlan
    from judgeharness_integrations.checking.report import CheckReport, WorstCase
    from judgeharness_integrations.perturbations import Perturbation, Rewriter
    from judgeharness_integrations.verdictlog.row import VerdictRow


__all__ = ["explained", "notes", "with_shown"]


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
        replace(one, reason=reasons[one.name]) if one.status == "not_checked" and one.name in reasons else one
        for one in properties
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
    for one in plan.changes:
        reasons.pop(_property(one.name), None)
    for probe in plan.probes:
        reasons[probe.property] = _NOTHING_TO_SHOW
    planned = {_property(one.name) for one in plan.changes} | {probe.property for probe in plan.probes}
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


def with_shown(
    report: CheckReport,
    plan: CheckPlan,
    rows: Iterable[VerdictRow],
    *,
    criteria: Sequence[Criterion] | None,
    seed: int,
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
    changes = {one.name: one for one in (*plan.changes, *attacks)}
    cases = {one.case_id: one.plan.case for one in plan.cases}

    def told(worst: WorstCase) -> WorstCase:
        return replace(worst, shown=_shown(cases.get(worst.case_id), changes.get(worst.perturbation), worst, seed))

    found = (replace(one, worst=tuple(map(told, one.worst))) for one in report.properties)
    return replace(report, properties=tuple(found))


def _shown(case: Case, change: Perturbation | None, worst: WorstCase, seed: int) -> str | None:
    if change is None or not isinstance(case, (str, AnswerCase)):
        return None
    changed = _changed(case, change, f"{seed}|{worst.case_id}|{change.name}")
    before, after = _texts(case), _texts(changed)
    if not after or sorted(before) == sorted(after):  # only their order changed
        return None
    pairs = [(old, new) for old, new in zip_longest(before, after, fillvalue="") if old != new]
    return "\n\n".join(_cut(old, new, _MOST // len(pairs)) for old, new in pairs)


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
    """Return every text a judge is shown of a case, with what the answers are called and how the judge is told."""
    if not isinstance(case, AnswerCase):
        return [case] if isinstance(case, str) else []
    presentation = case.presentation
    names = " / ".join(presentation.slot_names or ())
    return [*case.all_texts(), names, presentation.instructions or ""]


def _cut(before: str, after: str, most: int) -> str:
    """Return a text around its first change."""
    same = next((place for place, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), len(before))
    start = max(0, min(same - _LEAD, len(after) - most))
    piece = after[start : start + most]
    return f"{'…' if start else ''}{piece}{'…' if start + most < len(after) else ''}"
