"""JH001: the prompt warns of position bias, and the code never swaps."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.prompting import ORDER_WARNING, prompt_text
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["BIAS_WARNING"]

_CODE = "JH001"
_SWAPS = re.compile(
    r"swap|revers|flip|shuffl|permut|both_orders|other_order|randomi[sz]e_order|counterbalanc", re.IGNORECASE
)
_BUILT_IN = frozenset({"pairwise_string", "labeled_pairwise_string"})  # their own prompts warn


def _python(inspection: Inspection) -> Iterator[Finding]:
    view = inspection.view
    if not any(_warns(view, site) for site in inspection.judges) or _swaps(view):
        return
    for site in inspection.judges:
        if _warns(view, site) and not _asks_both_orders(inspection, site):
            yield inspection.finding_at(
                _CODE,
                site,
                f"the prompt of {described(site)} warns of position bias and the code never swaps: ask in both orders, "
                "as the perturbation position_swap does.",
            )


def _warns(view: ModuleView, site: JudgeSite) -> bool:
    if site.node is None:
        return False
    if site.framework == "langchain" and site.kind in _BUILT_IN and view.argument(site.node, "prompt") is None:
        return True
    return bool(ORDER_WARNING.search(prompt_text(view, site.node)))


def _swaps(view: ModuleView) -> bool:
    """Whether anything in the module is called after swapping; words in texts and comments do not count."""
    return any(isinstance(node, cst.Name) and _SWAPS.search(node.value) for node in view.nodes)


def _asks_both_orders(inspection: Inspection, site: JudgeSite) -> bool:
    """Two questions in one function with the same arguments in another order."""
    view = inspection.view
    orders: dict[tuple[cst.CSTNode | None, tuple[str, ...]], set[tuple[str, ...]]] = {}
    for call in inspection.flow(site).calls:
        given = tuple(view.module.code_for_node(arg.value) for arg in call.args)
        orders.setdefault((view.function_of(call), tuple(sorted(given))), set()).add(given)
    return any(len(found) > 1 for found in orders.values())


BIAS_WARNING = Rule(
    code=_CODE,
    name="bias warning as harness",
    explanation=(
        "The prompt asks the judge not to be influenced by the order of the answers, and that sentence is all that is "
        "done about it: position bias is a property of the model, which a request does not switch off and which only "
        "asking in both orders shows. Found where the words that reach the question warn of position or order (the "
        "built-in prompts of LangChain's pairwise evaluators do) and nothing in the module swaps, shuffles or asks "
        "with the arguments exchanged. Use the perturbation position_swap with swap_consensus."
    ),
    python=_python,
)
