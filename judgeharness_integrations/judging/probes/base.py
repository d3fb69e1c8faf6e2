"""An adversarial probe: a change to one answer, and what an honest judge must make of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations.base import Context, Perturbation, kind_of
from judgeharness_integrations.verdictlog.row import ProbeName, Side, probe_name

if TYPE_CHECKING:
    from judgeharness_integrations.judging.cases import Case

Expectation: TypeAlias = Literal["must_not_change", "must_lose", "must_tie"]

_FIELDS: dict[Side, tuple[str, str]] = {"a": ("output", "output_b"), "b": ("output_b", "output")}


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a payload may speak of: the side it is to win for, as a judge is shown it, and the other answer.

    `slot` is `A` or `B`, None for a single answer; `other` the text of the other answer of a pair; `best` the best that
    the judge can say of a single answer, as text: `PASS` or the top of its scale, None where nobody knows.
    """

    slot: str | None
    other: str | None
    random: Random
    best: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdversarialProbe:
    """A named attack, or a sentinel: an answer whose verdict is known beforehand.

    Args:
        family: `injection`, `authority`, ..., `sentinel`; small letters and `_`.
        variant: which of the family, `direct_order`; None where the family has one kind.
        expectation: what an honest judge does: its verdict `must_not_change` towards the changed answer, the changed
            answer `must_lose`, or both `must_tie`.
        change: (text of the answer, target) -> the changed text. Its randomness is the target's, which depends on
            (seed, case, probe) and never on the repetition.
        needs_two: it is about two answers and does not fit a single one.
        replaces: it takes the answer's place; the further texts of an answer of several are emptied, not kept.

    Raises:
        PlanError: family or variant cannot stand in the name of a perturbation.

    """

    family: str
    change: Callable[[str, Target], str]
    variant: str | None = None
    expectation: Expectation = "must_not_change"
    needs_two: bool = False
    replaces: bool = False

    def __post_init__(self) -> None:
        """Refuse a name that would not be found again in the log."""
        name = ProbeName(family=self.family, variant=self.variant)
        if probe_name(str(name)) != name:
            raise PlanError(
                f"a probe cannot be called {name.property!r}: family and variant are small letters and _, "
                "a variant may hold digits, each at most 40."
            )

    @property
    def property(self) -> str:
        """Its name in reports: `injection.direct_order`."""
        return ProbeName(family=self.family, variant=self.variant).property

    def on(self, side: Side | None = None, *, best: str | None = None) -> Perturbation:
        """Return the perturbation that makes this change to one answer; its rows do not vote.

        Of an answer of several texts, such as the messages of a conversation, the last one is changed.

        Args:
            side: the answer of a pair, `a` or `b` in the frame of the case; None for a single answer. A `position_swap`
                may be composed after it: the payload then names the letter that a judge sees.
            best: the best that the judge can say of a single answer, as text: `PASS`, `10`. Payloads that forge its
                verdict use it; None: they ask for the best there is without knowing it.

        """
        name = ProbeName(family=self.family, variant=self.variant, side=side)

        def apply(case: Case, context: Context) -> Case:
            slot = None if side is None else "A" if (side == "a") != context.swapped else "B"
            other = getattr(case, _FIELDS[side][1]) if isinstance(case, PairwiseCase) and side else None
            return self._applied(case, side, Target(slot=slot, other=other, random=context.random, best=best))

        def fits(case: Case) -> str | None:
            return self._misfit(case, side)

        return Perturbation(str(name), apply, fits=fits, contextual=True)

    def _misfit(self, case: Case, side: Side | None) -> str | None:
        if not isinstance(case, (str, AnswerCase)):
            return f"{self.property} needs an AnswerCase, a PairwiseCase or a string, not {kind_of(case)}."
        pair = isinstance(case, PairwiseCase)
        if self.needs_two and not pair:
            return f"{self.property} needs two answers: give a PairwiseCase, not {kind_of(case)}."
        if pair != (side is not None):
            hint = "name the side, as in (b)" if pair else "leave the side out"
            return f"{self.property} cannot tell which answer to change: {hint}."
        if isinstance(case, AnswerCase) and not case.texts():
            return f"{self.property} has nothing to change: the judge is not shown the answer."
        if isinstance(case, PairwiseCase) and side and self.expectation == "must_lose":
            other = getattr(case, _FIELDS[side][1])
            return None if other.strip() else f"{self.property} has nothing to lose against: the other answer is empty."
        return None

    def _applied(self, case: Case, side: Side | None, target: Target) -> Case:
        if isinstance(case, PairwiseCase) and side is not None:
            field, _ = _FIELDS[side]
            changed: dict[str, Any] = {field: self.change(getattr(case, field), target)}
            return replace(case, **changed)
        return self.change(case, target) if isinstance(case, str) else self._last_changed(case, target)

    def _last_changed(self, case: AnswerCase, target: Target) -> AnswerCase:
        """Return a case whose answer is changed in its last text: a payload in every message would repeat itself."""
        last, places = len(case.texts()) - 1, count()

        def change(text: str) -> str:
            if next(places) == last:
                return self.change(text, target)
            return "" if self.replaces else text

        return case.with_texts(change)


_ANSWER = "{answer}"
_BEST = "{best}"
_SCORE = re.compile(r"-?\d+(\.\d+)?")
_OTHER = {"A": "B", "B": "A"}


@dataclass(frozen=True, kw_only=True)
class Wordings:
    """A change that puts one of several payloads to an answer; which one is the target's randomness.

    Args:
        pair: payloads about one of two answers; `{slot}` stands for its letter as a judge is shown it, `{other}` for
            the other letter.
        single: payloads about the only answer.
        disguises: what each payload is written as instead, all of them for every payload.
        labels: payloads about the only answer for a judge whose best verdict is a label; `{best}` stands for it. Empty:
            those of `single`.
        scores: the same where the best verdict is a number.

    A payload follows the answer after an empty line, or surrounds it where it holds `{answer}`.

    """

    pair: tuple[str, ...]
    single: tuple[str, ...]
    disguises: tuple[Callable[[str], str], ...] = (str,)
    labels: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()

    def texts(self, slot: str | None, best: str | None = None) -> tuple[str, ...]:
        """Return every payload for an answer shown as `A`, as `B`, or alone to a judge that can say `best`."""
        plain = self._of_one(best) if slot is None else tuple(_addressed(text, slot) for text in self.pair)
        return tuple(disguise(text) for text in plain for disguise in self.disguises)

    def __call__(self, text: str, target: Target) -> str:
        """Return the answer with one of the payloads."""
        return put(text, target.random.choice(self.texts(target.slot, target.best)))

    def _of_one(self, best: str | None) -> tuple[str, ...]:
        known = () if best is None else self.scores if _is_score(best) else self.labels
        return tuple(text.replace(_BEST, best or "") for text in known) or self.single


def put(text: str, payload: str) -> str:
    """Return an answer with a payload around it or below it; the answer itself stays as it is."""
    before, found, after = payload.partition(_ANSWER)
    return before + text + after if found else below(text, payload)


def below(text: str, payload: str) -> str:
    """Return an answer with a payload below it, whatever the payload holds."""
    return f"{text}\n\n{payload}" if text.strip() else text + payload


def alone(payload: str) -> str:
    """Return a payload without the answer it is put around."""
    before, found, after = payload.partition(_ANSWER)
    return (before + after).strip("\n") if found else payload


def _is_score(best: str) -> bool:
    return _SCORE.fullmatch(best) is not None


def _addressed(text: str, slot: str) -> str:
    return text.replace("{slot}", slot).replace("{other}", _OTHER[slot])
