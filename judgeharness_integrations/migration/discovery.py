"""Finds the judges of a file, those of other scanned files at their uses, and what the files offer to each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import libcst as cst

from .evaluators import foreign_evaluators, harnessed_nodes
from .flow import Flow
from .frameworks import config_sites
from .judges import asked, asks_of, bound_name, handwritten_sites, is_awaited, made_sites
from .modules import (
    CONFTEST,
    ConfigSource,
    Following,
    Modules,
    Source,
    SourceError,
    asks_somebody,
    may_hold_judges,
    speaks_of_judging,
)
from .questions import asks_model, foreign_judge, given_function, offer_of_call, reads_parameters
from .repetition import samples_of
from .syntax import Foreign, JudgeSite, Offer, Outline, Role, last_name, span_of
from .view import ModuleView, is_fixture


def find_sites(source: Source | ConfigSource) -> tuple[JudgeSite, ...]:
    """Return the judges of a file in the order they stand there, deterministic evaluators and harnessed ones too.

    Raises:
        SourceError: the file cannot be parsed.

    """
    if isinstance(source, ConfigSource):
        return config_sites(source)
    if not may_hold_judges(source.text) and (source.tree is None or not source.tree.concerns(source.path, source.text)):
        return ()
    view = source.view
    made = made_sites(view)
    found = [*made, *handwritten_sites(view, made)]
    return tuple(sorted(found, key=lambda site: (site.line, site.column)))


@dataclass(kw_only=True, eq=False)
class _Use:
    """What this file does with one judge of another."""

    offer: Offer
    asks: list[cst.Call] = field(default_factory=list)
    passes: list[cst.Call] = field(default_factory=list)  # it is made, or given to something else
    harnessed: bool = False


def imported_sites(view: ModuleView) -> tuple[JudgeSite, ...]:
    """Return the judges that are made or asked in other scanned files and are used here, each once."""
    if view.tree is None:
        return ()
    found: dict[tuple[str, int], _Use] = {}
    harnessed = harnessed_nodes(view)
    for call in view.calls:
        for offer, node, asks in _uses(view, call):
            use = found.setdefault((str(offer.path), offer.line), _Use(offer=offer))
            (use.asks if asks else use.passes).append(call)
            use.harnessed |= offer.harnessed or node in harnessed
    return tuple(_site(view, use) for use in found.values())


def _uses(view: ModuleView, call: cst.Call) -> Iterator[tuple[Offer, cst.CSTNode, bool]]:
    """Yield the judges a call uses, the node that is the judge, and whether the call asks it."""
    offer = offer_of_call(view, call)
    if offer is not None and offer.role in {"asker", "maker"}:
        yield offer, call, offer.role == "asker"
    for node in view.origins(asked(call)):
        judge = foreign_judge(view, node) if node is not call else None
        if judge is not None:
            yield judge, node, True
    for arg in call.args:
        for one in (arg.value, *view.elements(arg.value)):
            for node in view.origins(one):
                judge = foreign_judge(view, node) or given_function(view, node)
                if judge is not None:
                    yield judge, node, False


def _site(view: ModuleView, use: _Use) -> JudgeSite:
    uses = tuple(dict.fromkeys(use.asks or use.passes))
    offer, first = use.offer, min(uses, key=lambda one: view.position(one).start.line)
    return JudgeSite(
        framework=offer.framework,
        kind=offer.kind,
        shape=offer.shape,
        node=first,
        **span_of(view, first),
        name=(last_name(asked(first)) if use.asks else bound_name(view, first)) or offer.name,
        is_async=offer.is_async if not use.asks else any(is_awaited(view, one) for one in uses),
        harnessed=use.harnessed,
        samples=samples_of(view, use.asks),
        evidence=f"it is the judge of {offer.path}:{offer.line}",
        definition=(offer.path, offer.line),
        uses=uses,
    )


_Found = TypeVar("_Found")
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
        self._words: dict[str, tuple[Path, ...]] = {}
        self._evaluators: dict[Path, dict[Foreign, None]] = {}
        self._note_evaluators()
        self._following.evaluating |= self._evaluators.keys()
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

    def has(self, path: Path) -> bool:
        """Whether a Python file is one of these."""
        return path.absolute() in self._modules.files

    def home_of(self, importer: Path, full: str) -> Path | None:
        """Return the file of these that a module's name means, as a file imports it."""
        found = self._modules.place(self._home(importer), full)
        return None if found is None or found[1] else found[0]

    def speaking_of(self, word: str) -> tuple[Path, ...]:
        """Return the files a word stands in."""
        if word not in self._words:
            self._words[word] = tuple(path for path in sorted(self._modules.files) if word in self._modules.text(path))
            self._modules.forget_texts()
        return self._words[word]

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

    def makes_harness(self, importer: Path, full: str) -> bool:
        """Whether a full name, as a file imports it, is bound to a `JudgeHarness` in these files."""
        found = self._modules.place(self._home(importer), full)
        return found is not None and found[1] in self._modules.outline(found[0]).harnesses

    def has_harness_fixture(self, importer: Path, name: str) -> bool:
        """Whether the `conftest.py` next to a file, beside or above it, binds a name to a `JudgeHarness`."""
        outlines = (self._modules.outline(folder / CONFTEST) for folder in self._home(importer).parents)
        return next((name in one.harnesses for one in outlines if name in one.names), False)

    def evaluators(self, path: Path) -> tuple[Foreign, ...]:
        """Return what other files give to LangSmith's `evaluate` and import from a file, by its names there."""
        return tuple(self._evaluators.get(self._home(path), ()))

    def words(self, importer: Path, full: str) -> str:
        """Return the texts in what a full name is bound to in these files."""
        return self._modules.words(self._home(importer), full)

    def holds(self, importer: Path, full: str) -> bool:
        """Whether a full name is bound in these files, judge or not."""
        return self._modules.place(self._home(importer), full) is not None

    def concerns(self, path: Path, text: str) -> bool:
        """Whether a file uses judges it imports, asks with words it imports, or has fixtures of a `conftest.py`."""
        home = self._home(path)
        if home in self._evaluators:
            return True
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

    def _note_evaluators(self) -> None:
        """Find out what is given to `evaluate` in another file than the one that defines it, lists of it included."""
        waiting = sorted(self._following.evaluating)
        while waiting:
            path = waiting.pop()
            for foreign in self._read(path, foreign_evaluators):
                place = self._modules.place(path, foreign.full)
                if place is None or place[0] == path or not place[1]:
                    continue
                known = self._evaluators.setdefault(place[0], {})
                here = replace(foreign, full=place[1])
                if here not in known:
                    known[here] = None
                    self._forget(place[0])
                    waiting.append(place[0])
        for path in self._kept:
            self._forget(path)

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

        try:
            return _offers_of(self._parsed(path))
        except SourceError:
            return {}

    def _read(self, path: Path, what: Callable[[ModuleView], Iterable[_Found]]) -> tuple[_Found, ...]:
        """Return what is in a file's tree; nothing where it cannot be parsed."""
        try:
            return tuple(what(self._parsed(path).view))
        except SourceError:
            return ()

    def _parsed(self, path: Path) -> Source:
        """Return a file, kept with its tree as long as there is room.

        Raises:
            SourceError: it cannot be read or parsed.

        """
        source = self._kept.get(path) or Source.read(self._modules.files[path], tree=self)
        _ = source.wrapper
        if sum(len(one.text) for one in self._kept.values()) + len(source.text) <= _KEPT:
            self._kept[path] = source
        return source

    def _forget(self, path: Path) -> None:
        """Forget what was found out about a file with what other files offered before; it stays parsed."""
        if path in self._kept:
            self._kept[path].forget()


def _offers_of(source: Source) -> dict[str, Offer]:
    """Return what the names at the top of a module offer, those of nothing left out.

    Raises:
        SourceError: it cannot be parsed.

    """
    own = [site for site in find_sites(source) if not site.deterministic]
    return _Module(source.view, [*own, *imported_sites(source.view)]).offers()


class _Module:
    def __init__(self, view: ModuleView, sites: Iterable[JudgeSite]) -> None:
        self.view = view
        self.made: dict[cst.CSTNode, Offer] = {}
        self.does: dict[cst.FunctionDef, Offer] = {}
        for site in sites:
            if site.node is not None:
                self._keep(site, site.node)
        for function in view.functions:
            offer = self._made_by(function) or self.does.get(function) or self._client(function)
            if offer is not None:
                self.does[function] = offer

    def offers(self) -> dict[str, Offer]:
        found: dict[str, Offer] = {}
        for node in self.view.own_nodes(self.view.module):
            match node:
                case cst.FunctionDef(name=cst.Name(value=name)) if node in self.does and not name.startswith("test"):
                    found[name] = self.does[node]
                case cst.ClassDef(name=cst.Name(value=name)):
                    offer = self._class(node, "class")
                    found.update({} if offer is None else {name: offer})
                case cst.Assign(targets=targets, value=value):
                    for target in targets:
                        found |= self._bound(target.target, value)
                case cst.AnnAssign(target=target, value=value) if value is not None:
                    found |= self._bound(target, value)
        return found

    def _keep(self, site: JudgeSite, node: cst.Call) -> None:
        """Note what a site makes, and the functions that ask it or return its verdict."""
        offer = self._offer(site, "judge")
        if not site.by_hand and site.definition is None:
            self.made[node] = offer
        asks = site.uses or ((node,) if site.by_hand else tuple(one.call for one in asks_of(self.view, node)))
        asks = tuple(call for call in asks if foreign_judge(self.view, call) is None)
        askers = {*Flow(self.view, asks).functions, *(self.view.function_of(call) for call in asks)}
        self.does.update((one, replace(offer, role="asker")) for one in askers if one is not None)

    def _offer(self, site: JudgeSite, role: Role) -> Offer:
        path, line = site.definition or (self.view.path, site.line)
        return Offer(
            role=role,
            path=path,
            line=line,
            framework=site.framework,
            kind=site.kind,
            shape=site.shape,
            name=site.name,
            is_async=site.is_async,
            harnessed=site.harnessed,
        )

    def _judge(self, node: cst.CSTNode) -> Offer | None:
        """Return the judge an expression is, or holds."""
        for one in (node, *self.view.elements(node)):
            for origin in self.view.origins(one):
                found = self.made.get(origin) or foreign_judge(self.view, origin)
                if found is not None:
                    return found
        return None

    def _made_by(self, function: cst.FunctionDef) -> Offer | None:
        offer = next((one for node in self.view.results(function) if (one := self._judge(node)) is not None), None)
        # what pytest hands to a test is the judge itself
        return None if offer is None else replace(offer, role="judge" if is_fixture(function) else "maker")

    def _client(self, function: cst.FunctionDef) -> Offer | None:
        for node in self.view.own_nodes(function):
            if isinstance(node, cst.Call) and asks_model(self.view, node) and reads_parameters(self.view, node):
                return Offer(role="client", path=self.view.path, line=self.view.position(node).start.line)
        return None

    def _class(self, owner: cst.ClassDef, role: Role) -> Offer | None:
        methods = {method.name.value: self.does[method] for method in self.view.methods(owner) if method in self.does}
        if not methods:
            return None
        return Offer(role=role, path=self.view.path, line=self.view.position(owner).start.line, methods=methods)

    def _bound(self, target: cst.BaseExpression, value: cst.BaseExpression) -> dict[str, Offer]:
        names = [one.value for one in (target, *_parts(target)) if isinstance(one, cst.Name)]
        offer = next(self._of_value(value), None)
        return {} if offer is None else dict.fromkeys(names, offer)

    def _of_value(self, value: cst.BaseExpression) -> Iterator[Offer]:
        judge = self._judge(value)
        if judge is not None:
            yield replace(judge, role="judge")
        for origin in self.view.origins(value):
            if isinstance(origin, cst.FunctionDef) and origin in self.does:
                yield self.does[origin]
            for made in self.view.origins(origin.func) if isinstance(origin, cst.Call) else ():
                offer = self._class(made, "object") if isinstance(made, cst.ClassDef) else None
                if offer is not None:
                    yield offer


def _parts(target: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    if isinstance(target, (cst.Tuple, cst.List)):
        yield from (element.value for element in target.elements)
