"""What a harness could not decide: to people in an annotation queue, or graded again after an outage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias
from uuid import UUID

from langsmith import Client
from langsmith.evaluation import EvaluationResult
from langsmith.run_helpers import get_tracing_context, tracing_context
from langsmith.schemas import Feedback, Run, RunKey, TracerSession
from langsmith.utils import LangSmithError

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.verdictlog.plain import safe_text
from judgeharness_langsmith._seams import quietly, runs_by_id
from judgeharness_langsmith.evaluating import HarnessRunEvaluator
from judgeharness_langsmith.feedback import NOT_GRADED
from judgeharness_langsmith.labels import as_id, examples_by_id, project_of, workspace

Results: TypeAlias = "Mapping[str, HarnessResult] | Iterable[HarnessResult | tuple[str | UUID, HarnessResult]]"
Undecided: TypeAlias = Literal["abstained", "not_graded"]

_MOST = 100  # runs a request
_STATUSES: tuple[Undecided, ...] = ("abstained", "not_graded")
_DESCRIPTION = "Runs whose evaluation came to no decision."


@dataclass(frozen=True, kw_only=True)
class QueueReport:
    """What was routed to a queue.

    `queued` are run ids; `no_run` are the cases to be queued whose id is no run's, `unknown` the run ids LangSmith
    does not know, or not yet; `decided` counts the results that need nobody. `queue_id` is None when none was queued.
    """

    queue: str
    queue_id: str | None = None
    queued: tuple[str, ...] = ()
    no_run: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    decided: int = 0

    def __str__(self) -> str:
        """Return it on one line."""
        parts = [f"{len(self.queued)} runs queued in {safe_text(self.queue)!r}", f"{self.decided} decided"]
        parts += [f"{len(self.no_run)} not queued: of no run"] if self.no_run else []
        parts += [f"{len(self.unknown)} not queued: LangSmith does not know the run"] if self.unknown else []
        return "; ".join(parts)


def queue_abstentions(
    results: Results,
    *,
    queue: str,
    client: Client | None = None,
    project: str | None = None,
    only: Undecided | Collection[Undecided] = _STATUSES,
    create: bool = True,
) -> QueueReport:
    """Add the runs about which a harness came to no decision to an annotation queue.

    Args:
        results: run id -> measurement, as `HarnessRunEvaluator.results` has them; or pairs of these; or
            measurements whose rows name the run, or whose case id is the run's. One undecided criterion is enough.
        queue: its name or id.
        client: of LangSmith; the process's own when None.
        project: name or id of the runs' project, which some servers need to find runs by id.
        only: the statuses that are queued.
        create: make the queue when there is none of that name and something is to be queued.

    Raises:
        UsageError: there is no such queue and none may be made, `only` names another status, or the server needs
            the project.

    """
    only = {only} if isinstance(only, str) else set(only)
    if strange := only - set(_STATUSES):
        raise UsageError(f"only holds {', '.join(map(repr, sorted(strange)))}: give abstained, not_graded or both.")
    given = list(_pairs(results))
    chosen = [run for run, result in given if any(one.status in only for one in result.criteria.values())]
    ids = list(dict.fromkeys(run_id for run in chosen if (run_id := as_id(run)) is not None))
    report = QueueReport(
        queue=queue,
        no_run=tuple(dict.fromkeys(run for run in chosen if as_id(run) is None)),
        decided=len(given) - len(chosen),
    )
    if not ids:
        return report
    client = workspace(client)
    client.flush()  # what `evaluate` has just run may be on its way still
    keys = _keys(client, ids, project)
    report = replace(report, unknown=tuple(run_id for run_id in ids if run_id not in keys))
    if not keys:
        return report
    queue_id = _queue_id(client, queue, create=create)
    runs = list(keys.values())
    for start in range(0, len(runs), _MOST):
        with quietly():  # deprecated from 0.15 on for a way that earlier versions lack
            client.add_runs_to_annotation_queue(queue_id, runs=runs[start : start + _MOST])
    return replace(report, queue_id=queue_id, queued=tuple(keys))


def _pairs(results: Results) -> Iterator[tuple[str, HarnessResult]]:
    for one in results.items() if isinstance(results, Mapping) else results:
        run, result = (_run_of(one), one) if isinstance(one, HarnessResult) else one
        yield str(run), result


def _run_of(result: HarnessResult) -> str:
    """Return the run a measurement is of, as its rows say; its case id where they do not."""
    return str(next((row.attributes["run_id"] for row in result.rows if "run_id" in row.attributes), result.case_id))


def _keys(client: Client, run_ids: Sequence[str], project: str | None) -> dict[str, RunKey]:
    """Return run id -> what the server finds the run by, in order."""
    found = runs_by_id(client, run_ids, project=None if project is None else project_of(client, project))
    known = {
        str(run.id): RunKey(run_id=run.id, session_id=run.session_id, start_time=run.start_time)
        for run in found
        if run.session_id is not None
    }
    return {run_id: known[run_id] for run_id in run_ids if run_id in known}


def _queue_id(client: Client, queue: str, *, create: bool) -> str:
    given = as_id(queue)
    listed = client.list_annotation_queues(queue_ids=[given]) if given else client.list_annotation_queues(name=queue)
    found = next((str(known.id) for known in listed if queue == known.name or given == str(known.id)), None)
    if found is not None:
        return found
    if given or not create:
        raise UsageError(f"LangSmith knows no annotation queue {queue!r}: give the name of one, or create=True.")
    return str(client.create_annotation_queue(name=queue, description=_DESCRIPTION).id)


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
