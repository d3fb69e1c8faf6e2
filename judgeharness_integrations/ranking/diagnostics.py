"""What a ranking rests on, and what is wrong with it, in numbers and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.ranking.bradleyterry.connections import PLACES, Connections
from judgeharness_integrations.ranking.bradleyterry.ordereffect import OrderEffect
from judgeharness_integrations.ranking.rating import Method

__all__ = ["Diagnostics"]

_NAMED = 6


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """Facts about one ranking.

    `cells` of `cells_total` judge-pair cells of the ranked pairs hold an answer that counts. `inflation`: SD of the
    joint Elo over that of the conditional one; `inflation_expected`: J / (J - 1). `reasons`: method -> why it was not
    used. `clusters` of pairs the errors rest on, by `cluster` (a column; None: each pair is one).
    """

    connections: Connections
    cells: int
    cells_total: int
    clusters: int
    cluster: str | None
    inflation: float | None
    inflation_expected: float | None
    order_effect: OrderEffect | None
    log_likelihood: float | None
    steps: int | None
    eip: Mapping[str, float] | None
    reasons: Mapping[Method, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as JSON keeps them."""
        nested = ("connections", "order_effect", "eip", "reasons")
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in nested}
        return plain | {
            "connected": self.connections.connected,
            "never_beaten": list(self.connections.judges("above")),
            "never_winning": list(self.connections.judges("below")),
            "not_comparable": list(self.connections.judges("apart")),
            "no_answer": list(self.connections.judges("unseen")),
            "order_effect": None if self.order_effect is None else self.order_effect.to_dict(),
            "eip": None if self.eip is None else dict(self.eip),
            "reasons": dict(self.reasons),
            "notes": list(self.sentences()),
        }

    def sentences(self) -> tuple[str, ...]:
        """Return what a reader has to know, a sentence each."""
        return (*self._joint(), *self._separated(), *self._left_out())

    def _joint(self) -> Iterator[str]:
        if self.inflation_expected is not None:
            conditional = (
                ""
                if self.inflation is None
                else " Conditional maximum likelihood conditions the pairs away: here joint Elo is spread "
                f"{self.inflation:.3f} times as wide."
            )
            yield (
                "Bradley-Terry as published fits judges and pairs together (joint maximum likelihood); every pair "
                "brings a parameter of its own, which spreads the ratings by about J / (J - 1) = "
                f"{self.inflation_expected:.3f} and makes their intervals too narrow.{conditional}"
            )

    def _separated(self) -> Iterator[str]:
        above, below, apart, unseen = (self.connections.judges(place) for place in PLACES[1:])
        if unseen:
            yield f"{_listed(unseen)}: no answer that counts about any pair that is ranked by, so no rank."
        if above:
            yield (
                f"{_listed(above)}: never wrong where a rated judge is right, so no finite Elo exists (Ford's "
                "condition); ranked above by accuracy."
            )
        if below:
            yield (
                f"{_listed(below)}: never right where a rated judge is wrong, so no finite Elo exists (Ford's "
                "condition); ranked below by accuracy."
            )
        if apart:
            yield (
                f"{_listed(apart)}: no chain of pairs compares them with the others, so nobody has Elo here; rank each "
                "group alone, or ask judges of both groups about the same pairs."
            )

    def _left_out(self) -> Iterator[str]:
        missing = self.cells_total - self.cells
        if missing:
            yield (
                f"{missing} of {self.cells_total} judge-pair cells hold no answer that counts; the other cells of "
                "their pairs are used all the same."
            )
        for method, reason in self.reasons.items():
            yield f"{method} was not used: {reason}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
