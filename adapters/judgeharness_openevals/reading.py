"""What one call of a judge returned, as answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from judgeharness_integrations.judging import Answer, as_judgment
from judgeharness_integrations.verdictlog.row import is_number
from judgeharness_openevals.schemas import SCORE

__all__ = ["Reading", "Shape", "read", "score_of"]

Shape: TypeAlias = Literal["single", "list", "raw"]
_REASONS = ("comment", "reasoning", "reason", "explanation", "rationale")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a judge returned: its answers, and the result dict behind each criterion.

    `shape` is how it returned them: one result, a list of results, or `raw`, the output of a model by its schema.
    """

    shape: Shape
    answers: tuple[Answer, ...]
    parts: Mapping[str, Mapping[str, Any]]


def read(
    native: Any,
    *,
    key: str,
    raw: bool = False,
    fields: tuple[str, ...] = (),
    choices: tuple[float, ...] | None = None,
) -> Reading:
    """Read what a judge returned.

    Args:
        native: a result dict or object, a list of them, a bare score, or the output of a model.
        key: the criterion of what names none.
        raw: it is the output of a model, whatever it looks like.
        fields: the measured fields of such an output, where they are known.
        choices: the scores that may be answered; others are unparsed.

    """
    if isinstance(native, list) and not raw:
        return _reading("list", [_mapping(part) or {SCORE: None} for part in native], key, choices)
    result = _mapping(native)
    if not raw and (result is None or SCORE in result or "key" in result):
        # a bare score becomes a result, as LangSmith would have it
        bare = {"key": key, SCORE: native, "comment": None}
        return _reading("single", [bare if result is None else result], key, choices)
    result = result or {}
    if SCORE in result:
        return Reading(shape="raw", answers=(_answer(key, result, SCORE),), parts={key: result})
    measured = fields or tuple(name for name, value in result.items() if is_number(value) or isinstance(value, bool))
    answers = tuple(_answer(name, result, name) for name in measured) or (Answer(outcome="unparsed"),)
    return Reading(shape="raw", answers=answers, parts=dict.fromkeys(measured, result) if result else {})


def _reading(shape: Shape, results: list[Mapping[str, Any]], key: str, choices: tuple[float, ...] | None) -> Reading:
    answers = tuple(_answer(str(result.get("key") or key), result, SCORE, choices) for result in results)
    parts = {answer.criterion: result for answer, result in zip(answers, results, strict=True)}
    return Reading(shape=shape, answers=answers, parts=parts)


def score_of(part: Mapping[str, Any], criterion: str) -> Any:
    """Return the score of a criterion in the result dict behind it."""
    return part[SCORE] if SCORE in part else part.get(criterion)


def _mapping(native: Any) -> Mapping[str, Any] | None:
    dump = getattr(native, "model_dump", None)
    found = dump() if callable(dump) else native
    return found if isinstance(found, Mapping) else None


def _answer(criterion: str, result: Mapping[str, Any], field: str, choices: tuple[float, ...] | None = None) -> Answer:
    answer = as_judgment({criterion: _plain(result.get(field))}).answers[0]
    reasons = next((text for name in _REASONS if isinstance(text := result.get(name), str) and text), answer.reasoning)
    if choices and is_number(answer.verdict) and answer.verdict not in choices:
        note = reasons or f"answered {answer.verdict}, which is none of the choices"
        return Answer(criterion=criterion, outcome="unparsed", reasoning=note)
    return replace(answer, reasoning=reasons)


def _plain(score: Any) -> Any:
    scalar = getattr(score, "item", None)  # NumPy's scores are no scores to JSON
    return scalar() if callable(scalar) else score
