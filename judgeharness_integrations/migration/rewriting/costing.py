"""What rewritten files cost: judge calls a case, before and after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from judgeharness_integrations.migration.rewriting.outcome import Rewrite

__all__ = ["Cost", "cost_of"]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Judges that are changed, and their calls a case (of ADK: an invocation), each judge asked once about each.

    `unknown` counts those whose calls cannot be read off the code; the sums leave them out. Where not `exact`, the sums
    are the least there can be. `harnessed` is what judges that are not changed cost, as far as it is known; None where
    it is known of none of them.
    """

    judges: int
    before: int
    after: int
    unknown: int = 0
    exact: bool = True
    harnessed: int | None = None
    harnessed_exact: bool = True

    @property
    def extra(self) -> int:
        """Calls a case that are added."""
        return self.after - self.before


def cost_of(rewrites: Iterable[Rewrite]) -> Cost:
    """Return the cost of the changes in some files together."""
    every = list(rewrites)
    changes = [one for rewrite in every for one in rewrite.changes if one.action != "registered"]
    others = [calls for rewrite in every for calls in rewrite.harnessed_calls]
    known = [one for one in changes if one.extra_calls is not None]
    return Cost(
        judges=len(changes),
        before=sum(one.calls_before or 0 for one in known),
        after=sum(one.calls_after or 0 for one in known),
        unknown=len(changes) - len(known),
        exact=all(one.exact for one in known),
        harnessed=None if set(others) <= {None} else sum(calls or 0 for calls in others),
        harnessed_exact=None not in others,
    )
