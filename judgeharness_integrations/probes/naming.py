"""A probe by the name it has in the log, alone or among other perturbations: `probe:authority(b)+position_swap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.probes.catalogue import probe
from judgeharness_integrations.verdictlog.row import PROBE, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.perturbations.base import Perturbation

__all__ = ["named_probe"]

_SWAP = "position_swap"


def named_probe(part: str, spec: str) -> Perturbation:
    """Return the probe that one part of a perturbation's name stands for.

    Args:
        part: `probe:authority(b)`.
        spec: the whole name.

    Raises:
        UnknownNameError: there is no such probe.
        PlanError: the side is malformed, or the probe stands beside what would make its payload speak of another
            answer: a second probe, a swap before it, other names of the answers.

    """
    chosen = probe(part.partition("(")[0].strip().removeprefix(PROBE))
    found = probe_name(part)
    if found is None:
        raise PlanError(f"{part!r} is malformed: write {PROBE}{chosen.property}, of two answers {chosen.on('b').name}.")
    parts = [other.strip() for other in spec.split("+")]
    if sum(other.startswith(PROBE) for other in parts) > 1:
        raise PlanError(f"{spec!r} holds two probes: ask them apart, or nobody can say which one had an effect.")
    if _SWAP in parts[: parts.index(part)]:
        raise PlanError(f"{spec!r} swaps before it attacks: write '{part}+{_SWAP}', the side is that of the case.")
    if any(other.startswith("slot_names") for other in parts):
        raise PlanError(f"{spec!r} renames the answers that its payload calls A and B: leave slot_names out.")
    return chosen.on(found.side)
