"""JH010: an evaluation API that was removed, or ends."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.tree import dotted, last_name, walk

__all__ = ["REMOVED_API"]

_CODE = "JH010"
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


def _python(inspection: Inspection) -> Iterator[Finding]:
    for node in inspection.view.nodes:
        match node:
            case cst.ImportFrom(module=module, names=names) if module is not None and not node.relative:
                message = _message(dotted(module), names)
            case cst.Import(names=names):
                message = next((found for one in names if (found := _of_module(dotted(one.name)))), None)
            case _:
                continue
        if message is not None and not _is_fallback(inspection, node):
            yield inspection.finding(_CODE, node, f"{message}.")


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
    code=_CODE,
    name="removed evaluation API",
    explanation=(
        "The import is of an API that is gone or ends: langchain.evaluation and langchain.smith moved to "
        "langchain_classic with LangChain 1.0 (which gets security fixes until December 2026), LangSmith removed "
        "LangChainStringEvaluator and deprecates StringEvaluator. Found at the import, whether or not the name is "
        "used. Import from langchain_classic, or let judgeharness migrate rewrite the evaluator."
    ),
    python=_python,
)
