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
_ENOUGH_CLUSTERS = 20


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """Facts about one ranking.

    `cells` of `cells_total` judge-pair cells of the ranked pairs hold an answer that counts. `inflation`: SD of the
    joint Elo over that of the conditional one; `inflation_expected`: J / (J - 1). `reasons`: method -> why it was not
    used. `clusters` of pairs the errors rest on, by `cluster` (a column; None: each pair is one). `one_order`: cells of
    labelled pairs that a rule of both orders leaves out, since they were asked about in one. `same_number`: labels that
    write one number in several ways and count as different. `unread`: gold labels that cannot be compared with the
    answers (`calibration.words.read_golds`).
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
    one_order: int
    same_number: tuple[str, ...]
    reasons: Mapping[Method, str]
    unread: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as JSON keeps them."""
        nested = ("connections", "order_effect", "eip", "same_number", "reasons")
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in nested}
        return plain | {
            "connected": self.connections.connected,
            "never_beaten": list(self.connections.judges("above")),
            "never_winning": list(self.connections.judges("below")),
            "not_comparable": list(self.connections.judges("apart")),
            "no_answer": list(self.connections.judges("unseen")),
            "order_effect": None if self.order_effect is None else self.order_effect.to_dict(),
            "eip": None if self.eip is None else dict(self.eip),
            "same_number": list(self.same_number),
            "reasons": dict(self.reasons),
            "notes": list(self.sentences()),
        }

    def sentences(self) -> tuple[str, ...]:
        """Return what a reader has to know, a sentence each."""
        return (*self._joint(), *self._few(), *self._separated(), *self._left_out())

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

    def _few(self) -> Iterator[str]:
        if self.log_likelihood is not None and self.clusters < _ENOUGH_CLUSTERS:
            clusters = "pairs" if self.cluster is None else f"clusters of pairs (by {self.cluster})"
            yield (
                f"Errors rest on {self.clusters} {clusters}; with fewer than {_ENOUGH_CLUSTERS}, 95 % intervals "
                "are too narrow: they cover about 68 % of the time with 2 of them, 86 % with 5, 93 % with 10."
            )

    def _separated(self) -> Iterator[str]:
        above, below, apart, unseen = (self.connections.judges(place) for place in PLACES[1:])
        ranked_above, ranked_below = ("", "") if apart else ("; ranked above by accuracy", "; ranked below by accuracy")
        if unseen:
            yield f"{_listed(unseen)}: no answer that counts about any pair that is ranked by, so no rank."
        if above:
            yield (
                f"{_listed(above)}: never wrong where a rated judge is right, so no finite Elo exists (complete "
                f"separation, Ford's condition){ranked_above}."
            )
        if below:
            yield (
                f"{_listed(below)}: never right where a rated judge is wrong, so no finite Elo exists (complete "
                f"separation, Ford's condition){ranked_below}."
            )
        if apart:
            yield (
                f"{_listed(apart)}: no chain of pairs compares them with the others (a disconnected graph), "
                "so nobody has Elo here; rank each group alone, or ask judges of both groups about the same pairs."
            )

    def _left_out(self) -> Iterator[str]:
        missing = self.cells_total - self.cells
        if missing:
            yield (
                f"{missing} of {self.cells_total} judge-pair cells hold no answer that counts; the other cells of "
                "their pairs are used all the same."
            )
        if self.one_order:
            yield (
                f"{_cells(self.one_order)} of pairs with gold left out: answered in one order alone, and the rule "
                "takes both; --rule one_order takes the order as given."
            )
        if self.unread:
            told = "1 gold label" if self.unread == 1 else f"{self.unread} gold labels"
            yield f"{told} cannot be read beside such answers and count as none."
        if self.same_number:
            yield (
                f"labels {' and '.join(map(repr, self.same_number))} are one number and count as different labels: "
                "write them alike, or leave out --labels."
            )
        for method, reason in self.reasons.items():
            yield f"{method} was not used: {reason}."


def _cells(count: int) -> str:
    return f"{count} judge-pair cell" + ("" if count == 1 else "s")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
