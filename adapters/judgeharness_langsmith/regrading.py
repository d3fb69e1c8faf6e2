"""`grade_again`: only the NOT GRADED rows of an experiment, after an outage say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from langsmith import Client
from langsmith.evaluation import EvaluationResult
from langsmith.run_helpers import get_tracing_context, tracing_context
from langsmith.schemas import Feedback, Run, TracerSession
from langsmith.utils import LangSmithError

from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.result import HarnessResult
from judgeharness_langsmith._seams import runs_by_id
from judgeharness_langsmith.evaluating import HarnessRunEvaluator
from judgeharness_langsmith.feedback import NOT_GRADED
from judgeharness_langsmith.workspace import examples_by_id, project_of, workspace

__all__ = ["grade_again"]

_PROJECT = "evaluators"  # where `evaluate` puts the traces of evaluators
_ATTEMPTS = 3  # of one request, where LangSmith cannot be reached or fails
_FIELDS = ("score", "value", "comment", "extra", "source_run_id")


def grade_again(
    evaluator: HarnessRunEvaluator, *, experiment: str, client: Client | None = None
) -> dict[str, HarnessResult]:
    """Judge the runs of an experiment that were not graded, and put the new feedback in place of the old.

    Neither the application nor any row that is decided, or abstained, is asked again. A run's old feedback is deleted
    when LangSmith has stored all of its new feedback; what people said stays.

    Args:
        evaluator: with the keys the experiment has; its limits hold.
        experiment: the experiment's name.
        client: who asks LangSmith; its own choice by default.

    Returns:
        Run id -> the new measurement, which may be not graded again.

    Raises:
        UsageError: LangSmith knows no such experiment.
        CaseError: a run cannot be made a case of; those before it are done.
        JudgeHarnessError: LangSmith refused new feedback; the old stays, and the runs before this one are done.

    """
    client = workspace(client)
    project = project_of(client, experiment)
    old = _not_graded(client, str(project.id), evaluator)
    runs = list(runs_by_id(client, list(old), project=project))
    shown = sorted({str(run.reference_example_id) for run in runs if run.reference_example_id is not None})
    version = (project.metadata or {}).get("dataset_version")
    examples = {str(example.id): example for example in examples_by_id(client, shown, as_of=version)}
    for run in runs:
        context: dict[str, Any] = get_tracing_context() | {"project_name": _PROJECT}
        with tracing_context(**context):
            found = evaluator.evaluate_run(run, examples.get(str(run.reference_example_id))).get("results", [])
        _replace(client, run, project, old[str(run.id)], found)
    client.flush()
    return {str(run.id): evaluator.results[str(run.id)] for run in runs}


def _not_graded(client: Client, project: str, evaluator: HarnessRunEvaluator) -> Mapping[str, list[Feedback]]:
    """Return run id -> its rows of the evaluator's family, of the runs where one says that it was not graded."""
    rows = client.list_feedback(feedback_key=evaluator.feedback_keys, session=[project])
    by_run: defaultdict[str, list[Feedback]] = defaultdict(list)
    for row in rows:
        if row.feedback_source is None or row.feedback_source.type != "app":  # which is a person's
            by_run[str(row.run_id)].append(row)
    return {run: found for run, found in by_run.items() if any(map(_says_so, found))}


def _replace(
    client: Client, run: Run, project: TracerSession, old: Iterable[Feedback], new: Iterable[EvaluationResult]
) -> None:
    """Delete a run's old feedback when all that is new is stored; the next call replaces what was stored of it if not.

    Feedback sent with a trace id is queued, and a queue tells nobody what LangSmith refused.
    """
    try:
        for one in new:
            facts: dict[str, Any] = {name: getattr(one, name) for name in _FIELDS}
            where: dict[str, Any] = {"session_id": project.id, "stop_after_attempt": _ATTEMPTS}
            client.create_feedback(run.id, one.key, source_info=_info(one.evaluator_info), **facts, **where)
        for row in sorted(old, key=_says_so):
            client.delete_feedback(row.id)
    except (LangSmithError, OSError) as error:  # of requests an OSError
        raise JudgeHarnessError(
            f"LangSmith refused to replace the feedback of run {run.id}, so this run and those after it are not done; "
            f"call grade_again again when LangSmith takes feedback ({type(error).__name__}: {str(error)[:200]})."
        ) from error


def _says_so(row: Feedback) -> bool:
    """Whether a row says that the run was not graded: deleted last, it brings the run back where deleting fails."""
    return bool(row.value == NOT_GRADED)


def _info(info: Any) -> dict[str, Any]:
    return dict(info) if isinstance(info, Mapping) else {}
