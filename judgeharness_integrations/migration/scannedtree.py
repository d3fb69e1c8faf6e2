"""The judges the scanned files offer to each other.

Nothing outside of the scanned files is read, and nothing is imported or run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations.migration.following import Following
from judgeharness_integrations.migration.modules import CONFTEST, Modules
from judgeharness_integrations.migration.outline import Outline
from judgeharness_integrations.migration.prefilter import asks_somebody, speaks_of_judging
from judgeharness_integrations.migration.sources import Source, SourceError

if TYPE_CHECKING:
    from judgeharness_integrations.migration.offers import Offer

__all__ = ["ScannedTree"]

_ROUNDS = 8  # how often one file is read again because of what the files it imports offer
_KEPT = 1_500_000  # characters of the files whose trees are kept from looking for offers to scanning


class ScannedTree:
    """The Python files of a scan and the judges they offer to each other."""

    def __init__(self, files: Iterable[Path]) -> None:
        """Find out what each file offers; files that cannot be read or parsed offer nothing."""
        self._modules = Modules(files)
        self._absolute = {path: home for home, path in self._modules.files.items()}
        self._following = Following(self._modules)
        self._offers: dict[Path, dict[str, Offer]] = {}
        self._fixtures: dict[Path, dict[str, Offer]] = {}  # by the folder of the `conftest.py`
        self._kept: dict[Path, Source] = {}
        self._settle()

    def source(self, path: Path) -> Source:
        """Return a file to be scanned, with its tree where it is parsed already; it is not kept any longer.

        Raises:
            SourceError: it cannot be read.

        """
        return self._kept.pop(self._home(path), None) or Source.read(path, tree=self)

    def outline(self, path: Path) -> Outline:
        """Return what a file binds and calls."""
        return self._modules.outline(self._home(path))

    def offer(self, importer: Path, full: str) -> Offer | None:
        """Return what a full name, as a file imports it, offers; None where it is no judge of these files."""
        found = self._modules.place(self._home(importer), full)
        if found is None:
            return None
        path, name, rest = found
        offer = self._offers.get(path, {}).get(name)
        for method in rest:
            offer = None if offer is None else offer.methods.get(method)
        return offer

    def fixture(self, importer: Path, name: str) -> Offer | None:
        """Return the judge of a fixture that a `conftest.py` beside or above a test file gives it."""
        return next((offers[name] for offers in self._conftests(importer) if name in offers), None)

    def has_fixture(self, importer: Path, name: str) -> bool:
        """Whether a `conftest.py` beside or above a file binds a name, judge or not."""
        folders = self._home(importer).parents
        return any(name in self._modules.outline(folder / CONFTEST).names for folder in folders)

    def words(self, importer: Path, full: str) -> str:
        """Return the texts in what a full name is bound to in these files."""
        return self._modules.words(self._home(importer), full)

    def holds(self, importer: Path, full: str) -> bool:
        """Whether a full name is bound in these files, judge or not."""
        return self._modules.place(self._home(importer), full) is not None

    def concerns(self, path: Path, text: str) -> bool:
        """Whether a file uses judges it imports, asks with words it imports, or has fixtures of a `conftest.py`."""
        home = self._home(path)
        used = [offer for found in self._following.uses(home) for offer in self._offered(home, *found)]
        if any(offer.role != "client" for offer in used):
            return True
        if (used or asks_somebody(text)) and self._following.imports_judging(home):
            return True
        if used and speaks_of_judging(text):
            return True
        return any(re.search(rf"\b{name}\b", text) for offers in self._conftests(path) for name in offers)

    def _home(self, path: Path) -> Path:
        return self._absolute.get(path) or path.absolute()

    def _offered(self, importer: Path, home: Path, name: str) -> Iterator[Offer]:
        """Yield what a name of a file offers, as far as it can be used; a module offers all of it."""
        offers, outline = self._offers.get(home, {}), self._modules.outline(importer)
        for offer in offers.values() if not name else (offers[name],) if name in offers else ():
            if offer.role not in {"class", "object"}:
                yield offer
            yield from (method for called, method in offer.methods.items() if called in outline.read)

    def _conftests(self, path: Path) -> Iterator[dict[str, Offer]]:
        """Offers of each `conftest.py` beside or above a file, the nearest one first."""
        if self._fixtures:  # it is asked for every name of a file
            yield from (self._fixtures[one] for one in self._home(path).parents if one in self._fixtures)

    def _settle(self) -> None:
        """Read the files that can pass a judge on, and again the importers of each that offers something new."""
        following = self._following
        waiting = dict.fromkeys(following.wanted())
        rounds: dict[Path, int] = {}
        while waiting:
            path = next(iter(waiting))
            del waiting[path]
            rounds[path] = rounds.get(path, 0) + 1
            known = self._offers.get(path, {})
            self._offers[path] = self._offered_by(path)
            if path.name == CONFTEST and self._offers[path]:
                self._fixtures[path.parent] = self._offers[path]
            if self._offers[path] != known:
                again = [one for one in following.importers.get(path, ()) if following.is_followed(one)]
                for one in again:
                    self._forget(one)
                waiting.update(dict.fromkeys(one for one in again if rounds.get(one, 0) < _ROUNDS))
        for path in [one for one in self._kept if any(True for _ in self._conftests(one))]:
            self._forget(path)
        self._modules.forget_texts()

    def _offered_by(self, path: Path) -> dict[str, Offer]:
        from judgeharness_integrations.migration.offers import offers_of  # noqa: PLC0415 - they need each other

        try:
            source = self._kept.get(path) or Source.read(self._modules.files[path], tree=self)
            found = offers_of(source)
        except SourceError:
            return {}
        if sum(len(one.text) for one in self._kept.values()) + len(source.text) <= _KEPT:
            self._kept[path] = source
        return found

    def _forget(self, path: Path) -> None:
        """Forget what was found out about a file with what other files offered before; it stays parsed."""
        if path in self._kept:
            self._kept[path].forget()
