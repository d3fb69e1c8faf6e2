"""`load_evaluator` with LangChain's signature, and the judges and models of a configuration file."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from typing import Any

from langchain_core.language_models import BaseLanguageModel

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.result import OnNotGraded
from judgeharness_integrations.judging.adapterkit import ASKS_NO_MODEL
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.tiers import PATIENCE_S

from .chatjudge import ChatJudge, known_options
from .decisionmodels import decision_model
from .decisions import DecisionJudge
from .evaluators import EvaluatorJudge
from .judges import CriteriaJudge, LabelJudge, PairwiseJudge, ScoreJudge
from .models import LangChainModel, sentence
from .wrapping import harness_evaluator

_PACKAGES = ("langchain_classic.evaluation", "langchain.evaluation")
_CHAINS = {
    "pairwise_string": "PairwiseStringEvalChain",
    "labeled_pairwise_string": "LabeledPairwiseStringEvalChain",
    "score_string": "ScoreStringEvalChain",
    "labeled_score_string": "LabeledScoreStringEvalChain",
    "criteria": "CriteriaEvalChain",
    "labeled_criteria": "LabeledCriteriaEvalChain",
    "qa": "QAEvalChain",
    "cot_qa": "CotQAEvalChain",
    "context_qa": "ContextQAEvalChain",
}
_OURS: dict[str, type[ChatJudge]] = {
    "pairwise_string": PairwiseJudge,
    "score_string": ScoreJudge,
    "criteria": CriteriaJudge,
}


def load_evaluator(
    evaluator: Any,
    *,
    llm: BaseLanguageModel[Any] | None = None,
    harness: JudgeHarness | None = None,
    calibration: CalibrationReport | str | PathLike[str] | None = None,
    on_not_graded: OnNotGraded = "raise",
    **options: Any,
) -> Any:
    """Load an evaluator by LangChain's name for it and put it under a harness.

    Where LangChain's evaluators are not installed, our own judges take their place.

    Args:
        evaluator: an `EvaluatorType` or its name, `pairwise_string`, `labeled_score_string`, `criteria`, ...
        llm: the model that judges; LangChain's default when None.
        harness: the design; `JudgeHarness.standard` by default.
        calibration: a saved calibration, or its path.
        on_not_graded: as in `harness_evaluator`.
        options: passed on to the evaluator (`criteria`, `prompt`, `normalize_by`, ...).

    """
    built = build_evaluator(evaluator, llm=llm, **options)
    return harness_evaluator(built, harness, calibration, on_not_graded=on_not_graded)


def build_evaluator(evaluator: Any, *, llm: BaseLanguageModel[Any] | None = None, **options: Any) -> Any:
    """Return the bare evaluator `load_evaluator` puts under a harness.

    Raises:
        UnknownNameError: there is no such evaluator, or it has no such option.

    """
    name = str(getattr(evaluator, "value", evaluator))
    package = _evaluation_package()
    if package is None:
        return _our_judge(name, llm, options)
    known = [member.value for member in package.EvaluatorType]
    if name not in known:
        raise UnknownNameError("evaluator", name, known)
    if name in _CHAINS:
        chain = getattr(package, _CHAINS[name])
        _check_options(name, chain, options)
        if llm is not None:  # LangChain's loader wants langchain-openai installed even when another model is given
            return chain.from_llm(llm=llm, **options)
    built = package.load_evaluator(package.EvaluatorType(name), llm=llm, **options)
    _check_options(name, type(built), options)
    return built


def _check_options(name: str, kind: Any, options: Mapping[str, Any]) -> None:
    """Refuse options the evaluator would drop without a word."""
    known = set(getattr(kind, "model_fields", ()))
    for maker in (kind, getattr(kind, "from_llm", kind)):
        parameters = inspect.signature(maker).parameters.values()
        known |= {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
    for option in options:
        if option not in known:
            raise UnknownNameError(f"option of {name}", option, known - {"llm"})


def _evaluation_package() -> Any | None:
    for package in _PACKAGES:
        try:
            return import_module(package)
        except ImportError:
            continue
    return None


def _our_judge(name: str, llm: BaseLanguageModel[Any] | None, options: dict[str, Any]) -> ChatJudge:
    plain = name.removeprefix("labeled_")
    if plain not in _OURS:
        raise NotInstalledError(f"evaluator {name!r} of langchain-classic", "langchain-classic")
    if llm is None:
        raise UsageError(f"evaluator {name!r} needs a model: load_evaluator({name!r}, llm=...).")
    taking = _OURS[plain].__name__
    warnings.warn(f"langchain-classic is not installed: {taking} judges {name}, with its own prompt.", stacklevel=4)
    options = {"criteria": "helpfulness"} | options if plain == "criteria" else options
    judge: Any = _OURS[plain]
    built: ChatJudge = judge(llm, name=name, requires_input=True, requires_reference=plain != name, **options)
    return built


_JUDGES: dict[str, type[ChatJudge]] = {
    judge.__name__: judge for judge in (PairwiseJudge, ScoreJudge, CriteriaJudge, LabelJudge)
}
_CONFIGURED: dict[str, Any] = {**_JUDGES, DecisionJudge.__name__: DecisionJudge}
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


def chat_model(name: str, options: Mapping[str, Any], tier: str | None = None) -> Any:
    """Return the chat model `init_chat_model` makes of `provider:model`.

    Raises:
        NotInstalledError: `langchain` or the provider's package is missing.
        ConfigError: the model or its options are refused, or its client has no option for a tier.

    """
    model = _made(name, options)
    return model if tier is None else _at_tier(model, name, options, tier)


def _at_tier(model: Any, name: str, options: Mapping[str, Any], tier: str) -> Any:
    """Return a model that is asked at a tier, waits as long as that takes, and tells its refusals at once."""
    known = getattr(type(model), "model_fields", {})
    if "service_tier" in known:
        return _made(name, {"timeout": PATIENCE_S, "max_retries": 0, **options, "service_tier": tier})
    if "google_genai" in type(model).__module__:  # which passes it on with each request
        return model.bind(service_tier=tier)
    raise ConfigError(f"model {name!r} has no tier {tier} in its client: give its judge tier: standard.")


def _made(name: str, options: Mapping[str, Any]) -> Any:
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
    known = (*_EVALUATORS, *_BY_RULE, *_CONFIGURED)
    if spec.evaluator not in known:
        raise UnknownNameError("evaluator", spec.evaluator, known)
    by_rule = spec.evaluator in _BY_RULE
    if by_rule and spec.model is not None:
        raise ConfigError(f"judge {spec.name!r}: {spec.evaluator} {ASKS_NO_MODEL}: leave out model.")
    if spec.model is None and not by_rule:
        raise ConfigError(f"judge {spec.name!r} needs a model, as in model: openai:gpt-4o.")
    if spec.evaluator in _CONFIGURED:
        return _configured_judge(spec, str(spec.model))
    model = None if spec.model is None else chat_model(spec.model, spec.model_options, spec.tier)
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


def _configured_judge(spec: JudgeSpec, model: str) -> ChatJudge | DecisionJudge:
    judge: Any = _CONFIGURED[spec.evaluator]
    if judge is DecisionJudge and spec.tier is not None:
        raise ConfigError(f"judge {spec.name!r}: decisions are asked at one tier: give this judge tier: standard.")
    decides = judge is DecisionJudge
    asked = decision_model(model, spec.model_options) if decides else chat_model(model, spec.model_options, spec.tier)
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
