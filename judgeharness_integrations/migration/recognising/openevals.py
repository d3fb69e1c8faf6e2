"""openevals (and agentevals, which has its trajectory judges): `create_llm_as_judge` and its relatives."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.recognising.kinds import Kind
from judgeharness_integrations.migration.site import JudgeShape
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["openevals_kinds"]

_ROOTS = ("openevals.", "agentevals.")
_SCORER = "llm_as_judge_scorer"
_MAKERS = {
    "create_llm_as_judge": "llm_as_judge",
    "create_trajectory_llm_as_judge": "trajectory_llm_as_judge",
    "create_graph_trajectory_llm_as_judge": "graph_trajectory_llm_as_judge",
    "create_code_llm_as_judge": "code_llm_as_judge",
    "create_json_match_evaluator": "json_match",
    "_create_llm_as_judge_scorer": _SCORER,  # private, and called by code that follows openevals' own
}
_DETERMINISTIC = {
    "create_trajectory_match_evaluator": "trajectory_match",
    "create_embedding_similarity_evaluator": "embedding_similarity",
    "create_pyright_evaluator": "pyright",
    "create_mypy_evaluator": "mypy",
}


def openevals_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes."""
    for name in sorted(names):
        if not name.startswith(_ROOTS):
            continue
        maker = name.rpartition(".")[2]
        plain = maker.replace("create_async_", "create_", 1)
        if plain in _MAKERS:
            yield _judge(view, call, _MAKERS[plain], is_async=plain != maker)
            return
        if plain in _DETERMINISTIC:
            yield Kind(
                framework="openevals",
                kind=_DETERMINISTIC[plain],
                shape="any",
                is_async=plain != maker,
                deterministic=True,
                evidence=f"{maker} asks no model",
            )
            return


def _judge(view: ModuleView, call: cst.Call, kind: str, *, is_async: bool) -> Kind:
    without_model = kind == "json_match" and all(view.argument(call, one) is None for one in ("judge", "model"))
    return Kind(
        framework="handwritten" if kind == _SCORER else "openevals",  # a scorer returns no evaluator's result
        kind=kind,
        shape="any" if kind == "json_match" else _shape(view, call),
        is_async=is_async,
        deterministic=without_model,
        evidence="json_match compares without a model" if without_model else f"{kind} asks a model",
    )


def _shape(view: ModuleView, call: cst.Call) -> JudgeShape:
    """Booleans are labels, `continuous` and `choices` are scores; a schema of one's own is anything."""
    schema, continuous = view.argument(call, "output_schema"), view.argument(call, "continuous")
    choices = view.argument(call, "choices")
    if (schema is not None and view.value(schema) is not None) or any(arg.star for arg in call.args):
        return "any"
    if choices is not None and view.value(choices) is not None:
        return "scores"
    if continuous is None:
        return "labels"
    return {True: "scores", False: "labels"}.get(view.value(continuous), "any")  # type: ignore[return-value]
