"""A calibration that was measured: saved, loaded, and valid only for the configuration it was measured on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from judgeharness_integrations._documents import document_schema
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.calibration.designs import of_parts
from judgeharness_integrations.calibration.items import LabelledItem
from judgeharness_integrations.calibration.measure import CriterionCalibration
from judgeharness_integrations.calibration.rebuilding import criterion_from_dict
from judgeharness_integrations.fingerprint import Fingerprint
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from pydantic_core import CoreSchema

__all__ = ["DEFAULT_MAX_AGE", "CalibrationReport", "CalibrationState"]

SCHEMA = "judgeharness.calibration/1"
DEFAULT_MAX_AGE = timedelta(days=30)
_CLOCK_SKEW = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class CalibrationState:
    """Whether a calibration holds for a configuration: `valid`, `expired` (with the reason) or `unverifiable`."""

    status: Literal["valid", "expired", "unverifiable"]
    reason: str = ""

    @property
    def valid(self) -> bool:
        """Whether its numbers may be printed as calibrated."""
        return self.status == "valid"

    def __str__(self) -> str:
        """Return the status with its reason."""
        return f"{self.status}: {self.reason}" if self.reason else self.status


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """The rule's decisions against one label set.

    `source` is where the labels come from: `human`, `executable` or `model:<name>`. `excluded_ties` items were left
    out because their annotators were evenly split. `parts` is what the fingerprint covers; None when the judge has
    no identity. `measured_at` is an ISO 8601 time with offset. `items` are the labelled items it was measured on, for
    a later drift check; none in calibrations saved before there were any. `design` says under which rule, perturbations
    and repetitions it was measured, as far as that is known, also where the judge has no identity.
    """

    name: str
    judge: str
    source: str
    consensus: str
    excluded_ties: int
    criteria: Mapping[str, CriterionCalibration]
    measured_at: str
    parts: Mapping[str, Any] | None = field(default=None, repr=False)
    items: tuple[LabelledItem, ...] = field(default=(), repr=False)
    design: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def calibrated(self) -> bool:
        """Whether the labels are people's or executed checks; labels of a model give agreement with that model."""
        return not self.source.startswith("model:")

    @property
    def word(self) -> str:
        """`calibrated`, or `agreement with <model>`."""
        return "calibrated" if self.calibrated else f"agreement with {self.source.removeprefix('model:')}"

    @property
    def known_design(self) -> Mapping[str, Any]:
        """What is known of its design; of a calibration saved without one, what the fingerprint covers."""
        return of_parts(self.parts or {}) if self.design is None else self.design

    @property
    def fingerprint(self) -> str | None:
        """Digest of the configuration it was measured on."""
        return None if self.parts is None else Fingerprint(self.parts).digest

    def state(
        self,
        parts: Mapping[str, Any] | None,
        *,
        now: datetime,
        max_age: timedelta = DEFAULT_MAX_AGE,
        unidentified: str | None = None,
    ) -> CalibrationState:
        """Say whether the calibration holds for a configuration.

        Args:
            parts: the fingerprint parts of that configuration; None when its judge has no identity.
            now: the current time, with offset.
            max_age: how old a calibration may be.
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

    def unusable(self, state: CalibrationState, criteria: Iterable[str]) -> Iterator[str]:
        """Yield why its numbers are not those of a result, or of some criteria of it."""
        if not state.valid:
            yield f"the calibration on {self.name} is not used: {state}"
        elif missing := [criterion for criterion in criteria if criterion not in self.criteria]:
            yield f"the calibration on {self.name} is not used for {', '.join(missing)}: it has no labels of it"

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a criterion and measure as a data frame (`reporting.frames.calibration_frame`).

        Raises:
            NotInstalledError: pandas is not installed.

        """
        from judgeharness_integrations.reporting.frames import calibration_frame  # noqa: PLC0415 - needed by few

        return calibration_frame(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from judgeharness_integrations.reporting.fragments import calibration_fragment  # noqa: PLC0415 - needed by few

        return calibration_fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it."""
        document = {"schema": SCHEMA, **asdict(replace(self, items=())), "fingerprint": self.fingerprint}
        return document | {"items": [item.to_dict() for item in self.items]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CalibrationReport:
        """Rebuild a report from `to_dict`.

        Raises:
            ConfigError: it is of another schema or incomplete.

        """
        from judgeharness_integrations._shapes import misplaced  # noqa: PLC0415 - pydantic, which few need
        from judgeharness_integrations.calibration.shape import CalibrationShape  # noqa: PLC0415

        if data.get("schema") != SCHEMA:
            raise ConfigError(f"not a calibration of schema {SCHEMA}: found {data.get('schema')!r:.60}.")
        if misfit := misplaced(CalibrationShape, data):
            raise ConfigError(f"the calibration is incomplete or damaged ({misfit!r}): measure it again.")
        try:
            known = {name: data[name] for name in cls.__dataclass_fields__ if name not in {"items", "design"}}
            items = tuple(map(LabelledItem.from_dict, data.get("items", ())))
            _instant(known["measured_at"])
            criteria = {name: criterion_from_dict(value) for name, value in known.pop("criteria").items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"the calibration is incomplete or damaged ({error!r}): measure it again.") from error
        return cls(criteria=criteria, items=items, design=data.get("design"), **known)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the report as JSON and return the path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", errors=LONE_SURROGATES)
        return path

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CalibrationReport:
        """Read a saved report.

        Raises:
            ConfigError: the file cannot be read or is no calibration.

        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"calibration {path} cannot be read ({error}).") from error
        if not isinstance(data, dict):
            raise ConfigError(f"calibration {path} is not a JSON object.")
        return cls.from_dict(data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let pydantic models have it as a field, written by `to_dict` and read by `from_dict`."""
        return document_schema(cls, read=cls.from_dict, write=lambda report: report.to_dict())


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return instant


def _age(span: timedelta) -> str:
    return f"{span.days} days" if span.days else f"{span.seconds / 3600:.3g} hours"
