"""A perturbation: a change to a case that must not change the verdict, and the way back."""

from __future__ import annotations

import inspect
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.cases import Case
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["Context", "Perturbation", "Rewriter", "compose"]

Rewriter: TypeAlias = Callable[[str], str | Awaitable[str]]
Apply: TypeAlias = Callable[..., Any]


def _keep(verdict: Verdict, criterion: str) -> Verdict:
    del criterion
    return verdict


def _always(case: Case) -> None:
    del case


def _nothing(case: Case) -> tuple[str, ...]:
    del case
    return ()


@dataclass(frozen=True)
class Context:
    """What a contextual perturbation may use besides the case.

    `random` depends on (seed, case, perturbation), never on the repetition. `rewrite` calls a rewriter once per
    text, however many perturbations and repetitions want it. `swapped` says that the parts composed after this one
    exchange the two texts, so that a judge is shown them in the other order.
    """

    random: random.Random
    rewrite: Callable[[Rewriter, str], Awaitable[str]]
    swapped: bool = False


@dataclass(frozen=True)
class Perturbation:
    """A named change that must not matter.

    Args:
        name: as it stands in the log, with its parameters: `name_swap`, `slot_names(X/Y)`, `a+b`.
        apply: case -> changed case; may be async. With `contextual`, it also receives a `Context`.
        restore: (verdict, criterion) -> the verdict in the original frame.
        fits: case -> None, or why the perturbation cannot be applied to it.
        swaps: the two texts stand in the other order afterwards.
        needs: what the judge must support (`slot_names`, `prompt_variant`).
        rewriter, texts: a rewriter that is called, and case -> the texts it is called with (for the cost).

    """

    name: str
    apply: Apply
    restore: Callable[[Verdict, str], Verdict] = _keep
    fits: Callable[[Case], str | None] = _always
    swaps: bool = False
    contextual: bool = False
    needs: frozenset[str] = frozenset()
    rewriter: Rewriter | None = None
    texts: Callable[[Case], tuple[str, ...]] = _nothing
    parts: tuple[Perturbation, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse a perturbation the log could not name."""
        if not self.name or self.name != self.name.strip():
            msg = f"a perturbation needs a name without surrounding blanks, not {self.name!r}."
            raise PlanError(msg)

    async def applied(self, case: Case, context: Context) -> Case:
        """Return the changed case."""
        changed = self.apply(case, context) if self.contextual else self.apply(case)
        return await changed if inspect.isawaitable(changed) else changed

    def rewrites(self, case: Case) -> frozenset[tuple[int, str, str]]:
        """Return what applying it to the case will ask a rewriter for: distinct (rewriter, text, changed by) triples.

        The text is the case's own; `changed by` names the parts that change it before the rewriter sees it.
        """
        asked: set[tuple[int, str, str]] = set()
        changed_by: list[str] = []
        for part in self.parts or (self,):
            if part.rewriter is not None:
                before = (
                    "" if part.needs else "+".join(changed_by)
                )  # the judge's instructions are nobody else's to change
                asked |= {(id(part.rewriter), text, before) for text in part.texts(case)}
            if not (part.swaps or part.needs or part.name == "none"):  # those leave the texts as they are
                changed_by.append(part.name)
        return frozenset(asked)


def compose(*parts: Perturbation) -> Perturbation:
    """Return the perturbation `a+b` that applies its parts from left to right and restores from right to left."""
    if len(parts) == 1:
        return parts[0]

    def odd(some: Iterable[Perturbation]) -> bool:
        return sum(part.swaps for part in some) % 2 == 1

    async def apply(case: Case, context: Context) -> Case:
        for place, part in enumerate(parts, start=1):
            swapped = context.swapped ^ odd(parts[place:])
            case = await part.applied(case, replace(context, swapped=swapped))
        return case

    def restore(verdict: Verdict, criterion: str) -> Verdict:
        for part in reversed(parts):
            verdict = part.restore(verdict, criterion)
        return verdict

    def fits(case: Case) -> str | None:
        return next((reason for part in parts if (reason := part.fits(case))), None)

    return Perturbation(
        name="+".join(part.name for part in parts),
        apply=apply,
        restore=restore,
        fits=fits,
        swaps=odd(parts),
        contextual=True,
        needs=frozenset().union(*(part.needs for part in parts)),
        parts=parts,
    )
