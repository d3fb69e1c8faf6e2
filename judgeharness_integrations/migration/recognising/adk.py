"""Google ADK: metrics of an evaluation config whose answers a model gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judgeharness_integrations.migration.jsonplaces import key_places
from judgeharness_integrations.migration.site import JudgeShape, JudgeSite
from judgeharness_integrations.migration.sources import ConfigSource, Source, SourceError

__all__ = ["DETERMINISTIC", "JUDGES", "UNREACHABLE", "agent_files", "config_sites", "option", "registers"]

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
DETERMINISTIC = frozenset(
    {
        *("tool_trajectory_avg_score", "response_match_score", "tool_call_count_v1", "inference_call_count_v1"),
        *("token_usage_v1", "invocation_duration_v1"),
    }
)
_ADK_SAMPLES = 5  # num_samples of ADK's JudgeModelOptions
_ONCE = frozenset({"hallucinations_v1"})  # ignores num_samples
_LEVELS = 3  # folders above a config in which its agent is looked for


def config_sites(source: ConfigSource) -> tuple[JudgeSite, ...]:
    """Return a site for each metric of a config, deterministic ones too; metrics nobody knows are left out.

    Raises:
        SourceError: it is not JSON.

    """
    criteria = source.criteria
    known = [name for name in criteria if name in JUDGES or name in DETERMINISTIC or name in UNREACHABLE]
    if not known:
        return ()
    places = key_places(source.text)
    registered = any(registers(path) for path in agent_files(source.path))
    return tuple(_site(source, name, criteria[name], places[("criteria", name)], registered) for name in known)


def _site(
    source: ConfigSource,
    name: str,
    criterion: Any,
    span: tuple[int, int],
    registered: bool,  # noqa: FBT001 - private
) -> JudgeSite:
    (line, column), (end_line, end_column) = (_place(source.text, offset) for offset in span)
    deterministic = name in DETERMINISTIC
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
    given = option(option(criterion, "judge_model_options"), "num_samples")
    return given if isinstance(given, int) else _ADK_SAMPLES


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


def agent_files(config: Path) -> Iterator[Path]:
    """Yield the `agent.py` and `__init__.py` of the app a config is of: in its folder or the nearest above."""
    folder = config.absolute().parent
    for above in (folder, *list(folder.parents)[:_LEVELS]):
        agent = above / "agent.py"
        if agent.is_file():
            yield from (path for path in (agent, above / "__init__.py") if path.is_file())
            return


def registers(path: Path) -> bool:
    """Whether a Python file calls `judgeharness_adk.register()`; what cannot be read or parsed does not."""
    try:
        source = Source.read(path)
        if "judgeharness_adk" not in source.text:
            return False
        view = source.view
    except SourceError:
        return False
    return any("judgeharness_adk.register" in view.names(call.func) for call in view.calls)
