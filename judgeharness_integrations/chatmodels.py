"""Who writes: the seam every chat model fits through that is asked for JSON rather than for a verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.judging import call_maybe_async, text_hash
from judgeharness_integrations.marks import CODE
from judgeharness_integrations.parsing import object_of
from judgeharness_integrations.quotations import only_quotes

__all__ = ["ChatModel", "Completion", "Ended", "FunctionModel", "Prompt", "chat_model", "parsed_object"]

_NO_PROVIDER: Final = "model_provider"  # what LangChain asks for where it knows none
Ended: TypeAlias = Literal["ok", "refused", "truncated"]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request: what the model is told, what it is given, and the JSON schema of what it answers.

    `step` names the request for people (`blueprints`, `grounding` ...); the model is not told. Nor is it told `sample`,
    which counts answers to the same prompt from 0, so that no cache answers two of them with one reply.
    `code` is the code of the material, which `user` tells: where the schema has a property of that name, an answer that
    is a text has to carry it.
    """

    step: str
    system: str
    user: str
    schema: Mapping[str, Any]
    sample: int = 0
    code: str | None = None

    @property
    def digest(self) -> str:
        """32 hexadecimal digits of everything the model is told."""
        told = json.dumps([self.system, self.user, self.schema], sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(told.encode(errors="surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What a model answered: its text, the JSON object it gave as structured output, and what the call took.

    `parsed` is None where the model gave text alone. Tokens are None when not reported. `cached`: a cache answered.
    Tokens of the provider's own prompt cache, and the tier that served, as `VerdictRow` has them.
    """

    text: str
    parsed: Mapping[str, Any] | None = None
    ended: Ended = "ok"
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: bool = False
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None

    @property
    def facts(self) -> Mapping[str, str]:
        """What budgets ask of an answer besides its tokens: whether a cache gave it."""
        return {"cached": "shared"} if self.cached else {}


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers prompts; `name` and `parameters` say which one, for limits, prices and the record."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What it is asked with (temperature ...), as JSON keeps it; no keys."""
        ...

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer one prompt; whatever the client raises passes through."""
        ...


@dataclass(frozen=True, kw_only=True)
class FunctionModel:
    """A plain function, sync or async, as a model: takes a `Prompt`, returns a text, a mapping or a `Completion`.

    `file` is where it stands, if that is known: an error in it then names the line.
    """

    function: Callable[[Prompt], str | Mapping[str, Any] | Completion | Awaitable[Any]]
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = field(default=None, compare=False)

    def place(self, error: Exception) -> str | None:
        """Return the line an error came from, as `my_models.py, line 12`: the last one in its file or beside it."""
        if self.file is None:
            return None
        mine = self.file.resolve().parent
        frames = [(Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
        lines = [f"{file.name}, line {line}" for file, line in frames if file.parent == mine]
        return lines[-1] if lines else None

    async def complete(self, prompt: Prompt) -> Completion:
        """Call the function."""
        said = await call_maybe_async(self.function, prompt)
        if isinstance(said, Completion):
            return said
        if isinstance(said, Mapping):
            return Completion(text=json.dumps(said, ensure_ascii=False), parsed=said, model=self.name)
        return Completion(text=str(said), model=self.name)


def parsed_object(completion: Completion, prompt: Prompt | None = None) -> Mapping[str, Any] | None:
    """Return the JSON object of an answer: its structured output, else its text as a whole or in one code fence.

    None when it is anything else, or may be a quotation: it does not carry the code that the prompt's schema asks for,
    or is nothing but a passage of what the prompt shows.
    """
    if completion.parsed is not None:
        return completion.parsed
    if prompt is None:
        return object_of(completion.text)
    if CODE in prompt.schema.get("properties", ()):
        return object_of(completion.text, code=prompt.code)
    found = object_of(completion.text)
    return None if found is None or only_quotes(completion.text, [prompt.user]) else found


def chat_model(spec: str, options: Mapping[str, Any] | None = None, *, adapter: str = "langchain") -> ChatModel:
    """Return the model of a spec: `provider:model` through an adapter, or `path/to/file.py:object` of your own.

    Args:
        spec: what to ask, as `openai:gpt-4o`; of a Python file a `ChatModel`, or a function that takes a `Prompt`,
            which is another model as soon as the file is changed.
        options: the adapter's (temperature, base_url ...); a file's object has its own.
        adapter: whose chat models are meant.

    Raises:
        UsageError: the adapter is not installed, or the model cannot be made.

    """
    module, _, name = spec.rpartition(":")
    if not name.strip():
        raise ConfigError(f"model {spec!r} has no name: give one, as openai:gpt-4o, or path/to/file.py:generator.")
    if spec.endswith(".py"):
        raise ConfigError(f"model {spec!r}: name what stands in the file, as {spec}:generator.")
    if module.endswith(".py"):
        return _own(spec, Path(module), name)
    from judgeharness_integrations.adapters import find_adapter  # noqa: PLC0415 - own models need no adapter

    found = find_adapter(adapter)
    if found.build_model is None:
        raise ConfigError(f"adapter {adapter!r} has no chat models: name another one.")
    try:
        return found.build_model(spec, dict(options or {}))
    except ConfigError as error:
        if _NO_PROVIDER not in str(error):
            raise
        raise ConfigError(
            f"model {spec!r} names no provider that is known: write provider:model, as openai:gpt-4o, or "
            "path/to/file.py:function for what stands in a file of yours."
        ) from error


def _own(spec: str, file: Path, name: str) -> ChatModel:
    from judgeharness_integrations.config.importing import import_file  # noqa: PLC0415 - few models are files

    found: Any = import_file(file, name, where=f"model {spec!r}")
    if isinstance(found, type) or not (isinstance(found, ChatModel) or callable(found)):
        raise ConfigError(f"model {spec!r} is neither a chat model nor a function of a prompt.")
    if isinstance(found, ChatModel):
        return found
    function: Callable[[Prompt], Any] = found
    # a function says nothing of itself: once its file is changed, it is another model
    source = text_hash(file.read_text("utf-8"))
    return FunctionModel(function=function, name=name, parameters={"source": source}, file=file)
