"""What a saved passport holds, but for the insides of its questions and of the canary, and what a map holds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from judgeharness_integrations.analysis.calibration.savedshape import PopulationShape
from judgeharness_integrations.verdictlog.shapes import Count, Number, Positive, Shape, Short, Text

_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class MapShape(Shape):
    """A map as `ProbabilityMap.to_dict` writes it."""

    kind: Short
    options: Annotated[list[Text], Field(min_length=2)]
    labels: Count
    temperature: Annotated[Number, Field(gt=0)]
    biases: list[Number]
    knots: list[Annotated[list[_Share], Field(min_length=2, max_length=2)]]


class PassportShape(Shape):
    """A passport as `Passport.to_dict` writes it."""

    name: Text
    judge: Text
    source: Text
    consensus: Text
    excluded_ties: Count
    measured_at: Short
    parts: dict[str, Any] | None
    design: dict[str, Any] | None
    questions: list[dict[str, Any]]
    models: list[Text]
    candidates: Positive
    population: PopulationShape | None
    canary: dict[str, Any] | None
