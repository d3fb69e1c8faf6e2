"""The faces of a harnessed evaluator, and LangChain's interfaces, from whichever package has them.

`langchain_classic` is maintained until December 2026; where neither it nor the old `langchain` brings the
interfaces, ours have the same methods, so that a suite survives the package it came from.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import MethodType
from typing import Any, cast

from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import RunInfo
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from judgeharness_integrations._errors import NotGradedError, UnsupportedEvaluatorError
from judgeharness_integrations.analysis.result import HarnessResult, raise_where_all_failed
from judgeharness_integrations.judging.execution.observing import Observer, is_private
from judgeharness_integrations.judging.recording import watchers

from .kinds import Kept


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


_ARGUMENTS: Mapping[str, str] = {  # a variable of a chain's prompt -> the argument of its evaluation
    "prediction": "prediction",
    "prediction_b": "prediction_b",
    "output": "prediction",
    "result": "prediction",
    "input": "input",
    "query": "input",
    "reference": "reference",
    "answer": "reference",
    "context": "reference",
}
_BUILT_ON_FACES = frozenset({"apredict", "arun", "evaluate", "predict", "run", "_run_output_key"})
_LANGCHAIN = frozenset({"langchain", "langchain_classic", "langchain_core"})


class MeasuredText(str):
    """The text a chain answers with; `harness` is the measurement it stands for."""

    __slots__ = ("harness",)
    harness: Mapping[str, Any]


def is_chain(evaluator: object) -> bool:
    """Whether an evaluator is a chain of LangChain's, with faces beside its evaluation."""
    return all(hasattr(evaluator, name) for name in ("input_keys", "output_keys", "prep_inputs", "invoke"))


def _is_langchains(kind: type, name: str) -> bool:
    """Whether LangChain defines an attribute of a chain: a method of the caller's own may ask the model itself."""
    home = next((base.__module__ for base in kind.__mro__ if name in vars(base)), "")
    return home.partition(".")[0] in _LANGCHAIN


class ChainFaces(Runnable[Any, dict[str, Any]]):
    """`invoke`, `batch`, `apply`, `evaluate` and their like take and return what the chain does.

    A chain whose output is a result dict returns it with its `harness` key. One whose output is a text returns a
    `MeasuredText`: the verdict on a line of its own and the reasons, or why there is no verdict.
    """

    judge: Any
    harness: Any

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the chain, or a method of it that asks by way of the faces here."""
        judge = self.__dict__.get("judge")
        if judge is None or (name.startswith("_") and name not in _BUILT_ON_FACES):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        chain = judge.evaluator
        given = getattr(type(chain), name, None)
        if name in _BUILT_ON_FACES and _is_langchains(type(chain), name):
            if isinstance(given, property):
                return given.__get__(self)
            if given is not None:
                return MethodType(given, self)
        value = getattr(chain, name)
        if callable(given) and getattr(judge, "asked_once", None) is None:
            kind = type(chain).__name__
            raise AttributeError(
                f"{kind}.{name} would go round the harness: call {self._evaluation}, invoke, batch or apply."
            )
        return value

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the chain's own name."""
        return str(self.judge.evaluator.get_name(suffix, name=name))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> dict[str, Any]:  # noqa: A002
        """Evaluate what the prompt's variables hold; return them and the output."""
        return cast("dict[str, Any]", self._faces().invoke(input, config, **options))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> dict[str, Any]:  # noqa: A002
        """Evaluate what the prompt's variables hold; return them and the output."""
        return cast("dict[str, Any]", await self._faces().ainvoke(input, config, **options))

    def batch(self, inputs: list[Any], config: Any = None, **options: Any) -> list[Any]:
        """Evaluate a list."""
        return self._faces().batch(inputs, config, **options)

    async def abatch(self, inputs: list[Any], config: Any = None, **options: Any) -> list[Any]:
        """Evaluate a list."""
        return await self._faces().abatch(inputs, config, **options)

    def batch_as_completed(self, inputs: Any, config: Any = None, **options: Any) -> Iterator[Any]:
        """Evaluate a list and yield (place, answer) as they come."""
        return self._faces().batch_as_completed(inputs, config, **options)

    def abatch_as_completed(self, inputs: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Evaluate a list and yield (place, answer) as they come."""
        return self._faces().abatch_as_completed(inputs, config, **options)

    def apply(self, input_list: list[dict[str, Any]], callbacks: Any = None) -> list[dict[str, Any]]:
        """Evaluate a list; return the outputs alone."""
        return self.batch(input_list, _config(callbacks=callbacks), return_only_outputs=True)

    async def aapply(self, input_list: list[dict[str, Any]], callbacks: Any = None) -> list[dict[str, Any]]:
        """Evaluate a list; return the outputs alone."""
        return await self.abatch(input_list, _config(callbacks=callbacks), return_only_outputs=True)

    def __call__(
        self,
        inputs: Any,
        return_only_outputs: bool = False,  # noqa: FBT001, FBT002 - as the chain's own
        callbacks: Any = None,
        *,
        include_run_info: bool = False,
        **config: Any,
    ) -> dict[str, Any]:
        """Evaluate what the prompt's variables hold; `config` is tags, metadata and run_name."""
        shape = {"return_only_outputs": return_only_outputs, "include_run_info": include_run_info}
        return self.invoke(inputs, _config(callbacks=callbacks, **config), **shape)

    async def acall(
        self,
        inputs: Any,
        return_only_outputs: bool = False,  # noqa: FBT001, FBT002 - as the chain's own
        callbacks: Any = None,
        *,
        include_run_info: bool = False,
        **config: Any,
    ) -> dict[str, Any]:
        """Evaluate what the prompt's variables hold; `config` is tags, metadata and run_name."""
        shape = {"return_only_outputs": return_only_outputs, "include_run_info": include_run_info}
        return await self.ainvoke(inputs, _config(callbacks=callbacks, **config), **shape)

    @property
    def _evaluation(self) -> str:
        return "evaluate_string_pairs" if self.judge.kind.pairs else "evaluate_strings"

    def _prepared(self, given: Any) -> dict[str, Any]:
        """Return the inputs of a run, checked by the chain itself.

        Raises:
            ValueError: a variable of the prompt is missing.
            UnsupportedEvaluatorError: the prompt has a variable of which an evaluation knows nothing.

        """
        chain = self.judge.evaluator
        inputs: dict[str, Any] = chain.prep_inputs(given)
        chain._validate_inputs(inputs)  # noqa: SLF001 - what it raises is what the chain raises
        strange = next((key for key in chain.input_keys if key not in _ARGUMENTS), None)
        if strange is not None:
            raise UnsupportedEvaluatorError(
                f"{type(chain).__name__}.invoke takes {strange!r}, which the harness cannot place: "
                f"call {self._evaluation}(prediction=...)."
            )
        return inputs

    def _arguments(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {_ARGUMENTS[key]: inputs[key] for key in self.judge.evaluator.input_keys}

    def _faces(self) -> EvaluatorRunnable:
        evaluate = getattr(self, f"_{self._evaluation}")
        aevaluate = getattr(self, f"_a{self._evaluation}")

        def run(given: Any, config: RunnableConfig, **options: Any) -> Any:
            own: Kept = []
            inputs = self._prepared(given)
            evaluate(**self._arguments(inputs), config=config, kept=own)
            return self._shaped(inputs, own[0], config, **options)

        async def arun(given: Any, config: RunnableConfig, **options: Any) -> Any:
            own: Kept = []
            inputs = self._prepared(given)
            await aevaluate(**self._arguments(inputs), config=config, kept=own)
            return self._shaped(inputs, own[0], config, **options)

        return EvaluatorRunnable(run, arun, name=self.get_name(), observers=self.harness.observers)

    def _shaped(
        self,
        inputs: dict[str, Any],
        measured: tuple[dict[str, Any], HarnessResult],
        config: RunnableConfig,
        *,
        return_only_outputs: bool = False,
        include_run_info: bool = False,
        kept: Kept | None = None,
    ) -> dict[str, Any]:
        """Return a measurement in the shape of the chain's answer."""
        answer, result = measured
        chain = self.judge.evaluator
        output: Any = answer
        divisor = getattr(chain, "normalize_by", None)
        if divisor and answer["score"] is not None:  # the chain's own output comes before its evaluation divides it
            output = {**answer, "score": answer["score"] * divisor}
        if isinstance(getattr(chain, "output_parser", None), StrOutputParser):
            output = MeasuredText(self._text(answer, result))
            output.harness = answer["harness"]
        outputs = {chain.output_key: output} if hasattr(chain, "output_key") else output  # a distance is a dict itself
        shaped = {**({} if return_only_outputs else inputs), **outputs}
        run_id = getattr(config.get("callbacks"), "parent_run_id", None)
        if include_run_info and run_id is not None:
            shaped["__run"] = RunInfo(run_id=run_id)
        if kept is not None:
            kept.append((shaped, result))
        return shaped

    def _text(self, answer: Mapping[str, Any], result: HarnessResult) -> str:
        """Return the chain's text: that of the only sample, or the verdict, which readers find first, and reasons."""
        reasoning = str(answer["reasoning"])
        if getattr(self, "_bare"):  # noqa: B009 - the harnessed evaluator's
            raw = result.rows[0].raw if result.rows and self.harness.keep == "text" else None
            return reasoning if result.only.status == "decided" else raw or reasoning
        return reasoning if answer["value"] is None else _graded_text(str(answer["value"]), reasoning)


def _graded_text(grade: str, reasoning: str) -> str:
    """Return a text whose first line is the grade, without the lines of the reasoning that only say it again."""
    same = re.compile(rf"\W*(?:grade:)?\W*{re.escape(grade)}\W*", re.IGNORECASE)
    return "\n".join([f"GRADE: {grade}", *(line for line in reasoning.splitlines() if not same.fullmatch(line))])


def _config(**given: Any) -> RunnableConfig:
    return cast("RunnableConfig", {name: value for name, value in given.items() if value is not None})


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
