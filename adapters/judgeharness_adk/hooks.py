"""ADK's public hooks of an LLM judge: a sample and a measurement as ADK's own types, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from google.adk.evaluation.eval_rubrics import RubricScore
from google.adk.evaluation.evaluator import EvalStatus, PerInvocationResult
from google.adk.evaluation.llm_as_judge import AutoRaterScore, LlmAsJudge
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part
from pydantic import PrivateAttr

from judgeharness_adk.models import Replied
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.judge import Answer
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.result import HarnessResult

_SCORE = "adk_score"  # the attribute of a row that keeps what a hook scored
_SCORES = {"PASS": 1.0, "FAIL": 0.0}
T = TypeVar("T")


class Reply(LlmResponse):
    """An answer of the judge's model without its thoughts, with what our reader makes of its text."""

    _read: tuple[str, AutoRaterScore] | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, answer: ModelAnswer, read: Sequence[Answer], *, rubrics: bool) -> Reply:
        """Return an answer as ADK's hooks take it."""
        last = answer.response if isinstance(answer, Replied) else LlmResponse()
        told = {name: value for name, value in last if name in LlmResponse.model_fields}
        said = [Part(text=answer.text)] if answer.text else []
        calls = [part for part in (last.content.parts if last.content else None) or () if part.function_call]
        told |= {"content": Content(role="model", parts=[*said, *calls]), "model_version": answer.model}
        reply = cls.model_construct(**told)
        scores = [(one.criterion, _SCORES.get(str(one.verdict)), one.reasoning) for one in read]
        reply._read = (answer.text, _score(scores, rubrics=rubrics))  # noqa: SLF001 - its own
        return reply

    @property
    def read(self) -> AutoRaterScore | None:
        """What our reader made of the text; None once it was changed."""
        parts = self.content.parts if self.content else None
        if self._read is None or parts is None or "".join(part.text or "" for part in parts) != self._read[0]:
            return None
        return self._read[1]


def _score(scores: Sequence[tuple[str, float | None, str | None]], *, rubrics: bool) -> AutoRaterScore:
    known = [score for _, score, _ in scores if score is not None]
    mean = sum(known) / len(known) if known else None
    rows = [RubricScore(rubric_id=name, score=score, rationale=why) for name, score, why in scores]
    return AutoRaterScore(score=mean, rubric_scores=rows if rubrics else None)


class Hooks(NamedTuple):
    """A class of LLM judges whose hooks are used: for prompts, and if it `reads` otherwise than ADK, for answers."""

    evaluator: type[LlmAsJudge[Any]]
    reads: bool


class Hooked(NamedTuple):
    """What a hook read in an answer; `score` is the number it gave the whole."""

    answers: tuple[Answer, ...]
    score: float | None


def reread(
    evaluator: LlmAsJudge[Any], answer: ModelAnswer, read: tuple[Answer, ...], *, rubrics: bool, threshold: float
) -> Hooked:
    """Return what `convert_auto_rater_response_to_score` of an evaluator reads in an answer.

    Args:
        evaluator: whose hook it is.
        answer: what the judge's model said, to its end.
        read: what our reader made of it, an answer a question.
        rubrics: the questions are rubrics, which the hook scores one by one.
        threshold: what the score of a single question must reach.

    """
    try:
        score = evaluator.convert_auto_rater_response_to_score(Reply.of(answer, read, rubrics=rubrics))
    except Exception as error:  # noqa: BLE001 - the model has answered: it is not asked again for what a hook does
        why = f"convert_auto_rater_response_to_score raised {type(error).__name__}: {error}"
        return Hooked(tuple(_unread(one, why) for one in read), None)
    if not rubrics:
        passed = score.score is not None and score.score >= threshold and score.score > 0
        return Hooked(tuple(_decided(one, score.score, passed=passed) for one in read), score.score)
    given = {row.rubric_id: row for row in score.rubric_scores or ()}
    answers = (
        _decided(one, row.score, passed=row.score == 1.0, why=row.rationale)  # as ADK counts votes
        if (row := given.get(one.criterion))
        else _unread(one, "convert_auto_rater_response_to_score gave this rubric no score")
        for one in read
    )
    return Hooked(tuple(answers), score.score)


def _decided(one: Answer, score: float | None, *, passed: bool, why: str | None = None) -> Answer:
    if score is None:
        return _unread(one, why or one.reasoning or "convert_auto_rater_response_to_score gave no score")
    return Answer(criterion=one.criterion, verdict="PASS" if passed else "FAIL", reasoning=why or one.reasoning)


def _unread(one: Answer, why: str) -> Answer:
    return replace(one, verdict=None, outcome="unparsed", reasoning=why)


@dataclass(frozen=True, kw_only=True)
class Measured(Generic[T]):
    """The results a hook is given to aggregate, and what the harness made of them."""

    given: Sequence[PerInvocationResult]
    decided: T

    def of(self, results: Sequence[PerInvocationResult]) -> T | None:
        """Return what the harness made of results; None where they are not the very ones, each in its place."""
        same = len(results) == len(self.given) and all(a is b for a, b in zip(results, self.given, strict=True))
        return self.decided if same else None


def samples_of(
    results: Sequence[HarnessResult], told: PerInvocationResult, threshold: float, *, rubrics: bool
) -> Iterator[PerInvocationResult]:
    """Yield the samples of an invocation that could be read, as ADK has them."""
    for result in results:
        samples: dict[tuple[str, int], list[VerdictRow]] = {}
        for row in result.rows:
            samples.setdefault((row.perturbation, row.repetition), []).append(row)
        for rows in samples.values():
            if not any(row.ok for row in rows):
                continue
            scores = [(row.criterion, _SCORES.get(str(row.verdict)), row.reasoning) for row in rows]
            read = _score(scores, rubrics=rubrics)
            given = rows[0].attributes.get(_SCORE)  # of the whole sample
            score = given if isinstance(given, float) else read.score
            passed = score is not None and score >= threshold
            yield PerInvocationResult(
                actual_invocation=told.actual_invocation,
                expected_invocation=told.expected_invocation,
                score=score,
                eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED,
                rubric_scores=read.rubric_scores,
            )
