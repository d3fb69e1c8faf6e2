"""What saved calibrations, certificates and passports hold, as pydantic reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AliasChoices, Field, model_validator

from judgeharness_integrations.verdictlog.shapes import Count, Number, Positive, Shape, Short, Text

_MOST_BINS = 1_000


_Verdict: TypeAlias = Text | Number | list[Text]


class _Item(Shape):
    case_id: Text
    criterion: Text
    gold: _Verdict
    verdict: _Verdict | None
    status: Literal["decided", "abstained", "not_graded"]


_Interval: TypeAlias = Annotated[Sequence[Number], Field(min_length=2, max_length=2)]


class _Rate(Shape):
    successes: Count
    trials: Positive
    low: Number
    high: Number

    @model_validator(mode="after")
    def _share(self) -> Self:
        if self.successes > self.trials:
            raise ValueError("more successes than trials")
        return self


class _Kappa(Shape):
    value: Number
    se: Number | None
    n: Count
    low: Number | None = None
    high: Number | None = None


class _Estimate(Shape):
    value: Number
    low: Number | None
    high: Number | None
    n: Count


class _Errors(Shape):
    n: Count
    mean_absolute_error: Number
    root_mean_squared_error: Number
    bias: Number
    mean_absolute_error_interval: _Interval | None = None
    bias_interval: _Interval | None = None


class _Class(Shape):
    precision: _Rate | None
    recall: _Rate | None
    support: Count


class _RiskPoint(Shape):
    threshold: Number
    n: Positive
    coverage: Number
    accuracy: Number
    low: Number
    high: Number


class _RiskCoverage(Shape):
    points: Sequence[_RiskPoint]
    aurc: Number
    n: Positive
    unordered: Count


class _Control(Shape):
    name: Text
    says: Text
    value: Number | None
    n: Count
    advantage: _Estimate | None
    reason: Text


class _Controls(Shape):
    value: Number
    n: Positive
    scored: bool
    listed: Annotated[Sequence[_Control], Field(min_length=1)]
    of: Literal["decided", "labelled"] = "decided"


class _Selection(Shape):
    labelled: dict[Text, Count]
    unlabelled: dict[Text, Count]
    decision: Text
    p: Number


class _Stratum(Shape):
    stratum: Text
    n: Positive
    precision: _Rate | None
    recall: _Rate | None


class _Strata(Shape):
    column: Text
    listed: Sequence[_Stratum]
    p: dict[Text, Number | None]
    missing: Count
    reason: Text


class _CriterionPopulation(Shape):
    decisions: dict[Text, Count]
    consistency: dict[Text, Count]


class PopulationShape(Shape):
    """Counts of cases as `Population` keeps them."""

    cases: Count
    copies: Annotated[Number, Field(ge=1)]
    criteria: dict[Text, _CriterionPopulation]
    lengths: dict[Text, dict[Text, Count]]
    column: Text | None
    strata: dict[Text, Count]
    columns: dict[Text, dict[Text, Count]] = Field(default_factory=dict)  # not saved by earlier versions

    @model_validator(mode="after")
    def _bins(self) -> Self:
        known = [*(one.consistency for one in self.criteria.values()), *self.lengths.values()]
        for name in (name for counts in known for name in counts):
            if not -_MOST_BINS <= float(name) <= _MOST_BINS:  # also of what is no number
                raise ValueError(f"{name!r:.40} is no bin")
        for name in (name for counts in self.lengths.values() for name in counts):
            int(name)
        return self


class _Criterion(Shape):
    criterion: Text
    n: Count
    positive: Text | None
    confusion: dict[Text, dict[Text, Count]]
    precision: _Rate | None
    recall: _Rate | None
    accuracy: _Rate | None = Field(validation_alias=AliasChoices("accuracy", "accuracy_decided"))  # the former name
    coverage: _Rate | None
    base_rate: _Rate | None
    kappa: _Kappa | None
    errors: _Errors | None
    reason: Text
    # measures that earlier versions did not save
    sensitivity: _Rate | None = None
    specificity: _Rate | None = None
    ac1: _Estimate | None = None
    per_class: dict[Text, _Class] = Field(default_factory=dict)
    macro_f1: _Estimate | None = None
    spearman: _Estimate | None = None
    kendall: _Estimate | None = None
    quadratic_kappa: _Estimate | None = None
    risk_coverage: _RiskCoverage | None = None
    undefined: dict[Text, Text] = Field(default_factory=dict)
    clusters: Positive | None = None
    balanced_accuracy: _Estimate | None = None
    controls: _Controls | None = None
    selection: _Selection | None = None
    plain: dict[Text, _Interval] = Field(default_factory=dict)
    strata: _Strata | None = None
    columns: Sequence[_Strata] = ()


class _MeasurementShape(Shape):
    """What every saved measurement has."""

    name: Text
    judge: Text
    source: Text
    consensus: Text
    excluded_ties: Count
    measured_at: Short
    parts: dict[str, Any] | None


class CalibrationShape(_MeasurementShape):
    """A report as `CalibrationReport.to_dict` writes it."""

    criteria: dict[Text, _Criterion]
    items: list[_Item] = Field(default_factory=list)
    design: dict[str, Any] | None = None
    candidates: Positive | None = None
    part: Literal["all", "choosing", "held_back"] = "all"
    holdout: Number | None = None
    population: PopulationShape | None = None


_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class MapShape(Shape):
    """A map as `ProbabilityMap.to_dict` writes it."""

    kind: Short
    options: Annotated[list[Text], Field(min_length=2)]
    labels: Count
    temperature: Annotated[Number, Field(gt=0)]
    biases: list[Number]
    knots: list[Annotated[list[_Share], Field(min_length=2, max_length=2)]]


class PassportShape(_MeasurementShape):
    """A passport as `Passport.to_dict` writes it."""

    design: dict[str, Any] | None
    questions: list[dict[str, Any]]
    models: list[Text]
    candidates: Positive
    population: PopulationShape | None
    canary: dict[str, Any] | None


_Promised = Annotated[Number, Field(gt=0, lt=1)]


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


class _Selected(Shape):
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


class CertificateShape(_MeasurementShape):
    """A certificate as `Certificate.to_dict` writes it."""

    design: dict[str, Any] | None
    agreement: _Promised
    delta: _Promised
    score: Text
    tolerance: Annotated[Number, Field(ge=0)]
    stratum: Text | None
    curtailed: bool
    selections: list[_Selected]
    candidates: Positive = 1
    tests: Positive | None = None
