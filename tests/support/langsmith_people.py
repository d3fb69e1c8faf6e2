"""Runs in a loopback LangSmith, and people who label them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from langsmith import Client, trace, tracing_context
from langsmith.schemas import Run

from support.langsmith_server import LangSmithServer

__all__ = ["a_run", "answered", "ask_within_projects", "label"]


def a_run(**outputs: Any) -> Run:
    """Return a run of an application that is in no server."""
    run_id = uuid4()
    fields: dict[str, Any] = {"inputs": {"q": "Hi?"}, "outputs": outputs or {"answer": "Hello *there*."}}
    return Run(id=run_id, name="app", start_time=datetime.now(UTC), run_type="chain", trace_id=run_id, **fields)


def answered(client: Client, question: str, *, project: str = "prod", outputs: Any = "Fine.", **more: Any) -> str:
    """Record a run that answered a question, and return its id."""
    with (
        tracing_context(enabled=True, client=client),
        trace("answer", inputs={"question": question}, client=client, project_name=project, **more) as run,
    ):
        run.end(outputs={"answer": outputs} if isinstance(outputs, str) else outputs)
    client.flush()
    return str(run.id)


def label(server: LangSmithServer, run_id: str, *, key: str = "correct", user: str | None = "ann", **said: Any) -> str:
    """Have somebody label a run on LangSmith's pages; one name is one person. Returns the feedback's id."""
    user_id = None if user is None else str(uuid5(NAMESPACE_OID, user))
    source = {"type": "app", "metadata": None, "user_id": user_id, "user_name": user}
    return str(server.annotate(run_id, key, **{"feedback_source": source, "modified_at": _later(server), **said})["id"])


def _later(server: LangSmithServer) -> str:
    """Return a moment after all earlier feedback."""
    return f"2026-01-01T00:00:{len(server.store.feedback):02}+00:00"


def ask_within_projects(server: LangSmithServer) -> None:
    """Have clients made from now on find runs by the API's second version only, within a project."""
    flags = {"ch_query_enabled": False, "sdb_query_enabled": True}
    server.info["instance_flags"] = {**server.info["instance_flags"], **flags}
