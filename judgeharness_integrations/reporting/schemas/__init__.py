"""JSON Schemas (draft 2020-12) of every document that is written, for readers without a network.

A file holds what its document alone has, a key a line; parts that several documents have stand in `shared.json` and
are added to each schema that is returned, which needs no other. The documentation's site publishes these.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from judgeharness_integrations._errors import UnknownNameError

__all__ = ["schema", "schema_names"]

_PREFIX, _SUFFIX = "judgeharness.", ".json"
_SHARED = "shared"


def schema_names() -> tuple[str, ...]:
    """Return the documents that have a schema, as `rank-1`: name and version, sorted."""
    found = (path.name for path in files(__name__).iterdir())
    names = {name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)}
    return tuple(sorted(names - {_SHARED}))


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document.

    Args:
        name: what stands under the document's key `schema` (`judgeharness.rank/1`), or the file's name (`rank-1`).

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    known, wanted = schema_names(), name.removeprefix(_PREFIX).replace("/", "-").removesuffix(_SUFFIX)
    if wanted not in known:
        raise UnknownNameError("schema", name, [f"{_PREFIX}{one.replace('-', '/')}" for one in known])
    document = _read(wanted)
    parts = document.get("$defs", {})
    missing = _referred(document) - set(parts)
    while missing:
        parts |= {name: _read(_SHARED)[name] for name in sorted(missing)}
        missing = _referred(parts) - set(parts)
    return document | ({"$defs": parts} if parts else {})


def _read(name: str) -> dict[str, Any]:
    """Return what a file of this folder holds."""
    read: dict[str, Any] = json.loads((files(__name__) / f"{name}{_SUFFIX}").read_text("utf-8"))
    return read


def _referred(node: object) -> set[str]:
    """Return the names of the parts that a schema refers to."""
    return set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(node)))
