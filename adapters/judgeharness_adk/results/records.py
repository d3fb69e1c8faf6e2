"""One measurement, and what ADK's own results say of its invocation; where the files of an evaluation are."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls_with_responses
from google.adk.evaluation.eval_metrics import EvalMetricResultPerInvocation
from google.adk.evaluation.eval_result import EvalCaseResult, EvalSetResult

from judgeharness_adk.evalsets import read_document, validated
from judgeharness_adk.invocations import answer_text, user_text
from judgeharness_adk.judges import JUDGES
from judgeharness_integrations import HarnessResult
from judgeharness_integrations.analysis.design import Fingerprint


@dataclass(frozen=True, kw_only=True)
class AdkResult:
    """The measurement of one invocation by one metric; of `hallucinations_v1`, of one step of the invocation.

    `rubrics` maps the rubrics shown to their texts, None where `keep` did not keep them; `standing` are those of the
    metric's own criterion; `parts` is what the fingerprint covers. What ADK's results say of the invocation is None
    where none knows it: the `evaluation` (ADK's `eval_set_result_id`: one eval set evaluated once, all its `num_runs`
    included) and when it was finished (`evaluated_at`, ISO 8601 in UTC), `app`, `eval_set_id`, `eval_id`, `turn`
    (1-based), `run` (1-based, of the runs of that eval case in that evaluation, in order of time), what the user
    (`input`) and the agent (`output`) said, the expected response (`reference`), and the earlier turns and this
    turn's tool calls (`context`). Read from a rationale of ADK's result, where no sidecar holds it, it has no `parts`,
    no `standing` and no texts of rubrics, and of its `result` only the counts are known (`counts_alone`).
    """

    result: HarnessResult
    metric: str
    invocation_id: str
    rubrics: Mapping[str, str | None] = field(repr=False)
    standing: tuple[str, ...]
    parts: Mapping[str, Any] | None = field(repr=False)
    evaluation: str | None = None
    evaluated_at: str | None = None
    app: str | None = None
    eval_set_id: str | None = None
    eval_id: str | None = None
    turn: int | None = None
    run: int | None = None
    input: str | None = None
    output: str | None = None
    reference: str | None = None
    context: str | None = None

    @property
    def joined(self) -> bool:
        """Whether a result of ADK knows the invocation."""
        return self.eval_id is not None

    @cached_property
    def fingerprint(self) -> str | None:
        """Digest of the judge's configuration; None when it declares no identity."""
        return self.result.fingerprint if self.parts is None else Fingerprint(self.parts).digest

    @property
    def pooled(self) -> str | None:
        """What the criteria are called where they are other questions in every invocation: `sentences`."""
        judge = JUDGES.get(self.result.judge)
        return None if judge is None else judge.pooled


_ADK = ".adk"


def files_below(folder: Path, ending: str) -> list[Path]:
    """Return the files of an ending below a folder, in order of name: those of a sidecar start with their time.

    Virtual environments, `node_modules` and hidden folders other than `.adk` are not looked into, links not followed.
    """
    return sorted(_files(folder, ending), key=lambda path: (path.name, str(path)))


def _files(top: Path, ending: str) -> Iterator[Path]:
    for where, folders, files in os.walk(top):
        if "pyvenv.cfg" in files and Path(where) != top:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name == _ADK or not (name.startswith(".") or name == "node_modules")]
        paths = (Path(where, name) for name in files if name.endswith(ending))
        yield from (path for path in paths if path.is_file())  # opening a pipe would wait forever


def project_of(path: Path) -> Path:
    """Return the folder that holds the `.adk` a path is in; where it is in none, the folder itself."""
    path = path.absolute()
    inside = next((part for part in (path, *path.parents) if part.name == _ADK), None)
    if inside is not None:
        return inside.parent
    return path if path.is_dir() else path.parent


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
