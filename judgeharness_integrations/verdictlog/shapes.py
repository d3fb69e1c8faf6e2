"""What stands where in a JSON document, declared with pydantic and checked before anything is rebuilt from it.

A shape is only asked whether it fits: what is rebuilt is read from the document itself, so that nothing is converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError

from .row import LARGEST_SCORE

_LARGEST_COUNT = 2**53  # whole numbers up to here survive every JSON reader
_SHORT = 60

Text: TypeAlias = InstanceOf[str]  # pydantic's own texts refuse half an emoji, which a model cut off may leave
Short: TypeAlias = Annotated[str, Field(max_length=_SHORT)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=_LARGEST_COUNT)]
Positive: TypeAlias = Annotated[int, Field(ge=1, le=_LARGEST_COUNT)]
Number: TypeAlias = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE, allow_inf_nan=False)]


class Shape(BaseModel):
    """Keys of a document and what they hold; further keys are not looked at. A field `x_` stands for the key `x`."""

    model_config = ConfigDict(
        strict=True, extra="ignore", protected_namespaces=(), alias_generator=lambda name: name.removesuffix("_")
    )


def misplaced(shape: type[Shape], document: Mapping[str, Any]) -> str | None:
    """Return the first key that is missing or does not hold what it should, None when all fit."""
    try:
        shape.model_validate(dict(document))
    except ValidationError as error:
        place = error.errors(include_url=False, include_input=False, include_context=False)[0]["loc"]
        return str(place[0]) if place else "document"
    return None
