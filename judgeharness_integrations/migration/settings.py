"""What is looked for and where: `[tool.judgeharness.scan]` of the nearest pyproject.toml, command options over it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.migration.rules.registry import codes_matching
from judgeharness_integrations.migration.sources import excluded

__all__ = ["ScanSettings", "nearest_settings"]

_KEYS = ("select", "ignore", "exclude", "per-file-ignores")
_WHERE = "[tool.judgeharness.scan]"


@dataclass(frozen=True, kw_only=True)
class ScanSettings:
    """Codes or prefixes that are selected and ignored, patterns of files that are left out; `root` holds the file."""

    select: tuple[str, ...] = ("JH",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path | None = None

    def __post_init__(self) -> None:
        """Refuse codes nobody knows.

        Raises:
            UnknownNameError: a code or prefix stands for no rule.

        """
        for codes in (self.select, self.ignore, *self.per_file_ignores.values()):
            codes_matching(codes)

    def codes_for(self, path: Path) -> frozenset[str]:
        """Return the codes that are looked for in a file."""
        ignored = set(codes_matching(self.ignore))
        absolute = path.absolute()
        inside = self.root is not None and absolute.is_relative_to(self.root)
        relative = absolute.relative_to(self.root) if inside and self.root is not None else path
        for pattern, codes in self.per_file_ignores.items():
            if excluded(relative, (pattern,)):
                ignored |= codes_matching(codes)
        return codes_matching(self.select) - ignored

    def overridden(
        self, *, select: Sequence[str] = (), ignore: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> ScanSettings:
        """Return the settings with a command's options: a selection replaces, what is left out adds up."""
        return replace(
            self,
            select=tuple(select) or self.select,
            ignore=(*(() if select else self.ignore), *ignore),
            exclude=(*self.exclude, *exclude),
        )


def nearest_settings(path: Path) -> ScanSettings:
    """Return the settings of the nearest pyproject.toml at or above a path that has our table; defaults without one.

    Raises:
        ConfigError: the file cannot be read or a key holds a wrong value.
        UnknownNameError: a key or a code nobody knows.

    """
    start = path.absolute()
    for folder in (start, *start.parents) if start.is_dir() else start.parents:
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _settings(file, table)
    return ScanSettings()


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): correct it.") from None
    ours = document.get("tool", {}).get("judgeharness", {})
    return ours.get("scan") if isinstance(ours, dict) else None


def _settings(file: Path, table: Mapping[str, Any]) -> ScanSettings:
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: {_WHERE} must be a table.")
    for key in table:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS)
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError(f"{file}: per-file-ignores of {_WHERE} must be a table of lists.")
    return ScanSettings(
        select=_texts(file, table, "select") or ("JH",),
        ignore=_texts(file, table, "ignore"),
        exclude=_texts(file, table, "exclude"),
        per_file_ignores={pattern: _texts(file, per_file, pattern) for pattern in per_file},
        root=file.parent,
    )


def _texts(file: Path, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{file}: {key!r} of {_WHERE} must be a list of texts.")
    return tuple(value)
