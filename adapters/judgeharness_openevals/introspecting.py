"""What a judge of openevals or agentevals was made of, read from its closures, and the protocol of evaluators."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import Parameter, Signature
from string import Formatter
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps
from langchain_core.prompts import BasePromptTemplate
from langchain_core.prompts.structured import StructuredPrompt
from langchain_core.utils.function_calling import convert_to_json_schema
from openevals.code.llm import create_async_code_llm_as_judge, create_code_llm_as_judge
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.trajectory.llm import create_async_trajectory_llm_as_judge, create_trajectory_llm_as_judge
from openevals.types import ModelClient

from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.chatmodels import model_name, model_parameters
from judgeharness_integrations.judging.judge import JudgeIdentity, model_family, text_hash
from judgeharness_integrations.judging.structured import own_copy
from judgeharness_integrations.verdictlog.row import is_number

from ._seams import agentevals_factories, closure_of

_CLIENTS = {"AsyncAPIClient": True, "SyncAPIClient": False}  # OpenAI's: whether it is async


def check_arguments(arguments: Mapping[str, Any], *, asynchronous: bool) -> None:
    """Refuse arguments of openevals' factories that make no judge.

    Raises:
        UnsupportedEvaluatorError: the first problem, in one sentence.

    """
    problem = next(_problems(arguments, asynchronous=asynchronous), None)
    if problem is not None:
        raise UnsupportedEvaluatorError(problem)


def template_names(prompt: str) -> frozenset[str]:
    """Return the names in the braces of a prompt.

    Raises:
        UnsupportedEvaluatorError: a brace names nothing.

    """
    try:
        fields = [name for _, name, _, _ in Formatter().parse(prompt) if name is not None]
    except ValueError as error:
        raise UnsupportedEvaluatorError(f"the prompt is no template: {error}; write a brace itself twice.") from error
    names = frozenset(field.partition(".")[0].partition("[")[0] for field in fields)
    if any(not name or name.isdigit() for name in names):
        raise UnsupportedEvaluatorError("the prompt has braces without a name: name a value, as in {outputs}.")
    return names


def _problems(arguments: Mapping[str, Any], *, asynchronous: bool) -> Iterator[str]:
    judge, prompt, key = arguments["judge"], arguments["prompt"], arguments["feedback_key"]
    if judge is None and arguments["model"] is None:
        yield "the judge has no model: make it with model='openai:gpt-4o' or with judge= a chat model."
    if judge is not None and not isinstance(judge, BaseChatModel):
        yield from _problems_of_client(judge, arguments, asynchronous=asynchronous)
    if arguments.get("code_extraction_strategy") == "llm" and not (judge is None or isinstance(judge, BaseChatModel)):
        yield "code_extraction_strategy='llm' asks a chat model by tools: give judge= a chat model, not a client."
    if prompt is None:
        yield "the judge has no prompt: give it a text, as in prompt='Is this right? {outputs}'."
    if isinstance(prompt, str):
        template_names(prompt)
    if not isinstance(key, str) or not key:
        yield f"feedback_key is a text, not {key!r}."
    choices = arguments["choices"]
    if choices and not (isinstance(choices, (list, tuple)) and all(is_number(choice) for choice in choices)):
        yield f"choices are numbers, as in choices=[0, 0.5, 1], not {choices!r}."


def _problems_of_client(judge: Any, arguments: Mapping[str, Any], *, asynchronous: bool) -> Iterator[str]:
    kind = type(judge).__name__
    if isinstance(judge, str) or not isinstance(judge, ModelClient) or hasattr(judge, "invoke"):
        yield f"openevals takes a chat model or an OpenAI client as judge, not a {kind}: give the model itself."
    if arguments["model"] is None:
        yield f"a judge over a client ({kind}) needs the name of its model, too, as in model='gpt-4o'."
    schema = arguments.get("output_schema")
    if schema is not None and not isinstance(schema, Mapping):
        yield f"a client ({kind}) takes an output_schema that is JSON schema: give the class's, or a chat model."
    awaited = next(
        (found for parent in type(judge).__mro__ if (found := _CLIENTS.get(parent.__name__)) is not None), asynchronous
    )
    if awaited is not asynchronous:
        own, other = ("async", "sync") if awaited else ("sync", "async")
        yield f"the {other} judge cannot ask {kind}: make it with openevals' {own} function, or give the {other} one."


PASS_FAIL = ("PASS", "FAIL")
SCORE = "score"  # the field that makes an output a result like openevals' own
_NUMBERS = frozenset({"number", "integer"})


def json_schema(schema: Any) -> Mapping[str, Any] | None:
    """Return the JSON schema of what `output_schema` takes: JSON or OpenAI's forms of it, a model, a TypedDict.

    None for what LangChain cannot read.
    """
    if isinstance(schema, Mapping):
        inner = schema.get("schema") or schema.get("parameters")
        return inner if isinstance(inner, Mapping) else schema
    try:
        return convert_to_json_schema(schema)
    except Exception:  # noqa: BLE001 - whatever it is, it is no schema
        return None


def sent_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema closed at its top, as openevals writes it when it asks a client."""
    inner = schema.get("schema")
    if isinstance(inner, Mapping):
        return {**schema, "schema": sent_schema(inner)}
    closed = schema.get("additionalProperties")
    rest = {name: part for name, part in schema.items() if name != "additionalProperties"}
    return rest | {"additionalProperties": False if closed is None else closed}


def is_discrete(schema: Mapping[str, Any]) -> bool:
    """Whether the schema has numbers, and gives all that each of them may be."""
    fields = [_resolved(field, schema) for field in (schema.get("properties") or {}).values()]
    numbers = [field for field in fields if field.get("type") in _NUMBERS]
    return bool(numbers) and all("enum" in field or "const" in field for field in numbers)


def field_criteria(schema: Mapping[str, Any], key: str) -> tuple[Criterion, ...]:
    """Return one criterion for each field that is a truth value, a number or one of given texts.

    A field `score` makes the output one result, of the criterion `key`; other fields are evidence.
    """
    properties = schema.get("properties") or {}
    if SCORE in properties:
        score = _criterion(key, _resolved(properties[SCORE], schema))
        return (score,) if score is not None else ()
    found = (_criterion(str(name), _resolved(field, schema)) for name, field in properties.items())
    return tuple(criterion for criterion in found if criterion is not None)


def _criterion(name: str, field: Mapping[str, Any]) -> Criterion | None:
    kind, texts = field.get("type"), field.get("enum", [field["const"]] if "const" in field else None)
    description = str(field.get("description", ""))
    if kind == "boolean":
        return Criterion(name=name, description=description, labels=PASS_FAIL)
    if kind in _NUMBERS:
        low, high = (min(texts), max(texts)) if texts else (field.get("minimum"), field.get("maximum"))
        scale = None if low is None or high is None else (float(low), float(high))
        return Criterion(name=name, description=description, scale=scale)
    if texts and all(isinstance(text, str) for text in texts):
        return Criterion(name=name, description=description, labels=tuple(texts))
    return None


def _resolved(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field with its reference followed, and without the null of an optional one."""
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        return _resolved((schema.get("$defs") or schema.get("definitions") or {}).get(name, {}), schema)
    parts = [part for part in field.get("anyOf") or field.get("allOf") or () if part.get("type") != "null"]
    return _resolved(parts[0], schema) if len(parts) == 1 else field


def chat_model(name: str, **options: Any) -> Any:
    """Return the chat model of a name; unless told otherwise it leaves all retrying to the harness, where it can."""
    made = init_chat_model(name, **options)
    if "max_retries" in options or "max_retries" not in getattr(type(made), "model_fields", {}):
        return made
    return init_chat_model(name, **options, max_retries=0)


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
