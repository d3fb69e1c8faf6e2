"""What calls cost: prices by model, and tiers at half the price.

The table is read from its JSON file: to import LiteLLM takes seconds, and fetches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.spending import ASKED_TIER, TIER_REFUSED
from judgeharness_integrations.analysis.usage import Price, names_of, price_of, undated

from .execution.retrying import is_refusal, status_of

if TYPE_CHECKING:
    from .cases import Criterion
    from .config.schema import Config
    from .judge import Judge, JudgeIdentity, Judgment, Probe

__all__ = [
    "LITELLM",
    "PATIENCE_S",
    "TieredJudge",
    "dearer_first",
    "is_tier_refusal",
    "prices_from_litellm",
    "prices_of",
]

PATIENCE_S: Final = 900.0  # half-price answers take up to a quarter of an hour
_INVALID, _SHED = frozenset({400, 422}), 503
_NAMED = ("service_tier", "servicetier", "service tier", "flex")


def is_tier_refusal(error: BaseException) -> bool:
    """Whether a tier had no room for a call, or its model has no such tier: the standard one may answer all the same.

    That is 429 (but no empty account), 503, and a request that is invalid for the tier it names. Where the limits of
    the account are what refused, the standard tier refuses, too.
    """
    status = status_of(error)
    if status in _INVALID:
        told = str(error).lower()
        return any(name in told for name in _NAMED)
    return status == _SHED or is_refusal(error)


@dataclass(frozen=True, kw_only=True)
class TieredJudge:
    """One judge, made twice: `cheaper` asks at the tier `tier`, `standard` what that refuses, within the same attempt.

    Both are the same judge, as a tier changes no answer: identity, criteria and whatever else a judge has are those of
    `cheaper`. Rows say in `asked_tier` which tier was asked, in `tier_refused` that it refused, and in `service_tier`
    which one the provider says has served.
    """

    tier: str
    cheaper: Judge
    standard: Judge

    @property
    def name(self) -> str:
        """The judge's name."""
        return self.cheaper.name

    @property
    def identity(self) -> JudgeIdentity | None:
        """The judge's identity, in which no tier stands."""
        return self.cheaper.identity

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        """The questions the judge answers."""
        return self.cheaper.criteria

    async def judge(self, probe: Probe) -> Judgment:
        """Answer one probe."""
        asked: dict[str, str | float] = {ASKED_TIER: self.tier}
        try:
            judgment = await self.cheaper.judge(probe)
        except Exception as error:
            if not is_tier_refusal(error):
                raise
            _teach(self.standard, getattr(self.cheaper, "lesson", None))
            judgment = await self.standard.judge(probe)
            _teach(self.cheaper, judgment.facts)
            asked[TIER_REFUSED] = type(error).__name__
        return replace(judgment, facts={**judgment.facts, **asked})

    async def at_standard(self, probe: Probe) -> Judgment:
        """Answer one probe at the standard tier, as where something else than the tier says what a call costs."""
        judgment = await self.standard.judge(probe)
        _teach(self.cheaper, judgment.facts)
        return judgment

    def learn(self, facts: Any) -> None:
        """Let both go on as an earlier answer was asked for."""
        _teach(self.cheaper, facts)
        _teach(self.standard, facts)

    def __getattr__(self, name: str) -> Any:
        """Return an optional attribute of the judge, such as `supports`."""
        return getattr(self.cheaper, name)


def _teach(judge: Judge, facts: Any) -> None:
    learn = getattr(judge, "learn", None)
    if learn is not None and facts:
        learn(facts)


LITELLM: Final = "litellm"
_FILE: Final = "model_prices_and_context_window_backup.json"
_PER: Final = 1_000_000
_DIGITS: Final = 9  # 1.1e-06 times a million is not quite 1.1
_TIERS: Final = {"batch": "_batches", "flex": "_flex", "priority": "_priority"}
_KEYS: Final = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached_input": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}


def prices_of(config: Config) -> dict[str, Price]:
    """Return what a million tokens cost, by model; where the user gives a price of a model, the table's is not read.

    Raises:
        ConfigError: the table cannot be read, or has no price for a model that the configuration names.

    """
    execution = config.execution
    own = {name: Price.from_dict(given.model_dump(exclude_none=True)) for name, given in execution.prices.items()}
    if execution.prices_from is None:
        return own
    named = dict.fromkeys(judge.model for judge in config.judges)
    missing = [model for model in named if model is not None and price_of(model, own) is None]
    table = None if execution.prices_from == LITELLM else config.resolve(execution.prices_from)
    try:
        return prices_from_litellm(table, models=missing) | own
    except UsageError as error:
        raise ConfigError(f"{config.path}: execution.prices_from: {error}") from error


def dearer_first(judges: Sequence[tuple[str, str | None]], prices: Mapping[str, Price]) -> None:
    """Refuse judges of a cascade, by (name, model), of which one costs more than the next: it was to save money.

    Of those without a price nobody knows.

    Raises:
        UsageError: naming both.

    """
    known = [(name, price) for name, model in judges if model and (price := price_of(model, prices)) is not None]
    for (name, price), (later, cheaper) in pairwise(known):
        if price.input > cheaper.input and price.output > cheaper.output:
            raise UsageError(
                f"the cascade asks {name!r:.60} before {later!r:.60}, which costs less: put the cheapest judge first."
            )


def prices_from_litellm(path: str | PathLike[str] | None = None, *, models: Iterable[str]) -> dict[str, Price]:
    """Return the prices of models by LiteLLM's table, with those of their dated snapshots; nothing is fetched.

    Each price says where it comes from, with the file's date. Prices that begin at a length of the prompt are not read:
    the source says up to which length the others hold.

    Args:
        path: a `model_prices_and_context_window.json`; that of the installed LiteLLM when None.
        models: names as judges give them: `gpt-4o`, `openai:gpt-4o`, `claude-sonnet-4-5-20250929`.

    Raises:
        UsageError: there is no such file, it is no such table, or it has no price for a model.

    """
    wanted = list(models)
    file = _installed() if path is None else Path(path)
    table = _table(file)
    source = f"{_name(file, is_installed=path is None)}, file of {_date(file)}"
    found: dict[str, Price] = {}
    for model in wanted:
        prices = {key: _price(entry, source) for key, entry in _entries(table, {*names_of(model)})}
        if not prices:
            raise UsageError(f"{source} has no price for model {model!r}: give one yourself (0 for what is free).")
        found |= prices
    return found


def _entries(table: Mapping[str, Any], names: set[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries of a model and of its snapshots that have both prices."""
    for key, entry in table.items():
        if not names.isdisjoint((key, undated(key))) and isinstance(entry, dict) and _has_prices(entry):
            yield key, entry


def _has_prices(entry: Mapping[str, Any], suffix: str = "") -> bool:
    return all(isinstance(entry.get(_KEYS[name] + suffix), (int, float)) for name in ("input", "output"))


def _price(entry: Mapping[str, Any], source: str) -> Price:
    tiers = {tier: _numbers(entry, suffix) for tier, suffix in _TIERS.items() if _has_prices(entry, suffix)}
    return Price.from_dict({**_numbers(entry), "tiers": tiers, "source": source + _longest(entry)})


def _longest(entry: Mapping[str, Any]) -> str:
    start, end = "input_cost_per_token_above_", "_tokens"
    above = sorted(key for key in entry if key.startswith(start) and key.endswith(end))
    return f", for prompts up to {above[0][len(start) : -len(end)]} tokens" if above else ""


def _numbers(entry: Mapping[str, Any], suffix: str = "") -> dict[str, float]:
    given = {name: entry.get(key + suffix) for name, key in _KEYS.items()}
    return {name: round(each * _PER, _DIGITS) for name, each in given.items() if isinstance(each, (int, float))}


def _installed() -> Path:
    spec = find_spec(LITELLM)  # finds the package without running it
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(folder) / _FILE).is_file():
            return Path(folder) / _FILE
    raise UsageError(
        "no price table of LiteLLM is installed: pip install litellm, or give the path of such a table "
        "instead of 'litellm'."
    )


def _table(file: Path) -> Mapping[str, Any]:
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror or error}): give LiteLLM's price table.") from error
    except ValueError as error:
        raise UsageError(f"{file} is not JSON ({error}): give LiteLLM's price table.") from error
    if not isinstance(table, dict):
        raise UsageError(f"{file} is no price table: LiteLLM's is an object of models.")
    return table


def _name(file: Path, *, is_installed: bool) -> str:
    if not is_installed:
        return file.name
    try:
        return f"LiteLLM {version(LITELLM)}"
    except PackageNotFoundError:
        return "LiteLLM"


def _date(file: Path) -> str:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
