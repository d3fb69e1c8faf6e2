"""What a judge of openevals or agentevals was made of: it keeps its model, prompt and schema in closures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps
from langchain_core.prompts import BasePromptTemplate
from langchain_core.prompts.structured import StructuredPrompt
from openevals.code.llm import create_async_code_llm_as_judge, create_code_llm_as_judge
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.trajectory.llm import create_async_trajectory_llm_as_judge, create_trajectory_llm_as_judge

from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.chatmodels import model_name, model_parameters
from judgeharness_integrations.judging import JudgeIdentity, model_family, text_hash
from judgeharness_integrations.structured import own_copy
from judgeharness_openevals._seams import agentevals_factories, closure_of
from judgeharness_openevals.chatmodels import chat_model
from judgeharness_openevals.checking import check_arguments, template_names
from judgeharness_openevals.protocol import unwrapped
from judgeharness_openevals.schemas import PASS_FAIL, field_criteria, is_discrete, json_schema, sent_schema

__all__ = ["Introspected", "introspect"]

_MAKERS: tuple[Callable[..., Any], ...] = (
    create_llm_as_judge,
    create_async_llm_as_judge,
    create_trajectory_llm_as_judge,
    create_async_trajectory_llm_as_judge,
    *agentevals_factories(),
)
_FACTORIES: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{(maker.__module__, maker.__qualname__): maker for maker in _MAKERS},
    ("openevals.code.base", "_create_base_code_evaluator"): create_code_llm_as_judge,
    ("openevals.code.base", "_create_async_base_code_evaluator"): create_async_code_llm_as_judge,
}
_WITH_SCHEMA = (create_llm_as_judge, create_async_llm_as_judge)  # whose output by a schema is returned as it is
_CODE = ("code_extraction_strategy", "code_extractor")
_READ = ("choices", "continuous", "few_shot_examples", "judge", "model", "prompt", "system", "use_reasoning")
_OPAQUE = '"type": "not_implemented"'  # what LangChain cannot write down: functions in a prompt
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")
_HASHED = ("system", "choices", "continuous", "few_shot_examples", "use_reasoning")


@dataclass(frozen=True, kw_only=True)
class Introspected:
    """A judge of openevals as the arguments of the `factory` that made it, and the keywords `partial` gives it."""

    factory: Callable[..., Any]
    arguments: Mapping[str, Any]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The feedback key."""
        return str(self.arguments["feedback_key"])

    @property
    def graph(self) -> bool:
        """Whether it judges the steps of a graph."""
        return "graph_trajectory" in self.factory.__name__

    @property
    def messages(self) -> bool:
        """Whether it judges messages."""
        return "trajectory" in self.factory.__name__ and not self.graph

    @property
    def formatted(self) -> frozenset[str]:
        """The variables of its prompt that it always makes a text of, whether or not a case has them."""
        return frozenset(
            {"reference_outputs"} if self.messages else {"reference_outputs", "thread"} if self.graph else ()
        )

    @property
    def run_name(self) -> str:
        """The name its framework gives its runs."""
        if (name := self.arguments.get("run_name")) is not None:
            return str(name)
        return "llm_as_judge" if self.key == "score" and self.factory in _WITH_SCHEMA else f"llm_as_{self.key}_judge"

    @property
    def short_name(self) -> str:
        """What reports call it: its feedback key, but for `score`, which says nothing."""
        return self.run_name if self.key == "score" else self.key

    @property
    def raw(self) -> bool:
        """Whether it returns what the model answered, without key and comment."""
        return self.factory in _WITH_SCHEMA and self._output is not None

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
            made = chat_model(name)
        except Exception:  # noqa: BLE001 - whatever is missing, the judge says so itself when it is asked
            return None
        return made if isinstance(made, BaseChatModel) else None

    @property
    def made(self) -> bool:
        """Whether openevals has still to make its model of a name."""
        return self.arguments["judge"] is None

    @property
    def discrete(self) -> bool:
        """Whether its scores are all of given ones."""
        return self.choices is not None or (self.fields is not None and is_discrete(self.fields))

    @cached_property
    def model_name(self) -> str | None:
        """The model's name."""
        if self.model is not None:
            return model_name(self.model) or type(self.model).__name__
        name = self.arguments["model"]
        return None if name is None else str(name).removeprefix("openai:")

    @cached_property
    def identity(self) -> JudgeIdentity | None:
        """Model, its parameters and a digest of all that makes the prompt; None where a function makes part of it."""
        prompt, given = self._prompt_text, self.arguments.get("structured_output_kwargs")
        parts = [*(self.arguments[name] for name in _HASHED), *([dict(self.keywords)] if self.keywords else ())]
        parts += [self.arguments[name] for name in _CODE if name in self.arguments]
        told = repr((parts, self._told_schema, given))
        if prompt is None or self.model_name is None or _OPAQUE in prompt or _ADDRESS.search(told):
            return None
        return JudgeIdentity(
            name=self.factory.__name__.replace("_async", ""),
            model=self.model_name,
            parameters=model_parameters(self.model or self.client, {"structured_output_kwargs": given}),
            prompt_hash=text_hash(f"{prompt!r} {told}"),
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
            return template_names(prompt) - self.keywords.keys()
        return frozenset(prompt.input_variables) - self.keywords.keys() if _is_template(prompt) else None

    @property
    def _output(self) -> Any:
        prompt, given = self.arguments["prompt"], self.arguments.get("output_schema")
        return prompt.schema_ if given is None and isinstance(prompt, StructuredPrompt) else given

    @property
    def _told_schema(self) -> Any:
        """The schema as a client is sent it, which openevals may have written into by now."""
        output = self._output
        return sent_schema(output) if isinstance(output, Mapping) else self.fields or output

    @property
    def _prompt_text(self) -> str | None:
        prompt = self.arguments["prompt"]
        if isinstance(prompt, str):
            return prompt
        return dumps(prompt) if _is_template(prompt) else None

    def check(self) -> None:
        """Raise an UnsupportedEvaluatorError where it could never answer."""
        check_arguments(self.arguments, asynchronous="async" in self.factory.__name__)

    def rebuilt(self, judge: Any) -> Callable[..., Any]:
        """Return the same judge over another model or client."""
        taken = inspect.signature(self.factory).parameters
        arguments = {name: value for name, value in self.arguments.items() if name in taken}
        for name, value in arguments.items():
            if name == "output_schema" or isinstance(value, StructuredPrompt):
                arguments[name] = own_copy(value)  # openevals writes into a schema
        made: Callable[..., Any] = self.factory(**arguments | {"judge": judge})
        return partial(made, **self.keywords) if self.keywords else made


def _is_template(prompt: Any) -> bool:
    return isinstance(prompt, BasePromptTemplate)


def introspect(function: Any) -> Introspected | None:
    """Return what a judge of openevals or agentevals was made of; None for another function, or what hides it."""
    function, keywords = unwrapped(function)
    name = str(getattr(function, "__qualname__", "")).partition(".")[0]
    factory = _FACTORIES.get((getattr(function, "__module__", ""), name))
    outer = closure_of(function)
    inner = closure_of(outer.get("scorer"))
    if factory is None or "feedback_key" not in outer or any(part not in inner for part in _READ):
        return None
    told = {part: inner[part] for part in _READ}
    told |= {part: inner[part] for part in ("structured_output_kwargs",) if part in inner}
    told |= {part: outer[part] for part in ("feedback_key", "output_schema", "run_name", *_CODE) if part in outer}
    return Introspected(factory=factory, arguments=told, keywords=keywords)
