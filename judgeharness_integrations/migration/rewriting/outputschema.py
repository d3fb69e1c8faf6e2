"""Whether the answer of an openevals judge has a field that can be measured, where its class stands in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.tree import last_name, walk

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["holds_texts_alone"]

_BASES = frozenset({"BaseModel", "TypedDict"})
# what a field of these alone is made of cannot be measured; any other name may be an enum or a number
_TEXTS = frozenset(
    {"str", "list", "List", "dict", "Dict", "Any", "None", "Optional", "Annotated", "Required", "NotRequired"}
)


def holds_texts_alone(view: ModuleView, call: cst.Call) -> bool:
    """Whether the `output_schema` of a call is a class of this file whose every field is free text."""
    given = view.argument(call, "output_schema")
    classes = [] if given is None else [one for one in view.origins(given) if isinstance(one, cst.ClassDef)]
    return len(classes) == 1 and _of_texts(classes[0])


def _of_texts(schema: cst.ClassDef) -> bool:
    bases = [last_name(one.value) for one in schema.bases]
    fields = list(_fields(schema))
    return bool(bases) and _BASES.issuperset(bases) and bool(fields) and all(map(_is_text, fields))


def _fields(schema: cst.ClassDef) -> Iterator[cst.AnnAssign]:
    for line in schema.body.body:
        yield from (one for one in getattr(line, "body", ()) if isinstance(one, cst.AnnAssign))


def _is_text(field: cst.AnnAssign) -> bool:
    kind: cst.CSTNode = field.annotation.annotation
    if isinstance(kind, cst.Subscript) and last_name(kind.value) == "Annotated":
        kind = kind.slice[0].slice
    names = {one.value for one in (kind, *walk(kind)) if isinstance(one, cst.Name)}
    literal = isinstance(kind, (cst.SimpleString, cst.ConcatenatedString))  # a quoted annotation
    return not literal and bool(names) and _TEXTS.issuperset(names)
