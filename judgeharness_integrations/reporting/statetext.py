"""How a run ended, in words."""

from __future__ import annotations

__all__ = ["never_asked", "state_text"]


def state_text(state: str, *, not_graded: int, cases: int) -> str:
    """Return how a run ended; one that asked everything is complete only where every case got a grade.

    Args:
        state: the run's state, as `budget_exhausted`.
        not_graded: how many cases ended not graded.
        cases: of how many; those of each judge count.

    """
    if state == "complete" and not_graded:
        return f"all asked, {not_graded} of {cases} cases not graded"
    return state.replace("_", " ")


def never_asked(count: int, cases: int) -> str:
    """Return that some of all planned cases were never asked."""
    return f"{count} of {cases} {'case was' if count == 1 else 'cases were'} never asked"
