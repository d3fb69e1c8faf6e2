"""A judgment, or its failure, as rows in the canonical frame."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations.aggregation.grouping import DEFAULT_CRITERION, EVERY_CRITERION
from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.execution.preparing import Pending
from judgeharness_integrations.judging import Answer, Judge, Judgment
from judgeharness_integrations.verdictlog.row import VerdictRow, is_number, verdict_text

__all__ = ["CallFacts", "Keep", "RowMaker"]

Keep: TypeAlias = Literal["text", "hash", "none"]
_LONGEST_ERROR = 500

_KEEPERS: Mapping[Keep, Callable[[str], str | None]] = {
    "text": lambda text: text,
    "hash": lambda text: "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
    "none": lambda _: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What the executor knows about a call."""

    asked_at: str
    latency_s: float
    attempts: int


class RowMaker:
    """Makes the rows of one judge's calls."""

    def __init__(self, judge: Judge, *, run: str = "", keep: Keep = "text", judge_model: str | None = None) -> None:
        """Prepare for one judge; `keep` decides how reasoning and raw text are stored."""
        self._name = judge.name
        self._run = run
        self._keep = _KEEPERS[keep]
        self._model = judge_model or (judge.identity.model if judge.identity is not None else None)
        self._criteria: dict[str, Criterion] = {c.name: c for c in judge.criteria or ()}

    def answered(self, pending: Pending, judgment: Judgment, call: CallFacts) -> tuple[VerdictRow, ...]:
        """Return one row a criterion; a declared criterion without an answer is unparsed."""
        answers = judgment.answers or (Answer(criterion=DEFAULT_CRITERION, outcome="unparsed"),)
        given = {answer.criterion for answer in answers}
        missing = [Answer(criterion=name, outcome="unparsed") for name in self._criteria if name not in given]
        return self._rows(pending, [self._checked(answer) for answer in (*answers, *missing)], judgment, call)

    def failed(self, pending: Pending, error: BaseException, call: CallFacts) -> tuple[VerdictRow, ...]:
        """Return the rows of a call that raised: one a declared criterion, else one that counts for every criterion."""
        names = list(self._criteria) or [EVERY_CRITERION]
        answers = [Answer(criterion=name, outcome="error") for name in names]
        text = f"{type(error).__name__}: {error}".rstrip(": ")[:_LONGEST_ERROR]
        return self._rows(pending, answers, None, call, error=text)

    def _checked(self, answer: Answer) -> Answer:
        """Turn an answer outside the declared labels or scale into an unparsed one."""
        declared = self._criteria.get(answer.criterion)
        verdict = answer.verdict
        if verdict is None or declared is None or _is_declared(verdict, declared):
            return answer
        note = f"answered {verdict_text(verdict)}, which is not declared"
        return Answer(criterion=answer.criterion, outcome="unparsed", reasoning=answer.reasoning or note)

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self._keep(text)

    def _rows(
        self,
        pending: Pending,
        answers: Sequence[Answer],
        judgment: Judgment | None,
        call: CallFacts,
        error: str | None = None,
    ) -> tuple[VerdictRow, ...]:
        perturbation, facts = pending.perturbation, pending.facts
        several = len(answers) > 1
        call_id = f"{pending.case_id}/{self._name}/{perturbation.name}/{pending.repetition}" if several else None
        attributes = (
            {**facts.attributes, **judgment.facts} if judgment is not None and judgment.facts else facts.attributes
        )
        rows = []
        for number, answer in enumerate(answers):
            first = number == 0 and judgment is not None
            rows.append(
                VerdictRow(
                    case_id=pending.case_id,
                    verdict=None if answer.verdict is None else perturbation.restore(answer.verdict, answer.criterion),
                    run=self._run,
                    judge=self._name,
                    criterion=answer.criterion,
                    perturbation=perturbation.name,
                    repetition=pending.repetition,
                    swapped=perturbation.swaps,
                    outcome=answer.outcome if answer.verdict is None else "ok",
                    gold=facts.gold_of(answer.criterion),
                    call_id=call_id,
                    reasoning=self._text(answer.reasoning),
                    raw=self._text(judgment.raw) if first and judgment else None,
                    model=(judgment.model if judgment else None) or self._model,
                    input_tokens=judgment.input_tokens if first and judgment else None,
                    output_tokens=judgment.output_tokens if first and judgment else None,
                    latency_s=call.latency_s if number == 0 else None,
                    attempts=call.attempts if number == 0 else None,
                    error=error,
                    asked_at=call.asked_at,
                    attributes=attributes,
                )
            )
        return tuple(rows)


def _is_declared(verdict: object, declared: Criterion) -> bool:
    if declared.scale is not None:
        return is_number(verdict) and declared.scale[0] <= verdict <= declared.scale[1]  # type: ignore[operator]
    if declared.labels is None:
        return True
    labels = verdict if isinstance(verdict, frozenset) else {verdict}
    return labels <= set(declared.labels)
