"""The runs people labelled, read from LangSmith: what was said about them, the runs, their examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from langsmith import Client
from langsmith.schemas import Example, Run, TracerSession

from judgeharness_integrations._errors import UsageError
from judgeharness_langsmith._seams import runs_by_id
from judgeharness_langsmith.people import Said, said_by_people, source_run
from judgeharness_langsmith.workspace import as_id, dataset_of, examples_by_id, project_of

__all__ = ["FewShot", "LabelledRuns", "labelled_runs", "projects_of"]


@dataclass(frozen=True, kw_only=True)
class FewShot:
    """What stands in the judge's prompt: ids of runs, of examples and of evaluator runs whose verdict was corrected.

    `unlinked` counts the few-shot examples that do not say which run they were made of.
    """

    ids: frozenset[str]
    unlinked: int = 0

    @classmethod
    def of(cls, client: Client, exclude: Iterable[str | UUID], dataset: str | None) -> FewShot:
        """Return the ids given and those of a dataset of few-shot examples.

        Raises:
            UsageError: `exclude` holds what is no id, or LangSmith knows no such dataset.

        """
        given = {one: as_id(one) for one in ([exclude] if isinstance(exclude, (str, UUID)) else exclude)}
        for one, known in given.items():
            if known is None:
                raise UsageError(f"exclude holds {one!r:.60}: give the ids of runs or examples.")
        ids = {known for known in given.values() if known is not None}
        if dataset is None:
            return cls(ids=frozenset(ids))
        shown = list(client.list_examples(dataset_id=dataset_of(client, dataset).id))
        ids.update(str(example.id) for example in shown)
        ids.update(str(example.source_run_id) for example in shown if example.source_run_id is not None)
        return cls(ids=frozenset(ids), unlinked=sum(example.source_run_id is None for example in shown))


@dataclass(frozen=True, kw_only=True)
class LabelledRuns:
    """What people said, the runs they said it of, those runs' examples by their id, and what was left out."""

    said: list[Said] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    examples: dict[str, Example] = field(default_factory=dict)
    excluded: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def projects_of(client: Client, project: str | None, dataset: str | None) -> Sequence[TracerSession]:
    """Return a project, or every experiment on a dataset.

    Raises:
        UsageError: both or neither are given, or LangSmith does not know it.

    """
    if (project is None) == (dataset is None):
        raise UsageError("give either project= or dataset=, whose runs people labelled.")
    if project is not None:
        return [project_of(client, project)]
    found = dataset_of(client, str(dataset))
    return list(client.list_projects(reference_dataset_id=found.id))


def labelled_runs(
    client: Client, projects: Iterable[TracerSession], *, key: str, sources: Collection[str], few_shot: FewShot
) -> LabelledRuns:
    """Read what people said under a key about the runs of projects; few-shot examples are left out."""
    gathered = LabelledRuns()
    for project in projects:
        _gather(client, project, gathered, key=key, sources=sources, few_shot=few_shot)
    return gathered


def _gather(
    client: Client,
    project: TracerSession,
    gathered: LabelledRuns,
    *,
    key: str,
    sources: Collection[str],
    few_shot: FewShot,
) -> None:
    feedback = list(client.list_feedback(feedback_key=[key], session=[str(project.id)], include_user_names=True))
    said, skipped = said_by_people(feedback, sources)
    gathered.skipped.update(skipped)
    evaluated_by: dict[str, set[str]] = {}
    for one in feedback:
        evaluated_by.setdefault(str(one.run_id), set()).add(source_run(one) or "")
    runs = {str(run.id): run for run in runs_by_id(client, list({one.run_id: 0 for one in said}), project=project)}
    examples: set[str] = set()
    for run_id, run in runs.items():
        if few_shot.ids & {run_id, str(run.reference_example_id), *evaluated_by[run_id]}:
            gathered.excluded.append(run_id)
            continue
        gathered.runs[run_id] = run
        if run.reference_example_id is not None:
            examples.add(str(run.reference_example_id))
    gathered.skipped.update("on a run LangSmith no longer has" for one in said if one.run_id not in runs)
    gathered.said.extend(one for one in said if one.run_id in gathered.runs)
    version = project.metadata.get("dataset_version")
    for example in examples_by_id(client, sorted(examples), as_of=version):
        gathered.examples[str(example.id)] = example
