"""Joint likelihood of judges and pairs with every parameter written out: slow, plain, and no code of the product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.ranking.correctness import Credits

POINTS = 400 / np.log(10)


@dataclass(frozen=True)
class Matches:
    """Matches one by one: `design` (matches, players) is 1 at the judge and -1 at the pair; `won` credits; `pair`."""

    design: Any
    won: Any
    pair: Any

    def log_likelihood(self, strengths: Any) -> float:
        """Return the log-likelihood of log-strengths (players,)."""
        logits = self.design @ strengths
        return float(np.sum(self.won * logits - np.logaddexp(0, logits)))

    def score(self, strengths: Any) -> Any:
        """Return (players,) its gradient."""
        return self.design.T @ (self.won - special.expit(self.design @ strengths))

    def covariance(self, strengths: Any, clusters: Any) -> Any:
        """Return I+ B I+ (players, players) of scores summed by cluster of pairs."""
        chance = special.expit(self.design @ strengths)
        information = (self.design * (chance * (1 - chance))[:, None]).T @ self.design
        scores = self.design * (self.won - chance)[:, None]
        mine = np.asarray(clusters)[self.pair]
        meat = sum(np.outer(total, total) for total in (scores[mine == one].sum(axis=0) for one in set(mine.tolist())))
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        return inverse @ meat @ inverse


def matches_of(matrix: Credits) -> Matches:
    """Return the matches of credits: judges are the first players, pairs the others."""
    pairs, judges = matrix.values.shape
    pair, judge = np.nonzero(~np.isnan(matrix.values))
    design = np.zeros((len(pair), judges + pairs))
    design[np.arange(len(pair)), judge] = 1
    design[np.arange(len(pair)), judges + pair] = -1
    return Matches(design=design, won=matrix.values[pair, judge], pair=pair)
