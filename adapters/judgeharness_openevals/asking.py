"""Models whose cache entries stand apart, one namespace a sample, and evaluators that ask no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from typing import Any, Self

from langchain_core.caches import BaseCache
from langchain_core.exceptions import OutputParserException
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from judgeharness_integrations.judging.adapterkit import (
    ASKS_AN_EMBEDDING_MODEL,
    ASKS_NO_MODEL,
    Capture,
    captured,
    half_answer,
    identified,
    misread,
    rule_identity,
    unread_answer,
    watched_client,
)
from judgeharness_integrations.judging.answer import UNREACHABLE, EmptyAnswerError, ModelAnswer, without_parser
from judgeharness_integrations.judging.cases import AnswerCase, Case, output_texts
from judgeharness_integrations.judging.chatmodels import SEVERAL_CHOICES, NamespacedCache, namespace_of, single_choice
from judgeharness_integrations.judging.execution.attempting import read_apart
from judgeharness_integrations.judging.execution.ownclients import own_client, own_model
from judgeharness_integrations.judging.functionsource import UnreadableError, source_digest
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, call_maybe_async
from judgeharness_integrations.judging.parsing import object_of, quoted_keys
from judgeharness_integrations.judging.structured import StructuredCase, value_text

from ._seams import closure_of, marked, outside_test_case
from .introspecting import Introspected, unwrapped

BaseCache.register(NamespacedCache)


def active_cache(model: BaseChatModel | None) -> BaseCache | None:
    """Return the cache that would answer for a model, one that is not known included; None when none does."""
    own = None if model is None else model.cache
    if isinstance(own, BaseCache):
        return own
    return None if own is False else get_llm_cache()


def isolated(model: BaseChatModel, cache: BaseCache, namespace: str) -> BaseChatModel:
    """Return a copy of the model whose entries in the cache stand apart."""
    return model.model_copy(update={"cache": NamespacedCache(cache, namespace)})


_LONGEST_TEXT = 8_000  # characters; LangChain's parser takes quadratic time on a text that is no JSON


def strict_model(model: BaseChatModel) -> BaseChatModel:
    """Return a copy of the model that does not hand a long text without JSON to its own parser.

    Everything else is read as the model reads it: what is not to count is for the judge's reader to say.
    """
    copy, shaped = model.model_copy(), model.with_structured_output

    def with_structured_output(schema: Any, **options: Any) -> Any:
        if options.get("include_raw"):
            return shaped(schema, **options)
        structured: Any = shaped(schema, include_raw=True, **options)
        bound = without_parser(structured)
        if bound is None:  # a class of its own, with a reading of its own
            return shaped(schema, **options)

        def read(message: BaseMessage) -> Any:
            text = str(message.text)
            if len(text) > _LONGEST_TEXT and not getattr(message, "tool_calls", None) and object_of(text) is None:
                raise OutputParserException("the answer is not one JSON object", llm_output=text)
            found = structured.last.invoke({"raw": message})
            if found["parsing_error"] is not None:
                raise found["parsing_error"]
            return found["parsed"]

        return bound | RunnableLambda(read)

    object.__setattr__(copy, "with_structured_output", with_structured_output)  # a model takes no new attributes
    return copy


_WHILE_READING = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What came of one call: what the judge returned, or `error` where it could not read what its model said.

    `known` is whether the judge is openevals' own, which makes its score of nothing but the model's last answer;
    `doubt` why that answer gives no score by a strict reading, None when it does.
    """

    native: Any = None
    error: Exception | None = None
    said: ModelAnswer | None = None
    known: bool = False
    doubt: str | None = None
    capture: Capture
    warnings: tuple[str, ...] = ()

    def unusable(self, *, strict: bool = True) -> Answer | None:
        """Return the answer of a call that gave no score; None where what was read of it is to be kept.

        Unless `strict`, openevals' own reading counts, which also takes an object out of the midst of a text.
        """
        if self.said is not None and (self.known or self.error is not None):
            ended = self.said.unusable("")
            if ended is not None:
                return replace(ended, criterion=Answer().criterion)
        if self.error is not None:
            return misread(self.error)
        doubt = self.doubt if strict else None
        return None if doubt is None else Answer(outcome="unparsed", reasoning=doubt)

    def judgment(self, answers: tuple[Answer, ...]) -> Judgment:
        """Return the answers with the evidence of the call."""
        said = self.said or ModelAnswer()
        before = [answer for answer in self.capture.answers if answer is not self.said]
        return said.after(before).judgment(answers, warnings=self.warnings)


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Calls a judge; `details` is what it was made of, where known, `logs` that it logs its feedback all the same."""

    function: Callable[..., Any]
    details: Introspected | None
    logs: bool = False
    _variants: dict[tuple[str, ...], tuple[tuple[object, ...], Callable[..., Any]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    async def ask(
        self,
        probe: Probe,
        arguments: Mapping[str, Any],
        positional: tuple[Any, ...] = (),
        *,
        code: str | None = None,
    ) -> Asked:
        """Call the judge once; with a `code`, an answer that is a text has to carry it.

        Raises:
            Exception: the call failed; an answer that could not be read is in what is returned.

        """
        details, native, error = self.details, None, None
        cache = active_cache(None if details is None else details.model)
        function = self._for_sample(probe, cache)
        # openevals logs each sample; what a caller's own function logs is none of ours
        hidden = outside_test_case() if self.logs or details is not None else nullcontext()
        with hidden, marked(*_marks(probe)), captured() as capture:
            try:
                native = await call_maybe_async(partial(function, *positional, **arguments))
            except Exception as raised:
                if capture.empty is not None:
                    raise EmptyAnswerError(capture.empty.answer.after(capture.answers)) from raised
                said = unread_by_judge(raised, capture.last, details)
                if said is None:
                    raise
                error = raised
            else:
                said = capture.last
        known = details is not None
        doubt = await read_apart(said.text, _doubt, said, probe.case, code) if known and said is not None else None
        return Asked(
            native=native,
            error=error,
            said=said,
            known=known,
            doubt=doubt,
            capture=capture,
            warnings=tuple(self._warnings(function, said, capture, cache)),
        )

    def _warnings(
        self, function: Callable[..., Any], said: ModelAnswer | None, capture: Capture, cache: BaseCache | None
    ) -> Iterator[str]:
        """Yield what the reader of a result is to know of a call."""
        if said is None:
            return
        if function is self.function and capture.langchain and (said.cached or cache is not None):
            yield UNREACHABLE
        model = None if self.details is None else self.details.model
        if model is not None and single_choice(model) is not model:
            yield SEVERAL_CHOICES
        if self.details is None and (warning := half_answer(said)) is not None:
            yield warning

    def _for_sample(self, probe: Probe, cache: BaseCache | None) -> Callable[..., Any]:
        """Return the judge with its OpenAI client watched, with cache entries of its own, or retrying nothing."""
        details = self.details
        if details is None:
            return self.function
        if details.client is not None:
            client = own_client(details.client)
            asked = "client" if client is details.client else "own client"
            return self._variant(details, (asked,), (client,), lambda: watched_client(client))
        if details.model is None:
            return self.function
        namespace = namespace_of(probe) if cache is not None else "strict"
        model = own_model(details.model)

        def own() -> BaseChatModel:
            single: BaseChatModel = single_choice(model)
            return single if cache is None else isolated(single, cache, namespace)

        asked = "model" if model is details.model else "own model"
        return self._variant(details, (asked, namespace), (cache, model), lambda: strict_model(own()))

    def _variant(
        self, details: Introspected, name: tuple[str, ...], over: tuple[object, ...], judge: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Return the judge over another model or client, made anew where what that stands on has changed."""
        found = self._variants.get(name)
        if found is None or not all(map(is_, found[0], over)):
            found = self._variants[name] = (over, details.rebuilt(judge()))
        return found[1]


def unread_by_judge(error: Exception, seen: ModelAnswer | None, details: Introspected | None) -> ModelAnswer | None:
    """Return the answer behind an error of reading it; None when it is the call that failed."""
    if details is None:
        return unread_answer(error, seen)
    # a chat model may read the answer itself, before it is seen; whatever a client gives is seen
    return unread_answer(error, seen, _WHILE_READING, unseen=details.client is None)


def _doubt(said: ModelAnswer, case: Any, code: str | None) -> str | None:
    """Return why a text gives no score: it is no JSON object as a whole, where one inside may be a quotation.

    Nor does an object without the code that it was to carry or, where none was asked for, with values that stand in a
    quotation. A text without any brace is not what the score was read from: a model may bring a structured output of
    its own.
    """
    if len(set(said.calls)) > 1:
        return "the answer calls the tool several times, with different arguments"
    if said.calls or "{" not in said.text:
        return None
    found = object_of(said.text)
    if found is None:
        return "the answer is not one JSON object"
    if code is not None:
        return None if object_of(said.text, code=code) else "the answer does not carry the code of the case"
    quoted = quoted_keys(found, case.all_texts() if isinstance(case, AnswerCase) else output_texts(case) or ())
    return f"{' and '.join(quoted)} of the answer stands in a quotation of what was judged" if quoted else None


def _marks(probe: Probe) -> tuple[list[str], dict[str, Any]]:
    name, repetition = probe.perturbation.name, probe.repetition
    order = "swapped" if probe.perturbation.swaps else "original"
    tags = ["judge-harness", f"perturbation:{name}", f"repetition:{repetition}"]
    return tags, {"perturbation": name, "repetition": repetition, "order": order}


_MATCHERS = ("match", "strict", "subset", "superset", "unordered")
_BY_RULE = {
    "openevals.exact": ASKS_NO_MODEL,
    "openevals.string.levenshtein": ASKS_NO_MODEL,
    "openevals.string.embedding_similarity": ASKS_AN_EMBEDDING_MODEL,
    **{f"{package}.trajectory.{name}": ASKS_NO_MODEL for package in ("openevals", "agentevals") for name in _MATCHERS},
    "agentevals.graph_trajectory.strict": ASKS_NO_MODEL,
}
_FRAMEWORKS = ("openevals.", "agentevals.")
_CODE, _CODE_TOOLS = "openevals.code.base", ("openevals.code.pyright", "openevals.code.mypy", "openevals.code.e2b")
_JSON = "openevals.json.match"
_TOLD_ELSEWHERE = ("scorer", "judge", "model", "rubric", "use_reasoning")  # by the name, or of no account


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An evaluator of openevals or agentevals that compares.

    `name` is its feedback key, as far as that is one for all its results. `asked_once` says why one unperturbed call
    says all there is; None where a model judges the `judged_keys` of the outputs, and the others are compared by
    equality. `binary`: its scores 0 and 1 are FAIL and PASS. Where a model judges, `aggregator` folds the keys into one
    result, and `excluded` keys have none.
    """

    name: str
    asked_once: str | None = None
    binary: bool = False
    judged_keys: frozenset[str] | None = None
    aggregator: str | None = None
    excluded: frozenset[str] = frozenset()

    def keys(self, case: Case) -> tuple[str, ...]:
        """Return the feedback keys of a case where they are a list, which is known before a model has answered."""
        if self.judged_keys is None or not isinstance(case, StructuredCase):
            return ()
        if self.aggregator is not None:
            return (f"{self.name}:{self.aggregator}",)
        sides = (side if isinstance(side, list) else [side] for side in (case.outputs, case.reference_outputs))
        named = {str(key) for side in sides for one in side if isinstance(one, Mapping) for key in one}
        return tuple(f"{self.name}:{key}" for key in sorted(named - self.excluded))

    def view(self, case: Case) -> Case:
        """Return a case of which perturbations leave alone what is compared by equality."""
        if self.judged_keys is None or type(case) is not StructuredCase:
            return case
        fields = {name: getattr(case, name) for name in StructuredCase.__dataclass_fields__}
        return _PartlyJudgedCase(**fields, judged_keys=self.judged_keys)


@dataclass(frozen=True, kw_only=True)
class _PartlyJudgedCase(StructuredCase):
    """A case of which only some keys of the outputs are read by a model."""

    judged_keys: frozenset[str] = frozenset()

    def texts(self) -> tuple[str, ...]:
        """Return the texts of the judged keys."""
        judged = self._judged()
        return replace(self._plain(), outputs=judged).texts() if judged else ()

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with the texts of the judged keys changed."""
        changed = replace(self._plain(), outputs=self._judged()).with_texts(change).outputs
        if isinstance(self.outputs, list):
            outputs: Any = [_merged(one, part) for one, part in zip(self.outputs, changed, strict=True)]
        else:
            outputs = _merged(self.outputs, changed)
        return replace(self, outputs=outputs, output=value_text(outputs))

    def _plain(self) -> StructuredCase:
        return StructuredCase(**{name: getattr(self, name) for name in StructuredCase.__dataclass_fields__})

    def _judged(self) -> Any:
        """Return the outputs with the judged keys alone."""
        if isinstance(self.outputs, list):
            return [self._part(one) for one in self.outputs]
        return self._part(self.outputs)

    def _part(self, value: Any) -> Any:
        given = value if isinstance(value, Mapping) else {}
        return {key: part for key, part in given.items() if key in self.judged_keys}


def _merged(value: Any, changed: Mapping[Any, Any]) -> Any:
    return {**value, **changed} if isinstance(value, Mapping) else value


def comparison_of(function: Any) -> Comparison | None:
    """Return what is known of an evaluator that compares; None for a judge, and for a function of the caller's own."""
    function = unwrapped(function)[0]
    module, closure = _module(function), closure_of(function)
    if module in _BY_RULE:
        once = None if _asks_the_caller(closure) else _BY_RULE[module]
        return Comparison(name=_name(function, closure), asked_once=once)
    if module == _CODE and _module(closure.get("scorer")).startswith(_CODE_TOOLS):
        asks = closure.get("code_extraction_strategy") == "llm" and closure.get("code_extractor") is None
        if asks or _asks_the_caller(closure):
            return None
        return Comparison(name=str(closure.get("feedback_key")), asked_once=ASKS_NO_MODEL)
    if module != _JSON or "rubric" not in closure:
        return None
    averages = "average" in (closure.get("aggregator"), closure.get("list_aggregator"))
    rubric = closure["rubric"]
    return Comparison(
        name="json_match",
        asked_once=None if rubric else ASKS_NO_MODEL,
        binary=not averages,
        judged_keys=frozenset(rubric) if rubric else None,
        aggregator=closure.get("aggregator"),
        excluded=frozenset(closure.get("exclude_keys") or ()),
    )


def identity_of(evaluator: Any, comparison: Comparison | None, name: str) -> tuple[JudgeIdentity | None, str | None]:
    """Return what makes an evaluator that is no known judge the same one, or why that cannot be told.

    That is how a comparison is set, and the source of a function of the caller's own.
    """
    function = unwrapped(evaluator)[0]
    if comparison is not None and (comparison.asked_once is not None or _module(function) in _BY_RULE):
        return identified(lambda: _rule(evaluator, comparison))
    if is_of_framework(function):
        return None, None
    return identified(lambda: JudgeIdentity(name=name, source=source_digest(evaluator)))


def _rule(evaluator: Any, comparison: Comparison) -> JudgeIdentity:
    function, keywords = unwrapped(evaluator)
    module, closure = _module(function), closure_of(function)
    if module == _CODE:
        raise UnreadableError("it runs a tool, whose version and settings are not known")
    if getattr(function, "__closure__", None) and not closure:
        raise UnreadableError("how it is set cannot be read")
    packages = ("openevals",) if module.startswith("openevals.") else ("agentevals", "openevals")
    settings = {name: value for name, value in closure.items() if name not in _TOLD_ELSEWHERE} | keywords
    model = closure.get("model") if comparison.asked_once == ASKS_AN_EMBEDDING_MODEL else None
    return rule_identity(f"{module}.{comparison.name}", packages=packages, parameters=settings, model=model)


def is_of_framework(function: Any) -> bool:
    """Whether an evaluator is openevals' or agentevals' own, which logs its feedback itself in a test case."""
    return _module(unwrapped(function)[0]).startswith(_FRAMEWORKS)


def _name(function: object, closure: Mapping[str, Any]) -> str:
    if (mode := closure.get("trajectory_match_mode")) is not None:
        return f"trajectory_{mode}_match"
    if "algorithm" in closure:
        return "embedding_similarity"
    return str(getattr(function, "__name__", "")).removesuffix("_async")


def _asks_the_caller(closure: Mapping[str, Any]) -> bool:
    """Whether a function of the caller's own, which may ask a model, is among what an evaluator was made with."""
    held = (one for value in closure.values() for one in (value.values() if isinstance(value, Mapping) else (value,)))
    return any(callable(one) and not _module(one).startswith(_FRAMEWORKS) for one in held)


def _module(function: object) -> str:
    """Return the module a function was written in, whatever `functools.wraps` made it say; empty for other things."""
    return str(getattr(function, "__globals__", {}).get("__name__", ""))
