"""Judges of a configuration file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from openevals import prompts
from openevals.llm import create_async_llm_as_judge
from openevals.trajectory.llm import create_async_trajectory_llm_as_judge
from pydantic import ValidationError

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, UnknownNameError
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.redacting import without_secrets
from judgeharness_openevals.introspecting import chat_model
from judgeharness_openevals.judges import OpenevalsJudge
from judgeharness_openevals.preference_judge import PAIRWISE_PROMPT, preference_judge

_EVALUATORS: Mapping[str, Callable[..., Any]] = {
    "llm_as_judge": create_async_llm_as_judge,
    "trajectory_llm_as_judge": create_async_trajectory_llm_as_judge,
    "pairwise": preference_judge,
}
_ELSEWHERE = frozenset({"judge", "model", "name"})  # said by model, model_options and name of the file


def judge_from_spec(spec: JudgeSpec) -> Judge:
    """Return the judge of a configuration: `llm_as_judge`, `trajectory_llm_as_judge` or `pairwise`.

    Raises:
        UsageError: name, model or options cannot be used.

    """
    if spec.evaluator not in _EVALUATORS:
        raise UnknownNameError("evaluator", spec.evaluator, _EVALUATORS)
    if spec.model is None:
        raise ConfigError(f"judge {spec.name!r} needs a model, as in model: openai:gpt-4o.")
    factory = _EVALUATORS[spec.evaluator]
    options = _options(spec, factory)
    model = _chat_model(spec.model, spec.model_options)
    try:
        if spec.evaluator == "pairwise":
            given: dict[str, Any] = {"prompt": PAIRWISE_PROMPT, "feedback_key": "preference"} | options
            return preference_judge(None, model, name=spec.name, **given)
        return OpenevalsJudge.of(factory(judge=model, **options), name=spec.name)
    except JudgeHarnessError as error:
        raise ConfigError(f"judge {spec.name!r}: {error}") from error


def _options(spec: JudgeSpec, factory: Callable[..., Any]) -> dict[str, Any]:
    """Return the evaluator's options, a prompt of openevals that is given by name looked up."""
    known = [name for name in inspect.signature(factory).parameters if name not in _ELSEWHERE]
    options = dict(spec.evaluator_options)
    for name in options:
        if name not in known:
            raise UnknownNameError(f"option of {spec.evaluator}", name, known)
    prompt = options.get("prompt")
    if prompt is None and factory is create_async_llm_as_judge:
        raise ConfigError(f"judge {spec.name!r} needs a prompt: its text, or a name like CORRECTNESS_PROMPT.")
    if prompt is not None and not isinstance(prompt, str):
        raise ConfigError(f"judge {spec.name!r}: prompt is a text, or the name of one, not {type(prompt).__name__}.")
    if prompt is not None and prompt.isidentifier():
        names = {name: text for name, text in vars(prompts).items() if name.isupper() and isinstance(text, str)}
        if prompt not in names:
            raise UnknownNameError("prompt of openevals", prompt, names)
        options["prompt"] = names[prompt]
    return options


def _chat_model(name: str, options: Mapping[str, Any]) -> Any:
    try:
        return chat_model(name, **options)
    except Exception as error:
        raise ConfigError(f"model {name!r} cannot be made: {_sentence(error, options)}.") from error


def _sentence(error: Exception, options: Mapping[str, Any]) -> str:
    """Return one line that says what is wrong, without secrets of the options."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_context=False, include_input=False)
        line = "; ".join(f"option {'.'.join(map(str, part['loc']))!r}: {part['msg']}" for part in found)
    else:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return without_secrets(" ".join(line.split()).rstrip("."), options)
