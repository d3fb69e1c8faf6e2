"""Which judges of a Python file get which wrapper, and which are left to their author and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import libcst as cst
from libcst import matchers

from ..evaluators import Given, given_evaluators, is_evaluate, reached_from
from ..frameworks import SHAPES, evaluator_kind
from ..inspection import Inspection
from ..questions import given_function, object_methods
from ..syntax import RUN_METHODS, FunctionNode, JudgeSite, last_name, walk
from ..view import ModuleView
from .changes import ByHand, Wrapper
from .edits import Edit, Places, edited

HOMES: dict[Wrapper, str] = {
    "harness_evaluator": "judgeharness_langchain",
    "harness_judge": "judgeharness_openevals",
    "HarnessRunEvaluator": "judgeharness_langsmith",
}
_WRITTEN_BY_HAND = 'see "How do I wrap a judge I wrote", docs/use/own-judge.md'
_TRAJECTORIES = frozenset({"trajectory", "agent_trajectory", "TrajectoryEvalChain"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Wrap:
    """A judge that is wrapped where it is made."""

    site: JudgeSite
    node: cst.Call
    wrapper: Wrapper
    several: bool = False  # a call that returns a list of evaluators


def _by_hand(site: JudgeSite, why: str, todo: str) -> ByHand:
    """Return the entry of a judge that is left to its author."""
    return ByHand(line=site.line, framework=site.framework, kind=site.kind, why=why, todo=todo)


def decision(view: ModuleView, site: JudgeSite) -> Wrap | ByHand:
    """Return what becomes of a judge that asks a model and is not harnessed yet."""
    node = site.node
    if site.kind == "run_evaluator":
        return _by_hand(
            site,
            "no list of evaluators in the scanned files holds it",
            "write HarnessRunEvaluator(...) of judgeharness_langsmith around it where evaluate is given it; "
            f"{_WRITTEN_BY_HAND}",
        )
    if site.framework == "handwritten" or node is None:
        return _by_hand(
            site,
            "it is written by hand",
            "make it a function of a case that returns a verdict, and call JudgeHarness.evaluate(function, case); "
            f"{_WRITTEN_BY_HAND}",
        )
    if _in_format_string(view, node):
        return _by_hand(site, "it is made inside an f-string", "give it a variable, then run this command again")
    if site.framework == "langchain":
        return _langchain(view, site, node)
    return _openevals(view, site, node)


def _langchain(view: ModuleView, site: JudgeSite, node: cst.Call) -> Wrap | ByHand:
    if site.kind in _TRAJECTORIES:
        return _by_hand(
            site,
            "judges of agent trajectories are not harnessed for LangChain",
            "judge the final answer, or use create_trajectory_llm_as_judge of openevals with harness_judge",
        )
    if site.kind == "run_eval_config":
        return _by_hand(
            site,
            "run_on_dataset and RunEvalConfig make their evaluators inside LangChain",
            "use langsmith.evaluate(..., evaluators=[HarnessRunEvaluator(load_evaluator(...))]) instead",
        )
    if site.kind == "unknown":
        return _by_hand(
            site,
            "which evaluator it is, only running the code tells",
            "wrap it where the kind is known: harness_evaluator(evaluator, JudgeHarness.single('any'))",
        )
    foreign = _foreign_attribute(view, node)
    if foreign is not None:
        return _by_hand(
            site,
            f"the code uses its {foreign}, which a harnessed evaluator does not have",
            "call evaluate_strings or evaluate_string_pairs case by case, then run this command again",
        )
    return Wrap(site=site, node=node, wrapper="harness_evaluator", several=_makes_several(view, node))


def _makes_several(view: ModuleView, node: cst.Call) -> bool:
    return any(name.endswith(".load_evaluators") for name in view.names(node.func))


def _openevals(view: ModuleView, site: JudgeSite, node: cst.Call) -> Wrap | ByHand:
    if _holds_texts_alone(view, node):
        return _by_hand(
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
                and is_evaluate(view, call)
            )
    return False


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


# what a harnessed LangChain evaluator has; chains have more
_KEPT = frozenset(
    {
        *("evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"),
        *("requires_input", "requires_reference", "evaluation_name"),
    }
)


def _foreign_attribute(view: ModuleView, node: cst.CSTNode) -> str | None:
    """Return the first attribute the code asks of a LangChain evaluator and a harnessed one lacks, as `evaluate` is.

    Args:
        view: the module.
        node: the call that makes the evaluator; variables, fixtures and functions that hand it on are followed.

    """
    for asked in view.nodes:
        match asked:
            case cst.Attribute(value=owner, attr=cst.Name(value=name)) if name not in _KEPT:
                if _may_be(view, owner, node):
                    return f".{name}"
            case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=tested), *_]):
                if _may_be(view, tested, node):
                    return "class (isinstance)"
            case cst.Call(func=func) if _may_be(view, func, node):
                return "call operator"
            case cst.BinaryOperation(left=left, operator=cst.BitOr(), right=right):
                if _may_be(view, left, node) or _may_be(view, right, node):
                    return "| operator"
    return None


def _may_be(view: ModuleView, expression: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(origin is node for origin in view.origins(expression))


def _in_format_string(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether an expression stands inside an f-string, whose quotation marks ours could close."""
    return any(isinstance(above, cst.FormattedString) for above in view.above(node))


_BASES = frozenset({"BaseModel", "TypedDict"})
# what a field of these alone is made of cannot be measured; any other name may be an enum or a number
_TEXTS = frozenset(
    {"str", "list", "List", "dict", "Dict", "Any", "None", "Optional", "Annotated", "Required", "NotRequired"}
)


def _holds_texts_alone(view: ModuleView, call: cst.Call) -> bool:
    """Whether the `output_schema` of a call is a class of this file whose every field is free text."""
    given = view.argument(call, "output_schema")
    classes = [] if given is None else [origin for origin in view.origins(given) if isinstance(origin, cst.ClassDef)]
    return len(classes) == 1 and _of_texts(classes[0])


def _of_texts(schema: cst.ClassDef) -> bool:
    bases = [last_name(base.value) for base in schema.bases]
    fields = list(_fields(schema))
    return bool(bases) and _BASES.issuperset(bases) and bool(fields) and all(map(_is_text, fields))


def _fields(schema: cst.ClassDef) -> Iterator[cst.AnnAssign]:
    for line in schema.body.body:
        yield from (one for one in getattr(line, "body", ()) if isinstance(one, cst.AnnAssign))


def _is_text(field: cst.AnnAssign) -> bool:
    kind: cst.CSTNode = field.annotation.annotation
    if isinstance(kind, cst.Subscript) and last_name(kind.value) == "Annotated":
        kind = kind.slice[0].slice
    names = {one.value for one in (kind, *walk(kind)) if isinstance(one, cst.Name)}
    literal = isinstance(kind, (cst.SimpleString, cst.ConcatenatedString))  # a quoted annotation
    return not literal and bool(names) and _TEXTS.issuperset(names)


_TAKEN = frozenset({"run", "example", "inputs", "outputs", "reference_outputs", "attachments"})
_RUN_AND_EXAMPLE = 2
_AGAIN = "then run this command again"


@dataclass(frozen=True, kw_only=True, eq=False)
class Around:
    """A function that is wrapped where it is given; `site` is the judge in it, of this file or of another."""

    given: Given
    site: JudgeSite


@dataclass(kw_only=True, eq=False)
class RunEvaluators:
    """What becomes of the evaluators of a file that ask a model by hand.

    `wraps` are put under a harness and `covered` the judges they run; `by_hand` is what cannot be wrapped.
    """

    wraps: list[Around] = field(default_factory=list)
    covered: set[JudgeSite] = field(default_factory=set)
    by_hand: list[ByHand] = field(default_factory=list)


def run_evaluators(inspection: Inspection, bare: Iterable[JudgeSite]) -> RunEvaluators:
    """Return which evaluators are wrapped, and why others are not; those that ask no model are neither.

    Args:
        inspection: the file.
        bare: its judges that no harness asks.

    """
    found, view = RunEvaluators(), inspection.view
    own = [site for site in bare if site.kind == "run_evaluator"]
    foreign = [site for site in inspection.used if site.definition is not None and site.framework == "handwritten"]
    for given in given_evaluators(view):
        if given.wrapped or (given.call is None and given.holder is None):
            continue
        judges = _judges(view, given, own, foreign)
        obstacle = _obstacle(view, given) if judges else None
        if obstacle is not None:
            why, todo = obstacle
            line = int(view.position(given.node).start.line)
            found.by_hand.append(ByHand(line=line, framework="handwritten", kind="run_evaluator", why=why, todo=todo))
        elif judges:
            found.wraps.append(Around(given=given, site=judges[0]))
        found.covered.update(judges)
    return found


def _judges(view: ModuleView, given: Given, own: Iterable[JudgeSite], foreign: Iterable[JudgeSite]) -> list[JudgeSite]:
    """Return the judges written by hand that an evaluator runs."""
    functions = reached_from(view, given.functions)
    offers = [given_function(view, origin) for origin in view.origins(given.node)]
    named = {(one.path, one.line) for one in offers if one is not None}
    inside = [one for one in own if any(above in functions for above in view.above(one.node or given.node))]
    return inside + [
        one
        for one in foreign
        if one.definition in named or any(above in functions for use in one.uses for above in view.above(use))
    ]


def _obstacle(view: ModuleView, given: Given) -> tuple[str, str] | None:
    """Return why an evaluator cannot be wrapped mechanically and what its author can do; None where it can."""
    if given.pairwise:
        todo = "give a function of a PairwiseCase to judgeharness_langsmith.harness_comparative"
        return "it compares two experiments", todo
    if given.several:
        return "the list it stands in is not to be seen here", "write HarnessRunEvaluator(...) around it there"
    no_function = _no_function(view, given)
    if no_function is not None:
        return no_function
    if not all(_fits(view, function) for function in given.functions):
        names = "run, example, inputs, outputs, reference_outputs and attachments"
        return f"LangSmith would not call it: it gives {names}", f"name its parameters so, {_AGAIN}"
    if _is_read_elsewhere(view, given):
        why = "its list is not for evaluate alone, and other code would find no function there"
        return why, f"write the list out in evaluate(..., evaluators=[...]), {_AGAIN}"
    return None


def _no_function(view: ModuleView, given: Given) -> tuple[str, str] | None:
    node = given.node
    if any(isinstance(function, cst.Lambda) for function in given.functions):
        return "a lambda has no name, and its feedback no key", f"define it with a name, {_AGAIN}"
    if isinstance(node, cst.Call) and last_name(node.func) == "partial":
        return "a partial has no name, and its feedback no key", f"define a function around it, {_AGAIN}"
    made = [origin for origin in view.origins(node) if isinstance(origin, cst.Call)]
    if any(_is_run_evaluator(view, one) for one in made):
        return "it is a RunEvaluator, not a function", f"give evaluate a function of (run, example) that asks, {_AGAIN}"
    return None


def _is_run_evaluator(view: ModuleView, made: cst.Call) -> bool:
    """Whether an object is asked by methods of LangSmith's and not called like a function."""
    owners = [origin for origin in view.origins(made.func) if isinstance(origin, cst.ClassDef)]
    bases = {last_name(base.value) for owner in owners for base in owner.bases}
    methods = {method.name.value for owner in owners for method in view.methods(owner)} | object_methods(view, made)
    return "RunEvaluator" in bases or not methods.isdisjoint(RUN_METHODS - {"__call__"})


def _fits(view: ModuleView, function: FunctionNode) -> bool:
    """Whether LangSmith calls a function with a run and an example, or with values by their names."""
    params = function.params
    places = [*params.posonly_params, *params.params]
    if isinstance(function, cst.FunctionDef) and view.class_of(function) is not None and places:
        places = places[1:]
    needed = {one.name.value for one in (*places, *params.kwonly_params) if one.default is None}
    return bool(needed) and (needed <= _TAKEN or (len(needed) == _RUN_AND_EXAMPLE and "runs" not in needed))


def _is_read_elsewhere(view: ModuleView, given: Given) -> bool:
    """Whether the list an evaluator stands in has a name, and something else than `evaluate` reads it."""
    statement = None if given.holder is None else view.parent(given.holder)
    if isinstance(statement, cst.Assign):
        names = [target.target for target in statement.targets]
    else:
        names = [statement.target] if isinstance(statement, cst.AnnAssign) else []
    for name in names:
        scope = view.scope(name)
        for one in scope[name.value] if scope is not None and isinstance(name, cst.Name) else ():
            if any(not _is_given(view, access.node) for access in one.references):
                return True
    return False


_COPIES = frozenset({"list", "tuple", "values"})


def _is_given(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether an expression goes to `evaluate`, as it is or as a part of a list, or is added to."""
    calls = (one for one in view.above(node) if isinstance(one, cst.Call))
    call = next((one for one in calls if last_name(one.func) not in _COPIES), None)
    added = view.additions.get(node.value, ()) if isinstance(node, cst.Name) else ()
    return call is not None and (is_evaluate(view, call) or call in added)


_SCORES = frozenset({"score_string", "labeled_score_string"})
Render: TypeAlias = Callable[["cst.CSTNode"], str]
_KNOWN = frozenset({"evaluator", "config", "prepare_data"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Replacement:
    """A `LangChainStringEvaluator(...)` taken apart.

    `kind` is the evaluator it names, None where it is given one that is harnessed where it is made.
    """

    site: JudgeSite
    node: cst.Call
    kind: str | None
    evaluator: cst.BaseExpression
    config: cst.BaseExpression | None
    prepare: cst.BaseExpression | None

    def text(self, places: Places, render: Render, *, run_evaluator: str, loader: str, harness: str) -> str:
        """Return the call that takes its place.

        Args:
            places: the file.
            render: what stands in the place of an expression, edits inside it made.
            run_evaluator: what `HarnessRunEvaluator` is called here.
            loader: what `load_evaluator` is called here.
            harness: the harness, as an expression.

        """
        parts = [render(self.evaluator)]
        if self.kind is not None:
            parts = [f"{loader}({render(self.evaluator)}{self._options(places)})", harness]
        if self.prepare is not None:
            parts.append(f"prepare={render(self.prepare)}")
        key = self._key(places)
        if key is not None:
            parts.append(f"key={key}")
        return f"{run_evaluator}({', '.join(parts)})"

    def _options(self, places: Places) -> str:
        """Return `config={"llm": llm}` as `, llm=llm`; what is no such literal becomes `**config`."""
        config = self.config
        if config is None:
            return ""
        if not isinstance(config, cst.Dict) or not all(map(_keyword, config.elements)):
            return f", **{places.of(config)}"
        start = places.start(config) + 1
        inner = places.text[start : places.end(config) - 1]
        edits = [
            Edit(
                start=places.start(element.key) - start,
                end=places.start(element.value) - start,
                text=f"{_keyword(element)}=",
            )
            for element in config.elements
            if isinstance(element, cst.DictElement)
        ]
        written = edited(inner, edits)
        if not written.strip():
            return ""
        return f",{written}" if written[0] in "\r\n" else f", {written.strip().removesuffix(',')}"

    def _key(self, places: Places) -> str | None:
        """Return the feedback key as it was, where LangChain's name of the evaluation is not the criterion's."""
        if self.kind not in _SCORES:
            return None
        found = [e.value for e in getattr(self.config, "elements", ()) if _keyword(e) == "criteria"]
        name = places.view.value(found[0]) if found else "helpfulness"
        return f'"score_string:{name}"' if isinstance(name, str) and name.isidentifier() else None


def replacement(places: Places, site: JudgeSite, harnessed: Collection[cst.CSTNode]) -> Replacement | ByHand:
    """Return how a `LangChainStringEvaluator` is replaced, or why its author must do it.

    Args:
        places: the file.
        site: where it is made.
        harnessed: calls that make evaluators which are harnessed, or will be.

    """
    view, node = places.view, site.node
    evaluator = None if node is None else view.argument(node, "evaluator", 0)
    if node is None or evaluator is None or _other_arguments(node):
        return _by_hand(site, "its arguments cannot be read off", "write HarnessRunEvaluator(evaluator, prepare=...)")
    config, prepare = view.argument(node, "config"), view.argument(node, "prepare_data")
    if _comments([node]) != _comments([one for one in (evaluator, config, prepare) if one is not None]):
        return _by_hand(site, "comments stand between its arguments", "move them out, then run this command again")
    kind = evaluator_kind(view, evaluator)
    if kind is None and config is None and any(origin in harnessed for origin in view.origins(evaluator)):
        return Replacement(site=site, node=node, kind=None, evaluator=evaluator, config=None, prepare=prepare)
    if kind is None or kind not in SHAPES:
        asked = "which evaluator it runs is not said here" if kind is None else f"{kind} asks no model"
        return _by_hand(site, f"LangSmith has removed it, and {asked}", "make it a function of outputs and reference")
    if SHAPES[kind] == "pairwise" or kind == "trajectory":
        todo = "compare experiments with judgeharness_langsmith.harness_comparative(evaluator)"
        return _by_hand(site, f"a {kind} evaluator cannot judge a single run", todo)
    return Replacement(site=site, node=node, kind=kind, evaluator=evaluator, config=config, prepare=prepare)


def _other_arguments(node: cst.Call) -> bool:
    named = [arg.keyword.value for arg in node.args if arg.keyword is not None]
    positional = [arg for arg in node.args if arg.keyword is None]
    return not _KNOWN.issuperset(named) or len(positional) > 1 or any(arg.star for arg in node.args)


def _comments(nodes: Sequence[cst.CSTNode]) -> int:
    return sum(len(matchers.findall(node, matchers.Comment())) for node in nodes)


def _keyword(element: cst.BaseDictElement) -> str | None:
    """Return the key of a dict's element where it could be the name of an argument."""
    if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
        key = element.key.evaluated_value
        return key if isinstance(key, str) and key.isidentifier() else None
    return None
