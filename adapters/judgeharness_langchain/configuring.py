"""Judges and models of a configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.judging.byrule import ASKS_NO_MODEL
from judgeharness_integrations.judging.judge import Judge
from judgeharness_langchain.chatjudge import ChatJudge, known_options
from judgeharness_langchain.decisionmodels import decision_model
from judgeharness_langchain.decisions import DecisionJudge
from judgeharness_langchain.evaluators import EvaluatorJudge
from judgeharness_langchain.judges import CriteriaJudge, LabelJudge, PairwiseJudge, ScoreJudge
from judgeharness_langchain.loading import build_evaluator
from judgeharness_langchain.models import sentence
from judgeharness_langchain.structured import LangChainModel

_JUDGES: dict[str, type[ChatJudge]] = {
    judge.__name__: judge for judge in (PairwiseJudge, ScoreJudge, CriteriaJudge, LabelJudge)
}
_OURS: dict[str, Any] = {**_JUDGES, DecisionJudge.__name__: DecisionJudge}
_EVALUATORS = (
    "pairwise_string",
    "labeled_pairwise_string",
    "score_string",
    "labeled_score_string",
    "criteria",
    "labeled_criteria",
    "qa",
    "cot_qa",
    "context_qa",
)
_BY_RULE = (
    "exact_match",
    "regex_match",
    "json_validity",
    "json_equality",
    "json_edit_distance",
    "json_schema_validation",
    "string_distance",
    "pairwise_string_distance",
)


def chat_model(name: str, options: Mapping[str, Any]) -> Any:
    """Return the chat model `init_chat_model` makes of `provider:model`.

    Raises:
        NotInstalledError: `langchain` or the provider's package is missing.
        ConfigError: the model or its options are refused.

    """
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - brought by an extra of its own
    except ImportError as error:
        raise NotInstalledError(f"init_chat_model for model {name!r}", "langchain-models") from error
    try:
        return init_chat_model(name, **options)
    except ImportError as error:
        raise ConfigError(f"model {name!r}: {sentence(error, options)}.") from error
    except Exception as error:
        raise ConfigError(f"model {name!r} cannot be made: {sentence(error, options)}.") from error


def json_model(name: str, options: Mapping[str, Any]) -> LangChainModel:
    """Return the model of `provider:model` as one that answers prompts with JSON.

    `output` among the options says how it is asked for that; the others are the model's own.

    Raises:
        UsageError: the model or its options are refused, or what they need is not installed.

    """
    own = {option: value for option, value in options.items() if option != "output"}
    return LangChainModel(chat_model(name, own), output=options.get("output", "auto"))


def judge_from_spec(spec: JudgeSpec) -> Judge:
    """Return the judge of a configuration: a LangChain evaluator by its name, or one of ours by its class name.

    Raises:
        UsageError: name, model or options cannot be used.

    """
    known = (*_EVALUATORS, *_BY_RULE, *_OURS)
    if spec.evaluator not in known:
        raise UnknownNameError("evaluator", spec.evaluator, known)
    by_rule = spec.evaluator in _BY_RULE
    if by_rule and spec.model is not None:
        raise ConfigError(f"judge {spec.name!r}: {spec.evaluator} {ASKS_NO_MODEL}: leave out model.")
    if spec.model is None and not by_rule:
        raise ConfigError(f"judge {spec.name!r} needs a model, as in model: openai:gpt-4o.")
    if spec.evaluator in _OURS:
        return _our_judge(spec, str(spec.model))
    model = None if spec.model is None else chat_model(spec.model, spec.model_options)
    try:
        evaluator = build_evaluator(spec.evaluator, llm=model, **spec.evaluator_options)
    except UsageError:
        raise
    except Exception as error:
        raise ConfigError(f"judge {spec.name!r}: {sentence(error)}.") from error
    if isinstance(evaluator, ChatJudge):
        evaluator.name = spec.name
        return evaluator
    return EvaluatorJudge.of(evaluator, name=spec.name)


def _our_judge(spec: JudgeSpec, model: str) -> ChatJudge | DecisionJudge:
    judge: Any = _OURS[spec.evaluator]
    make = decision_model if judge is DecisionJudge else chat_model
    asked = make(model, spec.model_options)
    known = [name for name in known_options(judge) if name not in ("name", "prompt")]
    options = dict(spec.evaluator_options)
    for name in options:
        if name not in known:
            raise UnknownNameError(f"option of {spec.evaluator}", name, known)
    if isinstance(options.get("taxonomy"), str):
        options["taxonomy"] = spec.folder / options["taxonomy"]
    try:
        built: ChatJudge | DecisionJudge = judge(asked, name=spec.name, **options)
    except TypeError as error:
        raise ConfigError(f"judge {spec.name!r}: {sentence(error)}.") from error
    return built
