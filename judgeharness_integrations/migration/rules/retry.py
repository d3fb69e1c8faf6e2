"""JH005: the judge is asked again because of what it said."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.repeating import assigned_names, loops_around, repetition
from judgeharness_integrations.migration.retrydecorators import retried_on_results
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.tree import walk
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["RETRY_ON_VERDICT"]

_CODE = "JH005"
# an answer that is looked for by itself; two of them, side by side, ask whether there is an answer at all
_WELCOME = re.compile(
    r"^\W*(?:(?:verdict|score|result|grade|answer|decision)\W+)?(?:pass(?:ed)?|fail(?:ed)?|yes|no|true|false|good|bad"
    r"|correct|incorrect|[ab]|win(?:s|ner)?|approved?|accept(?:ed)?|reject(?:ed)?|ok|better|worse|safe|unsafe|\d+)\W*$",
    re.IGNORECASE,
)


def _python(inspection: Inspection) -> Iterator[Finding]:
    view, seen = inspection.view, set[cst.CSTNode]()
    for site in inspection.used:
        flow = inspection.flow(site)
        for call in sorted(flow.calls, key=lambda one: view.position(one).start.line):
            if call not in seen and (
                _in_branch(view, flow, call) or _in_loop(view, flow, call) or _until_any(view, flow, call)
            ):
                seen.add(call)
                yield inspection.finding(_CODE, call, _message(site), site)
        for decorator in _decorators(view, flow):
            if decorator not in seen:
                seen.add(decorator)
                yield inspection.finding(_CODE, decorator, _message(site), site)


def _message(site: JudgeSite) -> str:
    return (
        f"{described(site)} is asked again because of its own verdict, so that one side gets more chances: repeating "
        "until a wanted verdict comes biases the result. Fix the number of samples and the rule before the first one."
    )


def _decorators(view: ModuleView, flow: Flow) -> Iterator[cst.Decorator]:
    """`@retry(retry=retry_if_result(lambda verdict: verdict != "PASS"))`."""
    for function in sorted(flow.functions, key=lambda one: view.position(one).start.line):
        yield from retried_on_results(view, function)


def _in_branch(view: ModuleView, flow: Flow, call: cst.Call) -> bool:
    """An earlier verdict is tested, and the same question follows under it."""
    for above in view.above(call):
        if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
            return False
        if isinstance(above, cst.If) and _on_verdict(view, flow, above.test) and not _within(above.test, call):
            return _asked_before(view, flow, call, above) or _asks_itself(view, call)
    return False


def _asked_before(view: ModuleView, flow: Flow, call: cst.Call, branch: cst.If) -> bool:
    """The same call with the same arguments stands outside the branch, in the same function."""
    question = view.module.code_for_node(call)
    return not _changes(branch.body, call) and any(
        other is not call
        and view.function_of(other) is view.function_of(call)
        and not _within(branch.body, other)
        and view.module.code_for_node(other) == question
        for other in flow.calls
    )


def _asks_itself(view: ModuleView, call: cst.Call) -> bool:
    """A function calls itself about the parameters it was given."""
    function = view.function_of(call)
    if function is None or function not in view.callees(call):
        return False
    own = [one.name.value for one in function.params.params if one.name.value not in {"self", "cls"}]
    given = [arg.value.value for arg in call.args if arg.keyword is None and isinstance(arg.value, cst.Name)]
    return bool(given) and given == own[: len(given)] and not set(given) & assigned_names(function.body)


def _in_loop(view: ModuleView, flow: Flow, call: cst.Call) -> bool:
    """A loop ends on the verdict and asks the same question each time."""
    for loop in loops_around(view, call):
        if isinstance(loop, cst.CompFor) or _changes(loop.body, call) or _is_target(loop, call):
            continue
        if isinstance(loop, cst.While) and _on_verdict(view, flow, loop.test):
            return True
        if any(_on_verdict(view, flow, test) for test in _ways_out(loop)):
            return True
    return False


def _until_any(view: ModuleView, flow: Flow, call: cst.Call) -> bool:
    """`any("PASS" in ask(prompt) for _ in range(5))` stops at the first welcome verdict."""
    for one in view.above(call):
        match one:
            case cst.Call(func=cst.Name(value="any"), args=[cst.Arg(value=cst.GeneratorExp() as each), *_]):
                again = repetition(view, each.for_in, call) != 1
                tests = [each.elt, *(found.test for found in each.for_in.ifs)]
                return again and any(_on_verdict(view, flow, test) for test in tests)
            case cst.FunctionDef() | cst.ClassDef():
                return False
    return False


def _is_target(loop: cst.For | cst.While, call: cst.Call) -> bool:
    if isinstance(loop, cst.While):
        return False
    names = {one.value for one in (loop.target, *walk(loop.target)) if isinstance(one, cst.Name)}
    return any(isinstance(one, cst.Name) and one.value in names for one in walk(call))


def _ways_out(loop: cst.For | cst.While) -> Iterator[cst.BaseExpression]:
    """Tests under which the loop is left."""
    for node in walk(loop.body, stop=(cst.FunctionDef, cst.ClassDef, cst.For, cst.While)):
        if isinstance(node, cst.If) and any(
            isinstance(one, (cst.Break, cst.Return))
            for one in walk(node.body, stop=(cst.FunctionDef, cst.For, cst.While))
        ):
            yield node.test


def _on_verdict(view: ModuleView, flow: Flow, test: cst.BaseExpression) -> bool:  # noqa: PLR0911 - one a form
    """Whether a test looks at a verdict; whether there is a valid one at all is another question."""
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]):
            return False
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=known)]):
            if _is_sought(view, test) and flow.touches(known):
                return True
            return not isinstance(known, (cst.Set, cst.List, cst.Tuple, cst.Name, cst.Attribute)) and flow.touches(test)
        case cst.BooleanOperation(left=left, right=right):
            if _is_sought(view, left) and _is_sought(view, right):
                return False
            return _on_verdict(view, flow, left) or _on_verdict(view, flow, right)
        case cst.UnaryOperation(expression=inner):
            return _on_verdict(view, flow, inner)
        case cst.Name():
            return flow.touches(test) and not _may_be_missing(flow)
    return flow.touches(test)


def _is_sought(view: ModuleView, test: cst.BaseExpression) -> bool:
    """Whether a test looks for one verdict in a text: `"PASS" in reply`."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn())]):
            value = view.value(left)
            return isinstance(value, str) and bool(_WELCOME.match(value))
    return False


def _may_be_missing(flow: Flow) -> bool:
    """Whether the flow's functions say None for an answer that could not be read."""
    return any(
        isinstance(node, cst.Return) and (node.value is None or _is_none(node.value))
        for function in flow.functions
        for node in flow.view.own_nodes(function)
    )


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _changes(body: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a block assigns what the question is about."""
    names = {one.value for arg in call.args for one in (arg.value, *walk(arg.value)) if isinstance(one, cst.Name)}
    return bool(names & assigned_names(body))


def _within(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return any(one is inner for one in walk(outer))


RETRY_ON_VERDICT = Rule(
    code=_CODE,
    name="asked again on its verdict",
    explanation=(
        "The judge is asked again when it said the wrong thing: until it passes, or once more after a tie. The side "
        "that triggers the retry gets fewer chances than the other, so the rate that comes out is biased by "
        "construction. Found where the same question follows inside an `if` or a loop that tests the judge's own "
        "verdict, where a decorator runs the judge again on its result, or where `any` stops at a welcome one. "
        "An answer that could not be read may be asked for again (tests for None do not count), and so may "
        "another text (arguments that change). Take a fixed number of samples and fold them with a named rule."
    ),
    python=_python,
)
