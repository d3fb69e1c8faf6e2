"""The designs that reach a goal, what each costs, and which is the cheapest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.planning.pilot import Truths
from judgeharness_integrations.analysis.planning.study import Goal, cases_of, reached_by


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
    truths: Truths, *, tried: Sequence[tuple[int, int]], limits: Limits, averaging: bool = True
) -> tuple[Design, ...]:
    """Return the design with the fewest cases that reach the goal, for each number of perturbations x repetitions.

    The cheapest affordable one is marked: the fewest calls, then the fewest samples a case; without `averaging` over
    perturbations, of those with one. `cases` None: even 10 million are too few.
    """
    found = []
    for p, r in tried:
        cases = cases_of(truths.study(p, r))
        # what is found reaches the goal, and no more: to say by how much it does would cost as much again
        found.append(design(truths.goal, p, r, cases=cases, limits=limits, reached=truths.goal.value))
    worth = _worthwhile(truths, tried)
    within = [
        one
        for one in found
        if one.affordable and (averaging or one.perturbations == 1) and (one.perturbations, one.repetitions) in worth
    ]
    best = min(within, key=lambda one: (one.calls or 0, one.perturbations * one.repetitions), default=None)
    return tuple(replace(one, cheapest=one is best) for one in found)


def attainable(truths: Truths, *, tried: Sequence[tuple[int, int]], limits: Limits) -> Design | None:
    """Return the most precise design that uses up the limits; None without limits, or where they are too tight."""
    if limits.cases is None and limits.calls is None:
        return None
    found = []
    for p, r in _worthwhile(truths, tried):
        bounds = (limits.cases, None if limits.calls is None else limits.calls // (p * r * truths.goal.systems))
        one = present(truths, p, r, cases=min(bound for bound in bounds if bound is not None), limits=limits)
        if one.reached is not None:
            found.append((one.reached, one.calls, one))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _worthwhile(truths: Truths, tried: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the designs whose samples buy what is wanted: of the width of a rate, the fewest samples a case.

    Its interval is that of decisions, each of them 0 or 1 however many samples are behind it.
    """
    if truths.repetitions_buy:
        return list(tried)
    return [min(tried, key=lambda one: (one[0] * one[1], one[0]))]


def present(truths: Truths, perturbations: int, repetitions: int, *, cases: int, limits: Limits) -> Design:
    """Return a design of so many cases with what it reaches."""
    reached = reached_by(truths.study(perturbations, repetitions), cases)
    return design(truths.goal, perturbations, repetitions, cases=cases, limits=limits, reached=reached)


def design(
    goal: Goal, perturbations: int, repetitions: int, *, cases: int | None, limits: Limits, reached: float | None
) -> Design:
    """Return one design with its precision and cost."""
    if cases is None:
        return Design(
            perturbations=perturbations, repetitions=repetitions, cases=None, calls=None, reached=None, affordable=False
        )
    calls = cases * perturbations * repetitions * goal.systems
    too_many = (limits.cases is not None and cases > limits.cases) or (
        limits.calls is not None and calls > limits.calls
    )
    return Design(
        perturbations=perturbations,
        repetitions=repetitions,
        cases=cases,
        calls=calls,
        reached=reached,
        affordable=not too_many,
        tokens=None if limits.tokens_per_call is None else calls * limits.tokens_per_call,
        price=None if limits.price_per_call is None else calls * limits.price_per_call,
    )
