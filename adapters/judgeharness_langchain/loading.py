"""`load_evaluator` with LangChain's signature: a migration changes an import."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from typing import Any

from langchain_core.language_models import BaseLanguageModel

from judgeharness_integrations._errors import NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.result import OnNotGraded
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_langchain.chatjudge import ChatJudge
from judgeharness_langchain.judges import CriteriaJudge, PairwiseJudge, ScoreJudge
from judgeharness_langchain.wrapping import harness_evaluator

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
