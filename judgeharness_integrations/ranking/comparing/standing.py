"""A rating as an order of all judges, those beyond any finite rating included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.eip import EipOptions
from judgeharness_integrations.ranking.places import ranks_of
from judgeharness_integrations.ranking.rating import Method, rate

__all__ = ["Standing", "standing_of"]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """`scores`: judge -> Elo (EIP: score) where finite; `order`: judge -> minus its rank, of all judges."""

    scores: Mapping[str, float]
    order: Mapping[str, float]

    @property
    def placed(self) -> int:
        """How many judges have a rank without a rating: they are never beaten by the rated ones, or never beat them."""
        return len(self.order) - len(self.scores)


def standing_of(matrix: Credits, *, method: Method, eip_options: EipOptions | None = None) -> Standing | None:
    """Rate and order the judges by credits; None where the method cannot rate them together."""
    rating = rate(matrix, methods=(method,), eip_options=eip_options)
    scores = rating.scores(method)
    if not scores:
        return None
    ranks = ranks_of(rating, method, matrix)
    return Standing(scores=scores, order={judge: -float(rank) for judge, rank in ranks.items()})
