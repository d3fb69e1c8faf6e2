"""What a judge of openevals was made of: it keeps its model, prompt and schema in closures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps
from langchain_core.prompts import BasePromptTemplate
from langchain_core.prompts.structured import StructuredPrompt
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.trajectory.llm import create_async_trajectory_llm_as_judge, create_trajectory_llm_as_judge

from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.judging import JudgeIdentity, model_family, text_hash
from judgeharness_openevals._seams import closure_of
from judgeharness_openevals.models import model_name, model_parameters
from judgeharness_openevals.schemas import PASS_FAIL, field_criteria, json_schema

__all__ = ["Introspected", "introspect"]

_FACTORIES: Mapping[tuple[str, str], Callable[..., Any]] = {
    (factory.__module__, factory.__qualname__): factory
    for factory in (
        create_llm_as_judge,
        create_async_llm_as_judge,
        create_trajectory_llm_as_judge,
        create_async_trajectory_llm_as_judge,
    )
}
_READ = ("choices", "continuous", "few_shot_examples", "judge", "model", "prompt", "system", "use_reasoning")
_HASHED = ("system", "choices", "continuous", "few_shot_examples", "use_reasoning")


@dataclass(frozen=True, kw_only=True)
class Introspected:
    """A judge of openevals as the arguments of the `factory` that made it."""

    factory: Callable[..., Any]
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The feedback key."""
        return str(self.arguments["feedback_key"])

    @property
    def trajectory(self) -> bool:
        """Whether it judges messages."""
        return "trajectory" in self.factory.__name__

    @property
    def run_name(self) -> str:
        """The name openevals gives its runs."""
        return "llm_as_judge" if self.key == "score" and not self.trajectory else f"llm_as_{self.key}_judge"

    @property
    def raw(self) -> bool:
        """Whether it returns what the model answered, without key and comment."""
        return not self.trajectory and self._output is not None

    @property
    def choices(self) -> tuple[float, ...] | None:
        """The scores it may answer, where they are given."""
        choices = self.arguments["choices"]
        return tuple(choices) if choices and self._output is None else None

    @property
    def client(self) -> Any | None:
        """The OpenAI client it asks, where it asks one."""
        judge = self.arguments["judge"]
        return None if judge is None or isinstance(judge, BaseChatModel) else judge

    @cached_property
    def model(self) -> BaseChatModel | None:
        """The chat model it asks; one it has still to make of a name is made here, None where that fails."""
        judge, name = self.arguments["judge"], self.arguments["model"]
        if isinstance(judge, BaseChatModel):
            return judge
        if judge is not None or name is None:
            return None
        try:
            made = init_chat_model(name)
        except Exception:  # noqa: BLE001 - whatever is missing, the judge says so itself when it is asked
            return None
        return made if isinstance(made, BaseChatModel) else None

    @cached_property
    def model_name(self) -> str | None:
        """The model's name."""
        if self.model is not None:
            return model_name(self.model)
        name = self.arguments["model"]
        return None if name is None else str(name).removeprefix("openai:")

    @cached_property
    def identity(self) -> JudgeIdentity | None:
        """Model, its parameters and a digest of all that makes the prompt; None where the prompt is a function."""
        prompt, parts = self._prompt_text, [self.arguments[name] for name in _HASHED]
        if prompt is None or self.model_name is None:
            return None
        given = self.arguments.get("structured_output_kwargs")
        options = {"structured_output_kwargs": repr(given)} if given else {}
        return JudgeIdentity(
            name=self.factory.__name__.replace("_async", ""),
            model=self.model_name,
            parameters={**model_parameters(self.model or self.client), **options},
            prompt_hash=text_hash(repr((prompt, parts, self.fields or self._output))),
            family=model_family(self.model_name),
        )

    def criteria(self, key: str) -> tuple[Criterion, ...] | None:
        """Return what it answers, `key` being the criterion of an output's `score`; None when its schema hides it."""
        if self._output is not None:
            return field_criteria(self.fields, key) if self.raw and self.fields is not None else None
        if self.choices:
            return (Criterion(name=self.key, scale=(float(min(self.choices)), float(max(self.choices)))),)
        if self.arguments["continuous"]:
            return (Criterion(name=self.key, scale=(0.0, 1.0)),)
        return (Criterion(name=self.key, labels=PASS_FAIL),)

    @cached_property
    def fields(self) -> Mapping[str, Any] | None:
        """The JSON schema of a raw output; None where it has none or hides it."""
        return None if self._output is None else json_schema(self._output)

    @cached_property
    def variables(self) -> frozenset[str] | None:
        """The names its prompt needs; None where the prompt is a function."""
        prompt = self.arguments["prompt"]
        if isinstance(prompt, str):
            fields = (name for _, name, _, _ in Formatter().parse(prompt) if name)
            return frozenset(name.partition(".")[0].partition("[")[0] for name in fields)
        return frozenset(prompt.input_variables) if isinstance(prompt, BasePromptTemplate) else None

    @property
    def _output(self) -> Any:
        prompt, given = self.arguments["prompt"], self.arguments.get("output_schema")
        return prompt.schema_ if given is None and isinstance(prompt, StructuredPrompt) else given

    @property
    def _prompt_text(self) -> str | None:
        prompt = self.arguments["prompt"]
        if isinstance(prompt, str):
            return prompt
        return dumps(prompt) if isinstance(prompt, BasePromptTemplate) else None

    def rebuilt(self, judge: Any) -> Callable[..., Any]:
        """Return the same judge over another model or client."""
        taken = inspect.signature(self.factory).parameters
        arguments = {name: value for name, value in self.arguments.items() if name in taken}
        made: Callable[..., Any] = self.factory(**arguments | {"judge": judge})
        return made


def introspect(function: Any) -> Introspected | None:
    """Return what a judge of openevals was made of; None for any other function, and where it cannot be told."""
    name = str(getattr(function, "__qualname__", "")).partition(".")[0]
    factory = _FACTORIES.get((getattr(function, "__module__", ""), name))
    outer = closure_of(function)
    inner = closure_of(outer.get("scorer"))
    if factory is None or "feedback_key" not in outer or any(part not in inner for part in _READ):
        return None
    told = {part: inner[part] for part in _READ}
    told |= {part: inner[part] for part in ("structured_output_kwargs",) if part in inner}
    told |= {part: outer[part] for part in ("feedback_key", "output_schema") if part in outer}
    return Introspected(factory=factory, arguments=told)
