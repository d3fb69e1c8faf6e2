"""`queue_abstentions`: what a harness could not decide goes to people, in an annotation queue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from uuid import UUID

from langsmith import Client
from langsmith.schemas import RunKey

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.result import HarnessResult
from judgeharness_langsmith._seams import quietly, runs_by_id
from judgeharness_langsmith.workspace import as_id, project_of, workspace

__all__ = ["QueueReport", "queue_abstentions"]

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
