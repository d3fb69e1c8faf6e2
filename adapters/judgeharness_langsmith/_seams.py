"""Where LangSmith ends and we begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Any

from langsmith import Client
from langsmith._internal import _beta_decorator
from langsmith.schemas import Run, TracerSession

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.adapters import seam

from .versions import TESTED

_MOST = 100  # ids a request

_seam = partial(seam, package="langsmith", tested=TESTED)

# Both ways to query runs exist for now: `list_runs` is deprecated, `runs.query_v2` needs servers from 0.16 on and a
# project. As LangSmith's own `evaluate` does, the second is taken only where the server no longer answers the first.
quietly: Any = getattr(_beta_decorator, "suppress_deprecation_warning", nullcontext)


def fetching_attachments(evaluator: Callable[..., Any]) -> Signature:
    """Return the signature by which `evaluate` fetches attachments: it looks for a parameter of that name."""
    own = signature(evaluator)
    taken = Parameter("attachments", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    return own.replace(parameters=[*own.parameters.values(), taken])


def runs_by_id(client: Client, run_ids: Sequence[str], *, project: TracerSession | None = None) -> Iterator[Run]:
    """Yield the runs of these ids that LangSmith knows, of one project where it is given.

    Raises:
        UsageError: the server finds runs only within a project, and none is given.

    """
    for start in range(0, len(run_ids), _MOST):
        batch = list(run_ids[start : start + _MOST])
        if _needs_project(client):
            yield from _within(client, batch, project)
            continue
        with quietly():
            found = client.list_runs(run_ids=batch, project_id=None if project is None else project.id)
        yield from found


def _needs_project(client: Client) -> bool:
    flags = client.info.instance_flags or {}
    return not flags.get("ch_query_enabled", True) and bool(flags.get("sdb_query_enabled"))


def _within(client: Client, batch: list[str], project: TracerSession | None) -> Iterator[Run]:
    if project is None:
        raise UsageError("this LangSmith server finds runs within a project only: give project=, the name of theirs.")
    api = _seam(client, "_get_langsmith_api_sync")()  # its public face is for async code only
    migration = import_module("langsmith._internal._v2_migration_utils")
    pages = api.runs.query_v2(
        project_ids=[str(project.id)],
        ids=batch,
        min_start_time=project.start_time,  # by default the last day only
        max_start_time=datetime.now(UTC),
        selects=_seam(migration, "_V2_RUN_SELECTS"),
    )
    yield from map(_seam(migration, "_v2_run_to_schema"), pages)
