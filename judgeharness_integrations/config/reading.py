"""A configuration file -> a checked `Config`, every complaint one sentence with the key it is about."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.config.problems import dotted, first_problem, kind
from judgeharness_integrations.config.schema import Config

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["load_config", "read_document"]

_FORMATS = ".yaml, .yml, .toml or .json"


def load_config(path: str | PathLike[str]) -> Config:
    """Read a configuration file, its format told by its ending. Environment variables are not expanded.

    Raises:
        UnknownNameError: a key is not known; the nearest is offered, with its place (`harness.repetitions`).
        ConfigError: the file cannot be read, or a key is missing, repeated or holds a wrong value.

    """
    path = Path(path)
    data = read_document(path)
    try:
        return Config.model_validate(data).placed_at(path)
    except ValidationError as error:
        raise first_problem(error.errors(include_url=False), str(path)) from None


def read_document(path: Path) -> dict[Any, Any]:
    """Return the keys of a YAML, TOML or JSON file, its format told by its ending; what they hold is not checked.

    Raises:
        ConfigError: the file cannot be read, or holds something else than keys, one of them twice, or no finite number.

    """
    data = _parse(path)
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: a configuration is a mapping of keys, not {kind(data)}.")
    _refuse_nan(data, str(path))
    return data


def _parse(path: Path) -> Any:
    readers: dict[str, Callable[[str], Any]] = {".yaml": _yaml, ".yml": _yaml, ".toml": tomllib.loads, ".json": _json}
    if path.suffix.lower() not in readers:
        raise ConfigError(f"{path}: a configuration is {_FORMATS}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start}).") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error}).") from error
    try:
        return readers[path.suffix.lower()](text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not {path.suffix[1:].upper()} ({error}).") from error


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ConfigError(f"key {key!r} stands twice.")
        mapping[key] = value
    return mapping


def _yaml(text: str) -> Any:
    return load_yaml(text, distinct=_distinct)


def _refuse_nan(value: object, source: str, place: tuple[str | int, ...] = ()) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{source}: {dotted(place)} must be a finite number, not {value}.")
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        inside = value.items()
    elif isinstance(value, (list, tuple)):
        inside = enumerate(value)
    for key, part in inside:
        _refuse_nan(part, source, (*place, key))
