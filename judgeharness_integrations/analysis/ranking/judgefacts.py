"""What is known about judges from outside the log: who makes them, whether they are open, their prices."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, LogFormatError
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.verdictlog.files import iter_records, open_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TABLES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
_YAML = (".yaml", ".yml")


def fact_records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, cells) of every judge in a file, its format told by its ending.

    Raises:
        ConfigError: the file cannot be read, or is no list and no mapping of judges.

    """
    name = path.name.lower()
    try:
        if name.endswith(_TABLES):
            yield from ((f"{path}, line {line}", cells) for line, cells in iter_records(path))
        elif name.endswith((".json", *_YAML)):
            yield from _entries(_parsed(path), path)
        else:
            raise ConfigError(f"{path}: judge facts are .csv, .jsonl, .json, .yaml or .yml.")
    except LogFormatError as error:
        raise ConfigError(str(error)) from error


def _entries(data: Any, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(data, Mapping):
        for name, cells in data.items():
            where = f"{path}, judge {name!r:.80}"
            yield where, {**_mapping({} if cells is None else cells, where), "judge": name}
    elif isinstance(data, list):
        for number, cells in enumerate(data, start=1):
            where = f"{path}, entry {number}"
            yield where, _mapping(cells, where)
    else:
        raise ConfigError(f"{path}: judge facts are a list of judges or a mapping of their names.")


def _mapping(cells: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(cells, Mapping):
        raise ConfigError(f"{where}: what is known of a judge is a mapping (provider, open, price ...).")
    return cells


def _parsed(path: Path) -> Any:
    with open_text(path) as file:
        text = file.read()
    kind = "YAML" if path.name.lower().endswith(_YAML) else "JSON"
    try:
        return load_yaml(text, distinct=_distinct) if kind == "YAML" else json.loads(text, object_pairs_hook=_distinct)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not {kind} ({' '.join(str(error).split())}).") from error


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ConfigError(f"{name!r:.80} stands twice: keep one.")
        found[name] = value
    return found


_OPEN: Final = ("true", "yes", "1", "open", "open-weights", "open-weight", "open-source")
_CLOSED: Final = ("false", "no", "0", "proprietary", "closed", "closed-weights", "closed-source")


def judge_name(cells: Mapping[str, Any], where: str) -> str:
    """Return the judge's name, which must not be missing."""
    if "judge" not in cells:
        raise ConfigError(f"{where}: 'judge' is missing: name the judge as the log does.")
    name = word(cells, "judge", where)
    if name is None:
        raise ConfigError(f"{where}: 'judge' is empty: name the judge as the log does.")
    return name


def word(cells: Mapping[str, Any], name: str, where: str) -> str | None:
    """Return a text; None where it is missing or empty."""
    value = cells.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ConfigError(f"{where}: {name!r} must be a text, not {value!r:.40}.")
    return str(value).strip() or None


def openness(cells: Mapping[str, Any], name: str, where: str) -> bool | None:
    """Return whether weights are open; None where it is missing or empty."""
    value = cells.get(name)
    said = "" if value is None else str(value).strip().lower().replace("_", "-").replace(" ", "-")
    if not said:
        return None
    if said not in (*_OPEN, *_CLOSED):
        raise ConfigError(f"{where}: {name!r} must be true, false, open-weights or proprietary, not {value!r:.40}.")
    return said in _OPEN


def price(cells: Mapping[str, Any], name: str, where: str) -> float | None:
    """Return a price; None where it is missing or empty."""
    value = cells.get(name)
    if value is None or value == "":
        return None
    try:
        amount = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise ConfigError(f"{where}: {name!r} must be a number of at least 0 per million tokens, not {value!r:.40}.")
    return amount


def model_and_variant(judge: str) -> tuple[str, str]:
    """Return model and variant, which is empty where the name has none: a model's own name may hold an `@`, too."""
    model, _, variant = judge.rpartition("@")
    return (model, variant) if model and variant else (judge, "")


def model_names(judge: str) -> tuple[str, ...]:
    """Return what a fact about the judge may be filed under, the most particular name first: `a@b@c`, `a@b`, `a`."""
    model, variant = model_and_variant(judge)
    return (judge, *model_names(model)) if variant else (judge,)


def plain_record(result: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by name; tuples become lists."""
    values = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


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
