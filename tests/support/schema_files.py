"""The files of the schemas, written one way: `cd tests && python -m support.schema_files` writes them."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from judgeharness_integrations.reporting.schemas import schema, schema_names
from support.benchmark_schemas import RECORDS, record_schema

__all__ = ["FOLDER", "schema_texts", "write_schemas"]

FOLDER = Path(__file__).parents[2] / "judgeharness_integrations" / "reporting" / "schemas"


def schema_texts() -> dict[str, str]:
    """Return what each file is to hold: a benchmark's schemas from its records, parts that several have in `shared`."""
    documents = {name: record_schema(name) if name in RECORDS else schema(name) for name in schema_names()}
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in documents.values():
        for part, node in document.get("$defs", {}).items():
            parts[part].append(node)
    shared = {part: found for part, (found, *others) in parts.items() if others and all(one == found for one in others)}
    texts = {"shared": _members(dict(sorted(shared.items())), 0)}
    for name, document in documents.items():
        own = {part: node for part, node in document.get("$defs", {}).items() if part not in shared}
        whole = {key: node for key, node in document.items() if key != "$defs"} | ({"$defs": own} if own else {})
        texts[name] = _value(whole, 0)
    return {name: f"{text}\n" for name, text in texts.items()}


def _value(node: Any, depth: int) -> str:
    """Return a schema on a line, or a line a key where it describes keys of its own."""
    line = json.dumps(node, ensure_ascii=False)
    if '"properties": {' not in line and '"$defs": {' not in line:
        return line
    if isinstance(node, list):
        inner = " " * (depth + 2)
        return "[\n" + ",\n".join(inner + _value(part, depth + 2) for part in node) + "\n" + " " * depth + "]"
    return _members(node, depth)


def _members(node: dict[str, Any], depth: int) -> str:
    """Return an object with each of its members on a line."""
    inner = " " * (depth + 2)
    lines = (
        f"{inner}{json.dumps(key)}: "
        + (_members(part, depth + 2) if key in {"properties", "$defs"} else _value(part, depth + 2))
        for key, part in node.items()
    )
    return "{\n" + ",\n".join(lines) + "\n" + " " * depth + "}"


def write_schemas() -> None:
    """Write every file anew."""
    for name, text in schema_texts().items():
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
