"""Images, sounds and files that go with what is judged: read once, whole for whoever reads them next."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from threading import Lock
from typing import Any

from judgeharness_integrations._errors import CaseError

__all__ = ["Attachment", "Attachments", "attachments_in", "without_content"]

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
