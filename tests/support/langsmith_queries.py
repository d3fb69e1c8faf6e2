"""Answering queries about what the loopback LangSmith keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["Document", "Query", "Refused", "contains", "existing", "matches", "now", "one", "page", "run_tree"]

Document = dict[str, Any]
Query = Mapping[str, list[str]]


class Refused(Exception):  # noqa: N818 - an answer, not an error of the test
    """The request is answered with an error status."""

    def __init__(self, status: int, detail: str, *, retry_after: int | None = None) -> None:
        """Answer with `status`, say why, and after how many seconds to come back."""
        super().__init__(detail)
        self.status = status
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


def run_tree(runs: Iterable[Document]) -> list[tuple[Any, ...]]:
    """Return `(name, run_type, children)` of every root, rebuilt from `dotted_order`; an orphan is a root too."""
    below: dict[str, list[tuple[Any, ...]]] = {}
    nodes: dict[str, tuple[Any, ...]] = {}
    for run in sorted(runs, key=lambda run: str(run["dotted_order"])):
        order = run["dotted_order"]
        nodes[order] = (run["name"], run["run_type"], below.setdefault(order, []))
    roots = []
    for order, node in nodes.items():
        parent = order.rpartition(".")[0]
        (below[parent] if parent in nodes else roots).append(node)
    return roots


def existing(things: Mapping[str, Document], wanted: str, kind: str) -> Document:
    if wanted not in things:
        raise Refused(404, f"{kind} {wanted} not found")
    return things[wanted]


def matches(thing: Document, wanted: Mapping[str, list[str] | None]) -> bool:
    return all(values is None or str(thing.get(name)) in map(str, values) for name, values in wanted.items())


def contains(thing: Document, query: Query) -> bool:
    return all(part in thing["name"] for part in query.get("name_contains", ()))


def page(rows: list[Document], query: Query) -> list[Document]:
    first, most = (int(query[name][0]) if query.get(name) else None for name in ("offset", "limit"))
    return rows[first or 0 :][:most]


def one(value: Any) -> list[Any] | None:
    return None if value is None else [value]


def now() -> str:
    return datetime.now(UTC).isoformat()
