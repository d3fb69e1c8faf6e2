"""What a result's document with rows holds; keys that nothing is rebuilt from are not looked at."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from judgeharness_integrations._shapes import Count, Number, Positive, Shape, Text
from judgeharness_integrations.design import RuleFixed
from judgeharness_integrations.result import RunState

__all__ = ["ResultShape"]

_Distance: TypeAlias = Annotated[Number, Field(ge=0)]
_Scalar: TypeAlias = Text | bool | int | float | None


class _Criterion(Shape):
    kind: Literal["labels", "numbers"]
    planned: Count
    label_count: Positive | None
    tolerance: _Distance | None


class _Design(Shape):
    perturbations: list[Text]
    rule: Text | None
    rule_fixed: RuleFixed
    min_valid: Positive | None
    tolerance: _Distance
    wordings: list[Text]
    curtail: bool = False
    stopping_rule: Text | None = None


class _Usage(Shape):
    rewrites: Count


class _State(Shape):
    status: Literal["valid", "expired", "unverifiable", "shifted"]
    reason: Text


class _Row(Shape):
    """A row whose texts are texts; the rest is checked as every log is. Further columns are attributes."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _Scalar]  # pyright: ignore[reportIncompatibleVariableOverride] - how pydantic types them

    schema_: Literal["judgeharness.log/1"]
    repetition: Count  # with the schema: a row whose verdict has a type, see `decoding`
    case_id: Text
    judge: Text
    criterion: Text
    perturbation: Text
    run: Text = ""
    call_id: Text = ""
    reasoning: Text = ""
    raw: Text = ""
    model: Text = ""
    error: Text = ""
    asked_at: Text = ""
    probe_hash: Text = ""
    gold: Text | bool | Number | list[Text] | None = None
    verdict: Any = None
    swapped: Any = None
    outcome: Any = None
    input_tokens: Any = None
    output_tokens: Any = None
    latency_s: Any = None
    attempts: Any = None


class ResultShape(Shape):
    """A document of `result_document(..., rows=True)`."""

    case_id: Text
    judge: Text
    judge_model: Text | None
    criteria: dict[Text, _Criterion]
    skipped: dict[Text, Text]
    repetitions: Positive
    aggregation_rule: Text | None
    state: RunState
    fingerprint: Text | None
    calibration: _State | None
    usage: _Usage
    design: _Design
    temperature: Number | None
    model_families: list[Text | None]
    unasked: list[bool] = Field(default_factory=list)
    untested: list[Text] = Field(default_factory=list)
    ended: Text | None = None
    test: Text | None = None
    calibration_report: dict[str, Any] | None
    certificate: _State | None = None
    certificate_report: dict[str, Any] | None = None
    rows: list[_Row]
