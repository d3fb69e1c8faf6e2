"""What a judge answers with probabilities: a distribution over options, checked, and how far two of them are apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import probabilities_from_json

FLOOR: Final = 0.005  # half the step of a provider that rounds to .01: an exact 0 there is anything below it


def checked(probabilities: Mapping[str, float], options: Sequence[str] | None = None) -> dict[str, float]:
    """Return option -> probability, summing to 1, in the order of the options.

    Args:
        probabilities: option -> probability, rounded ones allowed.
        options: those there are; one that the answer leaves out has the probability 0. None: those of the answer.

    Raises:
        UsageError: fewer than two options, one that is not known, what is no probability, or a sum that is not 1.

    """
    known = tuple(probabilities) if options is None else tuple(options)
    if unknown := [name for name in probabilities if name not in known]:
        raise UsageError(f"{unknown[0]!r:.60} is none of the options {', '.join(known)[:200]}: ask the same question.")
    try:
        given = probabilities_from_json({name: probabilities.get(name, 0.0) for name in known}) or {}
    except ValueError as error:
        raise UsageError(f"{error}: {str(dict(probabilities))[:200]}.") from error
    total = math.fsum(given.values())
    return {name: value / total for name, value in given.items()}


def floored(probabilities: Sequence[float]) -> list[float]:
    """Return probabilities none of which is below `FLOOR`, scaled to sum to 1: what a logarithm may be taken of."""
    raised = [max(value, FLOOR) for value in probabilities]
    total = math.fsum(raised)
    return [value / total for value in raised]


def distance(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return the total variation distance of two answers, from 0 to 1: |p - q| where there are two options.

    It is a metric, so that of three answers no two are further apart than both are from the third together.
    """
    names = dict.fromkeys((*first, *second))
    return math.fsum(abs(first.get(name, 0.0) - second.get(name, 0.0)) for name in names) / 2
