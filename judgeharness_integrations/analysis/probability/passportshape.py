"""What a saved passport holds: the dataclasses of `passport`, read by pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from judgeharness_integrations.analysis.probability.maps import ProbabilityMap
from judgeharness_integrations.analysis.probability.passport import Canary, QuestionPassport
from judgeharness_integrations.verdictlog.shapes import Count, Shape, Short, Text

_QUESTIONS = TypeAdapter(tuple[QuestionPassport, ...])
_CANARY = TypeAdapter(Canary | None)


class PassportShape(Shape):
    """A passport as `Passport.to_dict` writes it, but for its questions and the canary."""

    name: Text
    judge: Text
    source: Text
    consensus: Text
    excluded_ties: Count
    measured_at: Short
    parts: dict[str, Any] | None
    design: dict[str, Any] | None
    questions: list[dict[str, Any]]
    canary: dict[str, Any] | None


def questions_and_canary(data: Mapping[str, Any]) -> tuple[tuple[QuestionPassport, ...], Canary | None]:
    """Return what a document says of questions and of the canary.

    Raises:
        ValueError: they are not what they should be (pydantic's error is one).
        UsageError: a map is damaged.

    """
    questions = _QUESTIONS.validate_python(data["questions"])
    for question in data["questions"]:
        if (question["trust"] or {}).get("map") is not None:
            ProbabilityMap.from_dict(question["trust"]["map"])
    return questions, _CANARY.validate_python(data["canary"])
