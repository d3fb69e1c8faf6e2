"""What is read from a LangSmith workspace: projects, datasets and examples by name or id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from langsmith import Client
from langsmith.run_trees import get_cached_client
from langsmith.schemas import Dataset, Example, TracerSession
from langsmith.utils import LangSmithNotFoundError

from judgeharness_integrations._errors import UsageError

__all__ = ["as_id", "dataset_of", "examples_by_id", "project_of", "workspace"]

_MOST = 100  # ids a request


def workspace(client: Client | None) -> Client:
    """Return the client given, or the process's own, which `evaluate` and tracing use without one."""
    return get_cached_client() if client is None else client


def as_id(text: object) -> str | None:
    """Return an id in LangSmith's spelling, None for what is no id."""
    try:
        return str(UUID(str(text)))
    except ValueError:
        return None


def project_of(client: Client, name: str) -> TracerSession:
    """Return a project (an experiment is one, too) by name or id.

    Raises:
        UsageError: there is none.

    """
    try:
        found = as_id(name)
        project: TracerSession = (
            client.read_project(project_id=found) if found else client.read_project(project_name=name)
        )
    except LangSmithNotFoundError as error:
        raise UsageError(f"LangSmith knows no project {name!r}: give the name or id of one.") from error
    return project


def dataset_of(client: Client, name: str) -> Dataset:
    """Return a dataset by name or id.

    Raises:
        UsageError: there is none.

    """
    try:
        found = as_id(name)
        dataset: Dataset = client.read_dataset(dataset_id=found) if found else client.read_dataset(dataset_name=name)
    except LangSmithNotFoundError as error:
        raise UsageError(f"LangSmith knows no dataset {name!r}: give the name or id of one.") from error
    return dataset


def examples_by_id(
    client: Client, example_ids: Iterable[str], *, as_of: datetime | str | None = None
) -> Iterator[Example]:
    """Yield the examples of these ids that there are, as they were then."""
    wanted: Sequence[str] = list(example_ids)
    for start in range(0, len(wanted), _MOST):
        yield from client.list_examples(example_ids=wanted[start : start + _MOST], as_of=as_of)
