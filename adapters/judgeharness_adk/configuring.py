"""Judges and rewriters of a configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry

from judgeharness_adk.judges import JUDGES, MetricJudge
from judgeharness_adk.models import config_of
from judgeharness_adk.rewriting import model_rewriter
from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.adapters import JudgeSpec
from judgeharness_integrations.config.importing import import_object
from judgeharness_integrations.perturbations import Rewriter

__all__ = ["judge_from_spec", "rewriter_of"]

_OWN = frozenset({"judge_model_options", "judge_harness"})  # said elsewhere in a configuration file


def judge_from_spec(spec: JudgeSpec) -> MetricJudge[Any]:
    """Return the judge of a configuration: an LLM metric of ADK by its name, its criterion as options.

    Raises:
        UsageError: name, model or options cannot be used.

    """
    known = [name for name, judge in JUDGES.items() if judge.adk_only is None]
    if spec.evaluator in JUDGES and spec.evaluator not in known:
        raise ConfigError(
            f"judge {spec.name!r}: {spec.evaluator} judges {JUDGES[spec.evaluator].adk_only}: "
            "measure it there, with judgeharness_adk.register()."
        )
    if spec.evaluator not in known:
        raise UnknownNameError("evaluator", spec.evaluator, known)
    if spec.model is None:
        raise ConfigError(f"judge {spec.name!r} needs a model, as in model: gemini-2.5-flash.")
    if own := _OWN.intersection(spec.evaluator_options):
        raise ConfigError(f"judge {spec.name!r}: {min(own)} is said by model, model_options and harness in this file.")
    given = dict(spec.evaluator_options)
    if (own_model := given.pop("model_class", None)) is not None:
        _register(own_model, spec)
    options = {"judge_model": spec.model, "judge_model_config": config_of(spec.model_options)}
    criterion = {"threshold": 0.5, **given, "judge_model_options": options}
    judge = JUDGES[spec.evaluator]
    return judge(
        EvalMetric(metric_name=spec.evaluator, criterion=BaseCriterion.model_validate(criterion)), name=spec.name
    )


def _register(path: object, spec: JudgeSpec) -> None:
    """Make a model class of the caller's known to ADK, as agent.py would."""
    found = import_object(str(path), folder=spec.folder, where=f"judge {spec.name!r}: model_class")
    if not (isinstance(found, type) and issubclass(found, BaseLlm)):
        raise ConfigError(f"judge {spec.name!r}: model_class {path!r} is no subclass of ADK's BaseLlm.")
    LLMRegistry.register(found)


def rewriter_of(model: str, options: Mapping[str, Any]) -> Rewriter:
    """Return the rewriter of a configuration."""
    return model_rewriter(model, options)
