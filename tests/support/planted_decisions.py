"""A decision model whose probabilities are known in closed form: `with ProviderServer(Planted()) as server`.

A text has a strength by a criterion, from -2 to 2, of its checksum. An answer passes with the logistic of it; of two
answers, and of labels, each is chosen in proportion to the exponential of its own; levels of a score lie around it.
"""

from __future__ import annotations

import math
import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.openai_replies import Reply, Request
from support.provider_wire import Answer, Tokens
from support.wire_decisions import state_in

__all__ = ["Planted", "criterion_in"]

_CRITERION = re.compile(r"^Criterion: ([^:\n]+)", re.MULTILINE)
_BETTER = re.compile(r"The answer of (.+) is better")
_TIE = "Both answers are equally good"


def criterion_in(question: Mapping[str, Any]) -> str:
    """The criterion a question names."""
    found = _CRITERION.search(question["instructions"])
    assert found is not None, question
    return found[1]


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A planted model; biases are in units of log odds.

    Attributes:
        order_bias: In favour of the answer that stands first in the state.
        option_bias: In favour of the option that stands first in the question.
        temperature: What the log odds are divided by; above 1 the model is less sure than it should be.
        noise: Standard deviation of what is added to the log odds of every option, anew in every request.
        step: What probabilities are rounded to.
        refuses: Of a criterion and the state: whether the question is refused.
        silent: Of a criterion: whether the reply leaves its answer out.
        model: The model that answers, whatever its name in the request.
        tokens: What a request takes; None counts a word as a token.
    """

    order_bias: float = 0.0
    option_bias: float = 0.0
    temperature: float = 1.0
    noise: float = 0.0
    step: float | None = None
    refuses: Callable[[str, Mapping[str, str]], bool] = lambda criterion, state: False
    silent: Callable[[str], bool] = lambda criterion: False
    model: str | None = None
    tokens: Tokens | None = None

    def __call__(self, request: Request) -> Reply:
        state = state_in(request)
        answers = [
            self._answer(question, state, request.number)
            for question in request.body["questions"]
            if not self.silent(criterion_in(question))
        ]
        return Reply.of(Answer(arguments=answers, model=self.model, tokens=self.tokens))

    @staticmethod
    def strength(criterion: str, text: str) -> float:
        """The strength of a text, from -2 to 2."""
        return zlib.crc32(f"{criterion}|{text}".encode()) / 2**32 * 4 - 2

    def passes(self, criterion: str, text: str) -> float:
        """The probability of yes, without noise."""
        return self._shares([self.strength(criterion, text), 0.0])[0]

    def pair(self, criterion: str, first: str, second: str, *, tie: bool = True) -> list[float]:
        """The probabilities of the first answer shown, of the second, and of a tie, without noise."""
        strengths = [self.strength(criterion, first) + self.order_bias, self.strength(criterion, second)]
        return self._shares([*strengths, 0.0] if tie else strengths)

    def label(self, criterion: str, text: str, labels: Sequence[str]) -> list[float]:
        """The probabilities of labels, without noise."""
        return self._shares([self.strength(f"{criterion}|{label}", text) for label in labels])

    def level(self, criterion: str, text: str, count: int) -> list[float]:
        """The probabilities of levels, without noise."""
        centre = (self.strength(criterion, text) + 2) / 4 * (count - 1)
        return self._shares([-((level - centre) ** 2) for level in range(count)])

    def _shares(self, odds: Sequence[float]) -> list[float]:
        weights = [math.exp(one / self.temperature) for one in odds]
        shares = [weight / sum(weights) for weight in weights]
        return shares if self.step is None else [round(round(one / self.step) * self.step, 10) for one in shares]

    def _noisy(self, odds: Sequence[float], criterion: str, number: int) -> list[float]:
        source = random.Random(f"{number}|{criterion}")  # noqa: S311
        return self._shares([one + (source.gauss(0, self.noise) if self.noise else 0.0) for one in odds])

    def _answer(self, question: Mapping[str, Any], state: Mapping[str, str], number: int) -> dict[str, Any]:
        criterion, kind = criterion_in(question), question["type"]
        told: dict[str, Any] = {"type": kind, "name": question["name"]}
        if self.refuses(criterion, state):
            return {**told, "type": "refusal"}
        if kind == "predicate":
            sign = -1 if _is_negated(question) else 1
            odds = [sign * self.strength(criterion, _judged(state)), 0.0]
            return {**told, "probability": self._noisy(odds, criterion, number)[0]}
        if kind == "score":
            return {**told, **self._score(question, criterion, _judged(state), number)}
        odds = [self._odds(option, question, criterion, state) for option in question["choices"]]
        odds[0] += self.option_bias
        shares = self._noisy(odds, criterion, number)
        options = [
            {"value": option["value"], "probability": share}
            for option, share in zip(question["choices"], shares, strict=True)
        ]
        best = max(options, key=lambda one: one["probability"])
        return {**told, "choice": best["value"], "confidence": best["probability"], "probabilities": options}

    def _score(self, question: Mapping[str, Any], criterion: str, text: str, number: int) -> dict[str, Any]:
        count = len(question["levels"])
        centre = (self.strength(criterion, text) + 2) / 4 * (count - 1)
        shares = self._noisy([-((level - centre) ** 2) for level in range(count)], criterion, number)
        levels = [
            {"value": place, "label": level["label"], "probability": share}
            for place, (level, share) in enumerate(zip(question["levels"], shares, strict=True))
        ]
        return {
            "score": sum(place * share for place, share in enumerate(shares)),
            "confidence": max(shares),
            "probabilities": levels,
        }

    def _odds(
        self, option: Mapping[str, Any], question: Mapping[str, Any], criterion: str, state: Mapping[str, str]
    ) -> float:
        value, description = str(option["value"]), str(option.get("description") or "")
        if (slot := _BETTER.search(description)) is not None:
            titles = [title for title in state if title.startswith("Answer of ")]
            title = f"Answer of {slot[1]}"
            return self.strength(criterion, state[title]) + (self.order_bias if title == titles[0] else 0.0)
        if _TIE in description:
            return 0.0
        name = description.partition(":")[0] if value.startswith("option ") else value
        if name in ("yes", "no"):
            sign = -1 if _is_negated(question) else 1
            return sign * self.strength(criterion, _judged(state)) if name == "yes" else 0.0
        return self.strength(f"{criterion}|{name}", _judged(state))


def _judged(state: Mapping[str, str]) -> str:
    """The answer; of a pair, both of them in an order that says nothing."""
    return "\n".join(sorted(text for title, text in state.items() if title.startswith("Answer")))


def _is_negated(question: Mapping[str, Any]) -> bool:
    words = question["instructions"]
    return "fail to meet" in words or "right answer to this question no" in words
