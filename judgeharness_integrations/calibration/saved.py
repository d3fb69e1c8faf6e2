"""What was measured on a label set: saved, loaded, and valid only for the configuration it was measured on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from judgeharness_integrations._documents import document_schema
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.calibration.designs import of_parts
from judgeharness_integrations.design import Fingerprint
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

if TYPE_CHECKING:
    from os import PathLike

    from pydantic_core import CoreSchema

    from judgeharness_integrations._shapes import Shape
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["DEFAULT_MAX_AGE", "CalibrationState", "SavedMeasurement", "labelled_last_asked", "last_asked"]

DEFAULT_MAX_AGE = timedelta(days=30)
_CLOCK_SKEW = timedelta(days=1)
_DAMAGED = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, kw_only=True)
class CalibrationState:
    """Whether a calibration or certificate holds: `valid`, `expired`, `unverifiable` or `shifted`, and why not.

    `shifted` is said of a whole run only, whose cases are not like the labelled ones (`calibration.transport`).
    """

    status: Literal["valid", "expired", "unverifiable", "shifted"]
    reason: str = ""

    @property
    def valid(self) -> bool:
        """Whether its numbers may be printed as calibrated."""
        return self.status == "valid"

    def __str__(self) -> str:
        """Return the status with its reason."""
        return f"{self.status}: {self.reason}" if self.reason else self.status


@dataclass(frozen=True, kw_only=True)
class SavedMeasurement(ABC):
    """A measurement on one label set.

    `source` is where the labels come from: `human`, `executable` or `model:<name>`. `excluded_ties` items were left
    out because their annotators were evenly split. `parts` is what the fingerprint covers; None when the judge has
    no identity. `measured_at` is an ISO 8601 time with offset. `design` says under which rule, perturbations
    and repetitions it was measured, as far as that is known, also where the judge has no identity.
    """

    KIND: ClassVar[str]
    SCHEMA: ClassVar[str]

    name: str
    judge: str
    source: str
    consensus: str
    excluded_ties: int
    measured_at: str
    parts: Mapping[str, Any] | None = field(default=None, repr=False)
    design: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def calibrated(self) -> bool:
        """Whether the labels are people's or executed checks; labels of a model give agreement with that model."""
        return not self.source.startswith("model:")

    @property
    def fingerprint(self) -> str | None:
        """Digest of the configuration it was measured on."""
        return None if self.parts is None else Fingerprint(self.parts).digest

    @property
    def known_design(self) -> Mapping[str, Any]:
        """What is known of its design; of one saved without one, what the fingerprint covers."""
        return of_parts(self.parts or {}) if self.design is None else self.design

    def state(
        self,
        parts: Mapping[str, Any] | None,
        *,
        now: datetime,
        max_age: timedelta = DEFAULT_MAX_AGE,
        unidentified: str | None = None,
    ) -> CalibrationState:
        """Say whether the measurement holds for a configuration.

        Args:
            parts: the fingerprint parts of that configuration; None when its judge has no identity.
            now: the current time, with offset.
            max_age: how old a measurement may be.
            unidentified: why its judge has no identity, where that is known.

        """
        if parts is None:
            reason = "the judge declares no identity" + (f" ({unidentified})" if unidentified else "")
            return CalibrationState(status="unverifiable", reason=reason)
        if self.parts is None:
            reason = "it was measured on a log, or on a judge without an identity"
            return CalibrationState(status="unverifiable", reason=reason)
        if changed := Fingerprint(self.parts).changes(parts):
            return CalibrationState(status="expired", reason=f"{', '.join(changed)} changed")
        age = now - _instant(self.measured_at)
        if age > max_age:
            return CalibrationState(status="expired", reason=f"{_age(age)} old, allowed {_age(max_age)}")
        if age < -_CLOCK_SKEW:
            return CalibrationState(status="expired", reason=f"dated {self.measured_at}, which is in the future")
        return CalibrationState(status="valid")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON keeps it."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a measurement from `to_dict`.

        Raises:
            ConfigError: it is of another schema or incomplete.

        """
        from judgeharness_integrations._shapes import misplaced  # noqa: PLC0415 - pydantic, which few need

        if data.get("schema") != cls.SCHEMA:
            raise ConfigError(f"not a {cls.KIND} of schema {cls.SCHEMA}: found {data.get('schema')!r:.60}.")
        if misfit := misplaced(cls._shape(), data):
            raise ConfigError(f"the {cls.KIND} is incomplete or damaged ({misfit!r}): measure it again.")
        try:
            known: dict[str, Any] = {one.name: data.get(one.name) for one in fields(SavedMeasurement)}
            _instant(data["measured_at"])
            return cls(**known, **cls._own(data))
        except _DAMAGED as error:
            raise ConfigError(f"the {cls.KIND} is incomplete or damaged ({error!r}): measure it again.") from error

    @classmethod
    @abstractmethod
    def _shape(cls) -> type[Shape]:
        """Return what its document holds."""

    @classmethod
    @abstractmethod
    def _own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the document holds beside the fields all measurements have."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the measurement as JSON and return the path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", errors=LONE_SURROGATES)
        return path

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a saved measurement.

        Raises:
            ConfigError: the file cannot be read or holds something else.

        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{cls.KIND} {path} cannot be read ({error}).") from error
        if not isinstance(data, dict):
            raise ConfigError(f"{cls.KIND} {path} is not a JSON object.")
        return cls.from_dict(data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let pydantic models have it as a field, written by `to_dict` and read by `from_dict`."""
        return document_schema(cls, read=cls.from_dict, write=lambda saved: saved.to_dict())


def last_asked(rows: Iterable[VerdictRow]) -> str | None:
    """Return when the last of these answers came (ISO 8601); None if unknown."""
    asked = [time for row in rows if (time := _known_instant(row.asked_at or ""))]
    return max(asked).isoformat() if asked else None


def labelled_last_asked(rows: Iterable[VerdictRow]) -> str | None:
    """Return when the last answer about a case with gold came, as `last_asked`.

    A measurement is as old as the answers it compares with labels; later ones about other cases make it no younger.
    """
    listed = list(rows)
    labelled = {row.case_id for row in listed if row.gold is not None}
    return last_asked(row for row in listed if row.case_id in labelled)


def _known_instant(text: str) -> datetime | None:
    try:
        return _instant(text)
    except ValueError:
        return None


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return instant


def _age(span: timedelta) -> str:
    return f"{span.days} days" if span.days else f"{span.seconds / 3600:.3g} hours"
