"""What a module offers to those that import it: judges, functions that make or ask them, clients, words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import libcst as cst

from judgeharness_integrations.migration.asking import asks_of
from judgeharness_integrations.migration.binding import is_fixture
from judgeharness_integrations.migration.clients import asks_model
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.imported import foreign_judge, imported_sites
from judgeharness_integrations.migration.prompting import reads_parameters
from judgeharness_integrations.migration.site import Framework, JudgeShape, JudgeSite
from judgeharness_integrations.migration.sites import find_sites
from judgeharness_integrations.migration.sources import Source
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Offer", "offers_of"]

Role: TypeAlias = Literal["judge", "maker", "asker", "client", "class", "object"]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One name of a module.

    Args:
        role: `judge` is asked itself, a `maker` returns one, an `asker` asks one, a `client` asks a model what it is
            given; a `class`, and an `object` of one, have `methods` that do so.
        path, line: where the judge is made or asked.
        framework, kind, shape, name, is_async, harnessed: as of its site.
        methods: what the methods do.

    """

    role: Role
    path: Path
    line: int
    framework: Framework = "handwritten"
    kind: str = "invoke"
    shape: JudgeShape = "any"
    name: str | None = None
    is_async: bool | None = None
    harnessed: bool = False
    methods: Mapping[str, Offer] = field(default_factory=dict)


def offers_of(source: Source) -> dict[str, Offer]:
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
        by_hand = site.kind in {"invoke", "run_evaluator"}
        if not by_hand and site.definition is None:
            self.made[node] = offer
        asks = site.uses or ((node,) if by_hand else tuple(one.call for one in asks_of(self.view, node)))
        asks = tuple(one for one in asks if foreign_judge(self.view, one) is None)
        askers = {*Flow(self.view, asks).functions, *(self.view.function_of(one) for one in asks)}
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
        methods = {one.name.value: self.does[one] for one in self.view.methods(owner) if one in self.does}
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
        yield from (one.value for one in target.elements)
