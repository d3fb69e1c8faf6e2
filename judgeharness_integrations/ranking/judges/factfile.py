"""A file of judge facts -> one mapping of cells a judge, with the place it stands at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, LogFormatError
from judgeharness_integrations.verdictlog.files import iter_records, open_text

__all__ = ["fact_records"]

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
