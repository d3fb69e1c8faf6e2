"""JSON Schemas (draft 2020-12) of every document that is written, for readers without a network.

Each file stands by itself; `docs/schemas/` holds the same files.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from judgeharness_integrations._errors import UnknownNameError

__all__ = ["schema", "schema_names"]

_PREFIX, _SUFFIX = "judgeharness.", ".json"


def schema_names() -> tuple[str, ...]:
    """Return the documents that have a schema, as `rank-1`: name and version, sorted."""
    found = (path.name for path in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


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
    found: dict[str, Any] = json.loads((files(__name__) / f"{wanted}{_SUFFIX}").read_text("utf-8"))
    return found
