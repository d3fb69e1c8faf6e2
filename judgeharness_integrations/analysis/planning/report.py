"""What follows from facts: whether a harness is the right tool, and what to do first. No fact, no advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import counted

from ..aggregation.rules import Rule, RuleLike, check_rule_fits, pass_mark, rule
from .grid import (
    CorrectedLabels,
    Design,
    EarlyStopping,
    Limits,
    attainable,
    corrected_labels,
    designs,
    present,
    widest_rate,
    wilson_labels,
)
from .gstudy import Components, GStudy, Shift, Split
from .pilot import Pilot, Truths
from .study import Goal, Judging, cases_of, chances_of_cases

__all__ = [
    "PLAN_SCHEMA",
    "Advice",
    "Facts",
    "LabelSource",
    "MajorityRisk",
    "PlanningReport",
    "Wanted",
    "advise",
    "majority_risk",
    "planned",
    "truths_of",
]


LabelSource = Literal["none", "executable", "human"]

_SAMPLES: Final = 2
_FEWEST: Final = 2
_UNPAIRED: Final = (
    "one sample a case does not show how much of a verdict is noise, which two systems do not share: judging them on "
    "the same cases is taken to save nothing, so that the plan holds whatever they share; a pilot with repetitions, or "
    "--variance, shows what it saves, and compare --detect says it of two runs that judged both systems"
)
_ANY_NOISE: Final = (
    "how much of a verdict is noise was not measured: designs of several samples a case hold whatever it is, as "
    "samples of a noisy judge tie more often, and ties abstain"
)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known; None is not known.

    `labels_needed` is how many labels the wanted width takes. `components` are those of a pilot or declared ones.
    `budget` is in calls; each of `systems` is asked about each case. `designs` reach the goal, and `buys` says whether
    more samples a case can buy it at all.
    """

    labels: LabelSource | None = None
    labels_needed: int | None = None
    cases: int | None = None
    budget: int | None = None
    temperature: float | None = None
    repetitions: int | None = None
    components: Components | None = None
    fewest_cases: int | None = None
    systems: int = 1
    designs: Sequence[Design] = ()
    buys: bool = True


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One sentence of advice, and the fact it follows from."""

    advice: str
    fact: str

    def __str__(self) -> str:
        """Return both as one sentence."""
        return f"{self.fact}: {self.advice}"


def advise(facts: Facts) -> tuple[Advice, ...]:
    """Return what follows from the facts, what decides about the tool first."""
    return (*_tool(facts), *_design(facts))


def _tool(facts: Facts) -> Iterator[Advice]:
    if facts.labels == "executable":
        yield Advice(
            fact="the labels come from an executable check",
            advice="run the check on every case; a harness around a judge is the wrong tool for it.",
        )
    if facts.labels == "none":
        needed = "some" if facts.labels_needed is None else f"{facts.labels_needed}"
        yield Advice(
            fact="there are no labels",
            advice=f"a harness can only say how consistent the judge is, not how right; label {needed} items first.",
        )
    yield from _budget(facts)


def _budget(facts: Facts) -> Iterator[Advice]:
    if facts.budget is None:
        return
    twice = _SAMPLES * facts.systems  # calls of a case whose every answer has a second one
    calls = counted(facts.budget, "call")
    of_systems = "" if facts.systems == 1 else f" of {facts.systems} systems"
    if facts.budget < _FEWEST * twice:
        yield Advice(
            fact=f"{calls}{of_systems} {'is' if facts.budget == 1 else 'are'} too few for any interval",
            advice=f"two cases with two samples each take {_FEWEST * twice}; allow that many or more.",
        )
    elif facts.cases is not None and facts.budget < twice * facts.cases:
        one = "ask each case once, which is informal and needs no harness, or "
        yield Advice(
            fact=f"{calls} for {facts.cases} cases{of_systems} are fewer than two samples a case",
            advice=f"{one if facts.budget >= facts.systems * facts.cases else ''}judge fewer cases: "
            f"{facts.budget // twice} with two samples each.",
        )


def _design(facts: Facts) -> Iterator[Advice]:
    if facts.temperature == 0:
        yield Advice(
            fact="the judge's temperature is 0",
            advice="repetitions measure nothing; use one repetition under several perturbations.",
        )
    yield from _samples(facts)
    if facts.fewest_cases is not None and facts.cases is not None and facts.fewest_cases > facts.cases:
        yield Advice(
            fact=f"the goal takes {facts.fewest_cases} cases under any design tried, and there are {facts.cases}",
            advice="find more cases; no number of repetitions or perturbations makes up for them.",
        )


def _samples(facts: Facts) -> Iterator[Advice]:
    """Say what repetitions buy of the goal: the calls of the design that is marked, and of one with more samples."""
    best = next((one for one in facts.designs if one.cheapest), None)
    others = [one for one in facts.designs if best and one.perturbations == best.perturbations and one.cases]
    if best is None or best.cases is None or not others:
        return
    one, most = (pick(others, key=lambda design: design.repetitions) for pick in (min, max))
    if one.repetitions == most.repetitions or one.cases is None:
        return
    calls = f"{one.perturbations} x {one.repetitions} takes {one.cases} cases and {one.calls} calls"
    more = f"{most.perturbations} x {most.repetitions} {most.cases} cases and {most.calls} calls"
    if best.repetitions > one.repetitions:
        yield Advice(
            fact=f"{calls}, {best.perturbations} x {best.repetitions} {best.cases} cases and {best.calls} calls",
            advice="with so few cases at hand, only repetitions reach the goal.",
        )
    elif facts.buys:
        saves = (most.cases or 0) < one.cases
        bought = "cases, not calls: take one where cases can be had" if saves else "neither cases nor calls: take one"
        yield Advice(
            fact=f"{calls}, {more}",
            advice=f"repetitions save {bought}; a second one shows the judge's noise (consistency, flip rates, the "
            "noise test of compare).",
        )
    else:
        yield Advice(
            fact=f"{calls}, {more}",
            advice="the interval is that of decisions, which are 0 or 1 however many samples are behind them: take "
            "one; a second one shows the judge's noise (consistency, flip rates).",
        )


_POINTS: Final = 2000
_HALF: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class MajorityRisk:
    """With `samples` a case, the share of cases whose majority differs from the long-run one, and that are tied.

    `differs` does not hold the tied ones; counted as half they make 2 N samples as good as 2 N - 1.
    """

    samples: int
    differs: float
    tied: float


def majority_risk(mean: float, components: Components, samples: int) -> MajorityRisk:
    """Return how often a majority of samples is not what the judge would decide in the long run.

    The number of positive samples of a case is binomial; its rate varies over cases as a beta distribution with the
    pilot's mean and its share of variance between cases (beta-binomial, by moments), so that a few unanimous samples
    are not taken for certainty. Samples count as independent: under one perturbation they are less than that.

    Args:
        mean: share of positive samples.
        components: of the 0/1 indicator.
        samples: a case.

    """
    rates = _rates(mean, components)
    positive = rates > _HALF
    most = math.ceil(samples / 2) - 1  # the most positive samples that still lose
    lost = np.where(positive, bdtr(most, samples, rates), bdtr(most, samples, 1 - rates))
    tied = 0.0
    if samples % 2 == 0:
        tied = float(np.mean(bdtr(most + 1, samples, rates) - bdtr(most, samples, rates)))
    return MajorityRisk(samples=samples, differs=float(np.mean(lost)), tied=tied)


def _rates(mean: float, components: Components) -> NDArray[np.float64]:
    """Return equally likely rates of cases: the quantiles of the beta distribution."""
    inside = components.inside
    if not inside or not 0 < mean < 1:  # every case always says the same
        return np.array([0.0, 1.0])
    if not components.cases:
        return np.array([mean])
    between = np.array([components.cases / (components.cases + inside)])
    rates: NDArray[np.float64] = chances_of_cases(np.array([mean]), between, _POINTS)[0]
    return rates


PLAN_SCHEMA: Final = "judgeharness.plan/1"
_PERTURBATIONS: Final = (1, 2, 4)
_REPETITIONS: Final = (1, 2, 3, 5, 8)
_REPORT_SAMPLES: Final = (1, 3, 5, 9)
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
    `uncorrelated` is how many cases the marked design, else the first, takes where the two systems of a difference have
    nothing in common over cases; None for a width, and beyond 10 million. `at_least`: the assurance is the least that
    holds whatever was not measured. `up_to` is the share of studies in which that design finds the difference where the
    two systems have the correlation asked for and no verdict is noise; None where what they share is planned with, and
    of a design of several samples a case, whose rule decides otherwise then.
    `majority` is empty without a pilot of two labels. `variances` says where the pilot's variance is, and `split` is
    the best split of the calls allowed. `early_stopping` is what `curtail` would take of the samples of a case.
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
    uncorrelated: int | None = None
    at_least: bool = False
    up_to: float | None = None
    early_stopping: EarlyStopping | None = None

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
    truths, limits = truths_of(wanted, pilot, components), limits or Limits()
    goal, parts = truths.goal, truths.parts
    if pilot is not None and limits.tokens_per_call is None:
        limits = replace(limits, tokens_per_call=pilot.tokens_per_call)
    width = wanted.label_width or _label_width(goal, pilot)
    labels = wilson_labels(wanted.rate, width, assurance=goal.assurance)
    averaging = pilot is None or all(one.swap for one in pilot.shifts)
    tried = _tried(wanted, truths) if parts.total or truths.mean is not None else []
    if any(truths.of_any_noise(p, r) for p, r in tried):
        parts = replace(parts, notes=(*parts.notes, _ANY_NOISE))
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
        uncorrelated=_uncorrelated(truths, found),
        at_least=goal.kind == "difference" and goal.assurance is not None and not parts.split,
        up_to=_up_to(truths, wanted.goal.correlation, found),
    )


def _marked(designs: Sequence[Design]) -> Design:
    """Return the marked design, else the first."""
    return next((design for design in designs if design.cheapest), designs[0])


def _up_to(truths: Truths, correlation: float, designs: Sequence[Design]) -> float | None:
    """Return the share of studies that find a difference where two systems share what may be shared at most."""
    goal = truths.goal
    if goal.kind == "width" or truths.parts.split or not correlation or not designs:
        return None
    marked = _marked(designs)
    if marked.cases is None or marked.perturbations * marked.repetitions > 1:
        return None
    shared = replace(truths, goal=replace(goal, correlation=correlation))
    return shared.study(marked.perturbations, marked.repetitions).share(marked.cases, goal.value)


def _uncorrelated(truths: Truths, designs: Sequence[Design]) -> int | None:
    """Return how many cases a difference takes where pairing saves nothing, in the marked design, else the first."""
    if truths.goal.kind == "width" or not designs:
        return None
    marked = _marked(designs)
    if not truths.goal.correlation:
        return marked.cases
    apart = replace(truths, goal=replace(truths.goal, correlation=0.0))
    return cases_of(apart.study(marked.perturbations, marked.repetitions))


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
    goal = wanted.goal
    if goal.kind == "difference" and not parts.split:
        goal, parts = replace(goal, correlation=0.0), replace(parts, notes=(*parts.notes, _UNPAIRED))
    return Truths(goal=goal, parts=parts, mean=mean, rule=folds, judging=judging, pilot=pilot)


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
    takes as many perturbations in each. Designs of fewer samples than the quorum would decide nothing.
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
    enough = wanted.min_valid or 1
    tried = [(p, r) for p, r in product(sorted(fitting), sorted(set(repetitions))) if p * r >= enough]
    return tried or [(most := max(fitting), math.ceil(enough / most))]


def _present(wanted: Wanted, truths: Truths, limits: Limits) -> Design | None:
    if wanted.present is None or limits.cases is None:
        return None
    return present(truths, *wanted.present, cases=limits.cases, limits=limits)


def _corrected(wanted: Wanted, truths: Truths, limits: Limits, width: float) -> CorrectedLabels | None:
    """Return the labels of a corrected rate, where the judge's rates and the number of cases are known."""
    if wanted.sensitivity is None or wanted.specificity is None or limits.cases is None:
        return None
    sensitivity, specificity = wanted.sensitivity, wanted.specificity
    asked = partial(corrected_labels, sensitivity=sensitivity, specificity=specificity, cases=limits.cases, width=width)
    assurance, informed = wanted.goal.assurance, sensitivity + specificity - 1
    if truths.pilot is None or truths.mean is None or informed <= 0:
        return asked(rate=wanted.rate, assurance=assurance)
    rate = min(1.0, max(0.0, (truths.mean + specificity - 1) / informed))  # what the pilot's share stands for
    found = asked(rate=rate, assurance=assurance)
    if assurance is None:
        return found
    # half of what may go wrong is left to the pilot, half to the study: as many pilots, and studies, are to do
    each = math.sqrt(assurance)
    widest = widest_rate(found, sensitivity=sensitivity, specificity=specificity)
    judged = truths.rate_near(widest * sensitivity + (1 - widest) * (1 - specificity), confidence=each)
    return asked(rate=rate, assurance=each, needed=min(1.0, max(0.0, (judged + specificity - 1) / informed)))


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
    samples = sorted({*_REPORT_SAMPLES, present[0] * present[1]})
    return tuple(majority_risk(pilot.mean, pilot.components, number) for number in samples)
