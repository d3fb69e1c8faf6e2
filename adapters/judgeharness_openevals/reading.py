"""What one call of a judge returned, as answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.judging import Answer, as_answer
from judgeharness_integrations.parsing import REASONING, numbered
from judgeharness_integrations.verdictlog.row import is_number
from judgeharness_openevals.schemas import PASS_FAIL, SCORE

__all__ = ["VALUE", "Reading", "Shape", "field_of", "read", "score_of"]

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
