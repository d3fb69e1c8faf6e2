"""Where a judge's answers go in a module: a fixpoint over its transfers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.repeating import loops_around
from judgeharness_integrations.migration.transfers import Place, Transfer, Uses, uses_of

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Flow"]

_APPLY = frozenset({"apply", "map", "imap", "starmap", "submit", "run_in_executor", "to_thread", "progress_apply"})
_EACH = _APPLY - {"submit", "run_in_executor", "to_thread"}
_MANY = frozenset({"batch", "abatch"})


class Flow:
    """What values of some calls reach.

    `calls` are those calls and every call of a function of this file that hands them on; `functions` those functions;
    `names` the variables; `collected` the variables that hold several of them.

    Args:
        view: the module.
        seeds: the calls.
        decisions: whether what is decided by an answer (`if text == "yes": wins += 1`) is reached by it.
        several: whether one call brings several answers (`n=5`).

    """

    def __init__(
        self, view: ModuleView, seeds: Iterable[cst.Call], *, decisions: bool = True, several: bool = False
    ) -> None:
        """Follow the values until nothing new is reached."""
        self.view = view
        self.seeds = frozenset(seeds)
        self.calls: set[cst.Call] = set(self.seeds)
        self.names: set[Place] = set()
        self.functions: set[cst.FunctionDef] = set()
        self.collected: set[Place] = set()
        self.several = several
        self._decisions = decisions
        self._spread(view.transfers, self._reach)
        self._spread(view.transfers, self._collect)

    def touches(self, node: cst.CSTNode | None) -> bool:
        """Whether an expression reads one of the values."""
        return node is not None and self._reads(uses_of(self.view, node))

    def gathers(self, node: cst.CSTNode) -> bool:
        """Whether an expression holds several of the values: a comprehension over calls, or what was collected."""
        uses = uses_of(self.view, node)
        return any(name in self.collected for name in uses.names) or any(self._brings_many(one) for one in uses.calls)

    def _spread(self, transfers: tuple[Transfer, ...], step: Callable[[Transfer], bool]) -> None:
        waiting = True
        while waiting:
            waiting = False
            for one in transfers:
                waiting = step(one) or waiting

    def _reads(self, uses: Uses) -> bool:
        return any(name in self.names for name in uses.names) or any(call in self.calls for call in uses.calls)

    def _reach(self, step: Transfer) -> bool:
        if not (self._reads(step.value) or (self._decisions and self._reads(step.guards))):
            return False
        known = len(self.names) + len(self.functions)
        self.names.update(step.targets)
        if step.result_of is not None and step.result_of not in self.functions:
            self.functions.add(step.result_of)
            self.calls.update(self.view.calls_of(step.result_of))
            self.calls.update(call for call in self.view.calls if self._applies(call, step.result_of))
        return len(self.names) + len(self.functions) > known

    def _applies(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        """`frame.apply(judge, axis=1)`, `pool.map(judge, rows)`."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        name = call.func.value if isinstance(call.func, cst.Name) else name
        return name in _APPLY and any(function in self.view.origins(arg.value) for arg in call.args)

    def _brings_many(self, call: cst.Call) -> bool:
        """A call of the flow inside a comprehension, one that is applied to each row, or one that samples several."""
        if call not in self.calls:
            return False
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        name = call.func.value if isinstance(call.func, cst.Name) else name
        if name in _EACH or (call in self.seeds and (self.several or name in _MANY or self._grades_lists(call, name))):
            return True
        return any(isinstance(loop, cst.CompFor) for loop in loops_around(self.view, call))

    def _grades_lists(self, call: cst.Call, name: str) -> bool:
        """`QAEvalChain.evaluate(examples, predictions)` grades lists; no other evaluator has a method of that name."""
        return name == "evaluate" and len(call.args) > 1 and isinstance(call.func, cst.Attribute)

    def _collect(self, step: Transfer) -> bool:
        if not step.targets or not any(name in self.names for name in step.targets):
            return False
        many = any(name in self.collected for name in step.value.names) or any(
            self._brings_many(call) for call in step.value.calls
        )
        many = many or (step.gathers and self._in_loop(step.node))
        if isinstance(step.node, (cst.For, cst.CompFor)) and not _nested(step.node):
            many = False  # one of many is one
        known = len(self.collected)
        if many:
            self.collected.update(step.targets)
        return len(self.collected) > known

    def _in_loop(self, node: cst.CSTNode) -> bool:
        return any(True for _ in loops_around(self.view, node))


def _nested(loop: cst.For | cst.CompFor) -> bool:
    """`for name, total in totals.items()` hands on what was added up."""
    inner = loop.iter
    return (
        isinstance(inner, cst.Call)
        and isinstance(inner.func, cst.Attribute)
        and inner.func.attr.value
        in {
            "items",
            "values",
        }
    )
