"""Calls that look as if they made or asked a judge, where the scanned files do not say which."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst

from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.outline import Outline
from judgeharness_integrations.migration.tree import last_name
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Unresolved", "may_call_judges", "unresolved_judges"]

_NAMES = re.compile(
    r"(?:^|_)(?:judges?|graders?)(?:$|_)|(?:[a-z0-9]|^)(?:LLM)?(?:Judge|Grader)$|^LLMJudge$|llm_as_judge", re.ASCII
)
_EVALUATORS = re.compile(r"(?:^|_)evaluators?$|[a-z]Evaluator$")
_NO_JUDGES = re.compile(
    r"(?i:config|result|results|error|settings|schema|response|prompt|prompts|verdict|score|input|output|case|exception|id|name)$"
)
_MODELS = re.compile(r"openai|anthropic|langchain|langsmith|openevals|litellm|\bllm|genai", re.IGNORECASE)
_METHODS = frozenset(
    {
        *("evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"),
        *("evaluate_agent_trajectory", "aevaluate_agent_trajectory"),
    }
)
# packages whose judges are not followed: what they are called with asks a model
_PACKAGES = re.compile(
    r"^(?:deepeval\.metrics|autoevals|ragas\.metrics|phoenix\.evals|azure\.ai\.evaluation|pydantic_evals\.evaluators"
    r"|inspect_ai\.scorer|mlflow\.genai\.(?:judges|scorers)|llama_index\.core\.evaluation|trulens\w*|dspy\.evaluate)\."
    r"(?:\w+\.)*(?P<name>\w+)$"
)
_ROOTS = re.compile(
    r"^(?:deepeval|autoevals|ragas|phoenix|azure|pydantic_evals|inspect_ai|mlflow|llama_index|trulens\w*|dspy)(?:$|\.)"
)
_JUDGES_THERE = re.compile(
    r"GEval|Metric$|Factuality|ClosedQA|Battle|Humor|Security|Summary|Possible|Faithful|Relevan|Correct|Groundedness"
    r"|Coherence|Fluency|Similarity$|LLM|llm_|model_graded|Judge|judge|Guideline|Hallucination|Evaluator$|SemanticF1"
    r"|Toxicity|Bias|Rubric|AspectCritic"
)
_ASK_NO_MODEL = re.compile(
    r"Levenshtein|Exact|Bleu|Rouge|Numeric|JSON|Json|F1Score|Meteor|Gleu|NonLLM|String|Embedding|Contains|Equals"
)
_DYNAMIC = frozenset(
    {"getattr", "import_module", "__import__", "import_string", "locate", "load_class", "resolve_name"}
)
_TEXT = re.compile(
    r"\w*(?:[jJ]udge|[gG]rader|[eE]valuator)\w*\W{0,3}\(|evaluate_string|evaluate_agent_traj|\b(?:getattr|import_module)\b[^\n]*[jJ]udge"
    r"|\b(?:deepeval|autoevals|ragas|phoenix|pydantic_evals|inspect_ai|mlflow|llama_index|trulens\w*|azure)\b"
)


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """A judge by its name or its method, and why nothing more is known of it."""

    path: Path
    line: int
    column: int
    name: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return what a machine reads."""
        place = {"path": self.path.as_posix(), "line": self.line, "column": self.column}
        return {**place, "name": self.name, "why": self.why}


def may_call_judges(text: str, outline: Outline) -> bool:
    """Whether a Python text may call something that looks like a judge: a search in its text and its names."""
    if not _TEXT.search(text):
        return False
    if not outline.called.isdisjoint(_METHODS | _DYNAMIC):
        return True
    if any(_ROOTS.match(full) for full in (*outline.imports.values(), *outline.stars)):
        return True
    models = bool(_MODELS.search(text))
    return any(_looks_like(name, models=models) for name in outline.called)


def unresolved_judges(inspection: Inspection) -> tuple[Unresolved, ...]:
    """Return the calls that look like a judge's and are none that was found, each name once."""
    view, found = inspection.view, dict[str, Unresolved]()
    known = {call for site in inspection.sites for call in (site.node, *inspection.asks(site))}
    models = bool(_MODELS.search(inspection.source.text))
    for call in view.calls:
        why = None if call in known else _reason(view, call, known, models=models)
        name = _called(view, call)
        if why is not None and name not in found:
            place = view.position(call).start
            found[name] = Unresolved(
                path=inspection.source.path, line=place.line, column=place.column + 1, name=name, why=why
            )
    return tuple(found.values())


def _called(view: ModuleView, call: cst.Call) -> str:
    return view.module.code_for_node(call.func)


def _reason(view: ModuleView, call: cst.Call, known: set[cst.Call | None], *, models: bool) -> str | None:
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS:
        return _of_method(view, call.func.value, known)
    names = view.names(call.func)
    for full in sorted(names):
        package = _PACKAGES.match(full)
        if package and _JUDGES_THERE.search(package["name"]) and not _ASK_NO_MODEL.search(package["name"]):
            return f"it is a judge of {full.partition('.')[0]}, which is not looked into"
    if isinstance(call.func, cst.Call):
        return _dynamic(view, call.func, models=models)
    if not _looks_like(last_name(call.func), models=models):
        return None
    return _outside(view, names) or _made_elsewhere(view, call.func)


def _looks_like(name: str, *, models: bool) -> bool:
    if _NO_JUDGES.search(name):
        return False
    return bool(_NAMES.search(name) or (models and _EVALUATORS.search(name)))


def _of_method(view: ModuleView, owner: cst.BaseExpression, known: set[cst.Call | None]) -> str | None:
    """An evaluator of LangChain by its method; a chain that asks itself is part of its definition."""
    origins = view.origins(owner)
    if any(isinstance(one, cst.Call) and (one in known or last_name(one.func) == "super") for one in origins):
        return None
    if _is_held(view, origins):
        return None
    if last_name(owner) in {"self", "cls"} or any(isinstance(one, cst.ClassDef) for one in _makers(view, origins)):
        return None
    return "where it is made is not to be seen in the scanned files"


def _is_held(view: ModuleView, origins: tuple[cst.CSTNode, ...]) -> bool:
    """Whether what is asked was looked at where it is made, in this file or another, and is no judge of a model."""
    if view.tree is None:
        return False
    named = [one.func if isinstance(one, cst.Call) else one for one in origins]
    names = [full for one in named if isinstance(one, (cst.Name, cst.Attribute)) for full in view.names(one)]
    if any(view.tree.holds(view.path, full) for full in names):
        return True
    return any(isinstance(one, cst.Name) and view.tree.has_fixture(view.path, one.value) for one in origins)


def _makers(view: ModuleView, origins: tuple[cst.CSTNode, ...]) -> Iterator[cst.CSTNode]:
    for one in origins:
        if isinstance(one, cst.Call):
            yield from view.origins(one.func)


def _outside(view: ModuleView, names: frozenset[str]) -> str | None:
    """A name that is imported from where no scanned file is."""
    for full in sorted(names):
        root = full.lstrip(".").partition(".")[0]
        if full.startswith("judgeharness_") or root in sys.stdlib_module_names or root == "":
            continue
        if view.tree is None or not view.tree.holds(view.path, full):
            return f"{full} is in none of the scanned files"
    return None


def _made_elsewhere(view: ModuleView, func: cst.BaseExpression) -> str | None:
    """A local name of what another package, or a look-up while the code runs, returns."""
    nodes = [func, *((func.value,) if isinstance(func, cst.Attribute) else ())]
    for made in (one for node in nodes for one in view.origins(node)):
        if isinstance(made, cst.Call):
            if last_name(made.func) in _DYNAMIC:
                return "it is looked up while the code runs"
            if isinstance(func, cst.Name):
                why = _outside(view, view.names(made.func))
                if why is not None:
                    return why
    return None


def _dynamic(view: ModuleView, func: cst.Call, *, models: bool) -> str | None:
    """`getattr(module, "judge")(text)`."""
    texts = (view.value(arg.value) for arg in func.args)
    if last_name(func.func) in _DYNAMIC and any(
        isinstance(one, str) and _looks_like(one, models=models) for one in texts
    ):
        return "it is looked up while the code runs"
    return None
