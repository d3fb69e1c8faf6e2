"""The routes of the loopback LangSmith: which request reads or changes what."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from support.langsmith_queries import Refused

if TYPE_CHECKING:
    from support.langsmith_server import LangSmithServer, Request

__all__ = ["ROUTES"]

ROUTES: list[tuple[str, re.Pattern[str], Callable[..., Any]]] = []


def _route(method: str, path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Answer a method and path; `{x}` stands for an id. The API's `/api/v1` may stand before the path."""
    pattern = re.compile("(?:/api/v1)?" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))

    def register(reply: Callable[..., Any]) -> Callable[..., Any]:
        ROUTES.append((method, pattern, reply))
        return reply

    return register


@_route("GET", "/info")
def _info(server: LangSmithServer, request: Request) -> Any:
    return server.info


# runs


@_route("POST", "/runs")
def _begin_run(server: LangSmithServer, request: Request) -> Any:
    if server.store.has_run(request.body["id"]):
        raise Refused(409, "Run already exists.")
    server.store.begin_run(request.body)
    return {}


@_route("PATCH", "/runs/{run_id}")
def _end_run(server: LangSmithServer, request: Request, run_id: str) -> Any:
    server.store.end_run({**request.body, "id": run_id})
    return {}


@_route("POST", "/runs/batch")
def _batch(server: LangSmithServer, request: Request) -> Any:
    for run in request.body.get("post") or ():
        server.store.begin_run(run)
    for run in request.body.get("patch") or ():
        server.store.end_run(run)
    return {}


@_route("POST", "/runs/multipart")
def _multipart(server: LangSmithServer, request: Request) -> Any:
    runs: dict[tuple[str, str], dict[str, Any]] = {}
    for name, content in request.body.items():
        kind, thing_id, *field = name.split(".", 2)
        if kind == "feedback":
            server.store.add_feedback(content)
        elif kind in ("post", "patch"):
            runs.setdefault((kind, thing_id), {"id": thing_id}).update({field[0]: content} if field else content)
    for (kind, _), run in runs.items():
        (server.store.begin_run if kind == "post" else server.store.end_run)(run)
    return {}


@_route("GET", "/runs/{run_id}")
def _run(server: LangSmithServer, request: Request, run_id: str) -> Any:
    return server.store.run(run_id)


@_route("POST", "/runs/query")
def _query_runs(server: LangSmithServer, request: Request) -> Any:
    return {"runs": server.store.query_runs(request.body), "cursors": {}}


@_route("POST", "/api/v2/runs/query")
def _query_runs_v2(server: LangSmithServer, request: Request) -> Any:
    asked = request.body
    body = {
        "session": asked.get("project_ids"),
        "id": asked.get("ids"),
        "is_root": asked.get("is_root"),
        "error": asked.get("has_error"),
        "reference_example": asked.get("reference_examples"),
        "run_type": asked["run_type"].lower() if asked.get("run_type") else None,
        "trace": asked.get("trace_id"),
        **{name: asked.get(name) for name in ("filter", "trace_filter", "tree_filter")},
    }
    return {"items": [_v2(run, asked.get("selects")) for run in server.store.query_runs(body)], "next_cursor": None}


@_route("GET", "/api/v2/runs/{run_id}")
def _run_v2(server: LangSmithServer, request: Request, run_id: str) -> Any:
    return _v2(server.store.run(run_id), request.query.get("selects"))


def _v2(run: dict[str, Any], selects: list[str] | None) -> dict[str, Any]:
    upper = {"run_type": run["run_type"].upper(), "status": run["status"].upper(), "project_id": run.get("session_id")}
    chosen = {name.lower() for name in selects or ("ID",)}
    return {name: value for name, value in {**run, **upper}.items() if name in chosen}


# feedback


@_route("POST", "/feedback")
def _add_feedback(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_feedback(request.body)


@_route("GET", "/feedback")
def _list_feedback(server: LangSmithServer, request: Request) -> Any:
    return server.store.list_feedback(request.query)


@_route("GET", "/feedback/{thing_id}")
def _read_feedback(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.update_feedback(thing_id, {})


@_route("PATCH", "/feedback/{thing_id}")
def _update_feedback(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.update_feedback(thing_id, request.body)


@_route("DELETE", "/feedback/{thing_id}")
def _delete_feedback(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.feedback.pop(thing_id, None)


# projects


@_route("POST", "/sessions")
def _add_project(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_project(request.body, request.query)


@_route("GET", "/sessions")
def _list_projects(server: LangSmithServer, request: Request) -> Any:
    return server.store.list_projects(request.query)


@_route("GET", "/sessions/{thing_id}")
def _read_project(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.update_project(thing_id, {})


@_route("PATCH", "/sessions/{thing_id}")
def _update_project(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.update_project(thing_id, request.body)


# datasets and examples


@_route("POST", "/datasets")
def _add_dataset(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_dataset(request.body)


@_route("GET", "/datasets")
def _list_datasets(server: LangSmithServer, request: Request) -> Any:
    return server.store.list_datasets(request.query)


@_route("POST", "/datasets/comparative")
def _add_comparison(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_comparison(request.body)


@_route("GET", "/datasets/{thing_id}")
def _read_dataset(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.dataset(thing_id)


@_route("PUT", "/datasets/{thing_id}/tags")
def _tag_dataset(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return {"as_of": request.body["as_of"], "tags": [request.body["tag"]]}


@_route("POST", "/examples")
def _add_example(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_examples([request.body])[0]


@_route("POST", "/examples/bulk")
def _add_examples(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_examples(request.body)


@_route("GET", "/examples")
def _list_examples(server: LangSmithServer, request: Request) -> Any:
    return server.store.list_examples(request.query)


@_route("GET", "/examples/{thing_id}")
def _read_example(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.update_example(thing_id, {})


@_route("PATCH", "/examples/{thing_id}")
def _update_example(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.update_example(thing_id, request.body)


@_route("GET", "/files/{thing_id}")
def _read_file(server: LangSmithServer, request: Request, thing_id: str) -> Any:
    return server.store.file(thing_id)


# annotation queues


@_route("POST", "/annotation-queues")
def _add_queue(server: LangSmithServer, request: Request) -> Any:
    return server.store.add_queue(request.body)


@_route("GET", "/annotation-queues")
def _list_queues(server: LangSmithServer, request: Request) -> Any:
    return server.store.list_queues(request.query)


@_route("GET", "/annotation-queues/{queue_id}")
def _read_queue(server: LangSmithServer, request: Request, queue_id: str) -> Any:
    if queue_id not in server.store.queues:
        raise Refused(404, f"Queue {queue_id} not found")
    return server.store.queues[queue_id]


@_route("POST", "/annotation-queues/{queue_id}/runs(?:/by-key)?")
def _enqueue(server: LangSmithServer, request: Request, queue_id: str) -> Any:
    return server.store.enqueue(queue_id, request.body)


@_route("GET", "/annotation-queues/{queue_id}/runs")
def _queued(server: LangSmithServer, request: Request, queue_id: str) -> Any:
    return server.store.queued_runs(queue_id, request.query)
