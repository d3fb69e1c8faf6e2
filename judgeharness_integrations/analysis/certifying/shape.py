"""What a saved certificate holds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from judgeharness_integrations.analysis.calibration.savedshape import PopulationShape
from judgeharness_integrations.verdictlog.shapes import Count, Number, Positive, Shape, Short, Text

_Share = Annotated[Number, Field(gt=0, lt=1)]


class _Step(Shape):
    threshold: Number
    labelled: Count
    clusters: Count
    wrong: Count
    covered: Count
    p: Number | None


class _Refusal(Shape):
    reason: Text
    labels: Positive | None
    votes: Positive | None


class _Selection(Shape):
    criterion: Text
    stratum: Text | None
    cases: Positive
    labelled: Count
    levels: Count
    of_scores: bool
    threshold: Number | None
    covered: Count
    steps: list[_Step]
    refusal: _Refusal | None
    untold: Text = ""
    clusters: Count | None = None
    samples: Count | None = None
    thin: Count | None = None
    population: PopulationShape | None = None
    map: dict[str, Any] | None = None


class CertificateShape(Shape):
    """A certificate as `Certificate.to_dict` writes it."""

    name: Text
    judge: Text
    source: Text
    consensus: Text
    excluded_ties: Count
    measured_at: Short
    parts: dict[str, Any] | None
    design: dict[str, Any] | None
    agreement: _Share
    delta: _Share
    score: Text
    tolerance: Annotated[Number, Field(ge=0)]
    stratum: Text | None
    curtailed: bool
    selections: list[_Selection]
    candidates: Positive = 1
    tests: Positive | None = None
