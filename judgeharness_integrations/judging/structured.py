"""What is judged beside plain texts: values of any kind, and images, sounds and files, read once and whole."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from io import BytesIO
from threading import Lock
from typing import Any, Self

from judgeharness_integrations._errors import CaseError

from .cases import AnswerCase

__all__ = [
    "Attachment",
    "Attachments",
    "StructuredCase",
    "attachments_in",
    "own_copy",
    "structured_case",
    "value_text",
    "without_content",
]


_ADDRESS = "presigned_url"  # which lets others read
_LONGEST = 1_000  # characters of a text that is no file
_READING = Lock()  # evaluations in several threads may have been given one reader


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """One file. Two are equal where they hold the same, whatever address each was fetched from."""

    data: bytes = field(repr=False)
    mime_type: str | None = None
    presigned_url: str | None = field(default=None, compare=False, repr=False)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of what it holds."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def data_uri(self) -> str:
        """What it holds as a `data:` address, as chat models take images."""
        return f"data:{self.mime_type};base64,{base64.b64encode(self.data).decode()}"

    def opened(self) -> dict[str, Any]:
        """Return it as LangSmith gives it to evaluators, with a new reader; the reader shares the bytes."""
        return {"presigned_url": self.presigned_url, "reader": BytesIO(self.data), "mime_type": self.mime_type}

    def described(self) -> dict[str, Any]:
        """Return what may be written down of it: nothing of what it holds, nor its address, which lets others read."""
        return {"mime_type": self.mime_type, "sha256": self.digest, "bytes": len(self.data)}


class Attachments(Mapping[str, dict[str, Any]]):
    """Attachments by name, each as LangSmith gives it: `{"presigned_url": ..., "reader": ..., "mime_type": ...}`.

    Every call of a judge gets a copy of its own, whose readers begin at the beginning; the bytes are shared.
    """

    def __init__(self, files: Mapping[str, Attachment], others: Mapping[str, Any] | None = None) -> None:
        """Hold files by name, and `others`, which stand among them without a reader."""
        self.files = files
        self.others = others or {}
        self._opened: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return one, with the same reader every time."""
        if name in self.others:
            return self.others[name]  # type: ignore[no-any-return]
        if name not in self._opened:
            self._opened[name] = self.files[name].opened()
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter((*self.files, *self.others))

    def __len__(self) -> int:
        """Count them."""
        return len(self.files) + len(self.others)

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same under the same names."""
        return isinstance(other, Attachments) and (self.files, self.others) == (other.files, other.others)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Describe them; nothing of what they hold is shown."""
        return f"Attachments({self.described()})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without readers."""
        return Attachments, (self.files, self.others)

    def afresh(self) -> Attachments:
        """Return the same files with readers of their own."""
        return Attachments(self.files, self.others)

    def described(self) -> dict[str, Any]:
        """Return what may be written down of them."""
        told = {name: file.described() for name, file in self.files.items()}
        return {**told, **{name: without_content(other) for name, other in self.others.items()}}

    def compared(self) -> dict[str, Any]:
        """Return by what they are known again; what is no file is known by itself, and is not to be written down."""
        return {**{name: file.described() for name, file in self.files.items()}, **self.others}


def attachments_in(value: Any) -> Any:
    """Return attachments as LangSmith gives them as `Attachments`, read here; anything else as it is.

    The readers stay where they stand. What has none beside one that has stays what it is.

    Raises:
        CaseError: one cannot be read.

    """
    if isinstance(value, Attachments) or not isinstance(value, Mapping) or not value:
        return value
    files = {name for name, one in value.items() if isinstance(one, Mapping) and hasattr(one.get("reader"), "read")}
    if not files:
        return value
    others = {str(name): one for name, one in value.items() if name not in files}
    return Attachments({str(name): _read(str(name), value[name]) for name in value if name in files}, others)


def without_content(value: Any) -> Any:
    """Return attachments of any form as a trace may hold them: with nothing of what the files hold."""
    if isinstance(value := attachments_in(value), Attachments):
        return value.described()
    if isinstance(value, Mapping):
        return {name: without_content(part) for name, part in value.items() if name != _ADDRESS}
    if isinstance(value, (list, tuple)):
        return [without_content(part) for part in value]
    if isinstance(value, str):
        return f"{len(value)} characters" if value.startswith("data:") or len(value) > _LONGEST else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{len(value)} bytes"
    return value if value is None or isinstance(value, (bool, int, float)) else type(value).__name__


def _read(name: str, given: Mapping[str, Any]) -> Attachment:
    reader = given["reader"]
    try:
        data = reader.getvalue() if type(reader) is BytesIO else _whole(reader)  # a subclass may refuse to be read
        content = data.encode() if isinstance(data, str) else bytes(data)
    except Exception as error:  # its text may hold an address that is as good as a key
        raise CaseError(
            f"attachment {name!r} cannot be read ({type(error).__name__}): see the error's cause."
        ) from error
    return Attachment(data=content, mime_type=given.get("mime_type"), presigned_url=given.get("presigned_url"))


def _whole(reader: Any) -> Any:
    if not getattr(reader, "seekable", bool)():
        return reader.read()
    with _READING:
        place = reader.tell()
        try:
            reader.seek(0)
            return reader.read()
        finally:
            reader.seek(place)


# Whose words are judged in a list of messages, as OpenAI and LangChain name the role.
_ANSWERING = frozenset({"assistant", "ai", "AIMessageChunk"})
_ROLES = _ANSWERING | {"user", "human", "system", "developer", "tool", "function"}
_ATTACHED = "attachments"  # the extra that holds images, sounds and files


@dataclass(frozen=True, kw_only=True)
class StructuredCase(AnswerCase):
    """An answer with its input and reference as the application has them.

    `extra` holds what else a judge takes by name. `output`, `input` and `reference` are the same as texts, for reports
    and for judges that read texts. Perturbations change the texts inside the values, where they stand: in a message
    its content, elsewhere every text that is a value, never a key. Of a mapping of several keys, what has no space in
    it is an identifier, an address or a label, and stays as it is when the answer is changed. `extra["attachments"]` as
    LangSmith gives them are read once (`attachments.Attachments`); each call of a judge reads them whole.
    """

    outputs: Any
    inputs: Any = None
    reference_outputs: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what is attached.

        Raises:
            CaseError: an attachment cannot be read.

        """
        if _ATTACHED in self.extra:
            object.__setattr__(self, "extra", _with_attachments(self.extra))

    def afresh(self) -> Self:
        """Return the case for one more call: what is attached is read from its beginning."""
        attached = self.extra.get(_ATTACHED)
        if not isinstance(attached, Attachments):
            return self
        return replace(self, extra={**self.extra, _ATTACHED: attached.afresh()})

    def texts(self) -> tuple[str, ...]:
        """Return the texts of the answer; of a conversation, what the assistant said."""
        return _collected(lambda change: _mapped(self.outputs, change, only_answers=True))

    def all_texts(self) -> tuple[str, ...]:
        """Return every text of answer, input, reference and extras."""
        return _collected(self.with_all_texts)

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with the texts of the answer changed."""
        outputs = _mapped(self.outputs, change, only_answers=True)
        return replace(self, outputs=outputs, output=value_text(outputs))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with every text changed."""
        inputs, outputs, reference = (_mapped(v, change) for v in (self.inputs, self.outputs, self.reference_outputs))
        return replace(
            self,
            **_values(inputs, outputs, reference),
            extra={n: v if n == _ATTACHED else _mapped(v, change) for n, v in self.extra.items()},
        )


def structured_case(
    *, case_id: str | None = None, outputs: Any, inputs: Any = None, reference_outputs: Any = None, **fields: Any
) -> StructuredCase:
    """Return a case of values; `fields` are further fields of `StructuredCase`.

    Without a `case_id` it is a digest of the values, `extra` and what attachments hold included. An empty `extra` is
    none, so that the same answer has one id wherever it is judged.

    Raises:
        CaseError: a value contains itself, or an attachment cannot be read.

    """
    for name, value in {"outputs": outputs, "inputs": inputs, "reference_outputs": reference_outputs}.items():
        if _contains_itself(value, frozenset()):
            raise CaseError(f"{name} contain themselves: give values that come to an end.")
    if fields.get("extra"):
        fields["extra"] = _with_attachments(fields["extra"])
    if case_id is None:
        content = _json([inputs, outputs, reference_outputs, fields.get("extra") or None])
        case_id = "case-" + hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:12]
    return StructuredCase(case_id=case_id, **_values(inputs, outputs, reference_outputs), **fields)


def own_copy(value: Any) -> Any:
    """Return a deep copy for one call of a judge, which may change what it is given.

    A part that cannot be copied is shared, a lock say, and with it what an object that is no dataclass holds beside
    one. Attachments become a dict with readers of its own.
    """
    if isinstance(value, Attachments):
        return {**value.afresh(), **{name: own_copy(other) for name, other in value.others.items()}}
    with suppress(Exception):
        return copy.deepcopy(value)
    shared: dict[int, Any] = {}
    _note_shared(value, shared, set())
    with suppress(Exception):
        return copy.deepcopy(value, shared)
    if isinstance(value, Mapping):
        return {key: own_copy(part) for key, part in value.items()}
    return [own_copy(part) for part in value] if isinstance(value, list) else value


def _note_shared(value: Any, shared: dict[int, Any], seen: set[int]) -> None:
    """Note, by the id of each part that cannot be copied, what stands for it in a copy: a memo for `deepcopy`."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value) is dict:
        parts: Iterable[Any] = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, one.name, None) for one in fields(value)]
    else:
        try:
            copy.deepcopy(value)
        except Exception:  # noqa: BLE001 - clients, locks, whatever an application returns
            mapping = isinstance(value, Mapping)
            shared[id(value)] = {key: own_copy(part) for key, part in value.items()} if mapping else value
        return
    for part in parts:
        _note_shared(part, shared, seen)


def _with_attachments(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    if _ATTACHED not in extra:
        return extra
    return {**extra, _ATTACHED: attachments_in(extra[_ATTACHED])}


def _contains_itself(value: Any, around: frozenset[int]) -> bool:
    if not isinstance(value, (Mapping, list, tuple)):
        return False
    inside, parts = around | {id(value)}, value.values() if isinstance(value, Mapping) else value
    return id(value) in around or any(_contains_itself(part, inside) for part in parts)


def _values(inputs: Any, outputs: Any, reference_outputs: Any) -> dict[str, Any]:
    return {
        "inputs": inputs,
        "outputs": outputs,
        "reference_outputs": reference_outputs,
        "input": None if inputs is None else value_text(inputs),
        "output": "" if outputs is None else value_text(outputs),
        "reference": None if reference_outputs is None else value_text(reference_outputs),
    }


def value_text(value: Any) -> str:
    """Return a value as text: a text as it is, the one text of a mapping with a single key, JSON otherwise."""
    if isinstance(value, Mapping) and len(value) == 1:
        (only,) = value.values()
        if isinstance(only, str):
            return only
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):  # keys that are no texts, or a value that contains itself
        return repr(value)


def _plain(value: Any) -> Any:
    """Return what JSON can keep of an object: what a message says and calls, a model as its fields."""
    if _is_message(value):
        said = {"role": getattr(value, "type", type(value).__name__), "content": value.content}
        calls = getattr(value, "tool_calls", None)
        return said | ({"tool_calls": calls} if calls else {})
    if isinstance(value, Attachments):
        return value.compared()
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def _is_message(value: Any) -> bool:
    return hasattr(value, "content") and hasattr(value, "model_copy")


def _collected(visit: Callable[[Callable[[str], str]], object]) -> tuple[str, ...]:
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    visit(note)
    return tuple(found)


def _mapped(value: Any, change: Callable[[str], str], *, only_answers: bool = False, prose: bool = True) -> Any:
    """Return a copy of a value with every readable text changed; the value itself stays as it is.

    Args:
        value: what an application has.
        change: changes a text.
        only_answers: change the answer: what the assistant said of a conversation, and no identifiers.
        prose: whether a text without any space may be one to read.

    """
    if isinstance(value, str):
        return change(value) if value.strip() and (prose or len(value.split()) > 1) else value
    if _is_message(value):
        said = not only_answers or getattr(value, "type", None) in _ANSWERING
        return value.model_copy(update={"content": _content(value.content, change)}) if said else value
    if isinstance(value, Mapping):
        return _mapped_mapping(value, change, only_answers=only_answers, prose=prose)
    if _is_pair(value):
        role, content = value
        return (role, change(content)) if content.strip() and (not only_answers or role in _ANSWERING) else value
    if isinstance(value, (list, tuple)):
        parts = [_mapped(part, change, only_answers=only_answers, prose=prose) for part in value]
        return tuple(parts) if type(value) is tuple else parts
    return value


def _is_pair(value: Any) -> bool:
    """Whether a value is a message as LangChain takes it, too: a tuple of role and text."""
    texts = type(value) is tuple and len(value) == 2 and all(isinstance(part, str) for part in value)  # noqa: PLR2004
    return texts and value[0] in _ROLES


def _mapped_mapping(
    value: Mapping[Any, Any], change: Callable[[str], str], *, only_answers: bool, prose: bool
) -> dict[Any, Any]:
    role = value.get("role")
    if isinstance(role, str) and (role in _ROLES or "content" in value):
        said = "content" in value and (not only_answers or role in _ANSWERING)
        return {**value, "content": _content(value["content"], change)} if said else dict(value)
    prose = prose and (len(value) == 1 or not only_answers)
    return {k: _mapped(v, change, only_answers=only_answers, prose=prose) for k, v in value.items()}


def _content(content: Any, change: Callable[[str], str]) -> Any:
    """Return a message's content with its texts changed; images, files and tool calls in it stay."""
    if isinstance(content, str):
        return change(content) if content.strip() else content
    if isinstance(content, list):
        return [_content(block, change) for block in content]
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return {**content, "text": change(content["text"])}
    return content
