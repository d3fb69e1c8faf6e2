"""Which judges of a Python file are wrapped and how, and which are left to their author and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.rewriting.audit import foreign_attribute, in_format_string
from judgeharness_integrations.migration.rewriting.designs import Wrapper
from judgeharness_integrations.migration.rewriting.outcome import ByHand
from judgeharness_integrations.migration.rewriting.outputschema import holds_texts_alone

if TYPE_CHECKING:
    from judgeharness_integrations.migration.sites import JudgeSite
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["HOMES", "Wrap", "by_hand", "decision", "is_discrete", "is_harnessed"]

HOMES: dict[Wrapper, str] = {
    "harness_evaluator": "judgeharness_langchain",
    "harness_judge": "judgeharness_openevals",
    "HarnessRunEvaluator": "judgeharness_langsmith",
}
_WRITTEN_BY_HAND = 'see "Judges written by hand", docs/how-to/judges-written-by-hand.md'
_TRAJECTORIES = frozenset({"trajectory", "agent_trajectory", "TrajectoryEvalChain"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Wrap:
    """A judge that is wrapped where it is made."""

    site: JudgeSite
    node: cst.Call
    wrapper: Wrapper
    several: bool = False  # a call that returns a list of evaluators


def by_hand(site: JudgeSite, why: str, todo: str) -> ByHand:
    """Return the entry of a judge that is left to its author."""
    return ByHand(line=site.line, framework=site.framework, kind=site.kind, why=why, todo=todo)


def decision(view: ModuleView, site: JudgeSite) -> Wrap | ByHand:
    """Return what becomes of a judge that asks a model and is not harnessed yet."""
    node = site.node
    if site.framework == "handwritten" or node is None:
        return by_hand(
            site,
            "it is written by hand",
            "make it a function of a case that returns a verdict, and call JudgeHarness.evaluate(function, case); "
            f"{_WRITTEN_BY_HAND}",
        )
    if in_format_string(view, node):
        return by_hand(site, "it is made inside an f-string", "give it a variable, then run this command again")
    if site.framework == "langchain":
        return _langchain(view, site, node)
    return _openevals(view, site, node)


def _langchain(view: ModuleView, site: JudgeSite, node: cst.Call) -> Wrap | ByHand:
    if site.kind in _TRAJECTORIES:
        return by_hand(
            site,
            "judges of agent trajectories are not harnessed for LangChain",
            "judge the final answer, or use create_trajectory_llm_as_judge of openevals with harness_judge",
        )
    if site.kind == "run_eval_config":
        return by_hand(
            site,
            "run_on_dataset and RunEvalConfig make their evaluators inside LangChain",
            "use langsmith.evaluate(..., evaluators=[HarnessRunEvaluator(load_evaluator(...))]) instead",
        )
    if site.kind == "unknown":
        return by_hand(
            site,
            "which evaluator it is, only running the code tells",
            "wrap it where the kind is known: harness_evaluator(evaluator, JudgeHarness.single('any'))",
        )
    foreign = foreign_attribute(view, node)
    if foreign is not None:
        return by_hand(
            site,
            f"the code uses its {foreign}, which a harnessed evaluator does not have",
            "call evaluate_strings or evaluate_string_pairs case by case, then run this command again",
        )
    return Wrap(site=site, node=node, wrapper="harness_evaluator", several=_makes_several(view, node))


def _makes_several(view: ModuleView, node: cst.Call) -> bool:
    return any(name.endswith(".load_evaluators") for name in view.names(node.func))


def _openevals(view: ModuleView, site: JudgeSite, node: cst.Call) -> Wrap | ByHand:
    if holds_texts_alone(view, node):
        return by_hand(
            site,
            "its output_schema holds free text alone, which cannot be measured",
            "give it a boolean, a number or a Literal field, then run this command again",
        )
    wrapper: Wrapper = "HarnessRunEvaluator" if _in_evaluators(view, node) else "harness_judge"
    return Wrap(site=site, node=node, wrapper=wrapper)


def _in_evaluators(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether a call stands right in the list of `evaluate(..., evaluators=[...])` of LangSmith."""
    match view.parent(node):
        case cst.Element() as element:
            around = view.parent(element)
            arg = None if around is None else view.parent(around)
            call = None if arg is None else view.parent(arg)
            return (
                isinstance(arg, cst.Arg)
                and arg.keyword is not None
                and arg.keyword.value == "evaluators"
                and isinstance(call, cst.Call)
                and _evaluates(view, call)
            )
    return False


def _evaluates(view: ModuleView, call: cst.Call) -> bool:
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in {"evaluate", "aevaluate"}:
        return True  # a client's
    return any(name.startswith("langsmith.") for name in view.names(call.func))


def is_discrete(view: ModuleView, node: cst.Call) -> bool:
    """Whether a judge of openevals is given the choices its scores are taken from."""
    given = view.argument(node, "choices")
    return given is not None and view.value(given) is not None


def is_harnessed(view: ModuleView, site: JudgeSite) -> bool:
    """Whether a judge is harnessed; whatever the wrapper around it is called, and also where each of several is."""
    if site.harnessed or site.node is None:
        return site.harnessed
    match view.parent(site.node):
        case cst.Arg() as arg:
            return _wraps(view, view.parent(arg))
        case cst.CompFor() as loop:
            around = view.parent(loop)
            return loop.iter is site.node and isinstance(around, cst.ListComp) and _wraps(view, around.elt)
    return False


def _wraps(view: ModuleView, call: cst.CSTNode | None) -> bool:
    """Whether a call is one of this package's, whose wrappers and judges take bare evaluators."""
    return isinstance(call, cst.Call) and any(name.startswith("judgeharness_") for name in view.names(call.func))
