"""Many small frozen values, made quickly where their maker vouches for all of their fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")


def drafted(kind: type[_T]) -> Callable[..., _T]:
    """Return what makes values of a frozen dataclass with slots from all its fields, given in order and unnamed.

    A frozen dataclass sets each of its fields through `object.__setattr__`, which for a row of the log is most of what
    it costs. Here they are those of a draft of the same layout, which then becomes the value. Fields that are not given
    are not set: whoever calls it gives all of them, each of its type.
    """

    def become(draft: Any) -> None:
        draft.__class__ = kind

    names = [(field.name, Any) for field in fields(kind)]  # type: ignore[arg-type]
    return make_dataclass("_Draft", names, slots=True, eq=False, repr=False, namespace={"__post_init__": become})
