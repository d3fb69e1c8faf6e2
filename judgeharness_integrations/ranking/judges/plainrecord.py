"""A result as JSON and one row of CSV keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["plain_record"]


def plain_record(result: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by name; tuples become lists."""
    values = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
