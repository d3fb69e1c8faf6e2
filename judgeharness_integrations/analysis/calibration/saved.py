"""What was measured on a label set: saved, loaded, and valid only for the configuration it was measured on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from judgeharness_integrations._documents import document_schema
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations._lazy import Rendered
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..fingerprint import Fingerprint, design_of_parts
from ..statistics.agreement import Kappa
from ..statistics.means import Estimate
from .controls import Controls
from .items import LabelledItem, PartName, simultaneous_level
from .measure import CriterionCalibration
from .population import Population
from .rates import ClassRates, Rate, RiskCoverage, RiskPoint, ScoreErrors
from .strata import Selection, Strata, stratum_text

if TYPE_CHECKING:
    from os import PathLike

    from pydantic_core import CoreSchema

    from judgeharness_integrations.verdictlog.shapes import Shape

DEFAULT_MAX_AGE = timedelta(days=30)
_CLOCK_SKEW = timedelta(days=1)
_DAMAGED = (KeyError, TypeError, ValueError, AttributeError)


def load_document(path: str | PathLike[str], kind: str) -> dict[str, Any]:
    """Return the JSON object that `save_document` wrote of a kind of measurement, which the errors name.

    Raises:
        ConfigError: the file cannot be read or holds something else.

    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{kind} {path} cannot be read ({reason}): give the file of a saved {kind}.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{kind} {path} is not a JSON object.")
    return data


def save_document(document: Mapping[str, Any], path: str | PathLike[str]) -> Path:
    """Write what is saved as JSON, for people and programs, and return the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", errors=LONE_SURROGATES)
    return path


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


SHARES: Final = "shares of "  # begins the consensus of labels that stay those of several annotators


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
    def soft(self) -> bool:
        """Whether several annotators labelled a case, and its label is the shares of them."""
        return self.consensus.startswith(SHARES)

    @property
    def fingerprint(self) -> str | None:
        """Digest of the configuration it was measured on."""
        return None if self.parts is None else Fingerprint(self.parts).digest

    @property
    def known_design(self) -> Mapping[str, Any]:
        """What is known of its design; of one saved without one, what the fingerprint covers."""
        return design_of_parts(self.parts or {}) if self.design is None else self.design

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
        expired = expiry(self.measured_at, now=now, max_age=max_age)
        return CalibrationState(status="expired" if expired else "valid", reason=expired)

    def record(self, state: CalibrationState) -> dict[str, Any]:
        """Return which measurement is in use and whether it holds, as results and summaries keep it."""
        return {
            "source": self.name,
            "labels": self.source,
            "status": state.status,
            "reason": state.reason,
            "measured_at": self.measured_at,
        }

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON keeps it."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a measurement from `to_dict`.

        Raises:
            ConfigError: it is of another schema or incomplete.

        """
        from judgeharness_integrations.verdictlog.shapes import misplaced  # noqa: PLC0415 - pydantic, which few need

        if data.get("schema") != cls.SCHEMA:
            raise ConfigError(f"not a {cls.KIND} of schema {cls.SCHEMA}: found {data.get('schema')!r:.60}.")
        if misfit := misplaced(cls._shape(), data):
            raise ConfigError(f"the {cls.KIND} is incomplete or damaged ({misfit!r}): measure it again.")
        try:
            known: dict[str, Any] = {one.name: data.get(one.name) for one in fields(SavedMeasurement)}
            instant(data["measured_at"])
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
        return save_document(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a saved measurement.

        Raises:
            ConfigError: the file cannot be read or holds something else.

        """
        return cls.from_dict(load_document(path, cls.KIND))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let pydantic models have it as a field, written by `to_dict` and read by `from_dict`."""
        return document_schema(cls, read=cls.from_dict, write=lambda saved: saved.to_dict())


def expiry(measured_at: str, *, now: datetime, max_age: timedelta = DEFAULT_MAX_AGE) -> str:
    """Return why what was measured then (ISO 8601, with offset) does not hold now; nothing where it does."""
    age = now - instant(measured_at)
    if age > max_age:
        return f"{_age(age)} old, allowed {_age(max_age)}"
    return f"dated {measured_at}, which is in the future" if age < -_CLOCK_SKEW else ""


def answer_expiry(measured_at: str, row: VerdictRow, *, now: datetime | None = None) -> str:
    """Return that an answer and a measurement lie too far apart, whichever came first; nothing where they do not.

    Args:
        measured_at: when that was, as an ISO 8601 time with offset.
        row: the answer.
        now: when one came that does not say; None where nobody knows, which tells nothing against it.

    """
    asked, measured = known_instant(row.asked_at or "") or now, instant(measured_at)
    if asked is None or abs(asked - measured) <= DEFAULT_MAX_AGE:
        return ""
    side = "before" if measured < asked else "after"
    return f"{abs(asked - measured).days} days {side} these answers, allowed {DEFAULT_MAX_AGE.days}"


def last_asked(rows: Iterable[VerdictRow]) -> str | None:
    """Return when the last of these answers came (ISO 8601); None if unknown."""
    asked = [time for row in rows if (time := known_instant(row.asked_at or ""))]
    return max(asked).isoformat() if asked else None


def labelled_last_asked(rows: Iterable[VerdictRow]) -> str | None:
    """Return when the last answer about a case with gold came, as `last_asked`.

    A measurement is as old as the answers it compares with labels; later ones about other cases make it no younger.
    """
    listed = list(rows)
    labelled = {row.case_id for row in listed if row.gold is not None}
    return last_asked(row for row in listed if row.case_id in labelled)


def known_instant(text: str) -> datetime | None:
    """Return a time with offset from ISO 8601; None of any other text."""
    try:
        return instant(text)
    except ValueError:
        return None


def instant(text: str) -> datetime:
    """Return a time with offset from ISO 8601.

    Raises:
        ValueError: it is none, or has no offset.

    """
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return found


def _age(span: timedelta) -> str:
    return f"{span.days} days" if span.days else f"{span.seconds / 3600:.3g} hours"


_RATES = ("precision", "recall", "accuracy", "coverage", "base_rate", "sensitivity", "specificity")
_RENAMED = {"accuracy_decided": "accuracy"}
_ESTIMATES = ("ac1", "balanced_accuracy", "macro_f1", "spearman", "kendall", "quadratic_kappa")


def criterion_from_dict(data: Mapping[str, Any]) -> CriterionCalibration:
    """Rebuild what `dataclasses.asdict` made of a `CriterionCalibration`.

    Measures it was saved without are None, and those saved under a former name have today's.

    Raises:
        TypeError, ValueError, KeyError, AttributeError: it is something else.

    """
    parts: dict[str, Any] = {
        name: _PARTS[name](value) if name in _PARTS and value is not None else value
        for name, value in _renamed(data).items()
    }
    return CriterionCalibration(**parts)


def _renamed(measures: Mapping[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): value for name, value in measures.items()}


def _errors(data: Mapping[str, Any]) -> ScoreErrors:
    intervals = ("mean_absolute_error_interval", "bias_interval")
    parts: dict[str, Any] = {
        name: tuple(value) if name in intervals and value is not None else value for name, value in data.items()
    }
    return ScoreErrors(**parts)


def _classes(data: Mapping[str, Any]) -> dict[str, ClassRates]:
    classes: dict[str, ClassRates] = {}
    for label, rates in data.items():
        parts: dict[str, Any] = {name: value if name == "support" else _rate(value) for name, value in rates.items()}
        classes[label] = ClassRates(**parts)
    return classes


def _rate(data: Mapping[str, Any] | None) -> Rate | None:
    return None if data is None else Rate(**data)


def _curve(data: Mapping[str, Any]) -> RiskCoverage:
    points = tuple(RiskPoint(**point) for point in data["points"])
    return RiskCoverage(**{**data, "points": points})


_PARTS: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(_RATES, _rate),
    **dict.fromkeys(_ESTIMATES, lambda value: Estimate(**value)),
    "kappa": lambda value: Kappa(**value),
    "errors": _errors,
    "controls": Controls.from_dict,
    "per_class": _classes,
    "risk_coverage": _curve,
    "selection": lambda value: Selection(**value),
    "plain": lambda value: {name: tuple(ends) for name, ends in _renamed(value).items()},
    "undefined": _renamed,
    "strata": Strata.from_dict,
    "columns": lambda value: tuple(map(Strata.from_dict, value)),
}


SCHEMA = "judgeharness.calibration/1"


@dataclass(frozen=True, kw_only=True)
class CalibrationReport(SavedMeasurement, Rendered):
    """The rule's decisions against one label set.

    `items` are the labelled items it was measured on, for a later drift check; none in calibrations saved before there
    were any. `candidates` judges, prompts and rules were measured on these labels, this one included, by the time it
    was; None where that is not known. `part` is which of the labelled cases it was measured on, where the share
    `holdout` of them was held back. What all measurements on labels have: see `SavedMeasurement`.
    """

    KIND: ClassVar[str] = "calibration"
    SCHEMA: ClassVar[str] = SCHEMA

    criteria: Mapping[str, CriterionCalibration]
    items: tuple[LabelledItem, ...] = field(default=(), repr=False)
    candidates: int | None = None
    part: PartName = "all"
    holdout: float | None = None

    population: Population | None = field(default=None, repr=False)

    @property
    def confidence(self) -> float:
        """The confidence of each of its intervals: .95, of several candidates so much that all hold together at .95."""
        return simultaneous_level(self.candidates or 1)

    @property
    def word(self) -> str:
        """`calibrated`, or `agreement with <model>`."""
        return "calibrated" if self.calibrated else f"agreement with {self.source.removeprefix('model:')}"

    def unusable(self, state: CalibrationState, criteria: Iterable[str]) -> Iterator[str]:
        """Yield why its numbers are not those of a result, or of some criteria of it."""
        if not state.valid:
            yield f"the calibration on {self.name} is not used: {state}"
        elif missing := [criterion for criterion in criteria if criterion not in self.criteria]:
            yield f"the calibration on {self.name} is not used for {', '.join(missing)}: it has no labels of it"

    def untold(self, criterion: str | None = None) -> str:
        """Return why the labels cannot tell the judge from one that reads nothing; of all criteria, which ones."""
        if criterion is not None or len(self.criteria) == 1:
            found = self.criteria.get(criterion) if criterion is not None else next(iter(self.criteria.values()))
            return "" if found is None else found.untold
        return "; ".join(f"{name}: {found.untold}" for name, found in self.criteria.items() if found.untold)

    def unlabelled_stratum(self, stratum: str | None) -> str:
        """Return that no labelled case is of a case's stratum; empty where one is, and without strata.

        Args:
            stratum: what the case says in the column of the strata (`population.column`); None where it says nothing.

        """
        known = self.population
        if known is None or known.column is None or stratum in known.strata:
            return ""
        where = f"no {known.column}" if stratum is None else f"the {known.column} {stratum_text(stratum)}"
        return (
            f"{self.name} holds no labels of cases with {where}, as this one: how right the rule is there is not known"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it."""
        document = {"schema": SCHEMA, **asdict(replace(self, items=())), "fingerprint": self.fingerprint}
        document["confidence"] = self.confidence
        return document | {"items": [item.to_dict() for item in self.items]}

    @classmethod
    def _shape(cls) -> type[Shape]:
        from .savedshape import CalibrationShape  # noqa: PLC0415 - pydantic

        return CalibrationShape

    @classmethod
    def _own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        criteria = {name: criterion_from_dict(value) for name, value in data["criteria"].items()}
        items = tuple(map(LabelledItem.from_dict, data.get("items", ())))
        kept: dict[str, Any] = {name: data[name] for name in ("candidates", "part", "holdout") if name in data}
        known = data.get("population")
        kept["population"] = None if known is None else Population.from_dict(known)
        return {"criteria": criteria, "items": items, **kept}
