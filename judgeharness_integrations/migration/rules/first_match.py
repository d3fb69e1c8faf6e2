"""JH006: the verdict is the first match, or any mention."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from judgeharness_integrations.migration.answers import is_answer
from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.tree import last_name
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["FIRST_MATCH"]

_CODE = "JH006"
_TO_THE_END = re.compile(r"(?:\$|\\Z)\s*\)*$")
_TEXTS = frozenset({"content", "text", "output_text", "output", "strip", "lower", "upper", "split", "splitlines"})


def _python(inspection: Inspection) -> Iterator[Finding]:
    for site in inspection.used:
        found = _first(inspection.view, site) if site.kind in {"invoke", "run_evaluator"} else None
        if found is not None:
            node, way = found
            message = (
                f"the verdict of {described(site)} is {way}, so that an answer that weighs both sides is misread: take "
                "it from the end of the answer alone, and treat anything else as unparsed."
            )
            yield inspection.finding(_CODE, node, message, site)


def _first(view: ModuleView, site: JudgeSite) -> tuple[cst.CSTNode, str] | None:
    """Where a judge's answer is first read so, and how."""
    found = ((node, _way(view, node, (site.node,))) for node in view.nodes if site.node is not None)
    ways = [(node, way) for node, way in found if way is not None]
    return min(
        ways, key=lambda one: (view.position(one[0]).start.line, view.position(one[0]).start.column), default=None
    )


def _way(view: ModuleView, node: cst.CSTNode, asks: Collection[cst.CSTNode | None]) -> str | None:
    match node:
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=text)]
        ):
            if isinstance(view.value(left), str) and is_answer(view, text, asks):
                return "any mention of a word"
        case cst.Call(func=cst.Attribute(value=text, attr=cst.Name(value="startswith"))) if is_answer(view, text, asks):
            return "how the answer begins"
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="search" | "match"))):
            if _first_match(view, node, asks):
                return "the first match"
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))]):
            if _first_of(view, node, inner, asks):
                return (
                    "the first match"
                    if isinstance(inner, cst.Call) and last_name(inner.func) == "findall"
                    else ("how the answer begins")
                )
    return None


def _first_match(view: ModuleView, call: cst.Call, asks: Collection[cst.CSTNode | None]) -> bool:
    """`re.search(pattern, text)` or `PATTERN.search(text)` whose pattern does not reach the end of the answer."""
    if not any(is_answer(view, arg.value, asks) for arg in call.args):
        return False
    pattern = next((view.value(one) for one in _patterns(view, call) if isinstance(view.value(one), str)), "")
    return not _TO_THE_END.search(pattern)


def _patterns(view: ModuleView, call: cst.Call) -> Iterator[cst.CSTNode]:
    if call.args:
        yield call.args[0].value
    if isinstance(call.func, cst.Attribute):
        for made in view.origins(call.func.value):
            if isinstance(made, cst.Call) and last_name(made.func) == "compile" and made.args:
                yield made.args[0].value


def _first_of(
    view: ModuleView, node: cst.Subscript, inner: cst.BaseExpression, asks: Collection[cst.CSTNode | None]
) -> bool:
    """`re.findall(...)[0]`, `text.split()[0]`, `reply.content[0] == "A"`; not `message.content[0].text`."""
    if isinstance(inner, cst.Call) and last_name(inner.func) == "findall":
        return any(is_answer(view, arg.value, asks) for arg in inner.args)
    if isinstance(view.parent(node), cst.Attribute) and not isinstance(inner, cst.Call):
        return False
    named = last_name(inner.func) if isinstance(inner, cst.Call) else last_name(inner)
    return named in _TEXTS and is_answer(view, inner, asks)


FIRST_MATCH = Rule(
    code=_CODE,
    name="verdict by first match",
    explanation=(
        "The answer is searched for a word, or for the first match of a pattern, and that is the verdict: 'not a PASS' "
        "contains PASS, 'INCORRECT' contains CORRECT, and 'A is verbose ... [[B]]' may begin with the loser. Found "
        "where the text of a model that judges is tested with `in`, `startswith`, an expression that need not reach "
        "the end, or its first piece. Take the verdict from a fixed place at the end, compare it whole, and let "
        "everything else be unparsed."
    ),
    python=_python,
)
