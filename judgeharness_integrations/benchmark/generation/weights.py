"""How often what is drawn: weights of failure types, behaviours and documents from a file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations._yaml import load_yaml

__all__ = ["read_weights"]

_MOST = 1_000_000_000  # sums of them stay finite


def read_weights(path: Path | None, *, known: Collection[str]) -> dict[str, float]:
    """Return name -> weight of a YAML file, sorted by name; None: no weights.

    Args:
        path: the file.
        known: what can be drawn: names of failure types and behaviours, ids of documents.

    Raises:
        UnknownNameError: a name is none of them; the nearest is offered.
        ConfigError: the file cannot be read, or a weight is no number from 0 to a thousand million.

    """
    if path is None:
        return {}
    try:
        data: Any = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = getattr(error, "problem", None) or getattr(error, "strerror", None) or type(error).__name__
        raise ConfigError(f"{path} cannot be read ({what}): write a line for each weight, as evasion: 2.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold a weight by name, a line for each, as evasion: 2.")
    for name, weight in data.items():
        if name not in known:
            raise UnknownNameError(f"failure type, behaviour or document in {path}", str(name), known)
        if type(weight) not in (int, float) or not 0 <= weight <= _MOST:
            raise ConfigError(f"{path}: the weight of {name} must be a number from 0 to {_MOST}, not {weight!r:.40}.")
    return {name: float(data[name]) for name in sorted(data)}
