"""Prices of a `--models` file as facts about the judges of a ranking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from judgeharness_integrations.cli.benchmark._models import read_model_file
from judgeharness_integrations.prices import price_of
from judgeharness_integrations.ranking.judges.facts import facts_of
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["with_prices"]


def with_prices(request: RankRequest, models: Path | None, rows: Iterable[VerdictRow]) -> RankRequest:
    """Return a request that knows what the judges of some rows cost; prices among its facts come first.

    Raises:
        ConfigError: the file cannot be read.

    """
    prices = read_model_file(models).prices
    if not prices:
        return request
    facts = dict(request.facts)
    for judge, model in sorted({(row.judge, row.model or row.judge) for row in rows}):
        known = facts_of(judge, request.facts)
        price = price_of(judge if judge in prices else model, prices)
        if price is not None and known.input_price is None and known.output_price is None:
            facts[judge] = replace(
                known,
                input_price=price.input,
                output_price=price.output,
                cached_input_price=price.cached_input,
                cache_write_price=price.cache_write,
                tiers=price.tiers,
            )
    return replace(request, facts=facts)
