"""What a call of LangChain, openevals, LangSmith or this package's adapters makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from judgeharness_integrations.migration.sites import Framework, JudgeShape
from judgeharness_integrations.migration.view import ModuleView


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of judge; the fields are those of `JudgeSite`."""

    framework: Framework
    kind: str
    shape: JudgeShape
    evidence: str
    is_async: bool | None = None
    harnessed: bool = False
    deterministic: bool = False


SHAPES: dict[str, JudgeShape] = {
    "pairwise_string": "pairwise",
    "labeled_pairwise_string": "pairwise",
    "score_string": "scores",
    "labeled_score_string": "scores",
    "criteria": "labels",
    "labeled_criteria": "labels",
    "qa": "labels",
    "cot_qa": "labels",
    "context_qa": "labels",
    "trajectory": "scores",
}
_CHAINS = {
    "PairwiseStringEvalChain": "pairwise_string",
    "LabeledPairwiseStringEvalChain": "labeled_pairwise_string",
    "ScoreStringEvalChain": "score_string",
    "LabeledScoreStringEvalChain": "labeled_score_string",
    "CriteriaEvalChain": "criteria",
    "LabeledCriteriaEvalChain": "labeled_criteria",
    "QAEvalChain": "qa",
    "CotQAEvalChain": "cot_qa",
    "ContextQAEvalChain": "context_qa",
    "TrajectoryEvalChain": "trajectory",
}
_LANGCHAIN_DETERMINISTIC = {
    "StringDistanceEvalChain": "string_distance",
    "PairwiseStringDistanceEvalChain": "pairwise_string_distance",
    "EmbeddingDistanceEvalChain": "embedding_distance",
    "PairwiseEmbeddingDistanceEvalChain": "pairwise_embedding_distance",
    "ExactMatchStringEvaluator": "exact_match",
    "RegexMatchStringEvaluator": "regex_match",
    "JsonValidityEvaluator": "json_validity",
    "JsonEqualityEvaluator": "json_equality",
    "JsonEditDistanceEvaluator": "json_edit_distance",
    "JsonSchemaEvaluator": "json_schema_validation",
}
_LANGCHAIN_ROOTS = ("langchain.", "langchain_classic.", "langchain_community.")
_ENUM = "EvaluatorType."
_MEMBERS = {"agent_trajectory": "trajectory"}  # where an enum member is not its value


def langchain_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes, one kind for each evaluator it loads."""
    ours = sorted(name for name in names if name.startswith(_LANGCHAIN_ROOTS))
    if not ours:
        return
    name = ours[0]
    last = name.rpartition(".")[2]
    chains = [kind for one in ours for kind in _chain(one, one.rpartition(".")[2])]
    if last == "load_evaluator":
        yield _loaded(view, call, view.argument(call, "evaluator", 0))
    elif last == "load_evaluators":
        yield from (_loaded(view, call, one) for one in _listed(view, view.argument(call, "evaluators", 0)))
    elif last == "RunEvalConfig" and any(_asks_a_model(view, one) for one in _of_config(view, call)):
        yield Kind(
            framework="langchain", kind="run_eval_config", shape="any", evidence="RunEvalConfig runs LLM evaluators"
        )
    elif len(chains) > 1:  # a table of classes: only running the code tells which one
        judges = [kind for kind in chains if not kind.deterministic] if last == "from_llm" else []
        yield Kind(
            framework="langchain",
            kind="unknown",
            shape="any",
            deterministic=not judges,
            evidence=f"one of {len(chains)} evaluation chains is made",
        )
    else:
        yield from chains


def _chain(name: str, last: str) -> Iterator[Kind]:
    parts = name.split(".")
    owner = parts[-2] if last == "from_llm" and len(parts) > 1 else last
    if owner in _CHAINS and (last in {"from_llm", owner}):
        kind = _CHAINS[owner]
        yield Kind(framework="langchain", kind=kind, shape=SHAPES[kind], evidence=f"{owner} asks a model")
    elif owner in _LANGCHAIN_DETERMINISTIC:
        kind = _LANGCHAIN_DETERMINISTIC[owner]
        yield Kind(
            framework="langchain", kind=kind, shape="scores", deterministic=True, evidence=f"{owner} asks no model"
        )


def _loaded(view: ModuleView, call: cst.Call, given: cst.CSTNode | None) -> Kind:
    kind = evaluator_kind(view, given)
    if kind in SHAPES:
        evidence = f"load_evaluator loads {kind}, which asks a model"
        return Kind(framework="langchain", kind=kind, shape=SHAPES[kind], evidence=evidence)
    if kind is None:
        several = given is not None and any(one in SHAPES for one in _kinds(view, given))
        model = several or view.argument(call, "llm") is not None or _brings_model(view, call)
        evidence = f"load_evaluator {'is given a model' if model else 'loads what only running the code tells'}"
        return Kind(framework="langchain", kind="unknown", shape="any", evidence=evidence, deterministic=not model)
    return Kind(framework="langchain", kind=kind, shape="scores", deterministic=True, evidence=f"{kind} asks no model")


def _brings_model(view: ModuleView, call: cst.Call) -> bool:
    """`load_evaluator(kind, **{"llm": llm})`."""
    return any(
        isinstance(pair, cst.DictElement) and view.value(pair.key) == "llm"
        for arg in call.args
        if arg.star == "**"
        for made in view.origins(arg.value)
        if isinstance(made, cst.Dict)
        for pair in made.elements
    )


def _listed(view: ModuleView, given: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    if given is not None:
        found = list(view.elements(given))
        yield from found or [given]


def evaluator_kind(view: ModuleView, given: cst.CSTNode | None) -> str | None:
    """Return the evaluator a string or a member of `EvaluatorType` names; None where only running the code tells."""
    found = frozenset() if given is None else _kinds(view, given)
    return next(iter(found)) if len(found) == 1 else None


def _kinds(view: ModuleView, given: cst.CSTNode) -> frozenset[str]:
    """Every evaluator an expression may name: several in `for kind in ("criteria", "score_string")`."""
    value = view.value(given)
    if isinstance(value, str):
        return frozenset({value})
    found = set()
    for origin in view.origins(given):
        if isinstance(origin, cst.SimpleString):
            found.add(str(origin.evaluated_value))
        for name in view.names(origin):
            if _ENUM in name:
                member = name.rpartition(_ENUM)[2].split(".")[0].lower()
                found.add(_MEMBERS.get(member, member))
    return frozenset(found)


def _of_config(view: ModuleView, call: cst.Call) -> Iterator[cst.CSTNode]:
    for keyword in ("evaluators", "custom_evaluators"):
        given = view.argument(call, keyword)
        if given is not None:
            yield from view.elements(given)


def _asks_a_model(view: ModuleView, given: cst.CSTNode) -> bool:
    kind = evaluator_kind(view, given)
    if kind is not None:
        return kind in SHAPES
    judges = {"Criteria", "LabeledCriteria", "QA", "CoTQA", "ContextQA", "ScoreString", "LabeledScoreString"}
    return isinstance(given, cst.Call) and any(name.split(".")[-1] in judges for name in view.names(given.func))


_OPENEVALS_ROOTS = ("openevals.", "agentevals.")
_SCORER = "llm_as_judge_scorer"
_MAKERS = {
    "create_llm_as_judge": "llm_as_judge",
    "create_trajectory_llm_as_judge": "trajectory_llm_as_judge",
    "create_graph_trajectory_llm_as_judge": "graph_trajectory_llm_as_judge",
    "create_code_llm_as_judge": "code_llm_as_judge",
    "create_json_match_evaluator": "json_match",
    "_create_llm_as_judge_scorer": _SCORER,  # private, and called by code that follows openevals' own
}
_OPENEVALS_DETERMINISTIC = {
    "create_trajectory_match_evaluator": "trajectory_match",
    "create_embedding_similarity_evaluator": "embedding_similarity",
    "create_pyright_evaluator": "pyright",
    "create_mypy_evaluator": "mypy",
}


def openevals_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes."""
    for name in sorted(names):
        if not name.startswith(_OPENEVALS_ROOTS):
            continue
        maker = name.rpartition(".")[2]
        plain = maker.replace("create_async_", "create_", 1)
        if plain in _MAKERS:
            yield _judge(view, call, _MAKERS[plain], is_async=plain != maker)
            return
        if plain in _OPENEVALS_DETERMINISTIC:
            yield Kind(
                framework="openevals",
                kind=_OPENEVALS_DETERMINISTIC[plain],
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


STRING_EVALUATOR = "LangChainStringEvaluator"  # LangSmith has removed it


def langsmith_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes."""
    if not any(name.startswith("langsmith.") and name.endswith(f".{STRING_EVALUATOR}") for name in names):
        return
    evaluator = evaluator_kind(view, view.argument(call, "evaluator", 0))
    yield Kind(
        framework="langsmith",
        kind=STRING_EVALUATOR,
        shape=SHAPES.get(evaluator or "", "any"),
        deterministic=evaluator is not None and evaluator not in SHAPES,
        evidence=f"{STRING_EVALUATOR} runs {evaluator or 'an evaluator of LangChain'}",
    )


def is_evaluator(view: ModuleView, function: cst.FunctionDef) -> bool:
    """Whether a function is decorated as an evaluator of LangSmith."""
    decorators = (decorator.decorator for decorator in function.decorators)
    made = (decorator.func if isinstance(decorator, cst.Call) else decorator for decorator in decorators)
    return any("langsmith" in name and "evaluator" in name for one in made for name in view.names(one))


_CLASSES: dict[str, JudgeShape] = {
    "PairwiseJudge": "pairwise",
    "ScoreJudge": "scores",
    "CriteriaJudge": "labels",
    "LabelJudge": "labels",
}


def our_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes."""
    for name in sorted(names):
        root, _, last = name.partition(".")[0], None, name.rpartition(".")[2]
        if root == "judgeharness_langchain" and last in _CLASSES:
            yield Kind(
                framework="langchain", kind=last, shape=_CLASSES[last], harnessed=True, evidence=f"{last} is a harness"
            )
        elif root == "judgeharness_langchain" and last == "load_evaluator":
            kind = evaluator_kind(view, view.argument(call, "evaluator", 0)) or "unknown"
            yield Kind(
                framework="langchain",
                kind=kind,
                shape=SHAPES.get(kind, "any"),
                harnessed=True,
                deterministic=kind not in SHAPES and kind != "unknown",
                evidence="judgeharness_langchain.load_evaluator makes harnessed evaluators",
            )
        elif root == "judgeharness_openevals" and last.endswith("_harnessed_pairwise_judge"):
            yield Kind(
                framework="openevals",
                kind="pairwise_judge",
                shape="pairwise",
                is_async="_async_" in last,
                harnessed=True,
                evidence=f"{last} makes a harnessed judge",
            )
