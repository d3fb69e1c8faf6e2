"""What a call costs by the user's prices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from judgeharness_integrations._errors import UsageError

__all__ = ["ANY_MODEL", "Price", "Spent", "price_of", "spent_by"]

ANY_MODEL = "*"
_PER = 1_000_000
_VERSION = re.compile(r"[-@:][0-9][0-9-]*$")  # a snapshot's date or number: gpt-4o-2024-08-06, claude-3-opus@20240229


@dataclass(frozen=True, kw_only=True)
class Price:
    """Price of a million tokens read (`input`) and written (`output`), in whatever currency `max_cost` is.

    Raises:
        UsageError: a price is not a number of at least 0.

    """

    input: float
    output: float

    def __post_init__(self) -> None:
        """Refuse prices no sum can be made of."""
        for price in (self.input, self.output):
            if isinstance(price, bool) or not isinstance(price, (int, float)) or not 0 <= price < math.inf:
                raise UsageError(f"a price is a number of at least 0 per million tokens, not {price!r}.")

    def of(self, spent: Spent) -> float | None:
        """Return what a call cost, None unless both counts are known."""
        if spent.input_tokens is None or spent.output_tokens is None:
            return None
        return (spent.input_tokens * self.input + spent.output_tokens * self.output) / _PER


class Spent(NamedTuple):
    """Tokens of one answer and the model that was asked; None: not reported. An answer from a cache has spent 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None

    @property
    def tokens(self) -> int | None:
        """Tokens read and written, as far as reported."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)


def price_of(model: str | None, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model: by its name, without its provider, without its snapshot's date; else that of `*`."""
    if model is not None:
        plain = re.split("[/:]", model, maxsplit=1)[-1] if re.match("[a-z_]+[/:]", model) else model
        for name in (model, plain):
            for known in (name, _VERSION.sub("", name)):
                if known in prices:
                    return prices[known]
    return prices.get(ANY_MODEL)


def spent_by(answer: Any, *, default_model: str | None = None) -> Spent:
    """Return what a `Judgment` took; one from a cache nothing, anything else is not known."""
    try:
        tokens, model, facts = (answer.input_tokens, answer.output_tokens), answer.model, answer.facts
    except AttributeError:
        return Spent(model=default_model)
    if facts and facts.get("cached"):
        tokens = (0, 0)
    return Spent(*tokens, model or default_model)
