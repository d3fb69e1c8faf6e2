"""A measurement as the result dicts of the evaluator it replaces, with the measurement in `metadata`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

from langsmith import testing, trace

from judgeharness_integrations.analysis.result import (
    CriterionResult,
    HarnessResult,
    OnNotGraded,
    raise_where_all_failed,
)
from judgeharness_integrations.judging.execution.observing import Observer, is_private, is_rooted
from judgeharness_integrations.judging.judge import DEFAULT_CRITERION
from judgeharness_integrations.judging.recording import watchers
from judgeharness_integrations.judging.structured import without_content
from judgeharness_integrations.reporting import rationale
from judgeharness_integrations.reporting.text import shown_order, undecided_reason
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow, is_number, verdict_to_json

from ._seams import in_test_case
from .introspecting import PASS_FAIL, SCORE
from .judges import VALUE, OpenevalsJudge, Sample, field_of, score_of

Native: TypeAlias = "dict[str, Any] | list[dict[str, Any]]"
_Part: TypeAlias = Mapping[str, Any]


def measurement(result: HarnessResult, criterion: str) -> dict[str, Any]:
    """Return the metadata of one criterion: what is read first, and the whole document under `harness`."""
    document, measured = result.to_dict(), result.criteria[criterion]
    state = result.calibration_state
    return {**_criterion(result, measured, document), "calibration_validity": state.status if state else None} | {
        "aggregation_rule": document["aggregation_rule"],
        "harness": document,
    }


def _criterion(result: HarnessResult, measured: CriterionResult, document: _Part) -> dict[str, Any]:
    calibrated, told = result.calibrated(measured.criterion), document["criteria"][measured.criterion]
    rates = {name: getattr(calibrated, name, None) for name in ("precision", "recall")}
    return {
        "status": measured.status,
        "verdict": verdict_to_json(measured.verdict),
        "reason": told["reason"],
        "sample_distribution": told["sample_distribution"],
        "consistency_rate": told["consistency_rate"],
        "valid_samples": measured.valid,
        "planned_samples": measured.planned,
        "outcomes": told["outcomes"],
        **{f"calibrated_{name}": None if rate is None else rate.value for name, rate in rates.items()},
        "calibration_n": None if calibrated is None else calibrated.n,
    }


def comment_on(result: HarnessResult, criterion: str) -> str | None:
    """Return why nothing was decided, else the reasons of a sample on the deciding side; None where none gave any."""
    measured = result.criteria[criterion]
    if measured.status != "decided":
        return undecided_reason(result, criterion)
    row = rationale(result, criterion)
    return f"{shown_order(row)} ".lstrip() + row.reasoning if row is not None and row.reasoning else None


def native_result(judge: OpenevalsJudge, result: HarnessResult, *, bare: bool = False, raises: bool = True) -> Native:
    """Return what the evaluator returns, folded; `bare` keeps what the only sample decided as it is.

    A criterion that was abstained from, or not graded, has the score None. A score that was a truth value is one
    again, a label in `value` is there again. The output of a model by its schema comes back as a dict of the same
    fields and `metadata`, with a `comment` where a field is open.

    Raises:
        Exception: what the only sample of a `bare` design raised, unless that is to be reported.

    """
    samples = _samples(judge, result)
    if bare and raises and samples and samples[0].error is not None:
        raise samples[0].error
    found = next((sample.reading for sample in samples if sample.reading is not None), None)
    shape = found.shape if found else "raw" if judge.details and judge.details.raw else "single"
    if shape == "raw":
        return _raw(judge, result, bare=bare)
    results = [_result(judge, result, criterion, bare=bare) for criterion in result.criteria]
    if found is None and (keys := next((sample.keys for sample in samples if sample.keys), ())):
        return [{**results[0], "key": key} for key in keys]  # a list, of which nothing could be read
    return results if shape == "list" or len(results) > 1 else results[0]


def _samples(judge: OpenevalsJudge, result: HarnessResult) -> list[Sample]:
    """Return the samples of the case; those of labelled cases may stand beside them."""
    return [sample for (case_id, _, _), sample in (judge.samples or {}).items() if case_id == result.case_id]


def _result(judge: OpenevalsJudge, result: HarnessResult, criterion: str, *, bare: bool) -> dict[str, Any]:
    part = _part(judge, result, criterion)
    key = judge.key if criterion in (DEFAULT_CRITERION, EVERY_CRITERION) else criterion
    native: dict[str, Any] = {"key": key} if part is None else dict(part)
    if judge.keyed and native.get("key") is None:
        native = {**native, "key": judge.key}
    decided = result.criteria[criterion].status == "decided"
    if not (bare and decided):
        field = SCORE if part is None else field_of(part)
        undecided = {} if decided else {name: None for name in (SCORE, VALUE) if name in native}
        native |= {**undecided, field: _score(judge, result, criterion), "comment": comment_on(result, criterion)}
    return native | {"metadata": {**(native.get("metadata") or {}), **measurement(result, criterion)}}


def _raw(judge: OpenevalsJudge, result: HarnessResult, *, bare: bool) -> dict[str, Any]:
    criteria = [name for name in result.criteria if name not in (DEFAULT_CRITERION, EVERY_CRITERION)]
    criteria = criteria or list(result.criteria)
    parts = [part for name in criteria if (part := _part(judge, result, name)) is not None]
    native = dict(parts[0]) if parts else {}
    scored = SCORE in native or (
        judge.details is not None and SCORE in (judge.details.fields or {}).get("properties", {})
    )
    open_ones = [name for name in criteria if result.criteria[name].status != "decided"]
    for name in open_ones if bare else criteria:
        native[SCORE if scored else name] = _score(judge, result, name)
    if open_ones and "comment" not in native:
        several = len(criteria) > 1
        native["comment"] = "; ".join(
            f"{name}: {comment_on(result, name)}" if several else str(comment_on(result, name)) for name in open_ones
        )
    measured = {name: measurement(result, name) for name in criteria}
    if len(criteria) == 1:
        return native | {"metadata": measured[criteria[0]]}
    document = result.to_dict()
    told = {name: {key: part for key, part in one.items() if key != "harness"} for name, one in measured.items()}
    return native | {"metadata": {"criteria": told, "harness": document}}


def _part(judge: OpenevalsJudge, result: HarnessResult, criterion: str) -> _Part | None:
    """Return the result dict of the sample that speaks for the decision; any one where none does."""
    row = _speaking(result, criterion)
    samples = judge.samples or {}
    chosen = [samples[result.case_id, row.perturbation, row.repetition]] if row is not None else _samples(judge, result)
    parts = (s.reading.parts.get(criterion) for s in chosen if s.reading is not None)
    return next((part for part in parts if part is not None), None)


def _speaking(result: HarnessResult, criterion: str) -> VerdictRow | None:
    valid = [row for row in result.rows if row.criterion == criterion and row.ok]
    siding = [row for row in valid if row.verdict == result.criteria[criterion].verdict]
    return rationale(result, criterion) or next(iter([*siding, *valid]), None)


def _score(judge: OpenevalsJudge, result: HarnessResult, criterion: str) -> Any:
    """Return the decision in the evaluator's own kind of score: PASS and FAIL are truth values unless it says them."""
    measured = result.criteria[criterion]
    if measured.status != "decided":
        return None
    if measured.verdict not in PASS_FAIL:
        return verdict_to_json(measured.verdict)
    readings = (sample.reading for sample in _samples(judge, result) if sample.reading is not None)
    parts = [reading.parts[criterion] for reading in readings if criterion in reading.parts]
    scores = [part[VALUE] if field_of(part) == VALUE else score_of(part, criterion) for part in parts]
    if any(isinstance(score, str) for score in scores):
        return measured.verdict
    passed = measured.verdict == PASS_FAIL[0]
    return int(passed) if judge.comparison is not None and scores and is_number(scores[0]) else passed


Ending: TypeAlias = Callable[[Native, HarnessResult], Native]


@contextmanager
def one_verdict(
    run_name: str,
    arguments: Mapping[str, Any],
    *,
    key: str,
    on_not_graded: OnNotGraded,
    observers: Sequence[Observer] | None = None,
    logs: bool = True,
) -> Iterator[Ending]:
    """Open the run that the samples nest below; what is yielded ends it with the result, and returns that.

    There is none where an observer of the harness makes the measurement a run, since that is the root of its samples.

    A result that was not graded stands in the run and in the feedback before an error is raised for it.

    Args:
        run_name: as openevals names the run of its judge.
        arguments: what the evaluator was called with.
        key: the feedback key of a result that names none.
        on_not_graded: whether to raise where all samples failed.
        observers: those of the harness; where one is private no run is opened, since it would hold what is judged, and
            no reasons are logged.
        logs: whether feedback is logged in a test case; openevals logs none for the output of a model by its schema.

    Raises:
        NotGradedError: all samples failed with errors, and `on_not_graded` is `raise`.

    """
    stamp = {"__ls_framework": "openevals", "__ls_evaluator": run_name, "__ls_language": "python"}
    tested, ended = in_test_case(), list[tuple[Native, HarnessResult]]()
    opened = trace(name=run_name, inputs=_inputs(arguments), metadata=stamp, tags=["judge-harness"])
    watching = watchers(observers)
    private = is_private(watching)
    unopened = private or is_rooted(watching, "langsmith")
    with testing.trace_feedback(name=run_name) if tested else nullcontext():
        with nullcontext() if unopened else opened as run:

            def end(native: Native, result: HarnessResult) -> Native:
                if run is not None:
                    run.end(outputs=native if isinstance(native, dict) else {"output": native})
                ended.append((native, result))
                return native

            yield end
        if tested and logs:
            _log(ended[0][0], key, reasons=not private)
    if on_not_graded == "raise":
        raise_where_all_failed([ended[0][1]], private=private)


def _inputs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {n: without_content(value) if n == "attachments" else value for n, value in arguments.items()}


def _log(native: Native, key: str, *, reasons: bool) -> None:
    for result in native if isinstance(native, list) else [native]:
        if not {"score", "value"} & result.keys():
            continue  # a mapping of a function's own, of which LangSmith would log nothing either
        label, status = result.get("value"), result["metadata"]["status"]
        score = label if result.get("score") is None else result["score"]
        said: dict[str, Any] = {"value": score} if isinstance(score, str) else {"score": score}
        if score is None:
            said = {"value": "ABSTAIN" if status == "abstained" else "NOT GRADED"}
        comment = result.get("comment") if reasons else None
        testing.log_feedback(key=result.get("key") or key, comment=comment, **said)
