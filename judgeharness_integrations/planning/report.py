"""A whole plan: designs with their cost, labels, what repetitions buy, where the variance is, and advice."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.deciding import check_rule_fits
from judgeharness_integrations.aggregation.rules import Rule, RuleLike, pass_mark, rule
from judgeharness_integrations.planning.advice import Advice, Facts, advise
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.decisions import Judging
from judgeharness_integrations.planning.goal import Goal
from judgeharness_integrations.planning.grid import Design, Limits, attainable, designs, present
from judgeharness_integrations.planning.gstudy import GStudy, Split
from judgeharness_integrations.planning.labels import CorrectedLabels, corrected_labels, wilson_labels
from judgeharness_integrations.planning.majority import MajorityRisk, majority_risk
from judgeharness_integrations.planning.pilot import Pilot
from judgeharness_integrations.planning.shifts import Shift
from judgeharness_integrations.planning.truths import Truths

__all__ = ["PLAN_SCHEMA", "PlanningReport", "Wanted", "planned", "truths_of"]

PLAN_SCHEMA: Final = "judgeharness.plan/1"
_PERTURBATIONS: Final = (1, 2, 4)
_REPETITIONS: Final = (1, 2, 3, 5, 8)
_SAMPLES: Final = (1, 3, 5, 9)
_TWO: Final = 2
_LABEL_WIDTH: Final = 0.1
_MOST_OF_A_SHARE: Final = 0.25  # the variance of a share of one half


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked of a plan.

    Args:
        goal: of the decisions.
        rule: that decides; `majority` of labels and `median` of scores when None.
        min_valid: the quorum of a decision; half of the samples when None.
        rate: anticipated agreement, precision or sensitivity, for the number of labels.
        label_width: wanted of its interval; the goal's width of a share when None, else 0.1.
        perturbations: how many; several numbers are tried when None.
        present: (perturbations, repetitions) of an existing configuration.
        sensitivity, specificity: of the judge, for the labels a corrected rate takes.

    """

    goal: Goal = field(default_factory=Goal)
    rule: RuleLike | None = None
    min_valid: int | None = None
    rate: float = 0.8
    label_width: float | None = None
    perturbations: int | None = None
    present: tuple[int, int] | None = None
    sensitivity: float | None = None
    specificity: float | None = None


@dataclass(frozen=True, kw_only=True)
class PlanningReport:
    """What a goal takes, under the rule of this name.

    `fewest_cases` is the fewest of any design tried: no number of samples a case brings it lower. Scores without any
    variance have no designs: then two cases would reach every goal, which is no plan. `present` is the configuration as
    it stands, `attainable` the most precise design that stays within the limits. `labels` for `label_width` at `rate`:
    items for agreement, items the judge calls positive for precision, items people call positive for sensitivity.
    `majority` is empty without a pilot of two labels. `variances` says where the pilot's variance is, and `split` is
    the best split of the calls allowed.
    """

    goal: Goal
    rule: str
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
    variances: GStudy | None = None
    split: Split | None = None

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
    variances: GStudy | None = None,
) -> PlanningReport:
    """Plan a measurement by what other commands will print of it; nothing is asked.

    Args:
        wanted: the goal and what is anticipated.
        pilot: what a log says; its components are used unless others are declared.
        components: declared ones, of a label where their sum is one a share can have (1/4) and the rule does not fold
            scores; without them and a pilot those of `wanted.rate`, all between cases.
        limits: what may be spent.
        facts: what advice may follow from, besides what stands in the other arguments.
        variances: where the pilot's variance is, for the best split of the calls.

    Raises:
        UsageError: something wanted is out of range, or the rule does not fold what the pilot holds.

    """
    goal, limits = wanted.goal, limits or Limits()
    truths = truths_of(wanted, pilot, components)
    parts = truths.parts
    if pilot is not None and limits.tokens_per_call is None:
        limits = replace(limits, tokens_per_call=pilot.tokens_per_call)
    width = wanted.label_width or _label_width(goal, pilot)
    labels = wilson_labels(wanted.rate, width, assurance=goal.assurance)
    averaging = pilot is None or all(one.swap for one in pilot.shifts)
    tried = _tried(wanted, truths) if parts.total or truths.mean is not None else []
    found = designs(truths, tried=tried, limits=limits, averaging=averaging) if tried else ()
    known = [one.cases for one in found if one.cases is not None]
    fewest = min(known, default=None)
    facts = replace(
        facts or Facts(),
        labels_needed=labels,
        cases=limits.cases,
        budget=limits.calls,
        components=parts,
        fewest_cases=fewest,
        repetitions=wanted.present[1] if wanted.present else None,
        systems=goal.systems,
        designs=found,
        buys=truths.repetitions_buy,
    )
    alone = [(p, r) for p, r in tried if averaging or p == 1]
    return PlanningReport(
        goal=goal,
        rule=truths.rule.name if wanted.rule is None else rule(wanted.rule).name,
        components=parts,
        limits=limits,
        designs=found,
        fewest_cases=fewest,
        present=_present(wanted, truths, limits) if tried else None,
        attainable=attainable(truths, tried=alone, limits=limits) if alone else None,
        rate=wanted.rate,
        label_width=width,
        labels=labels,
        corrected=_corrected(wanted, truths, limits, width),
        majority=_majority(pilot, wanted),
        advice=advise(facts),
        pilot=pilot,
        variances=variances,
        split=None if variances is None or limits.calls is None else variances.best_split(limits.calls, limits.cases),
    )


def truths_of(wanted: Wanted, pilot: Pilot | None, components: Components | None = None) -> Truths:
    """Return what may be true of the judge, by the pilot or what is declared; `planned` says what is refused."""
    parts = components or (None if pilot is None else pilot.components) or Components.of_rate(_share(wanted.rate))
    given = None if wanted.rule is None else rule(wanted.rule)
    numeric = pilot.positive is None if pilot is not None else _of_scores(given, components)
    folds = given or rule("median" if numeric else "majority")
    if not numeric and wanted.goal.value >= 1:
        goal = wanted.goal
        raise UsageError(
            f"shares and their differences lie within 1: a {goal.kind} must be below 1, not {goal.value:g}."
        )
    if not numeric and pass_mark(folds) is not None:
        folds = rule("majority")  # of grades, which the pilot's scores have become: so does a median of an odd number
    check_rule_fits(folds, numeric=numeric, criterion="verdict" if pilot is None else pilot.criterion)
    mean: float | None = None
    if not numeric:
        mean = pilot.mean if pilot is not None else _mean(wanted.rate, components)
    judging = Judging(rule=folds, min_valid=wanted.min_valid)
    if folds.both_orders:
        judging = replace(judging, labels=("A", "B"))
    if pilot is not None and pilot.positive is not None:
        others = pilot.others or {f"not {pilot.positive}": 1.0}
        judging = replace(
            judging,
            labels=(pilot.positive, *others),
            others=tuple(others.values()),
            failed=pilot.failed / (pilot.samples + pilot.failed),
        )
    return Truths(goal=wanted.goal, parts=parts, mean=mean, rule=folds, judging=judging, pilot=pilot)


def _of_scores(given: Rule | None, components: Components | None) -> bool:
    """Whether declared variances are those of scores."""
    if given is not None and given.kind != "any":
        return given.kind == "numbers" and pass_mark(given) is None
    return components is not None and components.total > _MOST_OF_A_SHARE


def _mean(rate: float, components: Components | None) -> float:
    """Return the share whose variance is declared, the upper one of two that are alike; else the anticipated rate."""
    if components is None:
        return rate
    return 0.5 + math.sqrt(max(0.0, _MOST_OF_A_SHARE - components.total))


def _label_width(goal: Goal, pilot: Pilot | None) -> float:
    """Return the goal's width where it is that of a share."""
    of_share = goal.kind == "width" and goal.value < 1 and (pilot is None or pilot.positive is not None)
    return goal.value if of_share else _LABEL_WIDTH


def _share(rate: float) -> float:
    if not 0 <= rate <= 1:
        raise UsageError(f"rate must lie between 0 and 1, not {rate:g}.")
    return rate


def _tried(wanted: Wanted, truths: Truths) -> list[tuple[int, int]]:
    """Return the numbers of perturbations and repetitions that are tried, those of the configuration among them.

    Where their variance was not measured, no others but one are: what they buy cannot be told. A rule over both orders
    takes as many perturbations in each.
    """
    p, r = wanted.present or (1, 1)
    parts, orders = truths.parts, 2 if truths.rule.both_orders else 1
    perturbations: tuple[int, ...] = (1, p) if parts.perturbations is None else (*_PERTURBATIONS, p)
    if wanted.perturbations is not None:
        perturbations = (wanted.perturbations,)
    repetitions = (1, r) if parts.repetitions is None else (*_REPETITIONS, r)
    if (fewest := min(perturbations)) < 1:
        raise UsageError(f"perturbations must be a whole number of at least 1, not {fewest}.")
    fitting = {number for number in perturbations if number % orders == 0} or {orders}
    return list(product(sorted(fitting), sorted(set(repetitions))))


def _present(wanted: Wanted, truths: Truths, limits: Limits) -> Design | None:
    if wanted.present is None or limits.cases is None:
        return None
    return present(truths, *wanted.present, cases=limits.cases, limits=limits)


def _corrected(wanted: Wanted, truths: Truths, limits: Limits, width: float) -> CorrectedLabels | None:
    """Return the labels of a corrected rate, where the judge's rates and the number of cases are known."""
    if wanted.sensitivity is None or wanted.specificity is None or limits.cases is None:
        return None
    informed = wanted.sensitivity + wanted.specificity - 1
    rate, plausible = wanted.rate, None
    if truths.pilot is not None and truths.mean is not None and informed > 0:  # what the pilot's share stands for
        rate = min(1.0, max(0.0, (truths.mean + wanted.specificity - 1) / informed))
        plausible = ((truths.rates_apart() + wanted.specificity - 1) / informed).clip(0.0, 1.0)
    return corrected_labels(
        rate=rate,
        sensitivity=wanted.sensitivity,
        specificity=wanted.specificity,
        cases=limits.cases,
        width=width,
        assurance=wanted.goal.assurance,
        plausible=plausible,
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
