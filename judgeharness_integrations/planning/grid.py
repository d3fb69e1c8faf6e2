"""The designs that reach a goal, what each costs, and which is the cheapest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.precision import Goal

__all__ = ["Design", "Limits", "attainable", "design", "designs"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What may be spent: `cases` at hand, `calls` allowed; prices and tokens of a call. None is not known."""

    cases: int | None = None
    calls: int | None = None
    price_per_call: float | None = None
    tokens_per_call: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits below what there can be."""
        for name, value in (("cases", self.cases), ("budget", self.calls)):
            if value is not None and value < 1:
                raise UsageError(f"{name} must be a whole number of at least 1, not {value}.")
        if self.price_per_call is not None and not 0 <= self.price_per_call < float("inf"):
            raise UsageError(f"price must be a number of at least 0, not {self.price_per_call:g}.")


@dataclass(frozen=True, kw_only=True)
class Design:
    """Perturbations x repetitions on a number of cases: `reached` is the width or difference that gives.

    `calls` are of judges, without retries; of two systems where a difference is wanted. `affordable` says whether cases
    and calls are within the limits.
    """

    perturbations: int
    repetitions: int
    cases: int | None
    calls: int | None
    reached: float | None
    affordable: bool
    tokens: float | None = None
    price: float | None = None
    cheapest: bool = False


def designs(
    components: Components,
    goal: Goal,
    *,
    perturbations: Sequence[int],
    repetitions: Sequence[int],
    limits: Limits,
    averaging: bool = True,
) -> tuple[Design, ...]:
    """Return the design with the fewest cases that reach the goal, for each of perturbations x repetitions.

    The cheapest affordable one is marked: the fewest calls, then the fewest cases; without `averaging` over
    perturbations, of those with one. `cases` None: even 10 million are too few.
    """
    found = [
        design(
            components,
            goal,
            p,
            r,
            cases=goal.cases(goal.variance(components, perturbations=p, repetitions=r)),
            limits=limits,
        )
        for p, r in product(sorted(set(perturbations)), sorted(set(repetitions)))
    ]
    within = [one for one in found if one.affordable and (averaging or one.perturbations == 1)]
    best = min(within, key=lambda one: (one.calls or 0, one.cases or 0), default=None)
    return tuple(replace(one, cheapest=one is best) for one in found)


def attainable(
    components: Components, goal: Goal, *, perturbations: Sequence[int], repetitions: Sequence[int], limits: Limits
) -> Design | None:
    """Return the most precise design that uses up the limits; None without limits, or where they are too tight."""
    if (limits.cases is None and limits.calls is None) or not components.total:
        return None
    found = []
    for p, r in product(sorted(set(perturbations)), sorted(set(repetitions))):
        bounds = (limits.cases, None if limits.calls is None else limits.calls // (p * r * goal.systems))
        cases = min(bound for bound in bounds if bound is not None)
        one = design(components, goal, p, r, cases=cases, limits=limits)
        if one.reached is not None:
            found.append((one.reached, one.calls, one))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def design(
    components: Components, goal: Goal, perturbations: int, repetitions: int, *, cases: int | None, limits: Limits
) -> Design:
    """Return one design with its precision and cost."""
    if cases is None:
        return Design(
            perturbations=perturbations, repetitions=repetitions, cases=None, calls=None, reached=None, affordable=False
        )
    variance = goal.variance(components, perturbations=perturbations, repetitions=repetitions)
    calls = cases * perturbations * repetitions * goal.systems
    too_many = (limits.cases is not None and cases > limits.cases) or (
        limits.calls is not None and calls > limits.calls
    )
    return Design(
        perturbations=perturbations,
        repetitions=repetitions,
        cases=cases,
        calls=calls,
        reached=goal.reached(variance, cases),
        affordable=not too_many,
        tokens=None if limits.tokens_per_call is None else calls * limits.tokens_per_call,
        price=None if limits.price_per_call is None else calls * limits.price_per_call,
    )
