"""What makes an evaluator of LangChain's the same one, whose calibration holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from judgeharness_integrations.byrule import rule_identity
from judgeharness_integrations.chatmodels import model_name as given_name
from judgeharness_integrations.functionsource import UnreadableError
from judgeharness_integrations.judging import JudgeIdentity
from judgeharness_langchain.kinds import LANGCHAIN, compares_by_rule, own_classes
from judgeharness_langchain.models import family_of, model_name
from judgeharness_langchain.parameters import model_parameters
from judgeharness_langchain.prompting import prompt_hash

__all__ = ["identity_of"]

_CLASSIC, _CORE = "langchain_classic", "langchain_core"
_PACKAGES: Mapping[str, tuple[str, ...]] = {  # besides the evaluator's own, what decides its scores
    "EmbeddingDistanceEvalChain": ("numpy",),
    "JsonEditDistanceEvaluator": (_CORE, "rapidfuzz"),
    "JsonEqualityEvaluator": (_CORE,),
    "JsonSchemaEvaluator": (_CORE, "jsonschema"),
    "JsonValidityEvaluator": (_CORE,),
    "PairwiseEmbeddingDistanceEvalChain": ("numpy",),
    "PairwiseStringDistanceEvalChain": ("rapidfuzz",),
    "StringDistanceEvalChain": ("rapidfuzz",),
}
_OF_EMBEDDINGS = ("dimensions", "encode_kwargs", "model_kwargs", "task_type")  # beside what any model has


def identity_of(evaluator: Any) -> JudgeIdentity:
    """Return the model of an evaluator, its parameters and prompt; of one that compares by rule, how it compares.

    Raises:
        UnreadableError: how it compares cannot be compared with another one.

    """
    if compares_by_rule(evaluator):
        return _of_rule(evaluator)
    model = getattr(evaluator, "llm", None)
    return JudgeIdentity(
        name=type(evaluator).__name__,
        model=model_name(model) if model is not None else None,
        parameters=model_parameters(model, getattr(evaluator, "llm_kwargs", None)),
        prompt_hash=prompt_hash(getattr(evaluator, "prompt", None)),
        family=family_of(model) if model is not None else None,
    )


def _of_rule(evaluator: Any) -> JudgeIdentity:
    kinds = type(evaluator).__mro__
    home = next((package for kind in kinds if (package := _package(kind)) in LANGCHAIN), _CLASSIC)
    extra = next((_PACKAGES[kind.__name__] for kind in kinds if kind.__name__ in _PACKAGES), ())
    settings = dict(_settings(evaluator, kinds)) | dict(_own_code(evaluator))
    embeddings = settings.pop("embeddings", None)
    model = given_name(embeddings)
    if embeddings is not None:
        if model is None:
            raise UnreadableError(f"its embedding model, a {type(embeddings).__name__}, does not tell its name")
        told = model_parameters(embeddings, {name: getattr(embeddings, name, None) for name in _OF_EMBEDDINGS})
        settings["embeddings"] = {"class": type(embeddings).__qualname__, **told}
    return rule_identity(type(evaluator).__name__, packages=(home, *extra), parameters=settings, model=model)


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _settings(evaluator: Any, kinds: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """Yield how an evaluator is set: its attributes; the fields of a chain which not every chain has."""
    chain: Any = next((kind for kind in kinds if kind.__name__ == "Chain"), None)
    of_kind = getattr(type(evaluator), "model_fields", {})
    for name in vars(evaluator) if chain is None else of_kind.keys() - chain.model_fields.keys():
        value = getattr(evaluator, name)
        yield name, "DamerauLevenshtein" if name == "_string_distance" and value is _default_distance() else value


def _default_distance() -> object:
    """Return what LangChain measures the distance of JSON texts with; where that is not installed, nothing is it."""
    try:
        return import_module("rapidfuzz.distance").DamerauLevenshtein.normalized_distance
    except ImportError:
        return object()


def _own_code(evaluator: object) -> Iterator[tuple[str, Any]]:
    """Yield what classes of the caller's own add to one of LangChain's."""
    for kind in own_classes(evaluator):
        for name, value in vars(kind).items():
            if name in ("__init__", "__call__") or not name.startswith(("__", "_abc_")):
                code = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                yield f"{kind.__qualname__}.{name}", code
