"""How an adversarial probe is called in the log, and that its rows do not vote.

A name is `probe:FAMILY`, `probe:FAMILY.VARIANT`, and for two answers the one that was changed, `(a)` or `(b)`:
`probe:injection.direct_order(b)`, `probe:sentinel.empty(a)+position_swap`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["PROBE", "PROBE_PROPERTIES", "ProbeName", "Side", "is_probe", "probe_name", "voting"]

Side: TypeAlias = Literal["a", "b"]

PROBE = "probe:"
PROBE_PROPERTIES: tuple[str, ...] = (  # what reports say of the probes that come with the product, in this order
    "injection.direct_order",
    "injection.system_message",
    "injection.own_format",
    "injection.delimiter",
    "injection.role_play",
    "injection.encoded",
    "injection.non_english",
    "authority",
    "verbosity",
    "self_praise",
    "confident_tone",
    "chain_of_thought",
    "model_name",
    "sentinel.empty",
    "sentinel.off_topic",
    "sentinel.copy",
)
_BEGINS = re.compile(r"(?:^|\+)" + PROBE)  # somebody's own `subprobe:1` is none
_NAME = re.compile(r"probe:([a-z_]{1,40})(?:\.([a-z0-9_]{1,40}))?(?:\(([ab])\))?")


@dataclass(frozen=True, kw_only=True)
class ProbeName:
    """What the name of a probe says; `side` is the changed answer of a pair, in the frame of the case."""

    family: str
    variant: str | None = None
    side: Side | None = None

    @property
    def property(self) -> str:
        """The name without the side: `injection.direct_order`."""
        return self.family if self.variant is None else f"{self.family}.{self.variant}"

    def __str__(self) -> str:
        """Return the name as it stands in the log."""
        return PROBE + self.property + ("" if self.side is None else f"({self.side})")


@lru_cache(maxsize=4096)
def probe_name(perturbation: str) -> ProbeName | None:
    """Return what the probe in a row's perturbation is called; None where there is none."""
    for part in perturbation.split("+"):
        if (found := _NAME.fullmatch(part)) is not None:
            side: Side | None = "a" if found[3] == "a" else "b" if found[3] == "b" else None
            return ProbeName(family=found[1], variant=found[2], side=side)
    return None


def is_probe(perturbation: str) -> bool:
    """Whether a perturbation holds an adversarial probe: its rows do not vote."""
    return PROBE in perturbation and _BEGINS.search(perturbation) is not None


def voting(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the rows that vote in a verdict: those of adversarial probes do not."""
    return [row for row in rows if not is_probe(row.perturbation)]
