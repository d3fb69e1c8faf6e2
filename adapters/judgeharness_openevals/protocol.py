"""The protocol of an evaluator: `(*, inputs, outputs, reference_outputs, **kwargs)`, or what of it a function takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import Parameter, Signature
from typing import Any

from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.structured import own_copy

__all__ = ["PROTOCOL", "Protocol", "unwrapped"]

PROTOCOL = ("inputs", "outputs", "reference_outputs")
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Protocol:
    """What a function takes."""

    signature: Signature

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Protocol:
        """Read a function.

        Raises:
            UnsupportedEvaluatorError: it does not take `outputs`.

        """
        try:
            protocol = cls(inspect.signature(function))
        except (TypeError, ValueError):
            protocol = cls(Signature())
        if "outputs" not in protocol.names and not protocol.takes_more:
            raise UnsupportedEvaluatorError(
                f"{getattr(unwrapped(function)[0], '__name__', type(function).__name__)} is no openevals evaluator: "
                "give a function that takes outputs, and inputs and reference_outputs where it needs them."
            )
        return protocol

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters by name."""
        return tuple(name for name, p in self.signature.parameters.items() if p.kind not in _VARIABLE)

    @cached_property
    def takes_more(self) -> bool:
        """Whether it takes any other keyword."""
        return any(p.kind is Parameter.VAR_KEYWORD for p in self.signature.parameters.values())

    def bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name; what of the protocol the function does not take is kept, too.

        Raises:
            TypeError: as the function itself would, it lacks an argument or gets one too many.

        """
        unknown = {n: v for n, v in kwargs.items() if n in PROTOCOL and n not in self.names and not self.takes_more}
        arguments = dict(self.signature.bind(*args, **{n: v for n, v in kwargs.items() if n not in unknown}).arguments)
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is Parameter.VAR_KEYWORD:
                arguments |= arguments.pop(name, {})
        return unknown | arguments

    def call(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments of a call: copies of the values the function takes.

        A value that is None is left to the function's default, where it has one.
        """
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            value = values.get(name)
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                positional.append(own_copy(parameter.default if value is None and name not in values else value))
            elif parameter.kind not in _VARIABLE and (value is not None or parameter.default is Parameter.empty):
                named[name] = own_copy(value)
        if self.takes_more:
            named |= {n: own_copy(v) for n, v in values.items() if v is not None and n not in self.names}
        return tuple(positional), named


def unwrapped(function: Any) -> tuple[Any, dict[str, Any]]:
    """Return the function inside `functools.partial`, and the keywords it is given there."""
    keywords: dict[str, Any] = {}
    while isinstance(function, partial) and not function.args:
        function, keywords = function.func, {**function.keywords, **keywords}
    return function, keywords
