"""Rules on what numbers are made of: single samples, shares without people's labels, folded repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from ..flow import Flow, Place, place_of, uses_of
from ..frameworks import UNREACHABLE
from ..inspection import ConfigInspection, Inspection, Problem, Rule, described
from ..repetition import loops_around, repetition
from ..syntax import JudgeSite, last_name, walk
from ..view import COLLECTING, ModuleView

_WRAPPERS = {
    "langchain": "wrap it in judgeharness_langchain.harness_evaluator",
    "openevals": "wrap it in judgeharness_openevals.harness_judge",
    "langsmith": "give it to judgeharness_langsmith.HarnessRunEvaluator",
    "handwritten": "ask it through JudgeHarness.evaluate",
}


def _single_sample_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.judges:
        if site.samples == 1:
            way = _WRAPPERS["langsmith" if site.kind == "run_evaluator" else site.framework]
            yield Problem(site, f"{described(site)} is asked once about a case: {way}.")


def _single_sample_in_config(inspection: ConfigInspection) -> Iterator[Problem]:
    for site in inspection.judges:
        if site.samples == 1:
            yield Problem(site, f"{site.kind} is asked once about an invocation: {_advice(site)}.")


def _advice(site: JudgeSite) -> str:
    if site.kind in UNREACHABLE:
        return "no harness reaches it, so treat its score as informal or add a rubric metric"
    return "call judgeharness_adk.register() in agent.py and set judge_harness"


SINGLE_SAMPLE = Rule(
    code="JH002",
    name="single-sample verdict",
    explanation=(
        "A judge is a random variable, and one sample of it is taken for the verdict: asked again, or in the other "
        "order, it may say something else, and nothing in the code would show it. Found where an evaluator of "
        "LangChain, openevals or LangSmith is made, a metric of ADK takes one sample, or a model is asked by hand to "
        "judge, and no loop repeats the question. Wrap the judge in a harness: the same call then asks under "
        "perturbations, several times, and the result carries its distribution."
    ),
    python=_single_sample_in_python,
    config=_single_sample_in_config,
)

_ADVICE = "measure the rule on human labels (judgeharness calibrate) or call it uncalibrated"


def _aggregation_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.used:
        flow = inspection.flow(site)
        folds = _folds_of(inspection.view, flow)
        for fold in () if folds and _labels_in_sight(inspection.view, flow) else folds:
            message = f"verdicts of {described(site)} become {fold.way} without human labels in sight: {_ADVICE}."
            yield Problem(fold.node, message, site)


def _aggregation_in_config(inspection: ConfigInspection) -> Iterator[Problem]:
    for site in inspection.repeated:
        message = f"a majority of {site.samples} samples of {site.kind} meets a threshold uncalibrated: {_ADVICE}."
        yield Problem(site, message)


UNCALIBRATED_AGGREGATION = Rule(
    code="JH003",
    name="uncalibrated aggregation",
    explanation=(
        "Single verdicts are counted or averaged, and the number is used as if it were the share of good answers: its "
        "error is the judge's error, which nobody has measured. Found where verdicts of a judge, collected over cases "
        "or repeats, become a share, a mean, a majority or a threshold, and the file neither names human labels or a "
        "measure of agreement nor compares verdicts with anything. Label some cases, calibrate the rule, and correct "
        "the rate (judgeharness label, calibrate, corrected-rate)."
    ),
    python=_aggregation_in_python,
    config=_aggregation_in_config,
)

# calls that fold or reshape: what they are given is not shown to anybody
_FOLDING = frozenset(
    {
        *("Counter", "set", "sum", "len", "max", "min", "sorted", "list", "tuple", "mean", "fmean", "median", "mode"),
        *("multimode", "average", "count", "get", "most_common", "gather", "array", "items", "values", "append", "any"),
        *("all", "float", "int", "bool", "extend", "range", "zip", "enumerate", "round", "Series", "DataFrame"),
    }
)


def _distribution_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.used:
        flow = inspection.flow(site)
        for fold in _folds_of(inspection.view, flow):
            if fold.repeats and not _leaves_otherwise(inspection.view, flow, fold):
                message = (
                    f"repeats of {described(site)} are folded to {fold.way} and their counts dropped: keep the "
                    "distribution beside the verdict, as HarnessResult.sample_distribution does."
                )
                yield Problem(fold.node, message, site)


def _leaves_otherwise(view: ModuleView, flow: Flow, fold: Fold) -> bool:
    """Whether what was collected leaves the function by another way than the fold: returned, printed, stored."""
    function = view.function_of(fold.node)
    inside = {fold.node, *walk(fold.node)}
    collected = flow.collected
    for node in view.own_nodes(function if function is not None else view.module):
        if node in inside:
            continue
        match node:
            case cst.Return(value=value) | cst.Yield(value=value) if value is not None:
                if _mentions(view, value, collected, inside):
                    return True
            case cst.Call(func=func, args=args) if last_name(func) not in _FOLDING and not _builds(view, node):
                if any(_mentions(view, arg.value, collected, inside) for arg in args):
                    return True
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Subscript() | cst.Attribute() as target)], value=value
            ):
                read = set(uses_of(view, value).names)
                stored = isinstance(target, cst.Attribute) or not read & set(uses_of(view, target.value).names)
                if stored and _mentions(view, value, collected, inside):
                    return True
    return False


def _builds(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call hands the collection to a function of this file, which may fold it there."""
    return bool(view.callees(call))


def _mentions(view: ModuleView, node: cst.CSTNode, places: set[Place], inside: set[cst.CSTNode]) -> bool:
    """Whether a collected variable stands in an expression, but not in a fold nor only to be counted."""
    for one in (node, *walk(node)):
        if isinstance(one, cst.Name) and one not in inside and place_of(view, one.value, one) in places:
            above = view.parent(one)
            if not (isinstance(above, cst.Arg) and _only_counts(view.parent(above))):
                return True
    return False


def _only_counts(call: cst.CSTNode | None) -> bool:
    return isinstance(call, cst.Call) and last_name(call.func) in {"len", "sum", "set", "max", "any", "all"}


def _distribution_in_config(inspection: ConfigInspection) -> Iterator[Problem]:
    for site in inspection.repeated:
        message = (
            f"ADK folds {site.samples} samples of {site.kind} to one verdict and drops their counts: call "
            "judgeharness_adk.register() in agent.py and set judge_harness."
        )
        yield Problem(site, message)


HIDDEN_DISTRIBUTION = Rule(
    code="JH004",
    name="hidden distribution",
    explanation=(
        "The judge is asked several times and only the fold comes out: a verdict of 3 to 2 looks like one of 5 to 0, "
        "and nobody can tell later how firm it was or fold it with another rule. Found where repeats about one case "
        "become a majority, a mode, a mean or a threshold and neither the samples nor their counts are returned, "
        "printed or stored; and for ADK's judges, which drop them. Keep the distribution beside the verdict."
    ),
    python=_distribution_in_python,
    config=_distribution_in_config,
)

_FUNCTIONS = frozenset(
    {"mean", "fmean", "median", "mode", "multimode", "average", "nanmean", "median_low", "median_high"}
)
_METHODS = frozenset({"mean", "median", "mode", "idxmax"})
_COUNTS = frozenset({"sum", "len"})
_ORDER = (cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fold:
    """An expression, how it folds, and whether what it folds are repeats about one case."""

    node: cst.BaseExpression
    way: str
    repeats: bool


def _folds_of(view: ModuleView, flow: Flow) -> tuple[Fold, ...]:
    """Return the outermost expressions that fold values of a flow, in the order of the text."""
    found: dict[cst.CSTNode, str] = {}
    for node in view.nodes:
        way = _way(view, flow, node)
        if way is not None and not any(above in found for above in _expression_above(view, node)):
            found[node] = way
    return tuple(
        Fold(node=node, way=way, repeats=_repeats(view, flow, node))
        for node, way in found.items()
        if isinstance(node, cst.BaseExpression)
    )


def _expression_above(view: ModuleView, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for above in view.above(node):
        if isinstance(above, (cst.BaseStatement, cst.BaseSmallStatement, cst.BaseSuite)):
            return
        yield above


def _way(view: ModuleView, flow: Flow, node: cst.CSTNode) -> str | None:  # noqa: PLR0911 - one case a form
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Divide()) if _is_tally(view, flow, left):
            return "a share or mean"
        case cst.Comparison() if _is_threshold(view, flow, node):
            return "a threshold over counts"
        case cst.Call(func=func, args=[first, *_]) if last_name(func) in _FUNCTIONS and flow.gathers(first.value):
            return last_name(func)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))):
            if name in _METHODS and flow.gathers(owner):
                return name
            if name == "most_common" and flow.gathers(owner):
                return "the most common verdict"
        case cst.Call(func=cst.Name(value="max" | "min"), args=[first, *others]) if _is_most(flow, first, others):
            return "the most common verdict"
    return None


def _is_most(flow: Flow, first: cst.Arg, others: object) -> bool:
    """`max(set(votes), key=votes.count)`, `max(counts, key=counts.get)`."""
    keyed = isinstance(others, (list, tuple)) and any(
        isinstance(arg, cst.Arg)
        and arg.keyword is not None
        and arg.keyword.value == "key"
        and last_name(arg.value) in {"count", "get"}
        for arg in others
    )
    return keyed and flow.gathers(first.value)


def _is_threshold(view: ModuleView, flow: Flow, node: cst.Comparison) -> bool:
    if not all(isinstance(one.operator, _ORDER) for one in node.comparisons):
        return False
    return any(_is_tally(view, flow, side) for side in (node.left, *(one.comparator for one in node.comparisons)))


def _is_tally(view: ModuleView, flow: Flow, node: cst.CSTNode) -> bool:
    """`sum(verdicts)`, `verdicts.count("A")`, `len([v for v in verdicts if v])`, or a variable that counts them."""
    match node:
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _COUNTS:
            chosen = (
                name == "sum" or isinstance(first.value, (cst.ListComp, cst.SetComp)) or _is_kept(view, first.value)
            )
            return chosen and flow.gathers(first.value)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="count" | "sum"))):
            return flow.gathers(owner)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Subtract() | cst.Multiply(), right=right):
            return _is_tally(view, flow, left) or _is_tally(view, flow, right)
        case cst.Name() | cst.Subscript() | cst.Attribute():
            return flow.gathers(node) and (_is_counter(view, node) or _is_named_tally(view, flow, node))
    return False


def _is_kept(view: ModuleView, node: cst.CSTNode) -> bool:
    """A list that a filtering comprehension or an `append` under a condition made."""
    return any(isinstance(origin, cst.ListComp) and origin.for_in.ifs for origin in view.origins(node)) or any(
        isinstance(above, cst.If)
        for call in view.calls
        if isinstance(call.func, cst.Attribute)
        and last_name(call.func) in COLLECTING
        and last_name(call.func.value) == last_name(node) != ""
        for above in view.above(call)
    )


def _is_named_tally(view: ModuleView, flow: Flow, node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and any(
        isinstance(step, (cst.Call, cst.BinaryOperation)) and _is_tally(view, flow, step) for step in view.steps(node)
    )


def _is_counter(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether the variable is added to, or is handed out of one that is: `for name, total in totals.items()`."""
    names = {name for _, name in uses_of(view, node).names}
    for one in view.nodes:
        match one:
            case cst.AugAssign(target=target, operator=cst.AddAssign()):
                if names & {name for _, name in uses_of(view, _owner(target)).names}:
                    return True
            case cst.CompFor(target=target, iter=iterated) | cst.For(target=target, iter=iterated):
                bound = {name for _, name in uses_of(view, target).names}
                is_items = isinstance(iterated, cst.Call) and last_name(iterated.func) in {"items", "values"}
                if is_items and names & bound and isinstance(iterated, cst.Call):
                    owner = iterated.func.value if isinstance(iterated.func, cst.Attribute) else iterated.func
                    if owner is not node and not (names & {name for _, name in uses_of(view, owner).names}):
                        return _is_counter(view, owner)
    return False


def _owner(target: cst.BaseExpression) -> cst.BaseExpression:
    while isinstance(target, cst.Subscript):
        target = target.value
    return target


def _repeats(view: ModuleView, flow: Flow, fold: cst.CSTNode) -> bool:
    """Whether the folded collection is filled by a loop that asks about one case again and again."""
    function = view.function_of(fold)
    for call in flow.calls:
        if view.function_of(call) is not function:
            continue
        if call in flow.seeds and flow.several:
            return True
        if any(repetition(view, loop, call) != 1 for loop in loops_around(view, call)):
            inside = any(node is call for node in walk(fold))
            uses = uses_of(view, fold)
            if inside or any(name in flow.collected for name in uses.names):
                return True
    return False


_LABELS = re.compile(
    r"human|annotat|kappa|calibrat|gold_?label|label_gold|expert|confusion_matrix|precision_score|recall_score"
    r"|classification_report|f1_score|krippendorff|labell?ed_by|CalibrationSet",
    re.IGNORECASE,
)


def _labels_in_sight(view: ModuleView, flow: Flow) -> bool:
    """Whether names or keys speak of labels, or a verdict is compared with something that is not fixed."""
    return any(_speaks(view, node) or _compares(view, flow, node) for node in view.nodes)


def _speaks(view: ModuleView, node: cst.CSTNode) -> bool:
    match node:
        case cst.Name(value=name):
            return bool(_LABELS.search(name))
        case cst.SimpleString() if isinstance(view.parent(node), cst.Index):
            return isinstance(node.evaluated_value, str) and bool(_LABELS.search(node.evaluated_value))
    return False


def _compares(view: ModuleView, flow: Flow, node: cst.CSTNode) -> bool:
    """`judge(row) == row["label"]` measures the judge."""
    match node:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=right)]):
            touched = [flow.touches(side) for side in (left, right)]
            other = right if touched[0] else left
            return sum(touched) == 1 and view.value(other) is ... and bool(uses_of(view, other).names)
    return False
