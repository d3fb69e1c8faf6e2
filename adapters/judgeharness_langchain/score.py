"""ScoreJudge: a number for one answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.judging import Answer
from judgeharness_integrations.marks import REASONING_PROPERTY
from judgeharness_integrations.parsing import score_grammar
from judgeharness_integrations.verdictlog.row import Verdict
from judgeharness_langchain.chat_judge import ChatJudge, JudgeOptions, Reading
from judgeharness_langchain.kinds import SCORE
from judgeharness_langchain.rubric import CriteriaLike, one_criterion
from judgeharness_langchain.structured import object_schema, reasoning_of

__all__ = ["ScoreJudge"]

_INSTRUCTIONS = (
    "You rate one answer to a task with a whole number from {low} (worst) to {high} (best).\nWhat counts:\n{rubric}"
)
_DEFAULT_RUBRIC = "- how helpful, correct and relevant the answer is, and whether it follows the task"


def _ends(scale: object) -> tuple[int, int]:
    """Return the two ends of a scale; a bool is no number here."""
    ends = list(scale) if isinstance(scale, (tuple, list)) else []
    if len(ends) != 2 or not all(type(end) is int for end in ends):  # noqa: PLR2004 - a pair
        raise UsageError(
            f"a scale is two whole numbers, as in (1, 10), not {scale!r}; normalize_by divides its scores."
        )
    if ends[0] >= ends[1]:
        raise UsageError(f"a scale goes from a lower to a higher number, not {scale!r}.")
    return ends[0], ends[1]


def _is_divisor(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


class ScoreJudge(ChatJudge):
    """Asks a chat model for a whole number on a scale, 1 to 10 by default."""

    kind = SCORE

    def __init__(
        self,
        model: BaseChatModel,
        *,
        criteria: CriteriaLike | None = None,
        scale: tuple[int, int] = (1, 10),
        normalize_by: float | None = None,
        **options: Unpack[JudgeOptions],
    ) -> None:
        """Prepare.

        Args:
            model: any chat model.
            criteria: what counts, as a name, names, or name -> description.
            scale: lowest and highest score, both included.
            normalize_by: what scores are divided by.
            options: see `JudgeOptions`.

        """
        low, high = _ends(scale)
        if normalize_by is not None and not _is_divisor(normalize_by):
            raise UsageError(f"normalize_by is a number above 0, not {normalize_by!r}.")
        criterion, rubric = one_criterion(criteria, _DEFAULT_RUBRIC)
        divisor = normalize_by or 1
        super().__init__(
            model,
            [Criterion(name=criterion, scale=(low / divisor, high / divisor))],
            _INSTRUCTIONS.format(low=low, high=high, rubric=rubric),
            options,
        )
        self.scale = (low, high)
        self.normalize_by = normalize_by
        self._grammar = score_grammar(low, high)
        self.kind = replace(SCORE, grammar=self._grammar)

    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        del slots
        score = {"type": "integer", "enum": list(range(self.scale[0], self.scale[1] + 1)), "description": "The score."}
        return object_schema("Score", {"reasoning": REASONING_PROPERTY, "score": score})

    def _verdict_format(self, slots: tuple[str, str]) -> str:
        del slots
        return f"the score, a whole number from {self.scale[0]} to {self.scale[1]}"

    def _scored(self, token: str, reasoning: str | None) -> Reading:
        score: Verdict | None = self._grammar.read(token)
        if not isinstance(score, int):
            return None
        verdict = score / self.normalize_by if self.normalize_by else score
        return [Answer(criterion=self.criteria[0].name, verdict=verdict, reasoning=reasoning)]

    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        del slots
        score = parsed.get("score")
        if isinstance(score, float) and score.is_integer():  # JSON of some models writes 8 as 8.0
            score = int(score)
        return None if isinstance(score, bool) else self._scored(str(score), reasoning_of(parsed))

    def _read_text(self, said: str, slots: tuple[str, str], reasoning: str) -> Reading:
        del slots
        score = self._grammar.word(said)
        return None if score is None else self._scored(str(score), reasoning)
