"""Calibration maps: numbers, kept as JSON, that turn a judge's probabilities into ones that come true."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal, Self, TypeAlias

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


MapKind: TypeAlias = Literal["none", "temperature", "temperature+bias", "isotonic"]
KINDS: Final[tuple[MapKind, ...]] = ("none", "temperature", "temperature+bias", "isotonic")  # the simplest first


@dataclass(frozen=True, kw_only=True)
class ProbabilityMap:
    """A calibration map of one question, fitted on `labels` labels.

    `none` leaves probabilities as they are. `temperature` and `temperature+bias`: the logarithm of each probability
    (see `FLOOR`) is divided by the `temperature`, the bias of its option is added, and the results are scaled to sum to
    1 (Guo et al. 2017, ICML; of two options it is Platt's 1999). `isotonic`: the probability of the first of two
    options is read off the `knots` (raw, mapped), linearly between them (Zadrozny and Elkan 2002, KDD).
    """

    kind: MapKind
    options: tuple[str, ...]
    labels: int = 0
    temperature: float = 1.0
    biases: tuple[float, ...] = ()
    knots: tuple[tuple[float, float], ...] = ()

    def apply(self, probabilities: Mapping[str, float]) -> dict[str, float]:
        """Return option -> calibrated probability.

        Raises:
            UsageError: what is mapped is no distribution over the options of the map.

        """
        values = self.apply_values(list(checked(probabilities, self.options).values()))
        return dict(zip(self.options, values, strict=True))

    def apply_values(self, values: Sequence[float]) -> list[float]:
        """Return calibrated probabilities of values that sum to 1, in the order of the options."""
        if self.kind == "none":
            return list(values)
        if self.kind == "isotonic":
            first = _between(self.knots, values[0])
            return [first, 1 - first]
        return softmax(
            [
                math.log(value) / self.temperature + bias
                for value, bias in zip(floored(values), self.biases or (0.0,) * len(self.options), strict=True)
            ]
        )

    def __str__(self) -> str:
        """Return the map in words and numbers."""
        if self.kind == "none":
            return "no map: the probabilities as they are"
        if self.kind == "isotonic":
            return f"isotonic, {len(self.knots)} knots"
        told = f"temperature {self.temperature:.3g}"
        if not self.biases:
            return told
        biases = ", ".join(f"{name} {bias:+.3f}" for name, bias in zip(self.options, self.biases, strict=True))
        return f"{told}, bias {biases}"

    def to_dict(self) -> dict[str, Any]:
        """Return the map as JSON keeps it."""
        return {
            "kind": self.kind,
            "options": list(self.options),
            "labels": self.labels,
            "temperature": self.temperature,
            "biases": list(self.biases),
            "knots": [list(knot) for knot in self.knots],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the map that a JSON object holds.

        Raises:
            UsageError: naming what is missing, or does not fit.

        """
        from judgeharness_integrations.verdictlog.shapes import misplaced  # noqa: PLC0415

        from ..calibration.savedshape import MapShape  # noqa: PLC0415 - pydantic

        key = misplaced(MapShape, document) or _unfit(document)
        if key is not None:
            raise UsageError(f"{key!r:.60} of a calibration map is missing or holds no part of one: fit the map anew.")
        return cls(
            kind=document["kind"],
            options=tuple(document["options"]),
            labels=document["labels"],
            temperature=document["temperature"],
            biases=tuple(document["biases"]),
            knots=tuple((raw, mapped) for raw, mapped in document["knots"]),
        )


def softmax(logits: Sequence[float]) -> list[float]:
    """Return the probabilities whose logarithms are these numbers, up to what they have in common."""
    most = max(logits)
    powers = [math.exp(value - most) for value in logits]
    total = math.fsum(powers)
    return [power / total for power in powers]


def _between(knots: Sequence[tuple[float, float]], value: float) -> float:
    """Return the line through the knots at a value, and its ends beyond them."""
    place = bisect_left(knots, value, key=lambda knot: knot[0])
    if place == 0:
        return knots[0][1]
    if place == len(knots):
        return knots[-1][1]
    (left, low), (right, high) = knots[place - 1], knots[place]
    return low + (high - low) * (value - left) / (right - left)


def _unfit(document: Mapping[str, Any]) -> str | None:
    """Return which of the keys, that hold what they should, does not fit the others."""
    kind, options, knots = document["kind"], document["options"], document["knots"]
    if kind not in KINDS:
        return "kind"
    if len(set(options)) < len(options) or (kind == "isotonic" and len(options) != 2):  # noqa: PLR2004 - of the first
        return "options"
    if len(document["biases"]) != (len(options) if kind == "temperature+bias" else 0):
        return "biases"
    steps = list(pairwise(knots))
    rising = all(before[0] < after[0] and before[1] <= after[1] for before, after in steps)
    return None if rising and bool(knots) == (kind == "isotonic") else "knots"
