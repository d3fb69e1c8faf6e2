"""A harnessed evaluator as a Runnable, whose list faces ask everything before they raise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from langchain_core.runnables import RunnableLambda

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations.execution.observing import Observer, is_private
from judgeharness_integrations.notgraded import raise_where_all_failed
from judgeharness_integrations.watching import watchers
from judgeharness_langchain.options import Kept

__all__ = ["EvaluatorRunnable"]


class EvaluatorRunnable(RunnableLambda[dict[str, Any], dict[str, Any]]):
    """Evaluates one mapping, or a list of them.

    Where cases of a list were not graded, one `NotGradedError` with every result is raised when all were asked; what
    else an evaluation raises is raised then, too. `return_exceptions=True` returns them case by case. Its own run holds
    what is judged, so LangSmith gets none where an observer of the harness is private.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        arun: Callable[..., Any],
        *,
        name: str,
        observers: Sequence[Observer] | None = None,
    ) -> None:
        """Evaluate with these functions, under a harness with these observers."""
        super().__init__(run, afunc=arun, name=name)
        self._observers = observers

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Evaluate one."""
        with _kept(self._observers):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Evaluate one."""
        with _kept(self._observers):
            return await super().ainvoke(input, config, **kwargs)

    def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Iterator[Any]:  # noqa: A002
        """Evaluate one, whose answer comes in one piece."""
        yield self.invoke(input, config, **kwargs)

    async def astream(self, input: Any, config: Any = None, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: A002
        """Evaluate one, whose answer comes in one piece."""
        yield await self.ainvoke(input, config, **kwargs)

    def batch(self, inputs: Any, config: Any = None, *, return_exceptions: bool = False, **kwargs: Any) -> list[Any]:
        """Evaluate a list."""
        kept: Kept = []
        answers = super().batch(inputs, config, return_exceptions=True, **kwargs, kept=kept)
        return answers if return_exceptions else _graded(answers, kept, self._observers)

    async def abatch(
        self, inputs: Any, config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Any]:
        """Evaluate a list."""
        kept: Kept = []
        answers = await super().abatch(inputs, config, return_exceptions=True, **kwargs, kept=kept)
        return answers if return_exceptions else _graded(answers, kept, self._observers)

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
            _graded(answers, kept, self._observers)

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
            _graded(answers, kept, self._observers)


def _kept(observers: Sequence[Observer] | None) -> AbstractContextManager[None]:
    """Return what keeps a run from LangSmith where what is judged is private."""
    if not is_private(watchers(observers)):
        return nullcontext()
    from langsmith import tracing_context  # noqa: PLC0415 - as LangChain does for every run

    return tracing_context(enabled=False, parent=False)


def _graded(answers: Sequence[Any], kept: Kept, observers: Sequence[Observer] | None) -> list[Any]:
    """Return the answers, or raise for those that are exceptions."""
    errors = [one for one in answers if isinstance(one, Exception)]
    for error in errors:
        if not isinstance(error, NotGradedError):
            raise error
    if errors:
        results = {id(answer): result for answer, result in kept}
        asked = [one.result if one in errors else results[id(one)] for one in answers]
        raise_where_all_failed(asked, private=is_private(watchers(observers)))
    return list(answers)
