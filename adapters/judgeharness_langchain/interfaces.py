"""LangChain's evaluator interfaces, from whichever package has them.

`langchain_classic` is maintained until December 2026; where neither it nor the old `langchain` brings the
interfaces, ours have the same methods, so that a suite survives the package it came from.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, cast

_HOMES = ("langchain_classic.evaluation.schema", "langchain.evaluation.schema")


class _Arguments:
    """Checks which arguments an evaluator needs and which it ignores."""

    @property
    def requires_input(self) -> bool:
        """Whether the evaluator needs an input."""
        return False

    @property
    def requires_reference(self) -> bool:
        """Whether the evaluator needs a reference."""
        return False

    def _check_evaluation_args(self, reference: str | None = None, input_: str | None = None) -> None:
        name = type(self).__name__
        for word, value, required in (
            ("input", input_, self.requires_input),
            ("reference", reference, self.requires_reference),
        ):
            if required and value is None:
                raise ValueError(f"{name} requires {'an' if word == 'input' else 'a'} {word} string.")
            if value is not None and not required:
                warnings.warn(f"Ignoring {word} in {name}, as it is not expected.", stacklevel=4)


class _StringEvaluator(_Arguments, ABC):
    """Grades one answer."""

    @property
    def evaluation_name(self) -> str:
        """The name of the evaluation."""
        return type(self).__name__

    @abstractmethod
    def _evaluate_strings(self, **options: Any) -> dict[str, Any]: ...

    @abstractmethod
    async def _aevaluate_strings(self, **options: Any) -> dict[str, Any]: ...

    def evaluate_strings(
        self,
        *,
        prediction: str,
        reference: str | None = None,
        input: str | None = None,  # noqa: A002
        **options: Any,
    ) -> dict[str, Any]:
        """Grade one answer."""
        self._check_evaluation_args(reference, input)
        return self._evaluate_strings(prediction=prediction, reference=reference, input=input, **options)

    async def aevaluate_strings(
        self,
        *,
        prediction: str,
        reference: str | None = None,
        input: str | None = None,  # noqa: A002
        **options: Any,
    ) -> dict[str, Any]:
        """Grade one answer."""
        self._check_evaluation_args(reference, input)
        return await self._aevaluate_strings(prediction=prediction, reference=reference, input=input, **options)


class _PairwiseStringEvaluator(_Arguments, ABC):
    """Compares two answers."""

    @abstractmethod
    def _evaluate_string_pairs(self, **options: Any) -> dict[str, Any]: ...

    @abstractmethod
    async def _aevaluate_string_pairs(self, **options: Any) -> dict[str, Any]: ...

    def evaluate_string_pairs(
        self,
        *,
        prediction: str,
        prediction_b: str,
        reference: str | None = None,
        input: str | None = None,  # noqa: A002
        **options: Any,
    ) -> dict[str, Any]:
        """Compare two answers."""
        self._check_evaluation_args(reference, input)
        texts = {"prediction": prediction, "prediction_b": prediction_b, "reference": reference, "input": input}
        return self._evaluate_string_pairs(**texts, **options)

    async def aevaluate_string_pairs(
        self,
        *,
        prediction: str,
        prediction_b: str,
        reference: str | None = None,
        input: str | None = None,  # noqa: A002
        **options: Any,
    ) -> dict[str, Any]:
        """Compare two answers."""
        self._check_evaluation_args(reference, input)
        texts = {"prediction": prediction, "prediction_b": prediction_b, "reference": reference, "input": input}
        return await self._aevaluate_string_pairs(**texts, **options)


def _interface(name: str, ours: type[Any]) -> type[Any]:
    for home in _HOMES:
        try:
            return cast("type[Any]", getattr(import_module(home), name))
        except (ImportError, AttributeError):
            continue
    return ours


StringEvaluator: Any = _interface("StringEvaluator", _StringEvaluator)
PairwiseStringEvaluator: Any = _interface("PairwiseStringEvaluator", _PairwiseStringEvaluator)
