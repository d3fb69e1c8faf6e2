"""Documents as lines of JSON: `{"id": ..., "text": ..., "title": ..., "domain": ...}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, ValidationError

from judgeharness_integrations._errors import LogFormatError, UsageError
from judgeharness_integrations.benchmark.documents.content import Content, Passage
from judgeharness_integrations.config.problems import at_line, first_problem
from judgeharness_integrations.verdictlog.files import iter_records

__all__ = ["read_lines"]


def _named(name: object) -> object:
    """Return a number as the text that names it."""
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # pydantic's own texts refuse half an emoji, which a program that cuts texts leaves
    text: InstanceOf[str]
    id: Annotated[InstanceOf[str] | None, BeforeValidator(_named)] = None
    title: InstanceOf[str] | None = None
    domain: InstanceOf[str] | None = None


def read_lines(path: Path) -> Iterator[Content]:
    """Yield the document of each line; only `text` must be there, and no other key may.

    A line without an `id` is named after the file and its number.

    Raises:
        UsageError: the file or a line of it cannot be read, or an id stands twice; file and line are named.

    """
    lines: dict[str, int] = {}
    try:
        for number, record in iter_records(path):
            where = f"{path}, line {number}"
            line = _line(record, where)
            name = line.id or f"{path.stem}-{number}"
            if (earlier := lines.setdefault(name, number)) != number:
                raise UsageError(f"{where}: repeats the id {name!r} of line {earlier}: give each document its own.")
            yield Content(
                name=name,
                title=line.title or name,
                passages=(Passage(text=line.text.replace("\r\n", "\n").replace("\r", "\n")),),
                where=where,
                domain=line.domain,
            )
    except LogFormatError as error:
        raise UsageError(str(error).replace("a row is", "a document is")) from error


def _line(record: object, where: str) -> _Line:
    try:
        return _Line.model_validate(record)
    except ValidationError as error:
        raise at_line(first_problem(error.errors(include_url=False), where, _Line), where) from None
