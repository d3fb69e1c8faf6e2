"""What is known about judges from outside the log: who makes them, whether their weights are open, what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.prices import Price
from judgeharness_integrations.ranking.judges.factcells import judge_name, openness, price, word
from judgeharness_integrations.ranking.judges.factfile import fact_records
from judgeharness_integrations.ranking.judges.names import model_names
from judgeharness_integrations.ranking.judges.plainrecord import plain_record

__all__ = ["JudgeFacts", "facts_of", "family_of", "read_judge_facts"]


@dataclass(frozen=True, kw_only=True)
class JudgeFacts:
    """Facts about a judge; None is not known.

    `open`: whether its weights are. Prices are money per million tokens, in one currency for all judges: read and
    written, read from the provider's prompt cache, written to it (see `Price`), and by served tier in `tiers`.
    """

    judge: str
    provider: str | None = None
    family: str | None = None
    open: bool | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    cache_write_price: float | None = None
    tiers: Mapping[str, Price] = field(default_factory=dict)

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None without both prices."""
        if self.input_price is None or self.output_price is None:
            return None
        return Price(
            input=self.input_price,
            output=self.output_price,
            cached_input=self.cached_input_price,
            cache_write=self.cache_write_price,
            tiers=self.tiers,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON keeps them."""
        return plain_record(self) | {"tiers": {name: one.to_dict() for name, one in self.tiers.items()}}


def facts_of(judge: str, facts: Mapping[str, JudgeFacts] | None) -> JudgeFacts:
    """Return what is known about a judge; what is not said of `model@variant` itself is taken from `model`."""
    found = [facts[name] for name in model_names(judge) if name in facts] if facts else []
    known: dict[str, Any] = {}
    for one in reversed(found):
        values = ((each.name, getattr(one, each.name)) for each in fields(one))
        known |= {name: value for name, value in values if value not in (None, {})}
    known["judge"] = judge
    return JudgeFacts(**known)


def family_of(name: str, facts: Mapping[str, JudgeFacts] | None) -> str:
    """Return the family of a judge or an author: its family, else its provider, else its name up to the first `@`."""
    found = facts_of(name, facts)
    return found.family or found.provider or name.partition("@")[0] or name


def read_judge_facts(path: str | PathLike[str]) -> dict[str, JudgeFacts]:
    """Read facts about judges: `judge` and any of `provider, family, open`, and prices.

    Prices are `input_price`, `output_price`, `price`, `cached_input_price` and `cache_write_price`.

    `open` is true or false, or a word like `open-weights` or `proprietary`; `price` stands for both prices where they
    are not given. Other columns are ignored.

    Args:
        path: `.csv` (`.gz` too) or `.jsonl`; `.json` or `.yaml`: a list of objects, or one object a judge by its name.

    Raises:
        ConfigError: the file cannot be read, a value cannot be used, or a judge stands twice; file and place are named.

    """
    facts: dict[str, JudgeFacts] = {}
    for where, cells in fact_records(Path(path)):
        one = _facts(cells, where)
        if one.judge in facts:
            raise ConfigError(f"{where}: judge {one.judge!r:.80} stands twice: keep one.")
        facts[one.judge] = one
    if not facts:
        raise ConfigError(f"{path}: holds no judges.")
    return facts


def _facts(cells: Mapping[str, Any], where: str) -> JudgeFacts:
    both = price(cells, "price", where)
    read, written = price(cells, "input_price", where), price(cells, "output_price", where)
    return JudgeFacts(
        judge=judge_name(cells, where),
        provider=word(cells, "provider", where),
        family=word(cells, "family", where),
        open=openness(cells, "open", where),
        input_price=both if read is None else read,
        output_price=both if written is None else written,
        cached_input_price=price(cells, "cached_input_price", where),
        cache_write_price=price(cells, "cache_write_price", where),
    )
