"""Where a model's text becomes a verdict."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.prompting import opens_as_judge
from judgeharness_integrations.migration.repeating import loops_around
from judgeharness_integrations.migration.retrydecorators import retried_on_results
from judgeharness_integrations.migration.tree import last_name

if TYPE_CHECKING:
    from judgeharness_integrations.migration.flow import Flow
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["verdict_evidence"]

FIELD = re.compile(
    r"^(?:\w*_)?(?:score|verdict|grade|rating|winner|preference|decision|judge?ment|label|choice|passed|pass|correct"
    r"|is_correct|is_\w+|assess\w*|better|binary_score|grounded|relevant|faithful|approved)$",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"\bexactly one\b|\bone word\b|\bonly (?:the|one|a)\b|\b\w+ or \w+ only\b", re.IGNORECASE)
_ENVELOPE = frozenset({"role", "content", "message", "messages", "choices", "text", "output", "data", "type"})
# fields of a response that say how it came, not what it says
_CARRIER = frozenset({"stop_reason", "finish_reason", "stop_sequence", "type", "role", "status_code", "object"})
_NUMBERS = frozenset({"int", "float", "bool", "Decimal", "literal_eval", "Counter"})
_TESTS = frozenset({"startswith", "endswith", "find", "index", "count", "isdigit", "get"})
_PARSERS = frozenset({"loads", "model_validate_json", "validate_json", "parse_raw", "literal_eval"})
_PATTERNS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "split"})


def verdict_evidence(view: ModuleView, flow: Flow, prompt: str) -> str | None:
    """Return how a flow's values become a verdict in this module, None if they stay texts.

    Args:
        view: the module.
        flow: where the answers go.
        prompt: the words of the question; one that allows a few words only makes the whole answer a verdict.

    """
    for node in view.nodes:
        found = _evidence(view, flow, node, prompt)
        if found is not None:
            return found
    if any(True for function in flow.functions for _ in retried_on_results(view, function)):
        return "its text decides whether it is asked again"
    stripped = any(
        isinstance(one, cst.Call) and last_name(one.func) == "strip" and flow.touches(one) for one in view.calls
    )
    if stripped and _CLOSED.search(prompt):
        return "its text is the verdict"
    return "its prompt begins as a judge's" if opens_as_judge(prompt) else None


def _evidence(view: ModuleView, flow: Flow, node: cst.CSTNode, prompt: str) -> str | None:  # noqa: C901, PLR0911 - a line a form
    match node:
        case cst.Comparison() if _compares(view, flow, node):
            return "its text is compared"
        case cst.Call(func=cst.Name(value=name)) if name in _NUMBERS and _given(flow, node):
            return f"its text is read with {name}()"
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))) if name in _PATTERNS:
            if _given(flow, node) and _is_pattern(view, node, owner):
                return "its text is matched with a regular expression"
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))) if name in _TESTS:
            if flow.touches(owner) and _tests(view, node, name):
                return f"its text is tested with .{name}()"
        case cst.Attribute(value=owner, attr=cst.Name(value=field)) if FIELD.match(field) and flow.touches(owner):
            return f"its field {field} is read"
        case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=key)), *_]):
            return _looked_up(view, flow, owner, key, prompt)
        case cst.Call(func=func) if last_name(func) in _PARSERS and _given(flow, node) and _is_tried_again(view, node):
            return "its text is read until it can be"
        case cst.Match(subject=subject) if flow.touches(subject):
            return "its text is matched"
    return None


def _given(flow: Flow, call: cst.Call) -> bool:
    return any(flow.touches(arg.value) for arg in call.args)


def _is_tried_again(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether a failure goes round a loop: `while True: try: return json.loads(ask()) except ValueError: continue`."""
    return any(
        isinstance(one, cst.Try) and any(isinstance(loop, (cst.For, cst.While)) for loop in loops_around(view, one))
        for one in view.above(node)
    )


def _compares(view: ModuleView, flow: Flow, node: cst.Comparison) -> bool:
    """A text of the flow against a fixed text, or a fixed text inside it; a list of fixed texts too."""
    sides = [node.left, *(one.comparator for one in node.comparisons)]
    if any(isinstance(side, cst.Attribute) and side.attr.value in _CARRIER for side in sides):
        return False
    if not any(flow.touches(side) for side in sides):
        return False
    others = [side for side in sides if not flow.touches(side)]
    return any(_is_word(view, side) for side in others)


def _is_word(view: ModuleView, node: cst.BaseExpression) -> bool:
    match node:
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
            return bool(elements) and all(_is_word(view, one.value) for one in elements)
    value = view.value(node)
    return isinstance(value, str) or (isinstance(value, (int, float)) and value is not None)


def _is_pattern(view: ModuleView, call: cst.Call, owner: cst.BaseExpression) -> bool:
    """`re.search(...)`, or a method of a compiled pattern."""
    if any(name.split(".")[0] in {"re", "regex"} for name in view.names(call.func)):
        return True
    return any(isinstance(made, cst.Call) and last_name(made.func) == "compile" for made in view.origins(owner))


def _tests(view: ModuleView, call: cst.Call, name: str) -> bool:
    if name == "isdigit":
        return True
    given = view.value(call.args[0].value) if call.args else ...
    return isinstance(given, str) and (name != "get" or bool(FIELD.match(given)))


def _looked_up(
    view: ModuleView, flow: Flow, owner: cst.BaseExpression, key: cst.BaseExpression, prompt: str
) -> str | None:
    """`data["verdict"]`, a key the question names, `SCALE[word]`."""
    value = view.value(key)
    if isinstance(value, str) and flow.touches(owner) and (FIELD.match(value) or _asked_for(value, prompt)):
        return f"its key {value} is read"
    fixed = any(isinstance(one, cst.Dict) for one in view.origins(owner))
    return "its text is looked up" if fixed and not flow.touches(owner) and flow.touches(key) else None


def _asked_for(key: str, prompt: str) -> bool:
    """Whether the question names a key as it does in `JSON with the fields empathy and resolution`."""
    named = re.search(rf"\b{re.escape(key)}\b", prompt) is not None
    return (
        key not in _ENVELOPE and named and re.search(r"\b(?:json|keys?|fields?)\b", prompt, re.IGNORECASE) is not None
    )
