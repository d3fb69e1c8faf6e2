"""Payloads in several wordings, for two answers and for one, and how one of them is put to an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeharness_integrations.probes.base import Target

__all__ = ["Wordings", "alone", "below", "put"]

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
