"""How the benchmark's records are kept: frozen, checked when they are read, the same bytes for the same content."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from judgeharness_integrations._errors import CaseError

__all__ = ["Record", "clean"]


class Record(BaseModel):
    """A frozen record; `to_line` and `from_line` are its JSON line and back."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON keeps it."""
        return self.model_dump(mode="json", by_alias=True)

    def to_line(self) -> str:
        """Return one line of JSON; the same record always gives the same line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Any, *, where: str) -> Self:
        """Return the record that JSON holds.

        Raises:
            CaseError: it is none; the message names `where` and the first thing that is wrong.

        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"])) or "the record"
            raise CaseError(f"{where}: {place}: {first['msg']}.") from error


def clean(text: str) -> str:
    """Return a text of a model or a file as records keep it: without lone surrogates and NUL, which no file holds."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
