"""Judges written by hand: a model is asked with words of judging, and its text becomes a verdict."""

from __future__ import annotations

import libcst as cst

from judgeharness_integrations.migration.asking import asks_of, is_awaited
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.harnessing import harnessed_nodes
from judgeharness_integrations.migration.naming import bound_name
from judgeharness_integrations.migration.prompting import JUDGING, prompt_text
from judgeharness_integrations.migration.questions import questions
from judgeharness_integrations.migration.recognising.langsmith import is_evaluator
from judgeharness_integrations.migration.repeating import samples_of
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.verdicts import verdict_evidence
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["handwritten_sites"]


def handwritten_sites(view: ModuleView, made: tuple[JudgeSite, ...]) -> tuple[JudgeSite, ...]:
    """Return the calls that ask a model to judge; those that ask an evaluator of a framework are not among them.

    Args:
        view: the module.
        made: the judges of frameworks in it.

    """
    taken = {ask.call for site in made if site.node is not None for ask in asks_of(view, site.node)}
    taken |= {site.node for site in made if site.node is not None}
    harnessed = harnessed_nodes(view)
    found = []
    for ask in questions(view):
        prompt = "" if ask in taken else prompt_text(view, ask)
        if not JUDGING.search(prompt):
            continue
        evidence = verdict_evidence(view, Flow(view, [ask]), prompt)
        if evidence is not None:
            found.append(_site(view, ask, harnessed, evidence))
    return tuple(found)


def _site(view: ModuleView, ask: cst.Call, harnessed: frozenset[cst.CSTNode], evidence: str) -> JudgeSite:
    place = view.position(ask)
    function, owner = view.function_of(ask), view.class_of(ask)
    of_langsmith = (function is not None and is_evaluator(view, function)) or (owner is not None and _runs(view, owner))
    samples = samples_of(view, [ask, *_calls(view, function)])
    return JudgeSite(
        framework="handwritten",
        kind="run_evaluator" if of_langsmith else "invoke",
        shape="any",
        node=ask,
        line=place.start.line,
        column=place.start.column + 1,
        end_line=place.end.line,
        end_column=place.end.column + 1,
        name=bound_name(view, ask),
        is_async=is_awaited(view, ask),
        harnessed=ask in harnessed or function in harnessed,
        samples=samples,
        evidence=f"a model is asked to judge and {evidence}",
    )


def _calls(view: ModuleView, function: cst.FunctionDef | None) -> tuple[cst.Call, ...]:
    return () if function is None else view.calls_of(function)


def _runs(view: ModuleView, owner: cst.ClassDef) -> bool:
    return any(name.startswith("langsmith.") for base in owner.bases for name in view.names(base.value))
