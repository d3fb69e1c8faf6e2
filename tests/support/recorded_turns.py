"""Studies of cascades, vectorised: labelled cases are drawn from recorded ones, whose true risk is known exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeharness_integrations.analysis.certifying.sequence import (
    certified_steps,
    fewest_accepted,
    p_values,
    threshold_grid,
)
from support.certified import Bools, Floats, Ints

__all__ = ["Turns", "drawn_labels", "turns"]


@dataclass(frozen=True)
class Turns:
    """Studies of a cascade: `granted` and `reached` (studies, steps), cases `decided` and `wrong` (studies,).

    `reached` is 0 where a step has no certificate: nobody is asked there.
    """

    granted: Bools
    reached: Ints
    decided: Ints
    wrong: Ints
    cases: int

    def violating(self, agreement: float) -> float:
        """Return the share of studies whose decisions disagree more often than allowed, on all recorded cases."""
        return float(np.mean(self.wrong > (1 - agreement) * self.decided + 1e-9))

    @property
    def coverage(self) -> float:
        """The mean share of cases that are decided."""
        return float(self.decided.mean() / self.cases)

    def price(self, *calls: float) -> float:
        """Return what a decision costs, in all studies together, from the calls of each step about a case."""
        return float((self.reached @ np.array(calls)).sum() / self.decided.sum())


def drawn_labels(cases: int, steps: int, labels: int, *, number: int, seed: int) -> Ints:
    """Return (studies, steps, cases): how often each case was drawn, with replacement, for the labels of each step."""
    cells = np.full(cases * steps, 1 / (cases * steps))
    counts = np.random.default_rng(seed).multinomial(labels, cells, number)
    return np.asarray(counts, np.int64).reshape(number, steps, cases)


def turns(steps: Sequence[tuple[Floats, Bools]], labels: Ints, *, agreement: float, delta: float) -> Turns:
    """Certify each step on what the steps before it leave, at its part of delta.

    Args:
        steps: (scores, wrong) of all cases, as `family_cases` returns them.
        labels: of `drawn_labels`.
        agreement: asked for.
        delta: of the whole cascade.

    """
    number, _, cases = labels.shape
    left = np.ones((number, cases), np.bool_)
    granted, reached = np.zeros((number, len(steps)), np.bool_), np.zeros((number, len(steps)), np.int64)
    decided, errors = np.zeros(number, np.int64), np.zeros(number, np.int64)
    level = {"delta": delta / len(steps), "fewest": fewest_accepted(agreement=agreement, delta=delta / len(steps))}
    for place, (scores, wrong) in enumerate(steps):
        groups = defaultdict[bytes, list[int]](list)  # studies that leave the same cases have the same grid
        for study, mine in enumerate(left):
            groups[mine.tobytes()].append(study)
        for pattern, studies in groups.items():
            here = np.frombuffer(pattern, np.bool_)
            grid = np.array(threshold_grid(scores[here & (scores >= 0)].tolist()))
            if not len(grid):
                continue
            accepted = (scores >= grid[:, None]) & here
            counts = labels[studies, place]
            tried, failed = counts @ accepted.T, counts @ (accepted & wrong).T
            p = p_values(failed, tried, tried, np.ones_like(tried), risk=1 - agreement)
            passed, _ = certified_steps(p, tried, **level)  # type: ignore[arg-type]
            last = passed.shape[1] - 1 - np.argmax(passed[:, ::-1], axis=1)
            standing = accepted[last] & passed.any(1)[:, None]
            granted[studies, place] = passed.any(1)
            reached[studies, place] = here.sum() * passed.any(1)
            decided[studies] += standing.sum(1)
            errors[studies] += (standing & wrong).sum(1)
            left[studies] &= ~standing
    return Turns(granted=granted, reached=reached, decided=decided, wrong=errors, cases=cases)
