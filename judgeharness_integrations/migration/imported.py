"""Judges of other scanned files, at their uses in this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import Assignment

from judgeharness_integrations.migration.asking import asked, is_awaited
from judgeharness_integrations.migration.binding import is_fixture
from judgeharness_integrations.migration.harnessing import harnessed_nodes
from judgeharness_integrations.migration.naming import bound_name
from judgeharness_integrations.migration.repeating import samples_of
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.tree import last_name

if TYPE_CHECKING:
    from judgeharness_integrations.migration.offers import Offer
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["foreign_judge", "imported_sites", "is_foreign_client", "offer_of_call"]


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
                judge = foreign_judge(view, node) or _given_function(view, node)
                if judge is not None:
                    yield judge, node, False


def foreign_judge(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    """Return the judge of another file an expression is: its name, or a call that makes it."""
    if isinstance(node, cst.Call):
        offer, role = offer_of_call(view, node), "maker"
    else:
        offer, role = _offer_at(view, node.value if isinstance(node, cst.Subscript) else node), "judge"
    return offer if offer is not None and offer.role == role else None


def _given_function(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    """`evaluate(target, evaluators=[grade])`: a function that asks is handed on."""
    offer = _offer_at(view, node)
    return offer if offer is not None and offer.role == "asker" else None


def is_foreign_client(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call runs a function of another file that asks a model what it is given."""
    offer = offer_of_call(view, call) if view.tree is not None else None
    return offer is not None and offer.role == "client"


def offer_of_call(view: ModuleView, call: cst.Call) -> Offer | None:
    """Return what a call of a function of another file does, or of a method of an object made there."""
    offer = _offer_at(view, call.func)
    if offer is not None or not isinstance(call.func, cst.Attribute):
        return offer
    for made in view.origins(call.func.value) if view.tree is not None else ():
        owner = _offer_at(view, made.func if isinstance(made, cst.Call) else made)
        if owner is not None and owner.role == ("class" if isinstance(made, cst.Call) else "object"):
            return owner.methods.get(call.func.attr.value)
    return None


def _offer_at(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    if view.tree is None or not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    for full in sorted(view.names(node)):
        offer = view.tree.offer(view.path, full)
        if offer is not None:
            return offer
    return _fixture(view, node) if isinstance(node, cst.Name) else None


def _fixture(view: ModuleView, node: cst.Name) -> Offer | None:
    """The judge pytest gives a test or a fixture by the name of its parameter."""
    offer = None if view.tree is None else view.tree.fixture(view.path, node.value)
    function, scope = (view.function_of(node), view.scope(node)) if offer is not None else (None, None)
    if function is None or scope is None:
        return None
    if not (function.name.value.startswith("test") or is_fixture(function)):
        return None
    bound = (one.node for one in scope[node.value] if isinstance(one, Assignment))
    if not any(isinstance(one, cst.Param) or isinstance(view.parent(one), cst.Param) for one in bound):
        return None
    if any(one.name.value == node.value and is_fixture(one) for one in view.functions):
        return None
    return offer


def _site(view: ModuleView, use: _Use) -> JudgeSite:
    uses = tuple(dict.fromkeys(use.asks or use.passes))
    offer, first = use.offer, min(uses, key=lambda one: view.position(one).start.line)
    place = view.position(first)
    return JudgeSite(
        framework=offer.framework,
        kind=offer.kind,
        shape=offer.shape,
        node=first,
        line=place.start.line,
        column=place.start.column + 1,
        end_line=place.end.line,
        end_column=place.end.column + 1,
        name=(last_name(asked(first)) if use.asks else bound_name(view, first)) or offer.name,
        is_async=offer.is_async if not use.asks else any(is_awaited(view, one) for one in uses),
        harnessed=use.harnessed,
        samples=samples_of(view, use.asks),
        evidence=f"it is the judge of {offer.path}:{offer.line}",
        definition=(offer.path, offer.line),
        uses=uses,
    )
