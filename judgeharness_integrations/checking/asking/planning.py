"""What a check of a judge will ask: cases drawn, perturbations and probes that fit, and what that costs at most."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import CaseError, PlanError
from judgeharness_integrations.aggregation.rules import rule
from judgeharness_integrations.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.perturbations import Perturbation, perturbation
from judgeharness_integrations.plan import CasePlan, Plan, plan_cases
from judgeharness_integrations.probes import AdversarialProbe
from judgeharness_integrations.verdictlog.probenames import is_probe

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.judging import Judge
    from judgeharness_integrations.perturbations import Rewriter
    from judgeharness_integrations.verdictlog.probenames import Side

__all__ = [
    "RULE",
    "CheckPlan",
    "CheckedCase",
    "chosen_perturbations",
    "chosen_probes",
    "planned",
    "usual_perturbations",
]

# folds nothing that the report shows: a check reads rows
RULE = "majority | median"
_USUAL = ("position_swap", "name_swap", "format_change", "slot_names")


@dataclass(frozen=True, kw_only=True)
class CheckedCase:
    """A case of a check and what of the plan fits it; `plan` holds the case as the judge is shown it."""

    case: Case
    plan: CasePlan
    probes: tuple[AdversarialProbe, ...]

    @property
    def case_id(self) -> str:
        """The case's id."""
        return self.plan.case_id

    @property
    def changes(self) -> tuple[Perturbation, ...]:
        """The perturbations that fit it, besides `none`."""
        return self.plan.perturbations[1:]

    @property
    def own_criteria(self) -> tuple[Criterion, ...]:
        """The questions about this case alone."""
        return self.plan.case.criteria if isinstance(self.plan.case, AnswerCase) else ()

    @property
    def is_pair(self) -> bool:
        """Whether one of two answers is to be changed by a probe."""
        return isinstance(self.plan.case, PairwiseCase)


@dataclass(frozen=True, kw_only=True)
class CheckPlan:
    """What a check will ask; `found` is the number of cases it was drawn from.

    `unfit` maps the names of perturbations and the properties of probes that fit no case to the reason.
    """

    cases: tuple[CheckedCase, ...]
    found: int
    repetitions: int
    changes: tuple[Perturbation, ...]
    probes: tuple[AdversarialProbe, ...]
    unfit: Mapping[str, str] = field(default_factory=dict)

    @property
    def cost(self) -> Plan:
        """What it costs at most: a probe is not asked where the verdict leaves an attacker nothing to gain."""
        changed = Plan.of(one.plan for one in self.cases)
        more = sum(self.repetitions - 1 + len(one.probes) for one in self.cases)
        return Plan(cases=changed.cases, calls=changed.calls + more, rewrites=changed.rewrites)


def planned(
    judge: Judge,
    cases: Iterable[Case],
    *,
    changes: Sequence[Perturbation],
    attacks: Sequence[AdversarialProbe],
    repetitions: int,
    max_cases: int | None,
    seed: int,
) -> CheckPlan:
    """Draw cases and plan what is asked about each.

    Args:
        judge: who is asked.
        cases: the cases; those that are not the judge's to judge do not count.
        changes: perturbations besides `none`.
        attacks: probes.
        repetitions: samples of every case as it is.
        max_cases: how many cases are drawn; None takes all.
        seed: seed of the draw.

    Raises:
        CaseError: there is no case, two share an id, or a single case was given.
        PlanError: the judge cannot judge a case.

    """
    if isinstance(cases, (str, Mapping, AnswerCase)):
        raise CaseError(f"cases is a list or another iterable of cases, not a single {type(cases).__name__}.")
    drawn, found = _drawn(_seen(judge, cases), max_cases, seed)
    if not drawn:
        raise CaseError("there is no case to check the judge on: give some.")
    reasons: dict[str, str] = {}
    checked = tuple(_checked(case, judge, changes, attacks, reasons) for case in drawn)
    fitting = {one.name for case in checked for one in case.changes}
    fitting |= {one.property for case in checked for one in case.probes}
    return CheckPlan(
        cases=checked,
        found=found,
        repetitions=repetitions,
        changes=tuple(one for one in changes if one.name in fitting),
        probes=tuple(one for one in attacks if one.property in fitting),
        unfit={name: reason for name, reason in reasons.items() if name not in fitting},
    )


def chosen_perturbations(
    specs: Sequence[str | Perturbation] | None, *, rewriter: Rewriter | None, instructions: Sequence[str]
) -> tuple[Perturbation, ...]:
    """Return the perturbations of a check without `none`; None stands for the usual ones.

    Those are the ones that need nothing, with a `rewriter` also `paraphrase` and `prompt_variant`, and with
    `instructions` each of these wordings instead of the rewriter's.

    Raises:
        PlanError: one is listed twice, malformed, a probe, or lacks what it needs.
        UnknownNameError: there is none of that name.

    """
    if isinstance(specs, (str, Perturbation)):
        raise PlanError("perturbations is a list: write ['position_swap'], even for a single one.")
    specs = usual_perturbations(rewriter=rewriter is not None, wordings=len(instructions)) if specs is None else specs
    made = [perturbation(one, rewriter=rewriter, instructions=instructions) for one in specs]
    names = [one.name for one in made]
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise PlanError(f"perturbation {twice!r} is listed twice: use repetitions to ask more often.")
    if (attack := next(filter(is_probe, names), None)) is not None:
        raise PlanError(
            f"{attack!r} is no perturbation of a check: name it in probes; which side it attacks is chosen."
        )
    return tuple(one for one in made if one.name != "none")


def usual_perturbations(*, rewriter: bool, wordings: int) -> tuple[str, ...]:
    """Return the names of what a check perturbs, by whether there is a rewriter and how many wordings are given."""
    variants = tuple(f"prompt_variant({number})" for number in range(1, wordings + 1))
    if rewriter:
        return (*_USUAL, "paraphrase", *(variants or ("prompt_variant",)))
    return (*_USUAL, *variants)


def chosen_probes(specs: Sequence[str | AdversarialProbe] | None) -> tuple[AdversarialProbe, ...]:
    """Return the probes of a check, each once: names of them, of families, or probes of one's own; None: all.

    Raises:
        UnknownNameError: there is none of that name.

    """
    if isinstance(specs, (str, AdversarialProbe)):
        raise PlanError("probes is a list: write ['injection'], even for a single one.")
    from judgeharness_integrations.probes import probes  # noqa: PLC0415 - the payloads, only where they are asked

    if specs is None:
        return probes()
    found: dict[str, AdversarialProbe] = {}
    for spec in specs:
        for one in (spec,) if isinstance(spec, AdversarialProbe) else probes([spec]):
            found.setdefault(one.property, one)
    return tuple(found.values())


def _seen(judge: Judge, cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases that are the judge's to judge."""
    view = getattr(judge, "view", None)
    return (case for case in cases if not callable(view) or view(case) is not None)


def _drawn(cases: Iterable[Case], most: int | None, seed: int) -> tuple[list[Case], int]:
    """Return at most so many cases in their order, and how many there were; a larger draw holds a smaller one."""
    random = Random(f"{seed}|cases")  # noqa: S311 - a sample, not a secret
    lots = ((random.random(), place, case) for place, case in enumerate(cases))
    if most is None:
        kept = list(lots)
        return [case for _, _, case in kept], len(kept)
    counted = _Counted(lots)
    kept = heapq.nsmallest(most, counted, key=itemgetter(0, 1))
    return [case for _, _, case in sorted(kept, key=itemgetter(1))], counted.count


class _Counted:
    """Counts what passes."""

    def __init__(self, lots: Iterable[tuple[float, int, Case]]) -> None:
        self._lots = lots
        self.count = 0

    def __iter__(self) -> Iterator[tuple[float, int, Case]]:
        for lot in self._lots:
            self.count += 1
            yield lot


def _checked(
    case: Case,
    judge: Judge,
    changes: Sequence[Perturbation],
    attacks: Sequence[AdversarialProbe],
    reasons: dict[str, str],
) -> CheckedCase:
    """Return what of the plan fits a case; why the rest does not goes to `reasons`."""
    wanted = (perturbation("none"), *changes)
    plan = next(plan_cases([case], judge, rule=rule(RULE), perturbations=wanted, repetitions=1, on_unfit="skip"))
    for name, reason in plan.skipped.items():
        reasons.setdefault(name, reason)
    side: Side | None = "b" if isinstance(plan.case, PairwiseCase) else None  # a fits whatever b does
    misfits = {one.property: one.on(side).fits(plan.case) for one in attacks}
    for name, why in misfits.items():
        if why is not None:
            reasons.setdefault(name, why)
    return CheckedCase(case=case, plan=plan, probes=tuple(one for one in attacks if misfits[one.property] is None))
