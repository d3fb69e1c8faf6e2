"""A perturbation: a change to a case that must not change the verdict, and the way back."""

from __future__ import annotations

import inspect
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.verdictlog.row import EXCHANGED, RETEST, Verdict

from ..cases import AnswerCase, Case, PairwiseCase, describe_kind, output_texts, presented

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
        restore: (verdict, criterion) -> the verdict in the original frame; probabilities go where their options go.
        fits: case -> None, or why the perturbation cannot be applied to it.
        swaps: the two texts stand in the other order afterwards.
        negates: the opposite is asked: PASS and FAIL change places.
        needs: what the judge must support (`slot_names`, `prompt_variant`, a form of its questions).
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
    negates: bool = False

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
        negates=sum(part.negates for part in parts) % 2 == 1,
    )


def texts_of(case: Case) -> tuple[str, ...]:
    """Return the judged texts, none when they are not known."""
    return output_texts(case) or ()


def wants_two(name: str) -> Callable[[Case], str | None]:
    """Return a `fits` that accepts a `PairwiseCase` only."""

    def fits(case: Case) -> str | None:
        if isinstance(case, PairwiseCase):
            return None
        return f"{name} needs two answers: give a PairwiseCase, not {kind_of(case)}."

    return fits


def wants_answer(name: str) -> Callable[[Case], str | None]:
    """Return a `fits` that accepts an `AnswerCase` or a `PairwiseCase`."""

    def fits(case: Case) -> str | None:
        if isinstance(case, AnswerCase):
            return None
        return f"{name} needs an AnswerCase or a PairwiseCase, not {kind_of(case)}."

    return fits


def wants_text(name: str) -> Callable[[Case], str | None]:
    """Return a `fits` that accepts a case whose judged texts are known and none of which is empty."""

    def fits(case: Case) -> str | None:
        texts = output_texts(case)
        if texts is None:
            return f"{name} needs an AnswerCase, a PairwiseCase or a string, not {kind_of(case)}."
        if not texts:
            return f"{name} has nothing to change: the judge is not shown the answer."
        fields = ("the text",) if isinstance(case, str) else ("output", "output_b")
        empty = [field for field, text in zip(fields, texts, strict=False) if not text.strip()]
        return f"{name} cannot change an empty text: {' and '.join(empty)}." if empty else None

    return fits


def kind_of(case: Case) -> str:
    """Return what kind of case it is, with its article."""
    kind = describe_kind(case)
    return f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"


def none() -> Perturbation:
    """Return the perturbation `none`, which shows every case as it is."""
    return Perturbation("none", _same)


def retest() -> Perturbation:
    """Return the perturbation `retest`, which shows the case as `none` does; its rows do not vote.

    Where a judge answers with probabilities, how far they move when nothing was changed is the measure of every change.
    """
    return Perturbation(RETEST, _same)


def _same(case: Case) -> Case:
    return case


def position_swap() -> Perturbation:
    """Return the perturbation that shows the two answers, and their authors, in the other order.

    A verdict `A` is restored to `B` and `B` to `A`; ties, numbers and sets of labels stay as they are.
    """
    return Perturbation("position_swap", _swapped, restore=_restored, fits=wants_two("position_swap"), swaps=True)


def _swapped(case: PairwiseCase) -> PairwiseCase:
    return case.swapped()


def _restored(verdict: Verdict, criterion: str) -> Verdict:
    del criterion
    return EXCHANGED.get(verdict, verdict) if isinstance(verdict, str) else verdict


_PAIRS = (("Response 1", "Response 2"), ("X", "Y"))
_RESERVED = "/+()"


def slot_names(first: str | None = None, second: str | None = None) -> Perturbation:
    """Return the perturbation that relabels the two answers; their order stays.

    Args:
        first: label of answer A; without labels, a pair is chosen by the case's randomness.
        second: label of answer B.

    Raises:
        PlanError: only one label, two equal ones, or one that could not stand in a perturbation's name.

    """
    if first is None and second is None:
        return _slots("slot_names", _PAIRS)
    labels = (first or "", second or "")
    for label in labels:
        if not label or label != label.strip() or not label.isprintable() or any(mark in label for mark in _RESERVED):
            raise PlanError(
                f"slot_names needs two labels, on one line and without any of {_RESERVED}: {label!r} is none."
            )
    if len({labels[0].casefold(), labels[1].casefold(), "tie"}) < len("AB") + 1:
        raise PlanError(f"slot_names needs two labels that differ from each other and from TIE: {first!r}, {second!r}.")
    return _slots(f"slot_names({first}/{second})", (labels,))


def _slots(name: str, pairs: tuple[tuple[str, str], ...]) -> Perturbation:
    def apply(case: PairwiseCase, context: Context) -> PairwiseCase:
        return presented(case, slot_names=context.random.choice(pairs))

    return Perturbation(name, apply, fits=wants_two("slot_names"), contextual=True, needs=frozenset({"slot_names"}))
