"""Cells of a file of judge facts -> values; every complaint names file and place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from judgeharness_integrations._errors import ConfigError

__all__ = ["judge_name", "openness", "price", "word"]

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
