"""What a call of LangChain, openevals, LangSmith or this package's adapters makes, and the metrics of Google ADK."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import libcst as cst

from .modules import CONFTEST, ConfigSource, Source, SourceError
from .syntax import Framework, JudgeShape, JudgeSite, OtherFiles, is_zero, last_name, walk
from .view import ModuleView


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


JUDGES: dict[str, JudgeShape] = {
    "rubric_based_final_response_quality_v1": "labels",
    "rubric_based_tool_use_quality_v1": "labels",
    "rubric_based_multi_turn_trajectory_quality_v1": "labels",
    "final_response_match_v2": "labels",
    "hallucinations_v1": "labels",
    "per_turn_user_simulator_quality_v1": "labels",
}
# LLM metrics that no harness reaches: a service judges
UNREACHABLE = frozenset(
    {
        *("safety_v1", "response_evaluation_score"),
        *("multi_turn_task_success_v1", "multi_turn_trajectory_quality_v1", "multi_turn_tool_use_quality_v1"),
    }
)
_DETERMINISTIC = frozenset(
    {
        *("tool_trajectory_avg_score", "response_match_score", "tool_call_count_v1", "inference_call_count_v1"),
        *("token_usage_v1", "invocation_duration_v1"),
    }
)
_ADK_SAMPLES = 5  # num_samples of ADK's JudgeModelOptions
_ONCE = frozenset({"hallucinations_v1"})  # ignores num_samples


def config_sites(source: ConfigSource) -> tuple[JudgeSite, ...]:
    """Return a site for each metric of a config, deterministic ones too; metrics nobody knows are left out.

    Raises:
        SourceError: it is not JSON.

    """
    criteria = source.criteria
    known = [name for name in criteria if name in JUDGES or name in _DETERMINISTIC or name in UNREACHABLE]
    if not known:
        return ()
    places = key_places(source.text)
    registered = is_registered(source)
    return tuple(_site(source, name, criteria[name], places[("criteria", name)], registered) for name in known)


def _site(
    source: ConfigSource,
    name: str,
    criterion: Any,
    span: tuple[int, int],
    registered: bool,  # noqa: FBT001 - private
) -> JudgeSite:
    (line, column), (end_line, end_column) = (_place(source.text, offset) for offset in span)
    deterministic = name in _DETERMINISTIC
    block = option(criterion, "judge_harness")
    return JudgeSite(
        framework="adk",
        kind=name,
        shape=JUDGES.get(name, "scores"),
        node=None,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        name=name,
        harnessed=name in JUDGES and (registered or isinstance(block, Mapping)),
        deterministic=deterministic,
        samples=_samples(name, criterion),
        evidence=f"{name} {'asks no model' if deterministic else 'asks a model'}",
    )


def _samples(name: str, criterion: Any) -> int:
    if name not in JUDGES or name in _ONCE:
        return 1
    return num_samples(criterion)


def num_samples(criterion: Any) -> int:
    """Return how often ADK asks about an invocation: `num_samples` where it is a count, else its default."""
    given = option(option(criterion, "judge_model_options"), "num_samples")
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else _ADK_SAMPLES


def at_temperature_zero(criterion: Any) -> bool:
    """Whether a criterion asks its judge at temperature 0, where repetitions are copies of one answer."""
    config = option(option(criterion, "judge_model_options"), "judge_model_config")
    return isinstance(config, Mapping) and is_zero(config.get("temperature"))


def option(criterion: Any, key: str) -> Any:
    """Return a key of a criterion, also as it is spelled in camel case; None when it is not there."""
    if not isinstance(criterion, Mapping):
        return None
    first, *others = key.split("_")
    return criterion.get(key, criterion.get(first + "".join(word.capitalize() for word in others)))


def _place(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


_App = tuple[Path, ...]
"""`agent.py`, or the module that stands for it, and the other files that can register for it."""

_LEVELS = 3  # folders above a config in which its agent is looked for, and above a test its data
_AGENT, _INIT, _ROOT = "agent.py", "__init__.py", "root_agent"
_EVALUATOR = "AgentEvaluator"
_METHODS = frozenset({"evaluate", "evaluate_eval_set"})


def apps_of(source: ConfigSource) -> tuple[_App, ...]:
    """Return the apps a config is of: the one in its folder or the nearest above, else those its tests name.

    Where no scanned file evaluates an agent, as for `adk eval`, it is the only app among them.
    """
    folder = source.path.absolute().parent
    for above in (folder, *list(folder.parents)[:_LEVELS]):
        if (above / _AGENT).is_file():
            return (_app(above / _AGENT),)
    if source.tree is None:
        return ()
    tests = source.tree.speaking_of(_EVALUATOR)
    agents = [] if tests else [one for one in source.tree.speaking_of(_ROOT) if one.name == _AGENT]
    if len(agents) == 1:
        return (_app(agents[0]),)
    found: dict[Path, _App] = {}
    for test in tests:
        for agent in _tested(source.tree, test, folder):
            conftests = (above / CONFTEST for above in test.parents)
            beside = (test, *(one for one in conftests if source.tree.has(one)))
            found[agent] = (*found.get(agent, _app(agent)), *beside)
    return tuple(found.values())


def is_registered(source: ConfigSource) -> bool:
    """Whether each app a config is of calls `judgeharness_adk.register()`; without one, none does."""
    return bool(apps_of(source)) and not unregistered(source)


def unregistered(source: ConfigSource) -> tuple[Path, ...]:
    """Return the agents of a config whose apps do not register."""
    return tuple(app[0] for app in apps_of(source) if not any(map(_registers, app)))


def _app(agent: Path) -> _App:
    return tuple(path for path in (agent, agent.with_name(_INIT)) if path.is_file())


def _registers(path: Path) -> bool:
    """Whether a Python file calls `judgeharness_adk.register()`; what cannot be read or parsed does not."""
    try:
        source = Source.read(path)
        if "judgeharness_adk" not in source.text:
            return False
        view = source.view
    except SourceError:
        return False
    return any("judgeharness_adk.register" in view.names(call.func) for call in view.calls)


def _tested(tree: OtherFiles, test: Path, folder: Path) -> Iterator[Path]:
    """Yield the agents a test evaluates with the configuration of a folder."""
    try:
        view = Source.read(test, tree=tree).view
    except SourceError:
        return
    for call in view.calls:
        if last_name(call.func) not in _METHODS or not isinstance(call.func, cst.Attribute):
            continue
        if last_name(call.func.value) == _EVALUATOR and _is_about(view, call, test, folder):
            found = (_agent(tree, test, full) for full in _named(view, call))
            agent = next((one for one in found if one is not None), None)
            if agent is not None:
                yield agent


def _is_about(view: ModuleView, call: cst.Call, test: Path, folder: Path) -> bool:
    """Whether the data a test gives, as far as its text says where that is, takes its criteria from a folder."""
    given = view.argument(call, "eval_dataset_file_path_or_dir", 1 if last_name(call.func) == "evaluate" else None)
    parts = [] if given is None else list(_parts(view, given))
    homes = (test.parent, *list(test.parents)[1 : _LEVELS + 1], Path.cwd())
    for home in homes if parts else ():
        path = home.joinpath(*parts).resolve()
        if path.is_file():
            return path.parent == folder.resolve()
        if path.is_dir():
            return folder.resolve().is_relative_to(path)
    return not parts and any(folder.is_relative_to(home) for home in homes[:2])


def _parts(view: ModuleView, given: cst.BaseExpression) -> Iterator[str]:
    """The texts of a path, in their order: `os.path.join(here, "data", "rain.test.json")`."""
    for one in view.origins(given):
        texts = [inner for inner in (one, *walk(one)) if isinstance(inner, cst.SimpleString)]
        if texts:
            texts.sort(key=lambda inner: (view.position(inner).start.line, view.position(inner).start.column))
            yield from (str(inner.evaluated_value) for inner in texts)
            return


def _named(view: ModuleView, call: cst.Call) -> Iterator[str]:
    """The modules a call may mean: the text or the module it gives, else what its file imports."""
    given = view.argument(call, "agent_module", 0)
    for one in () if given is None else view.origins(given):
        if isinstance(one, cst.SimpleString):
            yield str(one.evaluated_value)
        yield from (full.removesuffix(".__name__") for full in sorted(view.names(one)))
    if view.tree is not None and (given is None or view.value(given) is ...):
        yield from view.tree.outline(view.path).imports.values()


def _agent(tree: OtherFiles, test: Path, full: str) -> Path | None:
    """Return the file of the agent a module's name stands for: a package stands for the `agent.py` in it."""
    for name in (f"{full}.agent", full, full.rpartition(".")[0]):
        home = tree.home_of(test, name) if name else None
        agent = home.with_name(_AGENT) if home is not None and home.name == _INIT else home
        if agent is not None and agent.name == _AGENT and tree.has(agent):
            return agent
    named = tree.home_of(test, full) if full.endswith(".agent") else None
    return named if named is not None and named.name != _INIT else None


_KeyPath: TypeAlias = tuple[str | int, ...]
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def key_places(text: str) -> dict[_KeyPath, tuple[int, int]]:
    """Return the path of every value -> offsets (start, end); the start of a member of an object is that of its key.

    Args:
        text: valid JSON. Items of arrays have their index as key. Of keys that stand twice the last one counts.

    """
    places: dict[_KeyPath, tuple[int, int]] = {}
    _value(text, _skip(text, 0), (), places)
    return places


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, path: _KeyPath, places: dict[_KeyPath, tuple[int, int]]) -> int:
    """Note what is inside the value at an offset and return its end."""
    if text[at] not in "{[":
        return _DECODER.raw_decode(text, at)[1]
    is_object, close = text[at] == "{", "}" if text[at] == "{" else "]"
    at, index = _skip(text, at + 1), 0
    while text[at] != close:
        start, key = at, index
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        inner = (*path, key)
        at = _value(text, at, inner, places)
        places[inner] = (start, at)
        at, index = _skip(text, at), index + 1
        at = _skip(text, at + 1) if text[at] == "," else at
    return at + 1
