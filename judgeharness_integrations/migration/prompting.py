"""The words a model is asked with: every text that can reach a question from the place where it is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.constants import string_of, texts_below
from judgeharness_integrations.migration.prefilter import ROLE
from judgeharness_integrations.migration.tree import last_name, walk

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["JUDGING", "ORDER_WARNING", "leading_texts", "opens_as_judge", "prompt_text", "reads_parameters"]

JUDGING = re.compile(
    r"\bjudg(?:e|es|ing|e?ment)\b|\bevaluat(?:e|es|or|ing|ion)\b|\bgrad(?:e|es|er|ing)\b|\brat(?:e|es|er|ing)\b"
    r"|\bscor(?:e|es|ing)\b|\bverdict\b|\bassess(?:es|ing|ment)?\b|\bcritique\b|\brubric\b|\bon a scale\b|\[\[[AB]\]\]"
    r"|\bwhich\b[^.?\n]{0,60}\b(?:is|was) better\b|\bbetter (?:one|answer|response)\b|\bPASS\b[^.\n]{0,40}\bFAIL\b"
    r"|\bis (?:the|this) (?:\w+ ){1,3}(?:correct|good|helpful|faithful|grounded|polite|relevant|better)\b"
    r"|\bcompare\b[^.\n]{0,60}\b(?:answer|response|repl|output)|\bcompare (?:two|these|both)\b"
    r"|\b(?:determine|decide|check) (?:if|whether)\b",
    re.IGNORECASE,
)
ORDER_WARNING = re.compile(
    r"position(?:al)? bias|\border\b[^.\n]{0,50}\b(?:present|shown|appear|response|answer|repl|given)"
    r"|(?:influence|affect|sway|regardless|ignor|irrespective)[^.\n]{0,60}\b(?:order|position)\b"
    r"|\b(?:order|position)\b[^.\n]{0,60}(?:influence|affect|sway|matter)",
    re.IGNORECASE,
)
_STEPS = 400  # expressions looked at; prompts are near
_DEPTH = 6  # names, builders and chains between a question and its words


def opens_as_judge(text: str) -> bool:
    """Whether a prompt, or one of those that are joined, begins by making the model a judge."""
    return bool(ROLE.search(text))


def leading_texts(view: ModuleView, node: cst.CSTNode, depth: int = 3) -> Iterator[str]:
    """Yield the fixed texts an expression may begin with: `"You are a judge." + x`, `P.format(x)`, a variable's."""
    match node:
        case cst.BinaryOperation(left=left):
            yield from leading_texts(view, left, depth)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if method in _KEEP_THE_BEGINNING:
            yield from leading_texts(view, owner, depth)
        case cst.Name() | cst.Attribute() if depth:
            for one in view.steps(node):
                if one is not node:
                    yield from leading_texts(view, one, depth - 1)
        case _:
            yield string_of(node)


def prompt_text(view: ModuleView, ask: cst.Call) -> str:
    """Return the texts that reach a question: literals, constants, templates, chains, builders, schemas.

    Parameters of the function that asks are not followed to its callers: their words are of another question.
    """
    if ask not in view.prompt_texts:
        view.prompt_texts[ask] = "\n".join(_texts(view, ask))
    return view.prompt_texts[ask]


def _texts(view: ModuleView, ask: cst.Call) -> Iterator[str]:
    seen: set[cst.CSTNode] = set()
    waiting: list[tuple[cst.CSTNode, int]] = [(one, _DEPTH) for one in (ask.func, *(arg.value for arg in ask.args))]
    while waiting and len(seen) < _STEPS:
        node, depth = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, cst.ClassDef):
            yield from (string_of(one) for one in walk(node) if isinstance(one, cst.SimpleString))
            continue
        yield from texts_below(node)
        for inner in (node, *walk(node, stop=_OTHERS)) if depth > 0 else ():
            yield from _imported(view, inner)
            waiting.extend((one, depth - 1) for one in _sources(view, inner, ask))


_KEEP_THE_BEGINNING = frozenset({"format", "strip", "rstrip", "lstrip", "replace", "format_map"})
_OTHERS = (cst.FunctionDef, cst.ClassDef)
_PROMPT = re.compile(r"prompt|template|instruction|rubric", re.IGNORECASE)


def _imported(view: ModuleView, node: cst.CSTNode) -> Iterator[str]:
    """The words of a prompt of another scanned file, and of its name: `GRADER_PROMPT` speaks for itself."""
    if view.tree is not None and isinstance(node, (cst.Name, cst.Attribute)):
        yield from filter(None, (view.tree.words(view.path, full) for full in sorted(view.names(node))))
    if isinstance(node, (cst.Name, cst.Attribute)) and _PROMPT.search(last_name(node)) and view.names(node):
        yield last_name(node).replace("_", " ")


def _sources(view: ModuleView, node: cst.CSTNode, ask: cst.Call) -> Iterator[cst.CSTNode]:
    """What a name or a field in a question stands for, one step back."""
    if isinstance(node, cst.Name) and not _is_label(view, node) and not _is_parameter(view, node, ask):
        yield from (one for one in view.steps(node) if one is not node)
        yield from _added(view, node)
    elif isinstance(node, cst.Attribute):
        yield from (one for one in view.steps(node) if one is not node)


def _is_label(view: ModuleView, node: cst.Name) -> bool:
    parent = view.parent(node)
    return (isinstance(parent, cst.Attribute) and parent.attr is node) or (
        isinstance(parent, cst.Arg) and parent.keyword is node
    )


def _is_parameter(view: ModuleView, node: cst.Name, ask: cst.Call) -> bool:
    function = view.function_of(ask)
    return function is not None and node.value in _parameters(function)


def _parameters(function: cst.FunctionDef) -> set[str]:
    params = function.params
    stars = (one for one in (params.star_arg, params.star_kwarg) if isinstance(one, cst.Param))
    return {
        one.name.value
        for one in (*params.posonly_params, *params.params, *params.kwonly_params, *stars)
        if one.default is None or isinstance(one.default, cst.Name)
    }


def _added(view: ModuleView, name: cst.Name) -> Iterator[cst.CSTNode]:
    """What is appended to a list of messages in the same function."""
    for call in view.additions.get(name.value, ()):
        if view.function_of(call) is view.function_of(name):
            yield from (arg.value for arg in call.args)


def reads_parameters(view: ModuleView, ask: cst.Call) -> bool:
    """Whether what a function asks is given to it, so that its callers word the question."""
    function = view.function_of(ask)
    if function is None:
        return False
    names = _parameters(function) - {"self", "cls"}
    waiting: list[cst.CSTNode] = [arg.value for arg in ask.args]
    seen: set[cst.CSTNode] = set()
    while waiting and len(seen) < _STEPS:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        for inner in (node, *walk(node)):
            if isinstance(inner, cst.Name):
                if inner.value in names:
                    return True
                waiting.extend(
                    one for one in view.steps(inner) if one is not inner and view.function_of(one) is function
                )
                waiting.extend(_added(view, inner))
    return False
