"""Cases as simulated judges are shown them, remembered: replicates of a simulation ask about the same ones."""

from __future__ import annotations

import random
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import Case, PairwiseCase, case_id_of
from judgeharness_integrations.execution.preparing import CaseFacts
from judgeharness_integrations.perturbations import Context, Perturbation, Rewriter, perturbation
from judgeharness_integrations.verdictlog.row import is_probe

if TYPE_CHECKING:
    from judgeharness_integrations.probes import AdversarialProbe
    from judgeharness_integrations.verdictlog.row import Side

__all__ = ["Known", "known", "named", "on_side", "shown"]

_T = TypeVar("_T")
_MOST = 20_000
_OTHER_WORDS = ("Say what you think of it.",) * 9  # of prompt_variant(1) to (9); nobody reads them
_FORMATS = frozenset(
    {"none", "position_swap", "format_change", "whitespace", "typography", "name_swap", "slot_names", "prompt_variant"}
)


class _Same:
    """A case as a key: the object itself, since its attributes cannot be hashed."""

    __slots__ = ("case",)

    def __init__(self, case: Case) -> None:
        self.case = case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.case is other.case

    def __hash__(self) -> int:
        return id(self.case)


@dataclass(frozen=True, slots=True)
class Known:
    """A case and what all its rows repeat; `alike`: its answers differ in formatting alone, and may become equal."""

    case: Case
    case_id: str
    facts: CaseFacts
    alike: bool


def known(case: Case) -> Known:
    """Return a case with what all its rows repeat."""
    return _known(_Same(case))


def shown(one: Known, change: Perturbation, *, seed: int, reads_texts: bool) -> Case | None:
    """Return a case under a perturbation, None where that does not fit; the texts stay where nobody would notice.

    Raises:
        UsageError: the perturbation waits for something.

    """
    noticed = reads_texts or one.alike or not _is_format(change.name)
    return _shown(_Same(one.case), change, seed if noticed else None)


@lru_cache(maxsize=1024)
def named(name: str) -> Perturbation:
    """Return the perturbation of a name, always the same object; a rewriter gives back what it is given.

    Raises:
        UnknownNameError: there is none.

    """
    return perturbation(name, rewriter=_as_it_is, instructions=_OTHER_WORDS)


@lru_cache(maxsize=1024)
def on_side(probe: AdversarialProbe, side: Side | None) -> Perturbation:
    """Return a probe on one side, always the same object."""
    return probe.on(side)


@lru_cache(maxsize=_MOST)
def _known(same: _Same) -> Known:
    case = same.case
    return Known(case, case_id_of(case), CaseFacts.of(case), _same_letters(case))


@lru_cache(maxsize=_MOST)
def _shown(same: _Same, change: Perturbation, seed: int | None) -> Case | None:
    if change.fits(same.case):
        return None
    if seed is None:
        return same.case
    source = random.Random(f"{seed}|{case_id_of(same.case)}|{change.name}")  # noqa: S311 - as a harness draws it
    return _at_once(change.applied(same.case, Context(random=source, rewrite=_rewritten)), change.name)


def _same_letters(case: Case) -> bool:
    if not isinstance(case, PairwiseCase):
        return False
    first, second = ([mark for mark in text if mark.isalnum()] for text in case.texts())
    return first == second


def _is_format(name: str) -> bool:
    """Whether a perturbation cannot make two answers equal that differ in more than formatting."""
    return all(part.partition("(")[0] in _FORMATS or is_probe(part) for part in name.split("+"))


def _at_once(work: Awaitable[_T], name: str) -> _T:
    """Run a coroutine that waits for nothing."""
    steps: Any = work.__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: _T = done.value
        return result
    steps.close()
    raise UsageError(f"perturbation {name!r} waits for something: ask the judge through JudgeHarness.")


async def _rewritten(rewriter: Rewriter, text: str) -> str:
    reworded = rewriter(text)
    return reworded if isinstance(reworded, str) else await reworded


def _as_it_is(text: str) -> str:
    return text
