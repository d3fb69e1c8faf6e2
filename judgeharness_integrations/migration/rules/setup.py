"""Rules on how a judge is set up: its prompt, cache, temperature, model, and the interface it is made with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import libcst as cst

from ..flow import Flow
from ..frameworks import JUDGES, apps_of, at_temperature_zero, is_registered, option
from ..inspection import ConfigInspection, Inspection, Problem, Rule, described
from ..modules import Source, SourceError
from ..questions import ORDER_WARNING, model_calls, model_name, model_option, prompt_text, questions
from ..syntax import JudgeSite, dotted, is_none, is_zero, last_name, walk
from ..view import ModuleView

_SWAPS = re.compile(
    r"swap|revers|flip|shuffl|permut|both_orders|other_order|randomi[sz]e_order|counterbalanc", re.IGNORECASE
)
_BUILT_IN = frozenset({"pairwise_string", "labeled_pairwise_string"})  # their own prompts warn


def _bias_warning_in_python(inspection: Inspection) -> Iterator[Problem]:
    view = inspection.view
    if not any(_warns(view, site) for site in inspection.judges) or _swaps(view):
        return
    for site in inspection.judges:
        if _warns(view, site) and not _asks_both_orders(inspection, site):
            yield Problem(
                site,
                f"the prompt of {described(site)} warns of position bias and the code never swaps: ask in both orders, "
                "as the perturbation position_swap does.",
            )


def _warns(view: ModuleView, site: JudgeSite) -> bool:
    if site.node is None:
        return False
    if site.framework == "langchain" and site.kind in _BUILT_IN and view.argument(site.node, "prompt") is None:
        return True
    return bool(ORDER_WARNING.search(prompt_text(view, site.node)))


def _swaps(view: ModuleView) -> bool:
    """Whether anything in the module is called after swapping; words in texts and comments do not count."""
    return any(isinstance(node, cst.Name) and _SWAPS.search(node.value) for node in view.nodes)


def _asks_both_orders(inspection: Inspection, site: JudgeSite) -> bool:
    """Two questions in one function with the same arguments in another order."""
    view = inspection.view
    orders: dict[tuple[cst.CSTNode | None, tuple[str, ...]], set[tuple[str, ...]]] = {}
    for call in inspection.flow(site).calls:
        given = tuple(view.module.code_for_node(arg.value) for arg in call.args)
        orders.setdefault((view.function_of(call), tuple(sorted(given))), set()).add(given)
    return any(len(found) > 1 for found in orders.values())


BIAS_WARNING = Rule(
    code="JH001",
    name="bias warning as harness",
    explanation=(
        "The prompt asks the judge not to be influenced by the order of the answers, and that sentence is all that is "
        "done about it: position bias is a property of the model, which a request does not switch off and which only "
        "asking in both orders shows. Found where the words that reach the question warn of position or order (the "
        "built-in prompts of LangChain's pairwise evaluators do) and nothing in the module swaps, shuffles or asks "
        "with the arguments exchanged. Use the perturbation position_swap with swap_consensus."
    ),
    python=_bias_warning_in_python,
)

_DECORATORS = frozenset({"lru_cache", "cache", "cached", "memoize", "cache_data", "alru_cache"})
_SWITCHES = frozenset({"set_llm_cache", "enable_cache"})


def _cache_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.judges:
        if site.samples == 1:
            continue
        cached = _switched_on(inspection.view) or _decorated(inspection, site) or _option(inspection, site)
        if cached is not None:
            message = (
                f"{described(site)} is asked several times through {cached}, which gives every repeat the first "
                "answer: switch the cache off for the judge, or key it by the repetition."
            )
            yield Problem(site, message)


def _switched_on(view: ModuleView) -> str | None:
    """`set_llm_cache(InMemoryCache())`, `langchain.llm_cache = ...`, `litellm.cache = Cache()`."""
    for node in view.nodes:
        match node:
            case cst.Call(func=func, args=args) if last_name(func) in _SWITCHES:
                if last_name(func) == "enable_cache" or (args and not is_none(args[0].value)):
                    return last_name(func)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value):
                name = f"{last_name(target.value)}.{target.attr.value}"
                if name in {"langchain.llm_cache", "litellm.cache"} and not is_none(value):
                    return name
    return None


def _decorated(inspection: Inspection, site: JudgeSite) -> str | None:
    """A function that hands the verdict on is memoised."""
    functions = {inspection.view.function_of(ask) for ask in inspection.asks(site)} | inspection.flow(site).functions
    for function in functions:
        for one in function.decorators if function is not None else ():
            made = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
            if last_name(made) in _DECORATORS:
                return f"@{last_name(made)}"
    return None


def _option(inspection: Inspection, site: JudgeSite) -> str | None:
    view = inspection.view
    for call in inspection.calls(site):
        for one in model_calls(view, call):
            for name in ("cache", "caching"):
                given = view.argument(one, name)
                if given is not None and view.value(given) not in (None, False) and not isinstance(given, cst.Param):
                    return f"{name}="
    return None


CACHE_OVER_REPEATS = Rule(
    code="JH007",
    name="cache over repeats",
    explanation=(
        "A cache stands between the code and the model while the same question is asked several times: every repeat "
        "after the first is a copy, so the judge looks perfectly consistent. Found where the judge is repeated and a "
        "model cache is set, a function that asks it is memoised, or its model is given a cache. Give each repetition "
        "a key of its own or ask without a cache."
    ),
    python=_cache_in_python,
)


def _temperature_in_python(inspection: Inspection) -> Iterator[Problem]:
    for site in inspection.judges:
        calls = inspection.calls(site)
        if (
            site.samples != 1
            and _repeats(inspection, calls)
            and any(is_zero(model_option(inspection.view, call, "temperature")) for call in calls)
        ):
            times = "several times" if site.samples is None else f"{site.samples} times"
            message = (
                f"{described(site)} is asked {times} at temperature 0, which repeats one answer: sample at a "
                "temperature above 0, or perturb what must not matter."
            )
            yield Problem(site, message)


def _repeats(inspection: Inspection, calls: list[cst.Call]) -> bool:
    """Asking in two orders is no repeat: the questions differ."""
    view = inspection.view
    questions = [tuple(view.module.code_for_node(arg.value) for arg in call.args) for call in calls[1:]]
    return not (len(questions) > 1 and len(set(questions)) == len(questions))


def _temperature_in_config(inspection: ConfigInspection) -> Iterator[Problem]:
    for site in inspection.repeated:
        if at_temperature_zero(inspection.source.criteria[site.kind]):
            message = (
                f"{site.kind} samples {site.samples} times at temperature 0, which repeats one answer: leave the "
                "temperature to the model, or perturb the rubrics."
            )
            yield Problem(site, message)


TEMPERATURE_ZERO = Rule(
    code="JH008",
    name="temperature-0 repeats",
    explanation=(
        "The judge is asked several times about one case at temperature 0: the samples are copies of one answer, and "
        "their agreement says nothing about how firm it is. Found where the repeated question, the model it asks or "
        "its options set temperature 0. Raise the temperature, or keep it and ask under perturbations."
    ),
    python=_temperature_in_python,
    config=_temperature_in_config,
)

_AGENTS = frozenset({"Agent", "LlmAgent"})


def _same_model_in_python(inspection: Inspection) -> Iterator[Problem]:
    judging = {ask for site in inspection.sites for ask in inspection.asks(site)}
    writing = [call for call in questions(inspection.view) if call not in judging]
    for site in inspection.judges if writing else ():
        name = _name(inspection, site)
        if name is not None and any(_writes(inspection, site, call, name) for call in writing):
            message = (
                f"{described(site)} and the text it judges are both of {name}: judge with a model of another family."
            )
            yield Problem(site, message)


def _name(inspection: Inspection, site: JudgeSite) -> str | None:
    return next(
        (name for call in inspection.calls(site) if (name := model_name(inspection.view, call)) is not None), None
    )


def _writes(inspection: Inspection, site: JudgeSite, call: cst.Call, name: str) -> bool:
    """Whether a call asks that model too, and its answer is what the judge is shown."""
    if model_name(inspection.view, call) != name:
        return False
    flow = Flow(inspection.view, [call], decisions=False)
    return any(flow.touches(arg.value) for ask in inspection.asks(site) for arg in ask.args)


def _same_model_in_config(inspection: ConfigInspection) -> Iterator[Problem]:
    agents = {model for app in apps_of(inspection.source) for path in app for model in _agent_models(path)}
    for site in inspection.judges if agents else ():
        options = option(inspection.source.criteria[site.kind], "judge_model_options")
        judge = option(options, "judge_model") if isinstance(options, Mapping) else None
        if site.kind in JUDGES and judge in agents:
            message = f"{site.kind} and the agent it judges are both of {judge}: judge with a model of another family."
            yield Problem(site, message)


def _agent_models(path: Path) -> Iterator[str]:
    """The models of the agents that a file makes of literals; an agent with another one beside them is a mix."""
    try:
        view = Source.read(path).view
    except SourceError:
        return
    for call in view.calls:
        if any(name.startswith("google.adk.") and name.rpartition(".")[2] in _AGENTS for name in view.names(call.func)):
            model = view.value(view.argument(call, "model"))
            if isinstance(model, str):
                yield model


SAME_MODEL = Rule(
    code="JH009",
    name="same model judges and writes",
    explanation=(
        "The model that wrote the text judges it; models favour their own style, and their mistakes agree. Found only "
        "where the names are the same in the source and the written text demonstrably reaches the judge: in one "
        "module, or in an ADK config beside its agent. Judge with a model of another family, or measure the preference."
    ),
    python=_same_model_in_python,
    config=_same_model_in_config,
)

_NOT_INSTALLED = frozenset({"ImportError", "ModuleNotFoundError"})
# module -> what stands in its place
_MODULES = {
    "langchain.evaluation": "LangChain 1.0 removed langchain.evaluation: import from langchain_classic.evaluation",
    "langchain.smith": "LangChain 1.0 removed langchain.smith: import from langchain_classic.smith, or use langsmith",
}
_NAMES = {
    "LangChainStringEvaluator": "langsmith removed LangChainStringEvaluator: use HarnessRunEvaluator of "
    "judgeharness_langsmith around load_evaluator",
    "StringEvaluator": "langsmith's StringEvaluator is deprecated: use a function evaluator or openevals",
}


def _removed_in_python(inspection: Inspection) -> Iterator[Problem]:
    for node in inspection.view.nodes:
        match node:
            case cst.ImportFrom(module=module, names=names) if module is not None and not node.relative:
                message = _message(dotted(module), names)
            case cst.Import(names=names):
                message = next((found for name in names if (found := _of_module(dotted(name.name)))), None)
            case _:
                continue
        if message is not None and not _is_fallback(inspection, node):
            yield Problem(node, f"{message}.")


def _is_fallback(inspection: Inspection, node: cst.CSTNode) -> bool:
    """Whether an import is what `except ImportError` falls back on: then the newer one was tried first."""
    for above in inspection.view.above(node):
        if isinstance(above, cst.ExceptHandler) and above.type is not None:
            return any(last_name(one) in _NOT_INSTALLED for one in (above.type, *walk(above.type)))
    return False


def _of_module(name: str) -> str | None:
    return next((text for module, text in _MODULES.items() if name == module or name.startswith(f"{module}.")), None)


def _message(module: str, names: object) -> str | None:
    found = _of_module(module)
    if found is not None or isinstance(names, cst.ImportStar):
        return found
    for one in names if isinstance(names, (list, tuple)) else ():
        if module == "langchain":
            found = _of_module(f"{module}.{dotted(one.name)}")
        elif module.startswith("langsmith"):
            found = _NAMES.get(dotted(one.name))
        if found is not None:
            return found
    return None


REMOVED_API = Rule(
    code="JH010",
    name="removed evaluation API",
    explanation=(
        "The import is of an API that is gone or ends: langchain.evaluation and langchain.smith moved to "
        "langchain_classic with LangChain 1.0 (which gets security fixes until December 2026), LangSmith removed "
        "LangChainStringEvaluator and deprecates StringEvaluator. Found at the import, whether or not the name is "
        "used. Import from langchain_classic, or let judgeharness migrate rewrite the evaluator."
    ),
    python=_removed_in_python,
)


def _unread_in_config(inspection: ConfigInspection) -> Iterator[Problem]:
    apps = apps_of(inspection.source)
    custom = inspection.source.document.get("custom_metrics", inspection.source.document.get("customMetrics", {}))
    for site in inspection.sites if apps and not is_registered(inspection.source) else ():
        if option(inspection.source.criteria[site.kind], "judge_harness") is not None and site.kind not in (
            custom or {}
        ):
            message = (
                f"nobody reads the judge_harness block of {site.kind}, since {apps[0][0].name} does not register the "
                "harness: call judgeharness_adk.register() there."
            )
            yield Problem(site, message)


UNREAD_BLOCK = Rule(
    code="JH011",
    name="unread judge_harness block",
    explanation=(
        "A criterion holds a judge_harness block, and ADK keeps keys it does not know: without "
        "judgeharness_adk.register() in the app's agent.py (or the metric among custom_metrics) the built-in judge "
        "runs and the block changes nothing. Found where the app of a config has an agent.py that does not register."
    ),
    config=_unread_in_config,
)
