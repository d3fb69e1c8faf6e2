"""What ADK's own results know of an invocation: its eval case, which run of it, and what was said."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls_with_responses
from google.adk.evaluation.eval_metrics import EvalMetricResultPerInvocation
from google.adk.evaluation.eval_result import EvalCaseResult, EvalSetResult

from judgeharness_adk.documents import read_document, validated
from judgeharness_adk.invocations import answer_text, user_text

__all__ = ["ENDING", "Turn", "read_history", "runs_of", "turns_of"]

ENDING = ".evalset_result.json"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One invocation of one run of an eval case; the fields are those of `AdkResult`."""

    evaluation: str
    evaluated_at: str | None
    app: str | None
    eval_set_id: str
    eval_id: str
    turn: int
    run: int
    input: str
    output: str
    reference: str | None
    context: str


def read_history(path: Path) -> EvalSetResult:
    """Return one result of ADK, whichever version of ADK wrote it.

    Raises:
        CaseError: it cannot be read or is something else.

    """
    return validated(EvalSetResult, read_document(path), f"{path}: is not a result of an ADK eval set")


def turns_of(histories: Sequence[EvalSetResult]) -> Mapping[str, Turn]:
    """Return invocation id -> the invocation, for ids that name one invocation only."""
    turns: dict[str, Turn | None] = {}
    for case, places in runs_of(histories):
        for one, turn in zip(case.eval_metric_result_per_invocation, places, strict=True):
            known = one.actual_invocation.invocation_id
            turns[known] = turn if known and known not in turns else None
    return {known: turn for known, turn in turns.items() if turn is not None}


def runs_of(histories: Sequence[EvalSetResult]) -> Iterator[tuple[EvalCaseResult, Sequence[Turn]]]:
    """Yield the runs of eval cases in order of time, each with its invocations.

    A run that several files hold (copies, or a second evaluation of the same answers) counts once, in the last one.
    """
    for history, case, run in _runs(histories):
        results = case.eval_metric_result_per_invocation
        yield case, [_turn(history, case, run, results[: place + 1]) for place in range(len(results))]


def _runs(histories: Sequence[EvalSetResult]) -> Iterator[tuple[EvalSetResult, EvalCaseResult, int]]:
    """Yield the runs of eval cases in order of time, each with its number within its evaluation.

    ADK writes one result an eval set and evaluation, with all the runs that were asked for together (`num_runs`).
    """
    cases = [(history, case) for history in histories for case in history.eval_case_results]
    cases.sort(key=lambda pair: (_time(pair[0].creation_timestamp), _started(pair[1])))
    last: dict[tuple[object, ...], tuple[EvalSetResult, EvalCaseResult]] = {}
    for place, (history, case) in enumerate(cases):
        ids = [one.actual_invocation.invocation_id for one in case.eval_metric_result_per_invocation]
        same = (case.session_id, *ids) if any((case.session_id, *ids)) else (place,)
        last.pop(same, None)
        last[same] = history, case
    runs: Counter[tuple[str, str, str]] = Counter()
    for history, case in last.values():
        known = (history.eval_set_result_id, history.eval_set_id, case.eval_id)
        runs[known] += 1
        yield history, case, runs[known]


def _app(history: EvalSetResult) -> str | None:
    """Return the name of the agent's app, which ADK keeps in the id of the result alone."""
    app, found, _ = history.eval_set_result_id.rpartition(f"_{history.eval_set_id}_")
    return app if found else None


def _time(stamp: float) -> float:
    return stamp if math.isfinite(stamp) else 0.0


def _moment(stamp: float) -> str | None:
    """Return the time as text; None where the result does not say it (0), or what it says is none."""
    try:
        return datetime.fromtimestamp(stamp, UTC).isoformat(timespec="milliseconds") if stamp else None
    except (ValueError, OverflowError, OSError):
        return None


def _started(case: EvalCaseResult) -> float:
    turns = case.eval_metric_result_per_invocation
    return min((_time(one.actual_invocation.creation_timestamp) for one in turns), default=0.0)


def _turn(
    history: EvalSetResult, case: EvalCaseResult, run: int, until: Sequence[EvalMetricResultPerInvocation]
) -> Turn:
    *earlier, judged = [one.actual_invocation for one in until]
    expected = until[-1].expected_invocation
    said = [line for invocation in earlier for line in _said(invocation)]
    return Turn(
        evaluation=history.eval_set_result_id,
        evaluated_at=_moment(history.creation_timestamp),
        app=_app(history),
        eval_set_id=history.eval_set_id,
        eval_id=case.eval_id,
        turn=len(until),
        run=run,
        input=user_text(judged),
        output=answer_text(judged),
        reference=None if expected is None else answer_text(expected),
        context="\n".join([*said, *_tool_calls(judged)]),
    )


def _said(invocation: Invocation) -> Iterator[str]:
    yield f"user: {user_text(invocation)}"
    yield from _tool_calls(invocation)
    yield f"agent: {answer_text(invocation)}"


def _tool_calls(invocation: Invocation) -> Iterator[str]:
    for call, response in get_all_tool_calls_with_responses(invocation.intermediate_data):
        answer = "" if response is None else f" -> {_json(response.response)}"
        yield f"tool call: {call.name}({_json(call.args or {})}){answer}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
