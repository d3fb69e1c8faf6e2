"""ADK's JSON files as data and as its models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.adk.evaluation.eval_result import EvalSetResult
from google.adk.evaluation.eval_set import EvalSet
from pydantic import BaseModel, ValidationError

from judgeharness_adk.invocations import InvocationCase, invocation_case
from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.verdictlog.plain import safe_text

if TYPE_CHECKING:
    from os import PathLike

M = TypeVar("M", bound=BaseModel)


def read_document(path: Path) -> Any:
    """Return what a file of ADK holds.

    Raises:
        CaseError: it cannot be read or is not JSON.

    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return json.loads(data) if isinstance(data, str) else data  # older versions of ADK wrote results encoded twice
    except (OSError, ValueError, RecursionError) as error:
        raise CaseError(f"{path}: cannot be read ({error}).") from error


def validated(model: type[M], data: Any, otherwise: str) -> M:
    """Return data as a model of ADK.

    Raises:
        CaseError: it is none; the message says `otherwise`, and the first problem.

    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise CaseError(f"{otherwise} ({safe_text(problem, 200)}).") from error
    except Exception as error:  # validators of google-genai's types fail in ways of their own
        raise CaseError(f"{otherwise} ({safe_text(f'{type(error).__name__}: {error}', 200)}).") from error


def read_eval_set(path: str | PathLike[str]) -> list[InvocationCase]:
    """Return the invocations of an eval set or of a result of `adk eval`, one case each.

    Of an eval set the recorded conversations are judged, and nothing is expected of them. Of a result
    (`*.evalset_result.json`) what the agent answered is judged, beside what was expected.

    Raises:
        CaseError: the file cannot be read, is neither, or holds no conversation.

    """
    data = read_document(Path(path))
    otherwise = f"{path}: is neither an ADK eval set nor a result of one"
    if isinstance(data, dict) and ("eval_case_results" in data or "evalCaseResults" in data):
        cases = list(_answered(validated(EvalSetResult, data, otherwise)))
    else:
        cases = list(_recorded(validated(EvalSet, data, otherwise)))
    if not cases:
        raise CaseError(f"{path}: holds no conversation to judge.")
    return cases


def _recorded(eval_set: EvalSet) -> Iterator[InvocationCase]:
    for eval_case in eval_set.eval_cases:
        conversation = [_with_rubrics(one, eval_case) for one in eval_case.conversation or ()]
        yield from _cases(conversation, [None] * len(conversation), eval_case.eval_id, eval_set_id=eval_set.eval_set_id)


def _with_rubrics(invocation: Invocation, eval_case: EvalCase) -> Invocation:
    rubrics = [*(eval_case.rubrics or ()), *(invocation.rubrics or ())]
    return invocation.model_copy(update={"rubrics": rubrics or None})


def _answered(eval_set: EvalSetResult) -> Iterator[InvocationCase]:
    runs: dict[str, int] = {}
    for result in eval_set.eval_case_results:
        run = runs[result.eval_id] = runs.get(result.eval_id, 0) + 1
        turns = result.eval_metric_result_per_invocation
        name = result.eval_id if run == 1 else f"{result.eval_id}, run {run}"
        yield from _cases(
            [turn.actual_invocation for turn in turns],
            [turn.expected_invocation for turn in turns],
            name,
            eval_set_id=eval_set.eval_set_id,
        )


def _cases(
    conversation: Sequence[Invocation], expected: Sequence[Invocation | None], name: str, **attributes: str
) -> Iterator[InvocationCase]:
    for place in range(len(conversation)):
        yield invocation_case(
            conversation[: place + 1],
            expected[place],
            case_id=f"{name}#{place + 1}",
            is_last=place == len(conversation) - 1,
            attributes={**attributes, "eval_id": name, "invocation_id": conversation[place].invocation_id},
        )
