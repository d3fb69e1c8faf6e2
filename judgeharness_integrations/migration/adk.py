"""Google ADK: metrics of an evaluation config whose answers a model gives, and the apps it is of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import libcst as cst

from judgeharness_integrations.migration.modules import CONFTEST
from judgeharness_integrations.migration.sites import JudgeShape, JudgeSite, OtherFiles
from judgeharness_integrations.migration.sources import ConfigSource, Source, SourceError
from judgeharness_integrations.migration.syntax import is_zero, last_name, walk
from judgeharness_integrations.migration.view import ModuleView

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
