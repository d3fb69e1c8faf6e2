"""An openevals evaluator as a judge of the harness: cases as its arguments, and what one call returned."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from judgeharness_integrations._errors import CaseError, UnsupportedEvaluatorError, UsageError
from judgeharness_integrations.judging.adapters import VersionRange
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, as_answer, as_judgment
from judgeharness_integrations.judging.parsing import REASONING, numbered
from judgeharness_integrations.judging.structured import Attachments, StructuredCase, structured_case
from judgeharness_integrations.verdictlog.row import is_number

from .asking import Asker, Comparison, comparison_of, identity_of, is_of_framework
from .introspecting import PASS_FAIL, SCORE, Introspected, Protocol, introspect, unwrapped
from .versions import TESTED

Shape: TypeAlias = Literal["single", "list", "raw"]
VALUE = "value"  # where LangSmith has what is no number
_FIELDS = frozenset({"key", SCORE, VALUE, "comment", "metadata", "evaluator_info", "source_run_id", "feedback_config"})


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a judge returned: its answers, and the result dict behind each criterion.

    `shape` is how it returned them: one result, a list of results, or `raw`, the output of a model by its schema.
    """

    shape: Shape
    answers: tuple[Answer, ...]
    parts: Mapping[str, Mapping[str, Any]]

    def with_truth_values(self) -> Reading:
        """Return the reading with scores 0 and 1 as FAIL and PASS, the labels of what is equal or is not."""
        return replace(self, answers=tuple(map(_as_truth, self.answers)))


def _as_truth(answer: Answer) -> Answer:
    if not is_number(answer.verdict) or answer.verdict not in (0, 1):
        return answer
    return replace(answer, verdict=PASS_FAIL[0] if answer.verdict == 1 else PASS_FAIL[1])


def read(
    native: Any,
    *,
    key: str,
    raw: bool = False,
    fields: tuple[str, ...] = (),
    choices: tuple[float, ...] | None = None,
    asked: Iterable[Criterion] = (),
) -> Reading:
    """Read what a judge returned.

    Args:
        native: a result dict or object, a list of them or LangSmith's `{"results": [...]}`, a bare score, or the
            output of a model.
        key: the criterion of what names none.
        raw: it is the output of a model, whatever it looks like.
        fields: the measured fields of such an output, where they are known.
        choices: the scores that may be answered; others are unparsed.
        asked: the criteria whose answers are one value each: a truth value (0 and 1 are, too), a label or a number.

    """
    forms = {criterion.name: criterion for criterion in asked}
    result = _mapping(native)
    several = result.get("results") if result and not raw else None
    if isinstance(several, list) or (isinstance(native, list) and not raw):
        results = [_mapping(part) or {SCORE: None} for part in (several if isinstance(several, list) else native)]
        return _reading("list", _numbered(results, key), choices, forms)
    if not raw and (result is None or _is_result(result)):
        # a bare score becomes a result, as LangSmith would have it
        bare = {"key": key, SCORE: native, "comment": None}
        found = bare if result is None else result
        return _reading("single", {str(found.get("key") or key): found}, choices, forms)
    result = result or {}
    if SCORE in result:
        return Reading(shape="raw", answers=(_answer(key, result, SCORE, None, forms),), parts={key: result})
    measured = fields or tuple(name for name, value in result.items() if is_number(value) or isinstance(value, bool))
    answers = tuple(_answer(name, result, name, None, forms) for name in measured)
    parts = dict.fromkeys(measured, result) if result else {}
    return Reading(shape="raw", answers=answers or (Answer(outcome="unparsed"),), parts=parts)


def _is_result(result: Mapping[str, Any]) -> bool:
    return SCORE in result or "key" in result or (VALUE in result and result.keys() <= _FIELDS)


def _numbered(results: list[Mapping[str, Any]], key: str) -> dict[str, Mapping[str, Any]]:
    """Return the results by key, each of its own."""
    own = [str(result.get("key") or key) for result in results]
    names = zip(numbered(own), own, results, strict=True)
    return {name: result if name == said else {**result, "key": name} for name, said, result in names}


def _reading(
    shape: Shape,
    results: Mapping[str, Mapping[str, Any]],
    choices: tuple[float, ...] | None,
    forms: Mapping[str, Criterion],
) -> Reading:
    answers = tuple(_answer(name, part, field_of(part), choices, forms) for name, part in results.items())
    return Reading(shape=shape, answers=answers, parts=results)


def field_of(part: Mapping[str, Any]) -> str:
    """Return where a result has its verdict: `value` where that is given and no score is."""
    return VALUE if part.get(SCORE) is None and part.get(VALUE) is not None else SCORE


def score_of(part: Mapping[str, Any], criterion: str) -> Any:
    """Return the score of a criterion in the result dict behind it."""
    return part[SCORE] if SCORE in part else part.get(criterion)


def _mapping(native: Any) -> Mapping[str, Any] | None:
    dump = getattr(native, "model_dump", None)
    found = dump() if callable(dump) else native
    return found if isinstance(found, Mapping) else None


def _answer(
    criterion: str,
    result: Mapping[str, Any],
    field: str,
    choices: tuple[float, ...] | None,
    forms: Mapping[str, Criterion],
) -> Answer:
    score, form = _plain(result.get(field)), forms.get(criterion)
    if form is not None and form.labels == PASS_FAIL and is_number(score) and score in (0, 1):
        score = score == 1
    answer = as_answer(criterion, score)
    reasons = next((text for name in REASONING if isinstance(text := result.get(name), str) and text), answer.reasoning)
    problem = None
    if choices and is_number(answer.verdict) and answer.verdict not in choices:
        problem = "none of the choices"
    elif form is not None and isinstance(answer.verdict, frozenset):
        problem = "a list where one value is asked for"
    if problem is not None:
        note = f"answered {score!r:.60}, which is {problem}" + (f": {reasons}" if reasons else "")
        return Answer(criterion=criterion, outcome="unparsed", reasoning=note)
    return replace(answer, reasoning=reasons)


def _plain(score: Any) -> Any:
    scalar = getattr(score, "item", None)  # NumPy's scores are no scores to JSON
    return scalar() if callable(scalar) else score


_SHARED_FIELDS = ("names", "author", "gold", "attributes", "presentation", "criteria")


def is_plain(case: Case) -> bool:
    """Whether a case is one answer, as text."""
    return isinstance(case, AnswerCase) and not isinstance(case, (StructuredCase, PairwiseCase))


def values_of(case: StructuredCase) -> dict[str, Any]:
    """Return the values of a case by name."""
    outputs = {"inputs": case.inputs, "outputs": case.outputs, "reference_outputs": case.reference_outputs}
    return {**case.extra, **outputs}


def for_prompt(attached: Any) -> Any:
    """Return attachments in the form openevals' prompts take them; None where there are none."""
    if not isinstance(attached, Attachments):
        return attached or None
    if attached.others:  # openevals says what is wrong with them
        return dict(attached)
    files = attached.files.items()
    return [{"mime_type": f.mime_type or "", "data": f.data_uri, "name": name} for name, f in files] or None


def texts_of(case: AnswerCase, wanted: Collection[str]) -> dict[str, Any]:
    """Return the texts of a case by name, with those of context and attributes that are `wanted`."""
    more = {**case.attributes, "context": case.context}
    texts = {"inputs": case.input, "outputs": case.output, "reference_outputs": case.reference}
    return {name: value for name, value in more.items() if name in wanted} | texts


def as_messages(case: AnswerCase) -> StructuredCase:
    """Return a case of text as one of messages."""
    return structured_case(
        case_id=case.case_id,
        inputs=case.input,
        outputs=_messages(case.output),
        reference_outputs=None if case.reference is None else _messages(case.reference),
        extra={} if case.context is None else {"context": case.context},
        **{name: getattr(case, name) for name in _SHARED_FIELDS},
    )


def _messages(text: str) -> Any:
    """Return the messages a text holds as JSON; else one message of the assistant."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    several = found.get("messages") if isinstance(found, Mapping) else found
    is_messages = isinstance(several, list) and all(isinstance(part, Mapping) and "role" in part for part in several)
    return found if is_messages and several else [{"role": "assistant", "content": text}]


_UNNAMED = frozenset({"<lambda>", "_wrapped_evaluator"})


@dataclass
class Sample:
    """What one call of the evaluator itself returned or raised; `keys` are of its results, as far as known before."""

    reading: Reading | None = None
    error: Exception | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OpenevalsJudge:
    """Asks an evaluator of openevals' protocol. Build it with `OpenevalsJudge.of`.

    `details` is what openevals made it of, None for a comparison and a function of the caller's own: then its criteria
    are learned from its answers, and `known` is its identity. `comparison` is what is known of one that compares.
    `key` names the criterion of an answer that names none; `keyed` is whether the caller chose it, so that it goes
    into the result, too. With `own_reading` openevals' reading of an answer is taken as it is; else an answer of text
    counts only where it is one JSON object and nothing besides.
    """

    takes_values: ClassVar[bool] = True
    tested: ClassVar[Mapping[str, VersionRange]] = TESTED

    function: Callable[..., Any]
    name: str
    key: str
    keyed: bool = False
    criteria: tuple[Criterion, ...] | None
    details: Introspected | None
    comparison: Comparison | None = None
    known: JudgeIdentity | None = None
    unidentified: str | None = None
    protocol: Protocol
    asker: Asker
    own_reading: bool = False
    samples: dict[tuple[str, str, int], Sample] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, evaluator: Any, *, name: str | None = None, key: str | None = None) -> OpenevalsJudge:
        """Wrap an evaluator.

        Args:
            evaluator: what `create_llm_as_judge` and its like make, or a function of the same protocol.
            name: the judge's name in the log; the feedback key, or the function's name, by default.
            key: the criterion of answers that name none; the feedback key, or the function's name, by default.

        Raises:
            UnsupportedEvaluatorError: it is no such function, it could never answer, or its schema has nothing to
                measure.
            UsageError: there is a `key`, and the judge has a feedback key of its own.

        """
        if not callable(evaluator):
            raise UnsupportedEvaluatorError(f"a {type(evaluator).__name__} is no openevals evaluator: give a function.")
        protocol, details = Protocol.of(evaluator), introspect(evaluator)
        if details is not None:
            details.check()
            if key not in (None, details.key) and not details.raw:
                raise UsageError(f"the judge has the feedback key {details.key!r}: make it with feedback_key={key!r}.")
        function, comparison = unwrapped(evaluator)[0], comparison_of(evaluator)
        own = str(getattr(function, "__name__", type(function).__name__)) if comparison is None else comparison.name
        keyed = key is not None
        key = key or (details.key if details else "score" if own in _UNNAMED else own)
        criteria = None if details is None else details.criteria(key)
        if criteria == ():
            raise UnsupportedEvaluatorError(
                "the output_schema has nothing to measure: give it a boolean, a number or an enum of texts."
            )
        known, unidentified = (None, None) if details else identity_of(evaluator, comparison, own)
        return cls(
            function=evaluator,
            name=name or (details.short_name if details else "judge" if own in _UNNAMED else own),
            key=key,
            keyed=keyed and (details is None or not details.raw),
            criteria=criteria,
            details=details,
            comparison=comparison,
            known=known,
            unidentified=unidentified,
            protocol=protocol,
            asker=Asker(function=evaluator, details=details, logs=is_of_framework(evaluator)),
        )

    @property
    def identity(self) -> JudgeIdentity | None:
        """Model, parameters and prompt; how a comparison is set; the source of a function of the caller's own."""
        return self.known if self.details is None else self.details.identity

    @property
    def own_evaluation(self) -> Callable[..., Any] | None:
        """A function of the caller's own; None of what openevals made, whose answers are known."""
        return self.function if self.details is None and self.comparison is None else None

    @property
    def model_name(self) -> str | None:
        """The name of the model it asks, where that is known."""
        return None if self.details is None else self.details.model_name

    @property
    def asked_once(self) -> str | None:
        """Why one unperturbed call says all there is to know; None for a judge that is to be sampled."""
        return None if self.comparison is None else self.comparison.asked_once

    @property
    def run_name(self) -> str:
        """The name of its run in a trace."""
        return self.name if self.details is None else self.details.run_name

    @cached_property
    def asynchronous(self) -> bool:
        """Whether the evaluator is async."""
        call = getattr(unwrapped(self.function)[0], "__call__", None)  # noqa: B004 - an object's own may be async
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    @property
    def takes_attachments(self) -> bool:
        """Whether it asks for attachments: by a parameter, or by `{attachments}` in its prompt."""
        details = self.details
        return "attachments" in (self.protocol.names if details is None else details.variables or ())

    @property
    def discrete(self) -> bool:
        """Whether its scores are all of given ones, so that one between two of them, a median say, is none."""
        return self.details is not None and self.details.discrete

    def bound(self, *, own_reading: bool = False) -> OpenevalsJudge:
        """Return the judge for one evaluation: it keeps what the evaluator returned for each sample."""
        return replace(self, own_reading=own_reading, samples={})

    def view(self, case: Case) -> Case:
        """Return the case as the judge is shown it: for a judge of trajectories, a text as messages.

        Where keys are compared by equality, perturbations change the others alone.
        """
        if self.comparison is not None:
            return self.comparison.view(case)
        messages = self.details is not None and self.details.messages
        return as_messages(case) if messages and is_plain(case) else case

    def fits(self, case: Case) -> str | None:
        """Return why the evaluator cannot judge a case, None when it can."""
        if isinstance(case, PairwiseCase):
            return "it judges one answer and the case has two, of which it would ignore output_b"
        if not isinstance(case, AnswerCase):
            return f"it judges an AnswerCase or a StructuredCase, not a {type(case).__name__}"
        if self.details is not None and self.details.graph and is_plain(case):
            return "it judges the steps of a graph: give a StructuredCase, as extract_langgraph_trajectory makes them"
        if self.details is None or self.details.variables is None:
            return None
        values = self._values(case)
        lacking = sorted(n for n in self.details.variables - self.details.formatted if values.get(n) is None)
        return f"its prompt names {' and '.join(lacking)}, which the case lacks" if lacking else None

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the evaluator once."""
        case = self.view(probe.case)
        if (reason := self.fits(case)) is not None:
            raise CaseError(f"{self.name} cannot judge case {case_id_of(case)!r}: {reason}.")
        sample = Sample(keys=() if self.comparison is None else self.comparison.keys(case))
        if self.samples is not None:
            self.samples[probe.case_id, probe.perturbation.name, probe.repetition] = sample
        positional, named = self.protocol.call(self._values(case))
        try:
            asked = await self.asker.ask(probe, named, positional)
        except Exception as error:
            sample.error = error
            raise
        sample.error = asked.error
        reading = None if asked.error is not None else self._read(asked.native)
        answers = () if reading is None else reading.answers
        if (unusable := asked.unusable(strict=not self.own_reading)) is not None:
            return asked.judgment(self._to_all(unusable))
        sample.reading = reading
        judgment = asked.judgment(answers)
        if self.details is not None or reading is None or any(answer.outcome != "unparsed" for answer in answers):
            return judgment
        given = [part.get(field_of(part)) for part in reading.parts.values()] or [asked.native]
        return replace(judgment, unreadable=as_judgment(given[0]).unreadable)

    def _read(self, native: Any) -> Reading:
        details = self.details
        if details is None:
            found = read(native, key=self.key)
            return found.with_truth_values() if self.comparison is not None and self.comparison.binary else found
        measured = tuple(criterion.name for criterion in self.criteria or ()) if details.raw else ()
        asked = self.criteria or ()
        return read(native, key=self.key, raw=details.raw, fields=measured, choices=details.choices, asked=asked)

    def _to_all(self, answer: Answer) -> tuple[Answer, ...]:
        return tuple(replace(answer, criterion=c.name) for c in self.criteria) if self.criteria else (answer,)

    def _values(self, case: AnswerCase) -> dict[str, Any]:
        """Return what the evaluator may be given, by name."""
        if isinstance(case, StructuredCase):
            values = values_of(case)
            if self.comparison is not None and "inputs" not in self.protocol.names:
                values.pop("inputs", None)  # json match breaks on them, and LangSmith gives none
            if self.details is not None and "attachments" in values:
                values["attachments"] = for_prompt(values["attachments"])
            return values
        wanted = set(self.protocol.names) | (set() if self.details is None else self.details.variables or set())
        return texts_of(case, wanted)
