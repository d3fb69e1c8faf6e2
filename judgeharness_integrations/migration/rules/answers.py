"""Rules on what code makes of one answer: it asks again, takes the first match, or a failure for a verdict."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from ..flow import Flow
from ..inspection import Inspection, Problem, Rule, described
from ..repetition import assigned_names, changed_in, loops_around, repetition, retried_on_results
from ..syntax import JudgeSite, is_none, last_name, walk
from ..view import ModuleView

# an answer that is looked for by itself; two of them, side by side, ask whether there is an answer at all
_WELCOME = re.compile(
    r"^\W*(?:(?:verdict|score|result|grade|answer|decision)\W+)?(?:pass(?:ed)?|fail(?:ed)?|yes|no|true|false|good|bad"
    r"|correct|incorrect|[ab]|win(?:s|ner)?|approved?|accept(?:ed)?|reject(?:ed)?|ok|better|worse|safe|unsafe|\d+)\W*$",
    re.IGNORECASE,
)


def _retry_in_python(inspection: Inspection) -> Iterator[Problem]:
    view = inspection.view
    for site in inspection.used:
        flow = inspection.flow(site)
        for call in sorted(flow.calls, key=lambda one: view.position(one).start.line):
            if _in_branch(view, flow, call) or _in_loop(view, flow, call) or _until_any(view, flow, call):
                yield Problem(call, _message(site), site)
        for decorator in _decorators(view, flow):
            yield Problem(decorator, _message(site), site)


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
    return not changed_in(branch.body, call) and any(
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
        if isinstance(loop, cst.CompFor) or changed_in(loop.body, call) or _is_target(loop, call):
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
    return any(isinstance(node, cst.Name) and node.value in names for node in walk(call))


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
        isinstance(node, cst.Return) and (node.value is None or is_none(node.value))
        for function in flow.functions
        for node in flow.view.own_nodes(function)
    )


def _within(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return any(node is inner for node in walk(outer))


RETRY_ON_VERDICT = Rule(
    code="JH005",
    name="asked again on its verdict",
    explanation=(
        "The judge is asked again when it said the wrong thing: until it passes, or once more after a tie. The side "
        "that triggers the retry gets fewer chances than the other, so the rate that comes out is biased by "
        "construction. Found where the same question follows inside an `if` or a loop that tests the judge's own "
        "verdict, where a decorator runs the judge again on its result, or where `any` stops at a welcome one. "
        "An answer that could not be read may be asked for again (tests for None do not count), and so may "
        "another text (arguments that change). Take a fixed number of samples and fold them with a named rule."
    ),
    python=_retry_in_python,
)

_TO_THE_END = re.compile(r"(?:\$|\\Z)\s*\)*$")
_TEXTS = frozenset({"content", "text", "output_text", "output", "strip", "lower", "upper", "split", "splitlines"})


def _first_match_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.used:
        found = _first(inspection.view, site) if site.by_hand else None
        if found is not None:
            node, way = found
            message = (
                f"the verdict of {described(site)} is {way}, so that an answer that weighs both sides is misread: take "
                "it from the end of the answer alone, and treat anything else as unparsed."
            )
            yield Problem(node, message, site)


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
    code="JH006",
    name="verdict by first match",
    explanation=(
        "The answer is searched for a word, or for the first match of a pattern, and that is the verdict: 'not a PASS' "
        "contains PASS, 'INCORRECT' contains CORRECT, and 'A is verbose ... [[B]]' may begin with the loser. Found "
        "where the text of a model that judges is tested with `in`, `startswith`, an expression that need not reach "
        "the end, or its first piece. Take the verdict from a fixed place at the end, compare it whole, and let "
        "everything else be unparsed."
    ),
    python=_first_match_in_python,
)

_NO_VERDICT = re.compile(
    r"unpars|error|unknown|invalid|^n/?a$|none|abstain|fail(?:ed|ure)|missing|^$|unable", re.IGNORECASE
)


def _failure_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.used:
        message = (
            f"an answer of {described(site)} that failed or could not be read counts as this verdict: return None or "
            "raise, and count such answers."
        )
        for node in _failures(inspection.view, inspection.flow(site, decisions=False)):
            yield Problem(node, message, site)


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
            isinstance(element, cst.DictElement)
            and view.value(element.key) in {"score", "verdict"}
            and _is_verdict(view, element.value)
            for element in node.elements
        )
    return isinstance(value, (int, float)) and value >= 0


def _is_match(view: ModuleView, flow: Flow, test: cst.BaseExpression) -> bool:
    """`match`, `match is not None`: whether an expression matched the answer."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.IsNot())]):
            return _is_match(view, flow, left)
        case cst.Name():
            return flow.touches(test) and any(
                isinstance(origin, cst.Call) and last_name(origin.func) in {"search", "match", "fullmatch", "findall"}
                for origin in view.origins(test)
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
    code="JH012",
    name="failure counted as verdict",
    explanation=(
        "An answer that could not be read, or a call that failed, becomes a verdict: 0 points, FAIL, a tie. Failures "
        "are then indistinguishable from bad answers and move every rate. Found where an `except` around the question "
        "or its parsing returns a fixed verdict, or the other side of a match does. Return None or raise, count such "
        "answers, and print them in the denominator."
    ),
    python=_failure_in_python,
)

_KEEPING = frozenset(
    {
        *(
            "strip",
            "lstrip",
            "rstrip",
            "lower",
            "upper",
            "casefold",
            "replace",
            "removeprefix",
            "removesuffix",
            "title",
        ),
        *("split", "splitlines", "rsplit", "partition", "rpartition", "join", "json", "model_dump", "get"),
    }
)
_STEPS = 200


def is_answer(view: ModuleView, node: cst.CSTNode, asks: Collection[cst.CSTNode | None]) -> bool:
    """Whether fields, places and string methods alone lie between a question and an expression; parsers end it."""
    waiting: list[cst.CSTNode] = [node]
    seen: set[cst.CSTNode] = set()
    while waiting and len(seen) < _STEPS:
        current = waiting.pop()
        if current in asks:
            return True
        if current in seen:
            continue
        seen.add(current)
        waiting.extend(_before(view, current))
    return False


def _before(view: ModuleView, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What an expression took its text from."""
    match node:
        case cst.Attribute(value=cst.Name(value="self")) | cst.Name():
            yield from view.steps(node)
        case cst.Attribute(value=owner) | cst.Subscript(value=owner) | cst.Await(expression=owner):
            yield owner
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if method in _KEEPING:
            yield owner
        case cst.Call(func=cst.Name(value="str"), args=[first, *_]):
            yield first.value
        case cst.BooleanOperation(left=left):
            yield left
        case cst.Call():
            yield from (result for function in view.callees(node) for result in view.results(function))
