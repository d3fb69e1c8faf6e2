"""What a rewrite is made of: the new text, what was changed in it, and what is left to its author."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Action", "ByHand", "Change", "Level", "Rewrite"]

Level: TypeAlias = Literal["single", "measured"]
Action: TypeAlias = Literal["wrapped", "replaced", "raised", "registered"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One judge that is put under a harness, or one step on the way there.

    `calls_before` and `calls_after` are judge calls a case (of ADK: an invocation); None where they cannot be known,
    and for a change that concerns no judge of its own (`registered`). They are of all judges the line makes, `judges`
    of them; of at least so many where not `exact`. `once`: the model has temperature 0, and repetitions are left out.
    """

    line: int
    framework: str
    kind: str
    action: Action
    calls_before: int | None = None
    calls_after: int | None = None
    judges: int = 1
    exact: bool = True
    once: bool = False

    @property
    def extra_calls(self) -> int | None:
        """Calls a case that the change adds; None where they are not known."""
        if self.calls_before is None or self.calls_after is None:
            return None
        return self.calls_after - self.calls_before


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """A judge that is not rewritten: where it is, why, and what its author can do."""

    line: int
    framework: str
    kind: str
    why: str
    todo: str


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """One file before and after.

    `harnessed` counts the judges that need no change at this level, `harnessed_calls` what they cost a case, each; None
    of those whose design is not to be seen. `notes` are on the numbers; `line_notes` on lines that are left as they are
    and that the diff points at. `problem` is a sentence where the new text was
    found wanting: then `after` equals `before`, and nothing is to be written.
    """

    before: str
    after: str
    changes: tuple[Change, ...] = ()
    by_hand: tuple[ByHand, ...] = ()
    harnessed_calls: tuple[int | None, ...] = ()
    notes: tuple[str, ...] = ()
    line_notes: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def changed(self) -> bool:
        """Whether the text is another one."""
        return self.after != self.before

    @property
    def harnessed(self) -> int:
        """How many judges need no change."""
        return len(self.harnessed_calls)
