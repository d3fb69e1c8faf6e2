"""A harnessed evaluator as a Runnable, whose list faces ask everything before they raise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableLambda

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations.notgraded import raise_where_all_failed
from judgeharness_langchain.options import Kept

__all__ = ["EvaluatorRunnable"]


class EvaluatorRunnable(RunnableLambda[dict[str, Any], dict[str, Any]]):
    """Evaluates one mapping, or a list of them.

    Where cases of a list were not graded, one `NotGradedError` with every result is raised when all were asked; what
    else an evaluation raises is raised then, too. `return_exceptions=True` returns them case by case.
    """

    def batch(self, inputs: Any, config: Any = None, *, return_exceptions: bool = False, **kwargs: Any) -> list[Any]:
        """Evaluate a list."""
        kept: Kept = []
        answers = super().batch(inputs, config, return_exceptions=True, **kwargs, kept=kept)
        return answers if return_exceptions else _graded(answers, kept)

    async def abatch(
        self, inputs: Any, config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Any]:
        """Evaluate a list."""
        kept: Kept = []
        answers = await super().abatch(inputs, config, return_exceptions=True, **kwargs, kept=kept)
        return answers if return_exceptions else _graded(answers, kept)

    def batch_as_completed(
        self, inputs: Any, config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> Iterator[Any]:
        """Evaluate a list and yield (place, answer) as they come; what is raised comes last."""
        kept: Kept = []
        answers: list[Any] = [None] * len(inputs)
        for place, answer in super().batch_as_completed(inputs, config, return_exceptions=True, **kwargs, kept=kept):
            answers[place] = answer
            if return_exceptions or not isinstance(answer, Exception):
                yield place, answer
        if not return_exceptions:
            _graded(answers, kept)

    async def abatch_as_completed(
        self, inputs: Any, config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Evaluate a list and yield (place, answer) as they come; what is raised comes last."""
        kept: Kept = []
        answers: list[Any] = [None] * len(inputs)
        asked = super().abatch_as_completed(inputs, config, return_exceptions=True, **kwargs, kept=kept)
        async for place, answer in asked:
            answers[place] = answer
            if return_exceptions or not isinstance(answer, Exception):
                yield place, answer
        if not return_exceptions:
            _graded(answers, kept)


def _graded(answers: Sequence[Any], kept: Kept) -> list[Any]:
    """Return the answers, or raise for those that are exceptions."""
    errors = [one for one in answers if isinstance(one, Exception)]
    for error in errors:
        if not isinstance(error, NotGradedError):
            raise error
    if errors:
        results = {id(answer): result for answer, result in kept}
        raise_where_all_failed([one.result if one in errors else results[id(one)] for one in answers])
    return list(answers)
