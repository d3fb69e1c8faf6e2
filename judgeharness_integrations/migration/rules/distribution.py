"""JH004: repeats are folded and their counts dropped."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.folding import Fold, folds_of
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection, described
from judgeharness_integrations.migration.recognising.adk import JUDGES
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.transfers import Place, place_of, uses_of
from judgeharness_integrations.migration.tree import last_name, walk
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["HIDDEN_DISTRIBUTION"]

_CODE = "JH004"
# calls that fold or reshape: what they are given is not shown to anybody
_FOLDING = frozenset(
    {
        *("Counter", "set", "sum", "len", "max", "min", "sorted", "list", "tuple", "mean", "fmean", "median", "mode"),
        *("multimode", "average", "count", "get", "most_common", "gather", "array", "items", "values", "append", "any"),
        *("all", "float", "int", "bool", "extend", "range", "zip", "enumerate", "round", "Series", "DataFrame"),
    }
)


def _python(inspection: Inspection) -> Iterator[Finding]:
    seen = set()
    for site in inspection.used:
        flow = inspection.flow(site)
        for fold in folds_of(inspection.view, flow):
            if fold.repeats and fold.node not in seen and not _shown(inspection.view, flow, fold):
                seen.add(fold.node)
                message = (
                    f"repeats of {described(site)} are folded to {fold.way} and their counts dropped: keep the "
                    "distribution beside the verdict, as HarnessResult.sample_distribution does."
                )
                yield inspection.finding(_CODE, fold.node, message, site)


def _shown(view: ModuleView, flow: Flow, fold: Fold) -> bool:
    """Whether what was collected leaves the function by another way than the fold: returned, printed, stored."""
    function = view.function_of(fold.node)
    inside = {fold.node, *walk(fold.node)}
    collected = flow.collected
    for node in view.own_nodes(function if function is not None else view.module):
        if node in inside:
            continue
        match node:
            case cst.Return(value=value) | cst.Yield(value=value) if value is not None:
                if _mentions(view, value, collected, inside):
                    return True
            case cst.Call(func=func, args=args) if last_name(func) not in _FOLDING and not _builds(view, node):
                if any(_mentions(view, arg.value, collected, inside) for arg in args):
                    return True
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Subscript() | cst.Attribute() as target)], value=value
            ):
                read = set(uses_of(view, value).names)
                stored = isinstance(target, cst.Attribute) or not read & set(uses_of(view, target.value).names)
                if stored and _mentions(view, value, collected, inside):
                    return True
    return False


def _builds(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call hands the collection to a function of this file, which may fold it there."""
    return bool(view.callees(call))


def _mentions(view: ModuleView, node: cst.CSTNode, places: set[Place], inside: set[cst.CSTNode]) -> bool:
    """Whether a collected variable stands in an expression, but not in a fold nor only to be counted."""
    for one in (node, *walk(node)):
        if isinstance(one, cst.Name) and one not in inside and place_of(view, one.value, one) in places:
            above = view.parent(one)
            if not (isinstance(above, cst.Arg) and _only_counts(view.parent(above))):
                return True
    return False


def _only_counts(call: cst.CSTNode | None) -> bool:
    return isinstance(call, cst.Call) and last_name(call.func) in {"len", "sum", "set", "max", "any", "all"}


def _config(inspection: ConfigInspection) -> Iterator[Finding]:
    for site in inspection.judges:
        if site.kind in JUDGES and site.samples != 1:
            message = (
                f"ADK folds {site.samples} samples of {site.kind} to one verdict and drops their counts: call "
                "judgeharness_adk.register() in agent.py and set judge_harness."
            )
            yield inspection.finding_at(_CODE, site, message)


HIDDEN_DISTRIBUTION = Rule(
    code=_CODE,
    name="hidden distribution",
    explanation=(
        "The judge is asked several times and only the fold comes out: a verdict of 3 to 2 looks like one of 5 to 0, "
        "and nobody can tell later how firm it was or fold it with another rule. Found where repeats about one case "
        "become a majority, a mode, a mean or a threshold and neither the samples nor their counts are returned, "
        "printed or stored; and for ADK's judges, which drop them. Keep the distribution beside the verdict."
    ),
    python=_python,
    config=_config,
)
