"""JH012: an answer that failed counts as a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.tree import last_name, walk
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["FAILURE_AS_VERDICT"]

_CODE = "JH012"
_NO_VERDICT = re.compile(
    r"unpars|error|unknown|invalid|^n/?a$|none|abstain|fail(?:ed|ure)|missing|^$|unable", re.IGNORECASE
)


def _python(inspection: Inspection) -> Iterator[Finding]:
    seen = set()
    for site in inspection.used:
        flow = inspection.flow(site, decisions=False)
        for node in _failures(inspection.view, flow):
            if node not in seen:
                seen.add(node)
                message = (
                    f"an answer of {described(site)} that failed or could not be read counts as this verdict: return "
                    "None or raise, and count such answers."
                )
                yield inspection.finding(_CODE, node, message, site)


def _failures(view: ModuleView, flow: Flow) -> Iterator[cst.CSTNode]:
    for node in view.nodes:
        match node:
            case cst.Try(body=body, handlers=handlers) if _reads(flow, body):
                for handler in handlers:
                    yield from _constants(view, flow, handler.body, _results(view, flow, body))
            case cst.IfExp(test=test, orelse=orelse) if _is_match(view, flow, test) and _is_verdict(view, orelse):
                yield orelse
            case cst.If(test=test, body=body) if _is_no_match(view, flow, test):
                yield from _constants(view, flow, body, frozenset())


def _reads(flow: Flow, body: cst.CSTNode) -> bool:
    """Whether a `try` asks the judge or reads its answer."""
    return flow.touches(body)


def _results(view: ModuleView, flow: Flow, body: cst.CSTNode) -> frozenset[str]:
    """Variables a `try` gives the answer to."""
    found: set[str] = set()
    for node in walk(body):
        if isinstance(node, cst.Assign) and flow.touches(node.value):
            found |= {last_name(target.target) for target in node.targets}
    del view
    return frozenset(found)


def _constants(view: ModuleView, flow: Flow, body: cst.CSTNode, results: frozenset[str]) -> Iterator[cst.CSTNode]:
    """What a branch returns, or gives the answer's variable, if it is fixed and looks like a verdict."""
    for node in walk(body, stop=(cst.FunctionDef,)):
        match node:
            case cst.Return(value=value) if value is not None and _is_verdict(view, value):
                if view.function_of(node) in flow.functions:
                    yield value
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                if name in results and _is_verdict(view, value):
                    yield value


def _is_verdict(view: ModuleView, node: cst.BaseExpression) -> bool:
    value = view.value(node)
    if isinstance(value, str):
        return not _NO_VERDICT.search(value)
    if isinstance(node, cst.Dict):
        return any(
            isinstance(one, cst.DictElement)
            and view.value(one.key) in {"score", "verdict"}
            and _is_verdict(view, one.value)
            for one in node.elements
        )
    return isinstance(value, (int, float)) and value >= 0


def _is_match(view: ModuleView, flow: Flow, test: cst.BaseExpression) -> bool:
    """`match`, `match is not None`: whether an expression matched the answer."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.IsNot())]):
            return _is_match(view, flow, left)
        case cst.Name():
            return flow.touches(test) and any(
                isinstance(one, cst.Call) and last_name(one.func) in {"search", "match", "fullmatch", "findall"}
                for one in view.origins(test)
            )
    return False


def _is_no_match(view: ModuleView, flow: Flow, test: cst.BaseExpression) -> bool:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _is_match(view, flow, inner)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.Is())]):
            return _is_match(view, flow, left)
    return False


FAILURE_AS_VERDICT = Rule(
    code=_CODE,
    name="failure counted as verdict",
    explanation=(
        "An answer that could not be read, or a call that failed, becomes a verdict: 0 points, FAIL, a tie. Failures "
        "are then indistinguishable from bad answers and move every rate. Found where an `except` around the question "
        "or its parsing returns a fixed verdict, or the other side of a match does. Return None or raise, count such "
        "answers, and print them in the denominator."
    ),
    python=_python,
)
