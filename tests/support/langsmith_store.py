"""What a LangSmith workspace keeps: runs, feedback, projects, datasets, examples, comparisons, annotation queues."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from support.langsmith_queries import Document, Query, Refused, contains, existing, matches, now, one, page

__all__ = ["TENANT", "LangSmithStore"]

TENANT = "00000000-0000-4000-8000-000000000000"
_NOTHING = dict.fromkeys(("error", "inputs", "outputs", "parent_run_id", "reference_example_id", "tags"))
_SOURCES = ("api", "model", "app", "auto_eval")


class LangSmithStore:
    """The state behind the server; `LangSmithServer` holds the lock while a method runs."""

    def __init__(self) -> None:
        self.feedback: dict[str, Document] = {}
        self.projects: dict[str, Document] = {}
        self.datasets: dict[str, Document] = {}
        self.examples: dict[str, Document] = {}
        self.files: dict[str, bytes] = {}
        self.comparisons: dict[str, Document] = {}
        self.queues: dict[str, Document] = {}
        self.queued: dict[str, list[str]] = {}
        self._begun: dict[str, Document] = {}
        self._ended: dict[str, Document] = {}
        self.project_named("default")

    # runs

    def begin_run(self, run: Document) -> None:
        """Keep what a POST told of a run; what an earlier PATCH told stays."""
        self._begun.setdefault(run["id"], {}).update(run)
        if "session_id" not in run:
            self._begun[run["id"]]["session_id"] = self.project_named(run.get("session_name") or "default")["id"]

    def end_run(self, run: Document) -> None:
        """Keep what a PATCH told of a run."""
        told = {key: value for key, value in run.items() if value is not None}
        self._ended.setdefault(run["id"], {}).update(told)

    def has_run(self, run_id: str) -> bool:
        """Whether a POST told of the run."""
        return run_id in self._begun

    def run(self, run_id: str) -> Document:
        """Return one run, as GET tells it."""
        begun, ended = self._begun.get(run_id), self._ended.get(run_id, {})
        if begun is None and not ended:
            raise Refused(404, f"Run {run_id} not found")
        run = {**(begun or {}), **ended}
        done = run.get("end_time") is not None
        status = "error" if run.get("error") else "success" if done else "pending"
        return {
            **_NOTHING,
            **run,
            "status": status,
            "trace_id": run.get("trace_id") or run["id"],
            "parent_run_ids": [part[-36:] for part in run.get("dotted_order", "").split(".")][:-1],
            "feedback_stats": self._feedback_stats(run_id),
            "app_path": f"/o/{TENANT}/projects/p/{run.get('session_id')}/r/{run['id']}",
            **_tokens(run),
        }

    def runs(self) -> dict[str, Document]:
        """Return every run by id, in order of arrival."""
        return {run_id: self.run(run_id) for run_id in dict.fromkeys([*self._begun, *self._ended])}

    def query_runs(self, body: Document) -> list[Document]:
        """Return the runs a query of the API's first version asks for."""
        if any(body.get(name) for name in ("filter", "trace_filter", "tree_filter", "query")):
            raise Refused(501, "this server reads no filter expressions")
        wanted = {
            "session_id": body.get("session"),
            "id": body.get("id"),
            "reference_example_id": body.get("reference_example"),
            "run_type": one(body.get("run_type")),
            "trace_id": one(body.get("trace")),
            "parent_run_id": one(body.get("parent_run")),
        }
        found = [run for run in self.runs().values() if matches(run, wanted)]
        if (root := body.get("is_root")) is not None:
            found = [run for run in found if (run.get("parent_run_id") is None) == root]
        if (failed := body.get("error")) is not None:
            found = [run for run in found if bool(run.get("error")) == failed]
        found.sort(key=lambda run: str(run.get("start_time")), reverse=True)  # newest first, as LangSmith lists them
        return found[: body.get("limit")]

    def _feedback_stats(self, run_id: str) -> Document:
        scores: dict[str, list[float | None]] = {}
        for row in self.feedback.values():
            if row.get("run_id") == run_id:
                scores.setdefault(row["key"], []).append(row.get("score"))
        return {key: {"n": len(told), "avg": _mean(told)} for key, told in scores.items()}

    # feedback

    def add_feedback(self, row: Document) -> Document:
        """Keep a feedback row; a row sent again under its id replaces the first."""
        row = {"created_at": now(), "modified_at": now(), "run_id": None, "trace_id": None, **row}
        self.feedback[row["id"]] = row
        return row

    def update_feedback(self, feedback_id: str, change: Document) -> Document:
        """Change a feedback row."""
        row = existing(self.feedback, feedback_id, "Feedback")
        row.update(change, modified_at=now())
        return row

    def list_feedback(self, query: Query) -> list[Document]:
        """Return the rows of runs, keys, sessions and sources."""
        sources = query.get("source")
        if unknown := set(sources or ()) - set(_SOURCES):
            raise Refused(422, f"source {sorted(unknown)} is none of {_SOURCES}")
        wanted = {"run_id": query.get("run"), "key": query.get("key"), "session_id": query.get("session")}
        rows = [row for row in self.feedback.values() if matches(row, wanted)]
        if sources:
            rows = [row for row in rows if (row.get("feedback_source") or {}).get("type") in sources]
        return page(rows, query)

    # projects

    def project_named(self, name: str) -> Document:
        """Return the project of a name, made when there is none."""
        found = [project for project in self.projects.values() if project["name"] == name]
        return found[0] if found else self.add_project({"name": name}, {})

    def add_project(self, body: Document, query: Query) -> Document:
        """Make a project."""
        if any(project["name"] == body["name"] for project in self.projects.values()):
            if query.get("upsert"):
                return self.project_named(body["name"])
            raise Refused(409, "Session already exists.")
        blank = {"start_time": now(), "tenant_id": TENANT, "reference_dataset_id": None, "extra": None}
        project = {**blank, **body, "id": body.get("id") or str(uuid4())}
        self.projects[project["id"]] = project
        return project

    def update_project(self, project_id: str, change: Document) -> Document:
        """Change a project; what is null stays."""
        project = existing(self.projects, project_id, "Project")
        project.update({key: value for key, value in change.items() if value is not None})
        return project

    def list_projects(self, query: Query) -> list[Document]:
        """Return the projects of a name, of ids or of a dataset."""
        wanted = {
            "name": query.get("name"),
            "id": query.get("id"),
            "reference_dataset_id": query.get("reference_dataset"),
        }
        return page([p for p in self.projects.values() if matches(p, wanted) and contains(p, query)], query)

    # datasets

    def add_dataset(self, body: Document) -> Document:
        """Make a dataset."""
        if any(dataset["name"] == body["name"] for dataset in self.datasets.values()):
            raise Refused(409, "Dataset with this name already exists.")
        dataset = {"id": str(uuid4()), **body, "created_at": now(), "modified_at": now()}
        dataset["metadata"] = (body.get("extra") or {}).get("metadata")
        self.datasets[dataset["id"]] = dataset
        return self.dataset(dataset["id"])

    def dataset(self, dataset_id: str) -> Document:
        """Return a dataset with how many examples and experiments it has."""
        dataset = existing(self.datasets, dataset_id, "Dataset")
        examples = sum(example["dataset_id"] == dataset_id for example in self.examples.values())
        experiments = sum(project["reference_dataset_id"] == dataset_id for project in self.projects.values())
        return {**dataset, "example_count": examples, "session_count": experiments}

    def list_datasets(self, query: Query) -> list[Document]:
        """Return the datasets of a name or of ids."""
        wanted = {"name": query.get("name"), "id": query.get("id")}
        found = [d for d in self.datasets.values() if matches(d, wanted) and contains(d, query)]
        return page([self.dataset(dataset["id"]) for dataset in found], query)

    def add_examples(self, bodies: Iterable[Document]) -> list[Document]:
        """Add examples to their datasets."""
        return [self._add_example(body) for body in bodies]

    def _add_example(self, body: Document) -> Document:
        example = {"id": str(uuid4()), "created_at": now(), "outputs": None, **body, "modified_at": now()}
        if example["id"] in self.examples:
            raise Refused(409, "Example already exists.")
        existing(self.datasets, example["dataset_id"], "Dataset")
        example["metadata"] = {**(body.get("metadata") or {}), "dataset_split": _splits(body.get("split")) or ["base"]}
        self.examples[example["id"]] = example
        return example

    def update_example(self, example_id: str, change: Document) -> Document:
        """Change an example."""
        example = existing(self.examples, example_id, "Example")
        split = _splits(change.get("split")) or example["metadata"]["dataset_split"]
        example.update(change, modified_at=now())
        example["metadata"] = {**(example["metadata"] or {}), "dataset_split": split}
        return example

    def list_examples(self, query: Query) -> list[Document]:
        """Return the examples of a dataset, in the order they were added."""
        wanted = {"dataset_id": query.get("dataset"), "id": query.get("id")}
        metadata = json.loads(query["metadata"][0]) if query.get("metadata") else {}
        splits = set(query.get("splits") or ())
        found = [
            example
            for example in self.examples.values()
            if matches(example, wanted)
            and metadata.items() <= example["metadata"].items()
            and (not splits or splits & set(example["metadata"]["dataset_split"]))
        ]
        fetched = "attachment_urls" in query.get("select", ())
        shown = [one if fetched else {n: v for n, v in one.items() if n != "attachment_urls"} for one in found]
        return page(shown, query)

    def attach(self, dataset: str, name: str, contents: Iterable[bytes], *, url: str, mime_type: str) -> None:
        """Attach a file to each example of a dataset, in order."""
        (kept,) = (one for one in self.datasets.values() if one["name"] == dataset)
        examples = (one for one in self.examples.values() if one["dataset_id"] == kept["id"])
        for example, content in zip(examples, contents, strict=True):
            file_id = str(uuid4())
            self.files[file_id] = content
            place = {"presigned_url": f"{url}/{file_id}?signature=secret", "mime_type": mime_type}
            example.setdefault("attachment_urls", {})[f"attachment.{name}"] = place

    def file(self, file_id: str) -> bytes:
        """Return what a file holds."""
        if file_id not in self.files:
            raise Refused(404, f"File {file_id} not found")
        return self.files[file_id]

    def add_comparison(self, body: Document) -> Document:
        """Make a comparative experiment."""
        comparison = {**body, "tenant_id": TENANT, "modified_at": now()}
        self.comparisons[body["id"]] = comparison
        return comparison

    # annotation queues

    def add_queue(self, body: Document) -> Document:
        """Make an annotation queue."""
        queue = {**body, "tenant_id": TENANT, "created_at": now(), "updated_at": now()}
        self.queues[queue["id"]], self.queued[queue["id"]] = queue, []
        return queue

    def list_queues(self, query: Query) -> list[Document]:
        """Return the queues of a name or of ids."""
        wanted = {"name": query.get("name"), "id": query.get("ids")}
        return page([q for q in self.queues.values() if matches(q, wanted) and contains(q, query)], query)

    def enqueue(self, queue_id: str, runs: list[Any]) -> list[Document]:
        """Add runs, given by id or by key, to a queue; a run that is in it stays once."""
        existing(self.queues, queue_id, "Queue")
        ids = [run["run_id"] if isinstance(run, dict) else run for run in runs]
        for run_id in ids:
            self.run(run_id)
        self.queued[queue_id] = list(dict.fromkeys([*self.queued[queue_id], *ids]))
        return [{"run_id": run_id, "queue_id": queue_id} for run_id in ids]

    def queued_runs(self, queue_id: str, query: Query) -> list[Document]:
        """Return the runs in a queue."""
        existing(self.queues, queue_id, "Queue")
        return page([{**self.run(run_id), "added_at": now()} for run_id in self.queued[queue_id]], query)


def _tokens(run: Document) -> Document:
    usage = (run.get("outputs") or {}).get("usage_metadata") or {}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
    return {name: usage[key] for name, key in names.items() if key in usage}


def _splits(split: Any) -> list[str]:
    return [split] if isinstance(split, str) else list(split or ())


def _mean(scores: list[float | None]) -> float | None:
    told = [score for score in scores if score is not None]
    return sum(told) / len(told) if told else None
