"""The scanned files as modules: which file, and which name in it, an import means, and who can use whom."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from judgeharness_integrations.migration.sites import RUN_METHODS
from judgeharness_integrations.migration.sources import (
    Source,
    SourceError,
    asks_somebody,
    may_evaluate,
    may_hold_judges,
    speaks_of_judging,
)
from judgeharness_integrations.migration.syntax import Outline, outline_of, words_of

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
        return next((candidate for candidate in candidates if candidate in self.files), None)

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


class Following:
    """The imports among files that can be uses of a judge; nothing but texts and outlines is looked at."""

    def __init__(self, modules: Modules) -> None:
        """Nothing is looked at yet."""
        self._modules = modules
        self._holding = {path for path in modules.files if may_hold_judges(modules.text(path))}
        # files that give evaluators to LangSmith, and those that define them: whatever they ask, they judge
        self.evaluating = {path for path in modules.files if may_evaluate(modules.text(path))}
        self._asking = {path for path in modules.files if asks_somebody(modules.text(path))}

    def uses(self, path: Path) -> Iterator[tuple[Path, str]]:
        """Yield what a file imports of another and names in its code: the file and the name in it, or none."""
        outline = self._modules.outline(path)
        named = (full for alias, full in outline.imports.items() if alias.rpartition(".")[2] in outline.read)
        for full in (*named, *outline.stars):
            place = self._modules.place(path, full)
            if place is None or place[0] == path:
                continue
            home, name, _ = place
            if not name:
                yield home, ""
                yield from self._re_exported(path, home)
            elif self._is_used(path, home, name):
                yield home, name

    def _re_exported(self, path: Path, module: Path) -> Iterator[tuple[Path, str]]:
        """Yield what a file can name of what a module it imports has imported itself."""
        read, outline = self._modules.outline(path).read, self._modules.outline(module)
        named = (full for alias, full in outline.imports.items() if alias in read)
        places = [self._modules.place(module, full) for full in named]
        places += [self._modules.place(module, f"{star.rstrip('.')}.{name}") for star in outline.stars for name in read]
        for place in places:
            if place is not None and place[0] != path and (not place[1] or self._is_used(path, place[0], place[1])):
                yield place[:2]

    def _is_used(self, path: Path, home: Path, name: str) -> bool:
        """A class is used by its methods alone, and where LangSmith calls its objects."""
        methods = self._modules.outline(home).methods.get(name)
        if methods is None or (path in self.evaluating and not methods.isdisjoint(RUN_METHODS)):
            return True
        return not methods.isdisjoint(self._modules.outline(path).read)

    def reads_judging(self, path: Path) -> bool:
        """Whether a file can make a judge of a client of another: it or its imports speak of judging."""
        return path in self.evaluating or speaks_of_judging(self._modules.text(path)) or self.imports_judging(path)

    def imports_judging(self, path: Path) -> bool:
        """Whether there are words of judging in what a file imports."""
        imports = self._modules.outline(path).imports.values()
        return any(speaks_of_judging(self._modules.words(path, full)) for full in imports)

    @cached_property
    def importers(self) -> dict[Path, tuple[Path, ...]]:
        """File -> the files that can use something of it."""
        found: dict[Path, dict[Path, None]] = {}
        for path in sorted(self._modules.files) if self._holding | self._asking else ():
            for home, _ in self.uses(path):
                found.setdefault(home, {})[path] = None
        return {home: tuple(paths) for home, paths in found.items()}

    def wanted(self) -> tuple[Path, ...]:
        """Return the files that can pass on what they make or ask themselves, those that others import first.

        Those that pass on what they import are found when that is known.
        """
        clients = {one for one in self._asking - self._holding if any(map(self.reads_judging, self._users(one)))}
        return tuple(
            self._in_order({one for one in self._holding | self.evaluating | clients if self.is_followed(one)})
        )

    def is_followed(self, path: Path) -> bool:
        """Whether anything can use what a file offers: an importer, or the tests that a `conftest.py` serves."""
        return path in self.importers or path.name == CONFTEST

    def _users(self, path: Path) -> set[Path]:
        """Return the files that use something of a file, or of one that does, and so on."""
        found: set[Path] = set()
        waiting = [path]
        while waiting:
            new = [one for one in self.importers.get(waiting.pop(), ()) if one not in found]
            found.update(new)
            waiting += new
        return found

    def _in_order(self, wanted: set[Path]) -> Iterator[Path]:
        """Yield each file behind those it imports, as far as they do not import each other."""
        imports: dict[Path, list[Path]] = {}
        for home, users in self.importers.items():
            for user in users if home in wanted else ():
                imports.setdefault(user, []).append(home)
        opened: set[Path] = set()
        for start in sorted(wanted):
            waiting = [(start, False)]
            while waiting:
                path, is_done = waiting.pop()
                if is_done:
                    yield path
                elif path not in opened:
                    opened.add(path)
                    waiting += [(path, True), *((one, False) for one in imports.get(path, ()) if one in wanted)]
