"""JH007: a cache answers the repeats."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.model_facts import model_calls
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.tree import last_name
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["CACHE_OVER_REPEATS"]

_CODE = "JH007"
_DECORATORS = frozenset({"lru_cache", "cache", "cached", "memoize", "cache_data", "alru_cache"})
_SWITCHES = frozenset({"set_llm_cache", "enable_cache"})


def _python(inspection: Inspection) -> Iterator[Finding]:
    for site in inspection.judges:
        if site.samples == 1:
            continue
        cached = _switched_on(inspection.view) or _decorated(inspection, site) or _option(inspection, site)
        if cached is not None:
            message = (
                f"{described(site)} is asked several times through {cached}, which gives every repeat the first "
                "answer: switch the cache off for the judge, or key it by the repetition."
            )
            yield inspection.finding_at(_CODE, site, message)


def _switched_on(view: ModuleView) -> str | None:
    """`set_llm_cache(InMemoryCache())`, `langchain.llm_cache = ...`, `litellm.cache = Cache()`."""
    for node in view.nodes:
        match node:
            case cst.Call(func=func, args=args) if last_name(func) in _SWITCHES:
                if last_name(func) == "enable_cache" or (args and not _is_none(args[0].value)):
                    return last_name(func)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value):
                name = f"{last_name(target.value)}.{target.attr.value}"
                if name in {"langchain.llm_cache", "litellm.cache"} and not _is_none(value):
                    return name
    return None


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


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
    for call in (*([site.node] if site.node is not None else []), *inspection.asks(site)):
        for one in model_calls(view, call):
            for name in ("cache", "caching"):
                given = view.argument(one, name)
                if given is not None and view.value(given) not in (None, False) and not isinstance(given, cst.Param):
                    return f"{name}="
    return None


CACHE_OVER_REPEATS = Rule(
    code=_CODE,
    name="cache over repeats",
    explanation=(
        "A cache stands between the code and the model while the same question is asked several times: every repeat "
        "after the first is a copy, so the judge looks perfectly consistent. Found where the judge is repeated and a "
        "model cache is set, a function that asks it is memoised, or its model is given a cache. Give each repetition "
        "a key of its own or ask without a cache."
    ),
    python=_python,
)
