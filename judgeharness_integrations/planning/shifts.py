"""Perturbations that move the mean itself: a systematic effect, which no averaging over them takes away."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judgeharness_integrations.statistics.multiplicity import holm
from judgeharness_integrations.statistics.proportions import sign_test

__all__ = ["Shift", "shifts_of"]

_ALPHA: Final = 0.05
_PLAIN: Final = "none"

Means = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class Shift:
    """A perturbation under which the mean is `shifted` where it is `mean` under `reference`, over the same `cases`.

    `p` is that of an exact sign test over the cases whose own means differ, adjusted for the number of perturbations
    (Holm 1979). `swap`: it exchanges two answers, so that averaging over both orders is what balances the effect.
    """

    perturbation: str
    reference: str
    mean: float
    shifted: float
    cases: int
    p: float
    swap: bool = False


def shifts_of(means: Means, *, swaps: Collection[str] = ()) -> tuple[Shift, ...]:
    """Return the perturbations whose effect on the mean is significant at 5 %, in order of names.

    Args:
        means: case -> perturbation -> mean over repetitions; cases without the reference count for nothing. The
            reference is `none`, or the first name where there is none.
        swaps: the perturbations that exchange two answers.

    """
    names = sorted({name for said in means.values() for name in said}, key=lambda name: (name != _PLAIN, name))
    if not names:
        return ()
    reference, *others = names
    found = [_shift(means, name, reference) for name in others]
    tested = [replace(one, swap=one.perturbation in swaps) for one in found if one is not None]
    adjusted = holm([one.p for one in tested])
    return tuple(replace(one, p=p) for one, p in zip(tested, adjusted, strict=True) if p <= _ALPHA)


def _shift(means: Means, name: str, reference: str) -> Shift | None:
    pairs = [(said[reference], said[name]) for said in means.values() if reference in said and name in said]
    p = sign_test(sum(there > here for here, there in pairs), sum(there < here for here, there in pairs))
    if p is None:
        return None
    return Shift(
        perturbation=name,
        reference=reference,
        mean=_mean([here for here, _ in pairs]),
        shifted=_mean([there for _, there in pairs]),
        cases=len(pairs),
        p=p,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
