"""A small agent as users write it: a folder with `agent.py`, an eval set and `test_config.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent
from google.adk.evaluation.eval_set import EvalSet
from google.genai import types

from support.adk_answers import CITIES, JudgePrompt
from support.openai_replies import Reply, Request

__all__ = [
    "AgentFolder",
    "eval_config",
    "eval_set",
    "invocation",
    "judge_options",
    "rubric",
    "serve",
    "weather_reply",
    "write_agent_folder",
]

FINAL_RESPONSE = "rubric_based_final_response_quality_v1"
_DEGREES = {city: 10 + number for number, city in enumerate(CITIES)}
_AGENT = '''{extra}
from google.adk.agents import Agent
{imports}

DEGREES = {degrees!r}


def get_weather(city: str) -> dict[str, str]:
    """Tells the weather of a city."""
    return {{"report": f"It is {{DEGREES[city]}} degrees in {{city}}."}}


root_agent = Agent(
    name="weather",
    model={model},
    instruction="Ask the tool about the weather, then repeat what it says.",
    tools=[get_weather],
)
'''
_SCRIPTED = "from google.adk.models.registry import LLMRegistry\nfrom support.adk_judges import ScriptedWeather\n\n"
_SCRIPTED += "LLMRegistry.register(ScriptedWeather)"


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """Where an agent's files are.

    Attributes:
        path: The agent's folder; its name is ADK's app name.
        eval_set: The eval set file.
        config: The `test_config.json` beside it.
    """

    path: Path
    eval_set: Path
    config: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def agents_dir(self) -> Path:
        return self.path.parent

    @property
    def litellm(self) -> bool:
        """Whether running it imports LiteLLM."""
        return "openai/" in self.config.read_text() or "LiteLlm" in (self.path / "agent.py").read_text()


def write_agent_folder(
    tmp_path: Path,
    *,
    config: Mapping[str, Any] | None = None,
    cases: int = 1,
    turns: int = 1,
    api_base: str | None = None,
    extra: str = "",
    name: str = "weather_app",
    evals: EvalSet | None = None,
    files: Mapping[str, str] | None = None,
) -> AgentFolder:
    """Write an agent's folder.

    Args:
        tmp_path: Where the folder goes.
        config: What `test_config.json` holds; by default one rubric judged by `scripted-judge`.
        cases: How many conversations the eval set has, each about cities of its own.
        turns: How many user turns each has.
        api_base: Where the agent's `LiteLlm("openai/gpt-4o-test")` is, with `/v1`; without it the agent is scripted.
        extra: Lines at the top of `agent.py`.
        name: The folder's name.
        evals: The eval set, where `cases` and `turns` say too little.
        files: Further files of the agent's package, by name.
    """
    path = tmp_path / "agents" / name
    path.mkdir(parents=True)
    folder = AgentFolder(path=path, eval_set=path / "weather.test.json", config=path / "test_config.json")
    path.joinpath("__init__.py").write_text("from . import agent\n")
    path.joinpath("agent.py").write_text(_agent(extra, api_base))
    folder.eval_set.write_text((evals or eval_set(cases, turns)).model_dump_json(indent=2, exclude_none=True))
    folder.config.write_text(json.dumps(config or eval_config({FINAL_RESPONSE: judge_options("scripted-judge")})))
    for file, text in (files or {}).items():
        path.joinpath(file).write_text(text)
    return folder


def eval_config(criteria: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
    """What `test_config.json` holds."""
    return {"criteria": dict(criteria), **rest}


def judge_options(
    model: str,
    *,
    rubrics: Sequence[str] | None = ("polite",),
    samples: int = 5,
    parallelism: int | None = None,
    threshold: float = 1.0,
    attempts: int | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """The criterion of a judge's metric.

    Args:
        model: The judge model's name.
        rubrics: Ids of rubrics, whose text is made of them; none for the metrics that have no rubrics.
        samples: `num_samples`.
        parallelism: `parallelism_limit`; ADK's default (1) where not given.
        threshold: What the score must reach.
        attempts: LiteLLM's retries of one answer, 0 for none; ADK's default (7) where not given, which makes up to
            15 calls and a minute of waits.
        extra: Further keys of the criterion, such as `judge_harness={...}`.
    """
    options: dict[str, Any] = {"judge_model": model, "num_samples": samples}
    if parallelism is not None:
        options["parallelism_limit"] = parallelism
    if attempts is not None:
        options["judge_model_config"] = {"http_options": {"retry_options": {"attempts": attempts}}}
    criterion = {"threshold": threshold, "judge_model_options": options, **extra}
    if rubrics is not None:
        criterion["rubrics"] = [rubric(rubric_id).model_dump(exclude_none=True) for rubric_id in rubrics]
    return criterion


def rubric(rubric_id: str, *, kind: str | None = None) -> Rubric:
    """A rubric; `kind` is its type, which case and invocation rubrics need (such as `FINAL_RESPONSE_QUALITY`)."""
    return Rubric(
        rubric_id=rubric_id, rubric_content=RubricContent(text_property=f"The answer is {rubric_id}."), type=kind
    )


def eval_set(cases: int = 1, turns: int = 1) -> EvalSet:
    """Conversations about cities, no city twice.

    Raises:
        ValueError: There are too few cities.
    """
    if cases * turns > len(CITIES):
        raise ValueError(f"{cases} cases of {turns} turns need {cases * turns} cities; there are {len(CITIES)}")
    rows = [CITIES[case * turns : (case + 1) * turns] for case in range(cases)]
    conversations = [[invocation(city) for city in row] for row in rows]
    evals = [EvalCase(eval_id=f"case_{number}", conversation=turn) for number, turn in enumerate(conversations)]
    return EvalSet(eval_set_id="weather_set", eval_cases=evals)


def invocation(city: str, *, rubrics: Sequence[Rubric] = ()) -> Invocation:
    """A turn as it should go, which is also how the agent's turns go."""
    call = types.FunctionCall(name="get_weather", args={"city": city})
    return Invocation(
        invocation_id=f"turn_{city}",
        user_content=types.Content(role="user", parts=[types.Part(text=f"What is the weather in {city}?")]),
        final_response=types.Content(role="model", parts=[types.Part(text=_report(city))]),
        intermediate_data=IntermediateData(tool_uses=[call]),
        rubrics=list(rubrics) or None,
    )


def weather_reply(request: Request) -> Reply:
    """The weather agent's model behind the loopback server."""
    if request.messages[-1]["role"] == "tool":
        return Reply.text(json.loads(request.messages[-1]["content"])["report"])
    city = next(city for city in CITIES if city in str(request.messages[-1]["content"]))
    return Reply.tool_call("get_weather", {"city": city})


def serve(script: Any, *, judge_model: str = "judge-test") -> Any:
    """A script of `OpenAIServer` for the agent and the judge: the name of the model tells which is asked.

    Args:
        script: The judge's `Answers`, or a function of the prompt that returns a `Reply`. An exception of it is sent
            as status 400. LiteLLM sends even those again, and each call takes a verdict: give `attempts=0` to
            `judge_options` for one call a sample.
        judge_model: The judge's model as the server sees it, without LiteLLM's `openai/`.
    """

    def reply(request: Request) -> Reply:
        if request.model != judge_model:
            return weather_reply(request)
        try:
            said = script(JudgePrompt(request.user))
        except Exception as error:  # noqa: BLE001 - it is what the script wants the judge to do
            return Reply.status(400, message=repr(error))
        return said if isinstance(said, Reply) else Reply.text(said)

    return reply


def _agent(extra: str, api_base: str | None) -> str:
    model = '"scripted-weather"'
    imports = _SCRIPTED
    if api_base is not None:
        model = f'LiteLlm("openai/gpt-4o-test", api_base={api_base!r}, api_key="test")'
        imports = "from google.adk.models.lite_llm import LiteLlm"
    return _AGENT.format(extra=extra, imports=imports, degrees=_DEGREES, model=model)


def _report(city: str) -> str:
    return f"It is {_DEGREES[city]} degrees in {city}."
