"""Requests of a judge to its model: each is a copy of one that was made and checked once."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, TypeAlias

from google.adk.models.llm_request import LlmRequest
from google.genai.types import Content, GenerateContentConfig, Part
from pydantic import BaseModel

__all__ = ["RequestTemplate"]

_Copier: TypeAlias = Callable[[], Any]
_NO_PROMPT = "-"
_set = object.__setattr__  # past the validation, which the values passed before


class RequestTemplate:
    """Makes requests of one configuration; what a model changes of one of them is its own."""

    def __init__(self, config: GenerateContentConfig) -> None:
        """Make and check the request that the others are copies of; the configuration stays as it is now."""
        contents = [Content(parts=[Part(text=_NO_PROMPT)], role="user")]
        made = LlmRequest(contents=contents, config=config, tools_dict={})
        # an endless iterator: whoever looks for secrets near a judge sees its configuration, and no copier of it
        self._copies = iter(_copier(made), None)

    def request(self, model: str, prompt: str) -> LlmRequest:
        """Return a request that shares no model and no container with another one."""
        request: LlmRequest = next(self._copies)
        request.model = model
        for content in request.contents:
            for part in content.parts or ():
                part.text = prompt
        return request


def _copier(value: Any) -> _Copier:
    """Return what copies a value as it is now: models and containers; whatever else they hold is shared."""
    if type(value) is list:
        parts = [_copier(part) for part in value]
        return lambda: [part() for part in parts]
    if type(value) is dict:
        return _mapping_copier(value)
    if isinstance(value, BaseModel):
        return _model_copier(value)
    return lambda: value


def _mapping_copier(value: dict[Any, Any]) -> _Copier:
    """Return what copies a mapping; of a request's entries few hold anything that can be changed."""
    kept = dict(value)
    inner = [(key, _copier(part)) for key, part in kept.items() if _is_changeable(part)]
    if not inner:
        return kept.copy

    def made() -> dict[Any, Any]:
        new = kept.copy()
        for key, part in inner:
            new[key] = part()
        return new

    return made


def _is_changeable(value: Any) -> bool:
    return type(value) in (list, dict) or isinstance(value, BaseModel)


def _model_copier(value: BaseModel) -> _Copier:
    """Return what copies a model; a class that copies itself knows how to begin."""
    kind: Any = type(value)
    itself = kind.__copy__ is not BaseModel.__copy__ or kind.__new__ is not object.__new__
    make = partial(copy, copy(value)) if itself else partial(object.__new__, kind)
    held, names = _copier(vars(value)), set(value.model_fields_set)
    extra, private = value.__pydantic_extra__, value.__pydantic_private__
    more, own = _copier(extra), _copier(private)

    def made() -> Any:
        new = make()
        _set(new, "__dict__", held())
        _set(new, "__pydantic_fields_set__", names.copy())
        _set(new, "__pydantic_extra__", None if extra is None else more())
        _set(new, "__pydantic_private__", None if private is None else own())
        return new

    return made
