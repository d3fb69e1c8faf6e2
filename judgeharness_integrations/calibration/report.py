"""A calibration that was measured: saved, loaded, and valid only for the configuration it was measured on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from judgeharness_integrations._rendering import Rendered
from judgeharness_integrations.calibration.holdout import PartName
from judgeharness_integrations.calibration.items import LabelledItem
from judgeharness_integrations.calibration.measure import CriterionCalibration
from judgeharness_integrations.calibration.population import Population
from judgeharness_integrations.calibration.rebuilding import criterion_from_dict
from judgeharness_integrations.calibration.saved import DEFAULT_MAX_AGE, CalibrationState, SavedMeasurement
from judgeharness_integrations.calibration.simultaneous import simultaneous_level
from judgeharness_integrations.calibration.strata import stratum_text

if TYPE_CHECKING:
    from judgeharness_integrations._shapes import Shape

__all__ = ["DEFAULT_MAX_AGE", "CalibrationReport", "CalibrationState"]

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
        """Return why the labels cannot tell the judge from a constant one; of all criteria, which ones that is of."""
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
        from judgeharness_integrations.calibration.shape import CalibrationShape  # noqa: PLC0415 - pydantic

        return CalibrationShape

    @classmethod
    def _own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        criteria = {name: criterion_from_dict(value) for name, value in data["criteria"].items()}
        items = tuple(map(LabelledItem.from_dict, data.get("items", ())))
        kept: dict[str, Any] = {name: data[name] for name in ("candidates", "part", "holdout") if name in data}
        known = data.get("population")
        kept["population"] = None if known is None else Population.from_dict(known)
        return {"criteria": criteria, "items": items, **kept}
