"""Conversations of a user's own, as text a model can read."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, ValidationError

from judgeharness_integrations._errors import LogFormatError, UsageError
from judgeharness_integrations.benchmark.documents.content import text_of_file
from judgeharness_integrations.benchmark.documents.finding import found_files
from judgeharness_integrations.benchmark.records import Record, clean
from judgeharness_integrations.config.problems import at_line, first_problem
from judgeharness_integrations.verdictlog.files import iter_records

__all__ = ["ENDINGS", "Transcript", "read_transcripts"]

ENDINGS: Final = (".jsonl", ".txt", ".md")


class Transcript(Record):
    """A conversation: its id and what was said."""

    transcript_id: str
    text: str

    def shown(self, most: int) -> str:
        """Return the text with its middle left out where it is longer than `most` characters; it is said how much."""
        if len(self.text) <= most:
            return self.text
        begin, end = 2 * most // 3, most // 3
        return f"{self.text[:begin]}\n[{len(self.text) - begin - end} characters left out]\n{self.text[-end:]}"


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    role: InstanceOf[str]
    content: InstanceOf[str] | list[Any] | None


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[InstanceOf[str], BeforeValidator(lambda name: str(name) if type(name) is int else name)]
    text: InstanceOf[str] | None = None
    messages: list[_Message] | None = None


def read_transcripts(paths: Sequence[Path]) -> list[Transcript]:
    """Return the transcripts in files and below folders, in their order.

    A `.txt` or `.md` file is one, named after the file. A `.jsonl` file holds one a line: `id`, and either `text` or
    `messages` (`[{"role": "user", "content": ...}, ...]`; of content in parts, the texts); other keys are not looked
    at.

    Raises:
        UsageError: a file or line cannot be read or holds nothing, or an id stands twice; the place is named.

    """
    made: dict[str, Transcript] = {}
    for found in found_files(paths, endings=ENDINGS, what="a transcript"):
        lines = found.path.suffix.lower() == ".jsonl"
        for where, transcript in _lines(found.path) if lines else _whole(found.path, made):
            if not transcript.text.strip():
                raise UsageError(f"{where} holds no text: leave it out.")
            if transcript.transcript_id in made:
                raise UsageError(f"{where}: the id {transcript.transcript_id!r} stands twice: give each its own.")
            made[transcript.transcript_id] = transcript
    if not made:
        raise UsageError("there is no transcript: give files or folders that hold some.")
    return list(made.values())


def _whole(path: Path, known: Container[str]) -> Iterator[tuple[str, Transcript]]:
    """Yield the transcript of a text file; one of the same name in another folder gets a number."""
    name, number = clean(path.stem), 1
    while (transcript_id := name if number == 1 else f"{name}-{number}") in known:
        number += 1
    yield str(path), Transcript(transcript_id=transcript_id, text=clean(text_of_file(path)))


def _lines(path: Path) -> Iterator[tuple[str, Transcript]]:
    try:
        for number, record in iter_records(path):
            where = f"{path}, line {number}"
            try:
                line = _Line.model_validate(record)
            except ValidationError as error:
                raise at_line(first_problem(error.errors(include_url=False), where, _Line), where) from None
            yield where, Transcript(transcript_id=clean(line.id), text=clean(_said(line, where)))
    except LogFormatError as error:
        raise UsageError(str(error).replace("a row is", "a transcript is")) from error


def _said(line: _Line, where: str) -> str:
    if (line.text is None) == (line.messages is None):
        raise UsageError(f"{where}: a transcript has either text or messages: give one of them.")
    if line.messages is None:
        return line.text or ""
    said = ((message.role, _content(message.content)) for message in line.messages)
    return "\n\n".join(f"{role.strip().capitalize()}: {content}" for role, content in said if content.strip())


def _content(content: str | Sequence[Any] | None) -> str:
    """Return what a message says; of content in parts, the texts."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n".join(text for text in texts if isinstance(text, str))
