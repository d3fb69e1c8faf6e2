"""Results as fields of pydantic models: kept as they are, written and read as the documents they have anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from judgeharness_integrations._errors import ConfigError

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

__all__ = ["document_schema"]

_T = TypeVar("_T")


def document_schema(
    kind: type[_T], *, read: Callable[[Mapping[str, Any]], _T], write: Callable[[_T], dict[str, Any]]
) -> CoreSchema:
    """Return how pydantic takes a value: one of the kind, or the document of one."""
    from pydantic_core import core_schema  # noqa: PLC0415 - who asks has loaded it

    def value(document: dict[str, Any]) -> _T:
        try:
            return read(document)
        except ConfigError as error:
            raise ValueError(str(error)) from error

    document = core_schema.no_info_after_validator_function(value, core_schema.dict_schema())
    return core_schema.json_or_python_schema(
        json_schema=document,
        python_schema=core_schema.union_schema([core_schema.is_instance_schema(kind), document]),
        serialization=core_schema.plain_serializer_function_ser_schema(write),
    )
