"""Which scanned files can pass a judge on to others, as far as their syntax tells: only those are parsed for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from judgeharness_integrations.migration.modules import CONFTEST, Modules
from judgeharness_integrations.migration.prefilter import asks_somebody, may_hold_judges, speaks_of_judging

__all__ = ["Following"]


class Following:
    """The imports among files that can be uses of a judge; nothing but texts and outlines is looked at."""

    def __init__(self, modules: Modules) -> None:
        """Nothing is looked at yet."""
        self._modules = modules
        self._holding = {path for path in modules.files if may_hold_judges(modules.text(path))}
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
        """A class is used by its methods alone."""
        methods = self._modules.outline(home).methods.get(name)
        return methods is None or not methods.isdisjoint(self._modules.outline(path).read)

    def reads_judging(self, path: Path) -> bool:
        """Whether a file can make a judge of a client of another: it or its imports speak of judging."""
        return speaks_of_judging(self._modules.text(path)) or self.imports_judging(path)

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
        return tuple(self._in_order({one for one in self._holding | clients if self.is_followed(one)}))

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
