"""The scanned files as modules: which file, and which name in it, an import means."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from judgeharness_integrations.migration.outline import Outline, outline_of, words_of
from judgeharness_integrations.migration.sources import Source, SourceError

__all__ = ["CONFTEST", "Modules", "Place"]

CONFTEST = "conftest.py"
_INIT = "__init__.py"
_STEPS = 30  # re-exports that are followed

Place: TypeAlias = tuple[Path, str, tuple[str, ...]]
"""A file, a name in it (empty for the module) and the attributes behind it."""


class Modules:
    """Python files and how they name each other; paths are absolute."""

    def __init__(self, files: Iterable[Path]) -> None:
        """Nothing is read yet."""
        self.files = {path.absolute(): path for path in files}
        self._texts: dict[Path, str] = {}
        self._outlines: dict[Path, Outline] = {}
        self._words: dict[Path, Mapping[str, str]] = {}
        self._places: dict[tuple[Path, str], Place | None] = {}

    def place(self, importer: Path, full: str) -> Place | None:
        """Return what a full name, as a file imports it, means, through re-exports; a circle of them ends."""
        # what one folder means by a name, all of its files mean by it
        key = (importer.parent, full)
        if key not in self._places:
            self._places[key] = self._look_up(importer, full, frozenset())
        return self._places[key]

    def outline(self, path: Path) -> Outline:
        """Return what a file binds; one that is not among the files binds nothing."""
        if path not in self._outlines:
            self._outlines[path] = outline_of(self.text(path)) if path in self.files else Outline()
        return self._outlines[path]

    def words(self, importer: Path, full: str) -> str:
        """Return the texts in what a full name is bound to in these files."""
        found = self.place(importer, full)
        if found is None:
            return ""
        path, name, _ = found
        if path not in self._words:
            self._words[path] = words_of(self.text(path))
        return self._words[path].get(name, "")

    def text(self, path: Path) -> str:
        """Return a file's text; an empty one where it cannot be read."""
        if path not in self._texts:
            try:
                self._texts[path] = Source.read(self.files[path]).text
            except SourceError:  # whoever scans it says so
                self._texts[path] = ""
        return self._texts[path]

    def forget_texts(self) -> None:
        """Give the memory of the texts back; what is asked for later is read again."""
        self._texts.clear()

    @cached_property
    def _by_name(self) -> dict[str, list[Path]]:
        """Last part of a module's name -> the files that may be meant."""
        found: dict[str, list[Path]] = {}
        for path in sorted(self.files):
            found.setdefault(path.parent.name if path.name == _INIT else path.stem, []).append(path)
        return found

    def _module(self, importer: Path, dots: int, parts: list[str]) -> Path | None:
        """Return the file of a module: for an absolute name the nearest one that a folder above it could give."""
        if dots:
            home = importer.parents[dots - 1] if dots <= len(importer.parents) else None
            return None if home is None else self._below(home, parts)
        if not parts or (parts[0] in sys.stdlib_module_names and not self._below(importer.parent, parts[:1])):
            return None
        beside = self._below(importer.parent, parts)
        return beside or max(self._roots(parts), key=lambda one: _common(one, importer.parent), default=None)

    def _roots(self, parts: list[str]) -> Iterator[Path]:
        """Files whose path ends as a name does, below a folder that is no package itself."""
        for path in self._by_name.get(parts[-1], ()):
            levels = len(parts) + (path.name == _INIT)
            root = path.parents[levels - 1] if levels <= len(path.parents) else None
            if root is not None and self._below(root, parts) == path and root / _INIT not in self.files:
                yield path

    def _below(self, home: Path, parts: list[str]) -> Path | None:
        at = home.joinpath(*parts)
        candidates = (at / _INIT, *((at.with_name(f"{at.name}.py"),) if parts else ()))
        return next((one for one in candidates if one in self.files), None)

    def _look_up(self, importer: Path, full: str, seen: frozenset[tuple[Path, str]]) -> Place | None:
        plain = full.lstrip(".")
        dots, parts = len(full) - len(plain), plain.split(".") if plain else []
        for split in range(len(parts), -1, -1):
            path = self._module(importer, dots, parts[:split])
            if path is not None:
                rest = tuple(parts[split:])
                return self._bound(path, rest[0], rest[1:], seen) if rest else (path, "", ())
        return None

    def _bound(self, path: Path, name: str, rest: tuple[str, ...], seen: frozenset[tuple[Path, str]]) -> Place | None:
        if (path, name) in seen or len(seen) > _STEPS:
            return None
        seen |= {(path, name)}
        outline = self.outline(path)
        if name in outline.names:
            return path, name, rest
        if name in outline.imports:
            return self._look_up(path, ".".join((outline.imports[name], *rest)), seen)
        for star in outline.stars:
            base = star if star.endswith(".") else f"{star}."
            found = self._look_up(path, base + ".".join((name, *rest)), seen)
            if found is not None:
                return found
        return None


def _common(one: Path, folder: Path) -> int:
    """How many folders a file and a folder share."""
    return next((n for n, (a, b) in enumerate(zip(one.parts, folder.parts, strict=False)) if a != b), len(folder.parts))
