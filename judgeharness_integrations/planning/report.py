"""A whole plan: designs with their cost, labels, what repetitions buy a decision, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.planning.advice import Advice, Facts, advise
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.grid import Design, Limits, attainable, design, designs
from judgeharness_integrations.planning.labels import CorrectedLabels, corrected_labels, wilson_labels
from judgeharness_integrations.planning.majority import MajorityRisk, majority_risk
from judgeharness_integrations.planning.pilot import Pilot
from judgeharness_integrations.planning.precision import Goal
from judgeharness_integrations.planning.shifts import Shift

__all__ = ["PLAN_SCHEMA", "PlanningReport", "Wanted", "planned"]

PLAN_SCHEMA: Final = "judgeharness.plan/1"
_PERTURBATIONS: Final = (1, 2, 4)
_REPETITIONS: Final = (1, 2, 3, 5, 8)
_SAMPLES: Final = (1, 3, 5, 9)
_TWO: Final = 2
_LABEL_WIDTH: Final = 0.1
_ALONE: Final[dict[str, Sequence[int]]] = {"perturbations": (1,)}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked of a plan.

    Args:
        goal: of the mean over cases.
        rate: anticipated agreement, precision or sensitivity, for the number of labels.
        label_width: wanted of its interval; the goal's width of a share when None, else 0.1.
        perturbations: how many; several numbers are tried when None.
        present: (perturbations, repetitions) of an existing configuration.
        sensitivity, specificity: of the judge, for the labels a corrected rate takes.

    """

    goal: Goal = field(default_factory=Goal)
    rate: float = 0.8
    label_width: float | None = None
    perturbations: int | None = None
    present: tuple[int, int] | None = None
    sensitivity: float | None = None
    specificity: float | None = None


@dataclass(frozen=True, kw_only=True)
class PlanningReport:
    """What a goal takes.

    `fewest_cases` is the floor: as many cases are needed however often each is asked. Without any variance there are no
    designs: then two cases would reach every goal, which is no plan. `present` is the configuration
    as it stands, `attainable` the most precise design that stays within the limits. `labels` for `label_width` at
    `rate`: items for agreement, items the judge calls positive for precision, items people call positive for
    sensitivity. `majority` is empty without a pilot of two labels.
    """

    goal: Goal
    components: Components
    limits: Limits
    designs: tuple[Design, ...]
    fewest_cases: int | None
    present: Design | None
    attainable: Design | None
    rate: float
    label_width: float
    labels: int | None
    corrected: CorrectedLabels | None
    majority: tuple[MajorityRisk, ...]
    advice: tuple[Advice, ...]
    pilot: Pilot | None = field(default=None)

    @property
    def shifts(self) -> tuple[Shift, ...]:
        """The perturbations that move the pilot's mean for another reason than the order of answers."""
        return () if self.pilot is None else tuple(one for one in self.pilot.shifts if not one.swap)

    @property
    def cheapest(self) -> Design | None:
        """The affordable design with the fewest calls."""
        return next((one for one in self.designs if one.cheapest), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON keeps it (schema `judgeharness.plan/1`)."""
        cheapest = self.cheapest
        return {"schema": PLAN_SCHEMA, **asdict(self), "cheapest": None if cheapest is None else asdict(cheapest)}


def planned(
    wanted: Wanted,
    *,
    pilot: Pilot | None = None,
    components: Components | None = None,
    limits: Limits | None = None,
    facts: Facts | None = None,
) -> PlanningReport:
    """Plan a measurement; nothing is asked.

    Args:
        wanted: the goal and what is anticipated.
        pilot: what a log says; its components are used unless others are declared.
        components: declared ones; without them and a pilot those of `wanted.rate`, all between cases.
        limits: what may be spent.
        facts: what advice may follow from, besides what stands in the other arguments.

    Raises:
        UsageError: something wanted is out of range.

    """
    goal, limits = wanted.goal, limits or Limits()
    averaging = pilot is None or all(one.swap for one in pilot.shifts)
    measured = None if pilot is None else pilot.components
    parts = components or measured or Components.of_rate(_share(wanted.rate))
    if pilot is not None and limits.tokens_per_call is None:
        limits = replace(limits, tokens_per_call=pilot.tokens_per_call)
    width = wanted.label_width or _label_width(goal, pilot)
    labels = wilson_labels(wanted.rate, width)
    fewest = goal.cases(goal.floor(parts)) if parts.total else None
    tried = _tried(wanted, parts)
    facts = replace(
        facts or Facts(),
        labels_needed=labels,
        cases=limits.cases,
        budget=limits.calls,
        components=parts,
        fewest_cases=fewest,
        repetitions=wanted.present[1] if wanted.present else None,
        systems=goal.systems,
    )
    return PlanningReport(
        goal=goal,
        components=parts,
        limits=limits,
        designs=designs(parts, goal, **tried, limits=limits, averaging=averaging) if parts.total else (),
        fewest_cases=fewest,
        present=_present(wanted, parts, limits),
        attainable=attainable(parts, goal, **(tried if averaging else tried | _ALONE), limits=limits),
        rate=wanted.rate,
        label_width=width,
        labels=labels,
        corrected=_corrected(wanted, pilot, limits, width),
        majority=_majority(pilot, wanted),
        advice=advise(facts),
        pilot=pilot,
    )


def _label_width(goal: Goal, pilot: Pilot | None) -> float:
    """Return the goal's width where it is that of a share."""
    of_share = goal.kind == "width" and goal.value < 1 and (pilot is None or pilot.positive is not None)
    return goal.value if of_share else _LABEL_WIDTH


def _share(rate: float) -> float:
    if not 0 <= rate <= 1:
        raise UsageError(f"rate must lie between 0 and 1, not {rate:g}.")
    return rate


def _tried(wanted: Wanted, parts: Components) -> dict[str, Sequence[int]]:
    """Return the numbers of perturbations and repetitions that are tried, those of the configuration among them.

    Where their variance was not measured, no others but one are: what they buy cannot be told.
    """
    p, r = wanted.present or (1, 1)
    perturbations = (1, p) if parts.perturbations is None else (*_PERTURBATIONS, p)
    repetitions = (1, r) if parts.repetitions is None else (*_REPETITIONS, r)
    return {
        "perturbations": perturbations if wanted.perturbations is None else (wanted.perturbations,),
        "repetitions": repetitions,
    }


def _present(wanted: Wanted, parts: Components, limits: Limits) -> Design | None:
    if wanted.present is None or limits.cases is None or not parts.total:
        return None
    return design(parts, wanted.goal, *wanted.present, cases=limits.cases, limits=limits)


def _corrected(wanted: Wanted, pilot: Pilot | None, limits: Limits, width: float) -> CorrectedLabels | None:
    """Return the labels of a corrected rate, where the judge's rates and the number of cases are known."""
    if wanted.sensitivity is None or wanted.specificity is None or limits.cases is None:
        return None
    informed = wanted.sensitivity + wanted.specificity - 1
    rate = wanted.rate
    if pilot is not None and pilot.positive is not None and informed > 0:  # what the pilot's share stands for
        rate = min(1.0, max(0.0, (pilot.mean + wanted.specificity - 1) / informed))
    return corrected_labels(
        rate=rate, sensitivity=wanted.sensitivity, specificity=wanted.specificity, cases=limits.cases, width=width
    )


def _majority(pilot: Pilot | None, wanted: Wanted) -> tuple[MajorityRisk, ...]:
    if (
        pilot is None
        or pilot.labels is None
        or pilot.labels > _TWO
        or pilot.agreement is None
        or not pilot.components.total
    ):
        return ()
    present = wanted.present or (pilot.perturbations, pilot.repetitions)
    samples = sorted({*_SAMPLES, present[0] * present[1]})
    return tuple(majority_risk(pilot.mean, pilot.components, number) for number in samples)
