"""Which answer a probe changes, once the judge has said what it thinks of the case as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations.testing.simulating.shown import on_side

if TYPE_CHECKING:
    from judgeharness_integrations.perturbations import Perturbation
    from judgeharness_integrations.probes import AdversarialProbe
    from judgeharness_integrations.testing.simulating.scale import Scale
    from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["aimed"]


def aimed(
    probes: Sequence[AdversarialProbe], said: Verdict | None, *, scale: Scale, pair: bool
) -> Iterator[Perturbation]:
    """Yield each probe on the answer that has something to gain, a sentinel on the one that has something to lose.

    Args:
        probes: what may be asked.
        said: the judge's first valid verdict on the case as it is; None: nothing is aimed at.
        scale: what it could have said.
        pair: whether the case holds two answers.

    """
    if said is None:
        return
    best = said == scale.verdicts[scale.top]
    for probe in probes:
        loses = probe.expectation == "must_lose"
        if pair:
            first = said == "A" if loses else said == "B" and probe.expectation == "must_not_change"
            yield on_side(probe, "a" if first else "b")
        elif loses or not (best or probe.needs_two):
            yield on_side(probe, None)
