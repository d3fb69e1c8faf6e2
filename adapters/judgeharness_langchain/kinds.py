"""What an evaluator answers, and how its native values are written in the verdict log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import eq
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig

from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.adapterkit import ASKS_AN_EMBEDDING_MODEL, ASKS_NO_MODEL
from judgeharness_integrations.judging.harness import Shape
from judgeharness_integrations.judging.judge import Probe
from judgeharness_integrations.judging.parsing import Grammar, label_grammar, of_an_array, score_grammar
from judgeharness_integrations.verdictlog.row import Verdict

NativeValue = tuple[Any, float | None]  # (value, score) of the evaluator's result dict

_YES_NO: Mapping[Verdict, NativeValue] = {"PASS": ("Y", 1), "FAIL": ("N", 0)}
_CORRECT: Mapping[Verdict, NativeValue] = {"PASS": ("CORRECT", 1), "FAIL": ("INCORRECT", 0)}
_HOLDS: Mapping[Verdict, NativeValue] = {"PASS": (None, 1), "FAIL": (None, 0)}
_PREFERENCE: Mapping[Verdict, NativeValue] = {"A": ("A", 1), "B": ("B", 0), "TIE": (None, 0.5)}
_BOOLEAN_WORDS = {"y": True, "yes": True, "true": True, "correct": True, "pass": True, "1": True}
_BOOLEAN_WORDS |= {"n": False, "no": False, "false": False, "incorrect": False, "fail": False, "0": False}
_SCALE = (1.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of evaluator.

    `natives` maps a verdict of the log to (value, score) of the result dict; scores stand for themselves. `parser`
    is the name of the stock parser our grammar may re-read after; `bracketed` and `stated` say which of its readings
    applies.
    With `label_set` every criterion is a label that applies or does not. `asked_once` is why one unperturbed call says
    all, where it compares by rule; `two_answers`, that it gives two answers a score.
    """

    shape: Shape
    keys: tuple[str, ...]
    natives: Mapping[Verdict, NativeValue] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    parser: str | None = None
    grammar: Grammar | None = None
    bracketed: bool = True
    stated: re.Pattern[str] | None = None
    label_set: bool = False
    asked_once: str | None = None
    two_answers: bool = False

    @property
    def pairs(self) -> bool:
        """Whether it is given two answers."""
        return self.two_answers or self.shape == "pairwise"

    def verdict(self, answer: Mapping[str, Any]) -> Verdict | None:
        """Return the log's verdict of a result dict, None when it holds none."""
        value, score = of_an_array(answer.get("value")), of_an_array(answer.get("score"))
        if self.shape == "scores" or (self.shape == "any" and not isinstance(score, bool)):
            return score if isinstance(score, (int, float)) and not isinstance(score, bool) else None
        if self.shape == "pairwise":
            return value if value in ("A", "B") else "TIE" if score == 0.5 else None  # noqa: PLR2004
        word = _BOOLEAN_WORDS.get(str(score if value is None else value).strip().lower().removesuffix(".0"))
        return None if word is None else "PASS" if word else "FAIL"

    def native(self, verdict: Verdict | None) -> NativeValue:
        """Return (value, score) of a decided verdict."""
        if self.shape in ("scores", "any") and isinstance(verdict, (int, float)):
            return None, verdict
        return self.natives.get(verdict, (verdict, None)) if verdict is not None else (None, None)

    def reread(self, text: str, judged: tuple[str, ...], told: tuple[str, ...] = ()) -> Verdict | None:
        """Return what our own grammar reads in the model's text, given the judged texts and what else it was told."""
        if self.grammar is None:
            return None
        if self.stated is not None:
            return self.grammar.last_stated(text, self.stated, judged=judged, told=told)
        if self.bracketed:
            return self.grammar.last_bracketed(text, judged=judged, told=told)
        return self.grammar.last_line(text, judged=(*judged, *told))


PAIRWISE = Kind(
    shape="pairwise",
    keys=("reasoning", "value", "score"),
    natives=_PREFERENCE,
    labels=("A", "B", "TIE"),
    parser="PairwiseStringResultOutputParser",
    grammar=label_grammar({"A": "A", "B": "B", "C": "TIE"}),
)
SCORE = Kind(
    shape="scores",
    keys=("reasoning", "score"),
    parser="ScoreStringResultOutputParser",
    grammar=score_grammar(*_SCALE),
)
CRITERIA = Kind(
    shape="labels",
    keys=("reasoning", "value", "score"),
    natives=_YES_NO,
    labels=("PASS", "FAIL"),
    parser="CriteriaResultOutputParser",
    grammar=label_grammar({"Y": "PASS", "N": "FAIL"}),
    bracketed=False,
)
CORRECTNESS = Kind(
    shape="labels",
    keys=("reasoning", "value", "score"),
    natives=_CORRECT,
    labels=("PASS", "FAIL"),
    parser="StrOutputParser",
    grammar=label_grammar({"CORRECT": "PASS", "INCORRECT": "FAIL"}),
    stated=re.compile(r"GRADE[ \t*_]{0,8}:[ \t*_]{0,8}(CORRECT|INCORRECT)[ \t*_.]{0,8}$", re.IGNORECASE | re.MULTILINE),
)
CUSTOM_LABELS = Kind(shape="labels", keys=("reasoning", "value", "score"), natives=_YES_NO, labels=("PASS", "FAIL"))
LABEL = Kind(shape="labels", keys=("reasoning", "value", "score"))
LABELS = Kind(shape="labels", keys=("reasoning", "value", "score"), label_set=True)
CUSTOM_SCORE = Kind(shape="scores", keys=("reasoning", "score"))
_EITHER = Kind(shape="any", keys=("reasoning", "score"), natives=_HOLDS, asked_once=ASKS_NO_MODEL)
_MATCH = replace(_EITHER, shape="labels", labels=("PASS", "FAIL"))
_DISTANCE = replace(CUSTOM_SCORE, asked_once=ASKS_NO_MODEL)
_EMBEDDED = replace(CUSTOM_SCORE, asked_once=ASKS_AN_EMBEDDING_MODEL)

_BY_CLASS = {
    "PairwiseStringEvalChain": PAIRWISE,
    "ScoreStringEvalChain": SCORE,
    "CriteriaEvalChain": CRITERIA,
    "QAEvalChain": CORRECTNESS,
    "ContextQAEvalChain": CORRECTNESS,
    "ExactMatchStringEvaluator": _MATCH,
    "RegexMatchStringEvaluator": _MATCH,
    "JsonValidityEvaluator": _MATCH,
    "JsonEqualityEvaluator": _MATCH,
    "JsonSchemaEvaluator": _MATCH,
    "JsonEditDistanceEvaluator": _DISTANCE,
    "StringDistanceEvalChain": _DISTANCE,
    "PairwiseStringDistanceEvalChain": replace(_DISTANCE, two_answers=True),
    "EmbeddingDistanceEvalChain": _EMBEDDED,
    "PairwiseEmbeddingDistanceEvalChain": replace(_EMBEDDED, two_answers=True),
}
# what LangChain loads them by; the others say it themselves
_SHORT_NAMES = {
    "PairwiseStringEvalChain": "pairwise_string",
    "LabeledPairwiseStringEvalChain": "labeled_pairwise_string",
}
LANGCHAIN = ("langchain_classic", "langchain")  # packages that hold evaluators
_DESCRIBING = frozenset({"evaluation_name", "input_keys", "output_keys", "requires_input", "requires_reference"})
_BY_SHAPE = {"labels": CUSTOM_LABELS, "scores": CUSTOM_SCORE}


def _class_names(evaluator: object) -> list[str]:
    return [kind.__name__ for kind in type(evaluator).__mro__]


def short_name(evaluator: object) -> str:
    """Return what reports call an evaluator: its evaluation's name, as `correctness`, else that of its class."""
    own = type(evaluator).__name__
    return str(getattr(evaluator, "evaluation_name", None) or _SHORT_NAMES.get(own, own))


def own_classes(evaluator: object) -> Iterator[type]:
    """Yield the classes of the caller's own that stand before LangChain's."""
    for kind in type(evaluator).__mro__:
        if kind.__module__.partition(".")[0] in LANGCHAIN:
            return
        yield kind


def is_known(evaluator: object) -> bool:
    """Whether an evaluator is of a class of LangChain's, or derived from one, so that its answers are known."""
    return not _BY_CLASS.keys().isdisjoint(_class_names(evaluator))


def compares_by_rule(evaluator: object) -> bool:
    """Whether an evaluator is of a class that compares by rule, or of one derived from it, which may ask a model."""
    return any(_BY_CLASS[name].asked_once is not None for name in _class_names(evaluator) if name in _BY_CLASS)


def _evaluates_otherwise(evaluator: object) -> bool:
    """Whether a class of the caller's overrides what LangChain's evaluates with, and may so ask a model."""
    own = list(own_classes(evaluator))
    theirs = [kind for kind in type(evaluator).__mro__ if kind not in own and kind is not object]
    return any(
        name not in _DESCRIBING
        and not name.startswith("model_")
        and (name == "__call__" or not name.startswith("__"))
        and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
        and any(name in vars(kind) for kind in theirs)
        for kind in own
        for name, value in vars(kind).items()
    )


def kind_of(evaluator: object, shape: Shape | None = None) -> Kind:
    """Return what an evaluator answers.

    Args:
        evaluator: with `evaluate_string_pairs` or `evaluate_strings`.
        shape: `labels` or `scores` for a string evaluator of the caller's own.

    Raises:
        UnsupportedEvaluatorError: a trajectory evaluator, no evaluator, or one whose shape is not known.

    """
    names, name = _class_names(evaluator), type(evaluator).__name__
    if hasattr(evaluator, "evaluate_agent_trajectory"):
        raise UnsupportedEvaluatorError(
            f"{name} judges agent trajectories, which are not harnessed here: judge the final answer, "
            "or use a trajectory judge of openevals."
        )
    for known in names:
        if known in _BY_CLASS:
            kind = _BY_CLASS[known]
            kind = _EITHER if kind is _MATCH and getattr(evaluator, "operator", eq) is not eq else kind
            return replace(kind, asked_once=None) if _evaluates_otherwise(evaluator) else kind
    if hasattr(evaluator, "evaluate_string_pairs"):
        return PAIRWISE
    if not hasattr(evaluator, "evaluate_strings"):
        raise UnsupportedEvaluatorError(
            f"{name} is no evaluator: it has neither evaluate_strings nor evaluate_string_pairs."
        )
    if shape not in _BY_SHAPE:
        raise UnsupportedEvaluatorError(f"{name} is not known here: say shape='labels' or shape='scores'.")
    return _BY_SHAPE[shape]


Kept = list[tuple[dict[str, Any], HarnessResult]]
Callbacks = list[BaseCallbackHandler] | BaseCallbackManager | None


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """What a caller passes along with an evaluation; `extra` goes to the evaluator untouched.

    `kept` is where a list face wants each answer beside its measurement.
    """

    callbacks: Callbacks = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    include_run_info: bool = False
    kept: Kept = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> CallOptions:
        """Read the keyword arguments of an `evaluate_*` call; a `config` (RunnableConfig) is merged in."""
        extra = dict(options)
        config: Any = extra.pop("config", None) or {}
        callbacks, tags, metadata = extra.pop("callbacks", None), extra.pop("tags", None), extra.pop("metadata", None)
        return cls(
            callbacks=config.get("callbacks") if callbacks is None else callbacks,
            tags=[*(config.get("tags") or ()), *(tags or ())],
            metadata={**(config.get("metadata") or {}), **(metadata or {})},
            include_run_info=bool(extra.pop("include_run_info", False)),
            kept=extra.pop("kept", []),
            extra=extra,
        )

    def for_sample(self, probe: Probe) -> RunnableConfig:
        """Return the config of one call: its perturbation and repetition are added, and a run id of its own."""
        name, repetition = probe.perturbation.name, probe.repetition
        order = "swapped" if probe.perturbation.swaps else "original"
        given = self.callbacks
        return RunnableConfig(
            callbacks=given.copy() if isinstance(given, BaseCallbackManager) else [*(given or ())],
            tags=[*self.tags, "judge-harness", f"perturbation:{name}", f"repetition:{repetition}"],
            metadata={**self.metadata, "perturbation": name, "repetition": repetition, "order": order},
            run_id=uuid4(),
        )
