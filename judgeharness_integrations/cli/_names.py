"""Names that options take: one of those that are known, or several with commas between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, get_args

from judgeharness_integrations._errors import UnknownNameError

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.ranking.correctness import Failures
    from judgeharness_integrations.analysis.ranking.curation import CutTies

__all__ = ["cut_ties_named", "failures_named", "names_in", "one_of"]

_Name = TypeVar("_Name", bound=str)


def one_of(kind: str, name: str, known: Sequence[_Name]) -> _Name:
    """Return the one of the `known` names that was given.

    Raises:
        UnknownNameError: it is none of them; the nearest is offered.

    """
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownNameError(kind, name, known)


def failures_named(name: str) -> Failures:
    """Return the policy for failed answers of a name, as `one_of` does."""
    from judgeharness_integrations.analysis.ranking.correctness import Failures  # noqa: PLC0415 - few options are it

    known: tuple[Failures, ...] = get_args(Failures)
    return one_of("failures policy", name, known)


def cut_ties_named(name: str) -> CutTies:
    """Return the policy for pairs tied at the cut of a name, as `one_of` does."""
    from judgeharness_integrations.analysis.ranking.curation import CutTies  # noqa: PLC0415 - few options are it

    known: tuple[CutTies, ...] = get_args(CutTies)
    return one_of("policy for ties at the cut", name, known)


def names_in(given: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, of an option that is repeated, takes commas between names, or both."""
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))
