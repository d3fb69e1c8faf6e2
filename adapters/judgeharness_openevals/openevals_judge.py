"""An openevals evaluator as a judge of the harness."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from judgeharness_integrations._errors import CaseError, UnsupportedEvaluatorError, UsageError
from judgeharness_integrations.cases import AnswerCase, Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.structured import StructuredCase
from judgeharness_integrations.versions import VersionRange
from judgeharness_openevals.asking import Asker
from judgeharness_openevals.comparing import Comparison, comparison_of, identity_of, is_of_framework
from judgeharness_openevals.introspecting import Introspected, introspect
from judgeharness_openevals.protocol import Protocol, unwrapped
from judgeharness_openevals.reading import Reading, read
from judgeharness_openevals.showing import as_messages, for_prompt, is_plain, texts_of, values_of
from judgeharness_openevals.versions import TESTED

__all__ = ["OpenevalsJudge", "Sample"]

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
        return asked.judgment(answers)

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
            if self.details is not None and "attachments" in values:
                values["attachments"] = for_prompt(values["attachments"])
            return values
        wanted = set(self.protocol.names) | (set() if self.details is None else self.details.variables or set())
        return texts_of(case, wanted)
