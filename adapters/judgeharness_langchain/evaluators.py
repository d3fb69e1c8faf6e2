"""A LangChain evaluator as a judge of the harness, and what makes it the same one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, ClassVar

from langchain_core.caches import BaseCache
from langchain_core.exceptions import OutputParserException

from judgeharness_integrations.judging.adapterkit import captured, identified, rule_identity
from judgeharness_integrations.judging.adapters import VersionRange
from judgeharness_integrations.judging.answer import UNREACHABLE, EmptyAnswerError, ModelAnswer, answer_behind
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging.chatmodels import SEVERAL_CHOICES, namespace_of, single_choice
from judgeharness_integrations.judging.chatmodels import model_name as given_name
from judgeharness_integrations.judging.execution.attempting import read_apart
from judgeharness_integrations.judging.execution.ownclients import own_model
from judgeharness_integrations.judging.functionsource import UnreadableError
from judgeharness_integrations.judging.harness import Shape
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, in_thread
from judgeharness_integrations.judging.parsing import described, of_an_array
from judgeharness_integrations.judging.structured import StructuredCase, own_copy
from judgeharness_integrations.verdictlog.row import Verdict

from .kinds import LANGCHAIN, CallOptions, Kind, compares_by_rule, is_known, kind_of, own_classes, short_name
from .models import (
    active_cache,
    family_of,
    fitting_case,
    innermost,
    isolated,
    misfit,
    model_name,
    model_parameters,
    prompt_hash,
    relabelled,
    template_texts,
)
from .versions import TESTED

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


_RUN = "__run"
_WANTED = {
    "any": "a number as score",
    "labels": "Y or N as value, or 1 or 0 as score",
    "pairwise": "A or B as value, or 0.5 as score",
    "scores": "a number as score",
}
_BESIDES = frozenset({"callbacks", "tags", "metadata", "include_run_info"})  # what every sample is given
_MOST_STEPS = 30_000_000  # characters an opening bracket looks at, of all of them together; tenths of a second


@dataclass
class Sample:
    """What one call of the evaluator itself returned or raised."""

    answer: dict[str, Any] | None = None
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class EvaluatorJudge:
    """Asks an evaluator with `evaluate_string_pairs` or `evaluate_strings`.

    Its text is read by our grammar where the evaluator has its stock parser, and every difference is counted as a
    parser conflict; with `own_parser` the evaluator's reading is taken as it is. Build it with `EvaluatorJudge.of`.
    """

    tested: ClassVar[Mapping[str, VersionRange]] = TESTED

    evaluator: Any
    kind: Kind
    name: str
    identity: JudgeIdentity | None
    unidentified: str | None = None
    criteria: tuple[Criterion, ...]
    options: CallOptions = field(default_factory=CallOptions)
    own_parser: bool = False
    samples: dict[tuple[str, str, int], Sample] = field(default_factory=dict, compare=False, repr=False)
    _variants: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, evaluator: Any, *, name: str | None = None, shape: Shape | None = None) -> EvaluatorJudge:
        """Wrap an evaluator.

        Args:
            evaluator: the evaluator.
            name: the judge's name in the log; the evaluation's by default, as `correctness` or `pairwise_string`.
            shape: `labels` or `scores` for a string evaluator of the caller's own.

        Raises:
            UnsupportedEvaluatorError: it cannot be harnessed; the sentence says why.

        """
        kind = kind_of(evaluator, shape)
        criterion = str(getattr(evaluator, "criterion_name", None) or "verdict")
        identity, unidentified = identified(lambda: identity_of(evaluator))
        return cls(
            evaluator=evaluator,
            kind=kind,
            name=name or short_name(evaluator),
            identity=identity,
            unidentified=unidentified,
            criteria=(Criterion(name=criterion, labels=kind.labels, scale=_scale(evaluator, kind)),),
        )

    @property
    def supports(self) -> frozenset[str]:
        """`slot_names`, where the evaluator's prompt names the two answers Assistant A and Assistant B."""
        prompt = getattr(self.evaluator, "prompt", None)
        renamed = prompt is not None and relabelled(prompt, ("1", "2")) is not None
        return frozenset({"slot_names"}) if renamed else frozenset()

    @property
    def own_evaluation(self) -> Callable[..., Any] | None:
        """The method that answers, of an evaluator of the caller's own; None of one of LangChain's."""
        return None if is_known(self.evaluator) else _evaluation(self.evaluator, pairs=self.kind.pairs)[0]

    @property
    def asked_once(self) -> str | None:
        """Why one unperturbed call says all there is to know; None for a judge that is to be sampled."""
        return self.kind.asked_once

    def bound(self, options: CallOptions, *, own_parser: bool) -> EvaluatorJudge:
        """Return the judge for one evaluation: with the caller's options and its own samples."""
        return replace(self, options=options, own_parser=own_parser, samples={})

    def fits(self, case: Case) -> str | None:
        """Return why the evaluator cannot judge a case, None when it can."""
        return misfit(case, self.evaluator, pairwise=self.kind.pairs)

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the evaluator once."""
        case = fitting_case(self, probe.case)
        sample = self.samples[probe.case_id, probe.perturbation.name, probe.repetition] = Sample()
        evaluator, warnings = self._isolated(probe, case.presentation.slot_names)
        with captured() as capture:
            try:
                native = await self._evaluate(own_model(evaluator), probe)
            except Exception as error:
                sample.error = error
                if capture.empty is not None:
                    raise EmptyAnswerError(capture.empty.answer) from error
                answer = capture.last or answer_behind(error)
                if answer is None:  # the call failed, not the reading of its answer
                    raise
            else:
                answer = capture.last
                sample.answer = dict(native) if isinstance(native, Mapping) else {}
                if self.kind.verdict(sample.answer) is None and self.own_evaluation is not None:
                    return self._unread(native, answer or ModelAnswer())
        return await read_apart(answer.text if answer else "", self._judgment, case, sample, answer, warnings)

    async def _evaluate(self, evaluator: Any, probe: Probe) -> Any:
        config = self.options.for_sample(probe)
        arguments: dict[str, Any] = {**self._given(probe.case), **self.options.extra}
        arguments |= {key: config.get(key) for key in ("callbacks", "tags", "metadata")}
        arguments["include_run_info"] = True
        call, asynchronous = _evaluation(evaluator, pairs=self.kind.pairs)
        given = partial(call, **_fitting(call, arguments))
        return await (given() if asynchronous else in_thread(given))

    def _given(self, case: AnswerCase) -> Mapping[str, Any]:
        """Return the texts of a case; to what compares by rule, its values."""
        texts = {"prediction": case.output, "reference": case.reference, "input": case.input}
        if isinstance(case, StructuredCase) and self.asked_once is not None:
            values = {"prediction": case.outputs, "reference": case.reference_outputs, "input": case.inputs}
            return {name: own_copy(value) for name, value in values.items()}
        return texts | ({"prediction_b": case.output_b} if isinstance(case, PairwiseCase) else {})

    def _isolated(self, probe: Probe, slots: tuple[str, str] | None) -> tuple[Any, tuple[str, ...]]:
        """Return the evaluator for one sample: its own cache entries, one choice, and the answers' names."""
        model = getattr(self.evaluator, "llm", None)
        cache = active_cache(model)
        key = (id(cache), namespace_of(probe) if cache is not None else "", slots)
        if key not in self._variants:
            self._variants[key] = self._variant(model, cache, key[1], slots)
        return self._variants[key]  # type: ignore[no-any-return]

    def _variant(
        self, model: Any, cache: BaseCache | None, namespace: str, slots: tuple[str, str] | None
    ) -> tuple[Any, tuple[str, ...]]:
        changes: dict[str, Any] = {} if slots is None else {"prompt": relabelled(self.evaluator.prompt, slots)}
        parser, copy = getattr(self.evaluator, "output_parser", None), getattr(self.evaluator, "model_copy", None)
        if hasattr(parser, "model_copy"):
            changes["output_parser"] = linear_parser(parser)
        own = None if model is None or copy is None else isolated(model, namespace)
        if own is not None:
            changes["llm"] = own
        warnings = [UNREACHABLE] if own is None and cache is not None else []
        if own is not None and single_choice(innermost(model)) is not innermost(model):
            warnings.append(SEVERAL_CHOICES)
        return (copy(update=changes) if copy and changes else self.evaluator), tuple(warnings)

    def _judgment(
        self, case: AnswerCase, sample: Sample, answer: ModelAnswer | None, warnings: Sequence[str]
    ) -> Judgment:
        native, said = sample.answer or {}, answer or ModelAnswer()
        theirs = self.kind.verdict(native) if sample.answer is not None else None
        verdict, conflict = self._read(case, theirs, answer)
        reasoning, run, name = native.get("reasoning"), native.get(_RUN), self.criteria[0].name
        read = said.unusable(name) or Answer(
            criterion=name,
            verdict=verdict,
            outcome="ok" if verdict is not None else "unparsed",
            reasoning=None if reasoning is None else str(reasoning),
        )
        return said.judgment(
            [read],
            warnings=warnings,
            parser_conflict=1 if conflict else None,
            run_id=None if run is None else str(run.run_id),
        )

    def _unread(self, native: object, said: ModelAnswer) -> Judgment:
        """Return the judgment on what an evaluator of the caller's own answered, where no verdict is in it.

        It says what that was, unless the model it asked did not come to an end.
        """
        name = self.criteria[0].name
        if (unusable := said.unusable(name)) is not None:
            return said.judgment([unusable])
        given = native if isinstance(native, Mapping) else {}
        held = {key: of_an_array(given[key]) for key in ("value", "score") if key in given}
        stated = {key: one for key, one in held.items() if isinstance(one, (str, int, float))}
        answered = " and ".join(f"{key} {value!r:.60}" for key, value in stated.items()) or described(native)
        text = f"answered {answered}, which is no verdict: return a dict with {_WANTED[self.kind.shape]}"
        unparsed = Answer(criterion=name, outcome="unparsed", reasoning=text)
        may_be_read = native is None or (bool(held) and all(one is None or key in stated for key, one in held.items()))
        return replace(said.judgment([unparsed]), unreadable=None if may_be_read else text)

    def _read(
        self, case: AnswerCase, theirs: Verdict | None, answer: ModelAnswer | None
    ) -> tuple[Verdict | None, bool]:
        """Return the verdict, and whether our reading of the answer differs from the evaluator's."""
        if answer is not None and answer.problem is not None:
            return None, theirs is not None  # what a half answer says is not where it would have ended
        stock = type(getattr(self.evaluator, "output_parser", None)).__name__ == self.kind.parser
        if self.own_parser or answer is None or not stock:
            return theirs, False
        ours = self.kind.reread(answer.text, case.all_texts(), template_texts(getattr(self.evaluator, "prompt", None)))
        divisor = getattr(self.evaluator, "normalize_by", None)
        if isinstance(ours, (int, float)) and divisor:
            ours = ours / divisor
        return ours, ours != theirs


def _evaluation(evaluator: Any, *, pairs: bool) -> tuple[Callable[..., Any], bool]:
    """Return the method that answers, and whether it is asynchronous.

    That is the async one, unless there is none, or it is LangChain's own, which only runs the sync one. The harnessed
    evaluator has checked and warned about the arguments once, so that it is the one with an underscore.
    """
    name = "evaluate_string_pairs" if pairs else "evaluate_strings"
    method = getattr(evaluator, f"_a{name}", None) or getattr(evaluator, f"a{name}", None)
    if method is not None and not str(getattr(method, "__module__", "")).endswith(".evaluation.schema"):
        return method, True
    return getattr(evaluator, f"_{name}", None) or getattr(evaluator, name), False


def _fitting(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments without those that a method of the caller's own does not take and nobody gave."""
    taken = _taken(getattr(call, "__func__", call))
    if taken is None:
        return arguments
    return {name: one for name, one in arguments.items() if name in taken or (name not in _BESIDES and one is not None)}


@lru_cache(maxsize=256)
def _taken(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the parameters of a function; None where it takes any."""
    parameters = inspect.signature(function).parameters
    return None if any(one.kind is one.VAR_KEYWORD for one in parameters.values()) else frozenset(parameters)


def linear_parser(parser: Any) -> Any:
    """Return a copy of a parser that refuses texts on which LangChain's patterns take quadratic time."""
    copy, parse = parser.model_copy(), parser.parse

    def bounded(text: str) -> Any:
        if len(text) * text.count("[[") > _MOST_STEPS:
            raise OutputParserException("the answer is too long for the evaluator's own parser")
        return parse(text)

    object.__setattr__(copy, "parse", bounded)  # a parser takes no new attributes
    return copy


def _scale(evaluator: Any, kind: Kind) -> tuple[float, float] | None:
    if kind.shape != "scores" or kind.grammar is None:
        return None
    divisor = getattr(evaluator, "normalize_by", None) or 1.0
    return (1.0 / divisor, 10.0 / divisor)
