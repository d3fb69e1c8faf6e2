"""Answers with probabilities beside people's labels, as arrays: what every measurement of a judge is made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability.distributions import checked

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecasts:
    """`n` answers of one judge to one question, each with a label.

    `probabilities` and `labels` have the shape (n, options), each row sums to 1. A label of people who disagree is
    soft: the shares in which they chose the options. `clusters` says which answers belong together.
    """

    options: tuple[str, ...]
    probabilities: Floats
    labels: Floats
    clusters: tuple[Hashable, ...]

    @property
    def n(self) -> int:
        """How many answers there are."""
        return len(self.probabilities)

    @property
    def base_rates(self) -> Floats:
        """The mean label, of shape (options,)."""
        rates: Floats = self.labels.mean(axis=0)
        return rates

    @property
    def hard(self) -> bool:
        """Whether every label is one option and every answer its own cluster: labels are single, independent draws."""
        return bool(np.isin(self.labels, (0.0, 1.0)).all()) and len(set(self.clusters)) == self.n

    @property
    def event(self) -> tuple[Floats, Floats]:
        """The probability that is held against the labels, and the share of labels it came true in, both (n,).

        Of two options it is that of the first; of more, that of the most probable one, which is what a threshold on
        the probability looks at. Where several are equally probable, the mean of their labels.
        """
        if len(self.options) == 2:  # noqa: PLR2004 - the other one says the same
            return self.probabilities[:, 0], self.labels[:, 0]
        most = self.probabilities.max(axis=1)
        first = self.probabilities >= most[:, None]
        return most, (self.labels * first).sum(axis=1) / first.sum(axis=1)

    def answered(self, probabilities: ArrayLike) -> Forecasts:
        """Return the same labels with other probabilities, as a map makes them."""
        return replace(self, probabilities=np.asarray(probabilities, dtype=np.float64))

    def part(self, where: NDArray[np.bool_]) -> Forecasts:
        """Return the answers of a mask (n,)."""
        clusters = tuple(key for key, kept in zip(self.clusters, where, strict=True) if kept)
        return replace(self, probabilities=self.probabilities[where], labels=self.labels[where], clusters=clusters)


def labelled_answers(
    answers: Sequence[Mapping[str, float]],
    labels: Sequence[str | Mapping[str, float]],
    *,
    options: Sequence[str] | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> Forecasts:
    """Return answers and labels as arrays.

    Args:
        answers: option -> probability, one an answer.
        labels: the option that is right, or option -> share of the people who chose it, one an answer.
        options: of the question, in order; those of the first answer when None.
        clusters: which cluster each answer is in; each in its own when None.

    Raises:
        UsageError: there is none, the lengths differ, or an answer or a label does not fit the options.

    """
    keys = range(len(answers)) if clusters is None else clusters
    if not answers or not len(answers) == len(labels) == len(keys):
        raise UsageError(
            f"each answer needs one label and one cluster: there are {len(answers)} answers, {len(labels)} labels and "
            f"{len(keys)} clusters."
        )
    names = tuple(answers[0] if options is None else options)
    given = [{label: 1.0} if isinstance(label, str) else label for label in labels]
    return Forecasts(
        options=names,
        probabilities=np.array([list(checked(answer, names).values()) for answer in answers]),
        labels=np.array([list(checked(label, names).values()) for label in given]),
        clusters=tuple(keys),
    )
