"""A taxonomy: labels with their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError

__all__ = ["Taxonomy"]


@dataclass(frozen=True, kw_only=True)
class Taxonomy:
    """Labels with definitions; `name` is the criterion a single label answers."""

    labels: Mapping[str, str]
    name: str = "label"

    def __post_init__(self) -> None:
        """Refuse a taxonomy that leaves nothing to choose."""
        if not self.labels or not all(isinstance(name, str) and name.strip() for name in self.labels):
            raise ConfigError(f"taxonomy {self.name!r} needs labels, each with a non-empty name.")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Taxonomy:
        """Read a YAML or JSON file: `{name: ..., labels: {label: definition}}`, or just `{label: definition}`.

        Raises:
            ConfigError: the file cannot be read or has another form.

        """
        try:
            data: Any = load_yaml(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"taxonomy {path} cannot be read ({error}).") from error
        if not isinstance(data, Mapping):
            raise ConfigError(f"taxonomy {path} is not a mapping of labels to definitions.")
        labels = data["labels"] if isinstance(data.get("labels"), (Mapping, list)) else data
        if isinstance(labels, list):
            labels = dict.fromkeys(labels, "")
        name = str(data.get("name", Path(path).stem)) if labels is not data else Path(path).stem
        return cls(labels={str(label): str(text or "") for label, text in labels.items()}, name=name)
