"""The judges of a module: those a framework's call makes, and those written by hand; where they are asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import libcst as cst

from .evaluators import given_evaluators, harnessed_nodes, reached_from
from .flow import Flow
from .frameworks import Kind, is_evaluator, langchain_kinds, langsmith_kinds, openevals_kinds, our_kinds
from .modules import CLOSED
from .questions import asks_model, asks_to_judge, grades_at_once, opens_as_judge, prompt_text, questions
from .repetition import loops_around, retried_on_results, samples_of
from .syntax import JudgeSite, dotted, last_name, span_of
from .view import ModuleView

_RECOGNISERS = (langchain_kinds, openevals_kinds, langsmith_kinds, our_kinds)


def made_sites(view: ModuleView) -> tuple[JudgeSite, ...]:
    """Return the judges of LangChain, openevals, LangSmith and of this package that a module makes."""
    harnessed = harnessed_nodes(view)
    return tuple(_made_site(view, call, kind, call in harnessed) for call, kind in _kinds(view))


def _kinds(view: ModuleView) -> Iterator[tuple[cst.Call, Kind]]:
    for call in view.calls:
        names = view.names(call.func)
        if names:
            for recogniser in _RECOGNISERS:
                for kind in recogniser(view, call, names):
                    yield call, kind


def _made_site(view: ModuleView, call: cst.Call, kind: Kind, harnessed: bool) -> JudgeSite:  # noqa: FBT001 - private
    asks = asks_of(view, call)
    return JudgeSite(
        framework=kind.framework,
        kind=kind.kind,
        shape=kind.shape,
        node=call,
        **span_of(view, call),
        name=bound_name(view, call),
        is_async=kind.is_async if kind.is_async is not None or not asks else any(ask.is_async for ask in asks),
        harnessed=harnessed or kind.harnessed,
        deterministic=kind.deterministic,
        samples=samples_of(view, [ask.call for ask in asks]),
        evidence=kind.evidence,
    )


def handwritten_sites(view: ModuleView, made: tuple[JudgeSite, ...]) -> tuple[JudgeSite, ...]:
    """Return the calls that ask a model to judge; those that ask an evaluator of a framework are not among them.

    Args:
        view: the module.
        made: the judges of frameworks in it.

    """
    taken = {ask.call for site in made if site.node is not None for ask in asks_of(view, site.node)}
    taken |= {site.node for site in made if site.node is not None}
    harnessed = harnessed_nodes(view)
    asks = [ask for ask in questions(view) if ask not in taken]
    evidence: dict[cst.Call, str] = {}
    for ask in asks:
        prompt = prompt_text(view, ask)
        found = _verdict_evidence(view, Flow(view, [ask]), prompt) if asks_to_judge(prompt) else None
        if found is not None:
            evidence[ask] = f"a model is asked to judge and {found}"
    evaluators = [one.functions for one in given_evaluators(view)]
    evaluators += [(function,) for function in view.functions if is_evaluator(view, function)]
    given = [reached_from(view, functions) for functions in evaluators]
    clients = [call for call in view.calls if call not in taken and asks_model(view, call)] if given else []
    for functions in given:
        # a helper that is handed on, to `map` say, is not called where its question is worded
        inside = [one for one in asks if _stands_in(view, one, functions)] or [
            client for client in clients if _stands_in(view, client, functions)
        ]
        if inside and evidence.keys().isdisjoint(inside):
            evidence[inside[0]] = "an evaluator of LangSmith asks a model"
    of_langsmith = frozenset().union(*given)
    return tuple(_handwritten_site(view, ask, harnessed, of_langsmith, found) for ask, found in evidence.items())


def _handwritten_site(
    view: ModuleView,
    ask: cst.Call,
    harnessed: frozenset[cst.CSTNode],
    evaluators: frozenset[cst.CSTNode],
    evidence: str,
) -> JudgeSite:
    function, owner = view.function_of(ask), view.class_of(ask)
    called = () if function is None else view.calls_of(function)
    of_langsmith = _stands_in(view, ask, evaluators) or (owner is not None and _runs(view, owner))
    return JudgeSite(
        framework="handwritten",
        kind="run_evaluator" if of_langsmith else "invoke",
        shape="any",
        node=ask,
        **span_of(view, ask),
        name=bound_name(view, ask),
        is_async=is_awaited(view, ask),
        harnessed=ask in harnessed or function in harnessed,
        samples=samples_of(view, [ask, *called]),
        evidence=evidence,
    )


def _stands_in(view: ModuleView, ask: cst.Call, functions: Collection[cst.CSTNode]) -> bool:
    return any(node in functions for node in view.above(ask))


def _runs(view: ModuleView, owner: cst.ClassDef) -> bool:
    return any(name.startswith("langsmith.") for base in owner.bases for name in view.names(base.value))


_METHODS = frozenset(
    {
        *("evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"),
        *("evaluate_agent_trajectory", "aevaluate_agent_trajectory", "evaluate", "aevaluate", "evaluate_run"),
        *("aevaluate_run", "invoke", "ainvoke", "batch", "abatch", "apply", "aapply", "run", "arun", "__call__"),
        *("compare_run_pair", "as_run_evaluator"),
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Ask:
    """A call that asks a judge."""

    call: cst.Call
    is_async: bool


def asks_of(view: ModuleView, made: cst.CSTNode) -> tuple[Ask, ...]:
    """Return the calls that ask the judge an expression makes, through variables, attributes, containers, fixtures."""
    return tuple(
        Ask(call=call, is_async=is_awaited(view, call))
        for call in view.calls
        if call is not made and made in view.origins(asked(call))
    )


def asked(call: cst.Call) -> cst.CSTNode:
    """Return the object a call asks: what stands in front of `.evaluate_strings(`, else what is called itself."""
    if isinstance(call.func, cst.Attribute) and last_name(call.func) in _METHODS:
        return call.func.value
    return call.func


def is_awaited(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call's result is awaited, at once or by `gather`, or its method's name says so."""
    name = last_name(call.func)
    if isinstance(view.parent(call), cst.Await) or (name.startswith("a") and name[1:] in _METHODS):
        return True
    return any(
        isinstance(node, cst.Call) and last_name(node.func) in {"gather", "create_task"} for node in view.above(call)
    )


_AROUND = (cst.Await, cst.IfExp, cst.BooleanOperation, cst.Arg, cst.Call)


def bound_name(view: ModuleView, node: cst.CSTNode) -> str | None:
    """Return the variable or `self.` attribute an expression, or a call around it, is assigned to; None when none."""
    current: cst.CSTNode | None = view.parent(node)
    while isinstance(current, _AROUND):
        current = view.parent(current)
    match current:
        case cst.Assign(targets=[target, *_]):
            return dotted(target.target) or None
        case cst.AnnAssign(target=target) | cst.NamedExpr(target=target):
            return dotted(target) or None
    return None


_FIELD = re.compile(
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
_PARSER = re.compile(r"Parser\b|_parser\b|^parser\b|with_structured_output", re.IGNORECASE)
_PATTERNS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "split"})


def _verdict_evidence(view: ModuleView, flow: Flow, prompt: str) -> str | None:
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
    if stripped and (_CLOSED.search(prompt) or CLOSED.search(prompt)):
        return "its text is the verdict"
    if grades_at_once(prompt) and any(_returns_text(view, call) for call in flow.seeds):
        return "its text is returned as the verdict"
    return "its prompt begins as a judge's" if opens_as_judge(prompt) else None


def _returns_text(view: ModuleView, call: cst.Call) -> bool:
    """Whether a chain that ends with a parser is asked, and its function returns what it says."""
    function = view.function_of(call)
    if function is None or not isinstance(call.func, cst.Attribute):
        return False
    chains = (origin for origin in view.origins(call.func.value) if isinstance(origin, cst.BinaryOperation))
    if not any(isinstance(one.operator, cst.BitOr) and _PARSER.search(_last(view, one.right)) for one in chains):
        return False
    return any(call in view.origins(one) for one in view.results(function))


def _last(view: ModuleView, node: cst.BaseExpression) -> str:
    """The name of the class at the end of a chain."""
    made = (origin.func if isinstance(origin, cst.Call) else origin for origin in view.origins(node))
    return " ".join(last_name(one) for one in made)


def _evidence(view: ModuleView, flow: Flow, node: cst.CSTNode, prompt: str) -> str | None:  # noqa: C901, PLR0911 - a line a form
    match node:
        case cst.Comparison() if _compares(view, flow, node):
            return "its text is compared"
        case cst.Call(func=cst.Name(value=name)) if name in _NUMBERS and _given(flow, node):
            return f"its text is read with {name}()"
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))) if name in _PATTERNS:
            if _given(flow, node) and _is_pattern(view, node, owner):
                return "its text is matched with a regular expression"
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="get")), args=[cst.Arg(value=key), *_]) if (
            _is_looked_up(view, flow, owner, key)
        ):
            return "its text is looked up"
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))) if name in _TESTS:
            if flow.touches(owner) and _tests(view, node, name):
                return f"its text is tested with .{name}()"
        case cst.Attribute(value=owner, attr=cst.Name(value=field)) if _FIELD.match(field) and flow.touches(owner):
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
            return bool(elements) and all(_is_word(view, element.value) for element in elements)
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
    return isinstance(given, str) and (name != "get" or bool(_FIELD.match(given)))


def _looked_up(
    view: ModuleView, flow: Flow, owner: cst.BaseExpression, key: cst.BaseExpression, prompt: str
) -> str | None:
    """`data["verdict"]`, a key the question names, `SCALE[word]`."""
    value = view.value(key)
    if isinstance(value, str) and flow.touches(owner) and (_FIELD.match(value) or _asked_for(value, prompt)):
        return f"its key {value} is read"
    return "its text is looked up" if _is_looked_up(view, flow, owner, key) else None


def _is_looked_up(view: ModuleView, flow: Flow, owner: cst.BaseExpression, key: cst.BaseExpression) -> bool:
    """Whether a text of the flow is a key of a table that stands in the file: `SCALE[word]`, `SCALE.get(word)`."""
    fixed = any(isinstance(origin, cst.Dict) for origin in view.origins(owner))
    return fixed and not flow.touches(owner) and flow.touches(key)


def _asked_for(key: str, prompt: str) -> bool:
    """Whether the question names a key as it does in `JSON with the fields empathy and resolution`."""
    named = re.search(rf"\b{re.escape(key)}\b", prompt) is not None
    return (
        key not in _ENVELOPE and named and re.search(r"\b(?:json|keys?|fields?)\b", prompt, re.IGNORECASE) is not None
    )
