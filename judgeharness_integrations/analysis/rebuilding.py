"""A result from its JSON document: facts are read, the measurement is computed anew from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError
from judgeharness_integrations.verdictlog.decoding import decode
from judgeharness_integrations.verdictlog.encoding import COLUMNS
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.shapes import Count, Number, Positive, Shape, Text, misplaced

from .aggregation.rules import RULE_NAMES, Rule, RuleLike
from .aggregation.rules import rule as named_rule
from .calibration.saved import CalibrationReport, CalibrationState
from .certifying.cascade import asked_after
from .certifying.certificate import Certificate
from .design import Design, RuleFixed
from .document import EVIDENCE_TEXTS, RESULT_SCHEMA
from .measure import measure
from .result import HarnessResult, RunState

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
    retested: Number = 0.0


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
    probabilities: Any = None


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
    earlier: list[dict[str, Any]] = Field(default_factory=list)
    waits: bool = False
    calibration_report: dict[str, Any] | None
    certificate: _State | None = None
    certificate_report: dict[str, Any] | None = None
    passport: _State | None = None
    passport_report: dict[str, Any] | None = None
    rows: list[_Row]


_TEXTS = (*EVIDENCE_TEXTS, "judge", "criterion", "perturbation")
_DECODED = frozenset(COLUMNS) - {"gold"}
_LONGEST_PROBLEM = 300
_LONGEST_NAME = 60


def rebuilt_result(document: Mapping[str, Any], *, rule: RuleLike | None = None) -> HarnessResult:
    """Return the result a document of `result_document(..., rows=True)` was written from; see `from_dict`."""
    _check_origin(document)
    if misfit := misplaced(ResultShape, document):
        raise _damaged(f"its {misfit!r} is not what a result holds there")
    try:
        result = _measured(document, rule)
    except ConfigError:
        raise
    except JudgeHarnessError as error:
        raise _damaged(str(error)) from error
    except Exception as error:
        raise _damaged(type(error).__name__) from error
    kinds = {name: "numbers" if measured.numeric else "labels" for name, measured in result.criteria.items()}
    if kinds != {name: criterion["kind"] for name, criterion in document["criteria"].items()}:
        raise _damaged("its rows hold other criteria, or other kinds of verdicts, than its criteria say")
    if "earlier" in document or "waits" in document:
        earlier = [rebuilt_result(one, rule=rule) for one in document.get("earlier", ())]
        result = asked_after(result, earlier, waits=document.get("waits", False))
    return replace(result, test=document.get("test"))


def _damaged(problem: str) -> ConfigError:
    problem = " ".join(problem[:_LONGEST_PROBLEM].split()).rstrip(".")
    return ConfigError(f"the result is damaged ({problem}): write it again with to_dict(rows=True).")


def _check_origin(document: object) -> None:
    """Refuse what no result with rows was ever written as."""
    if not isinstance(document, Mapping):
        raise ConfigError(f"a result is rebuilt from what to_dict(rows=True) returned, not from {_kind(document)}.")
    schema = document.get("schema")
    if schema != RESULT_SCHEMA:
        found = f"{schema[:_LONGEST_NAME]!r}" if isinstance(schema, str) else _kind(schema)
        raise ConfigError(f"not a result of schema {RESULT_SCHEMA} (found {found}): write it with to_dict(rows=True).")
    if "rows" not in document:
        raise ConfigError("the result holds no rows to rebuild it from: write it with to_dict(rows=True).")
    if "design" not in document:
        raise ConfigError("the result was written by a version that left out its design: measure its rows again.")


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"[:_LONGEST_NAME]


def _measured(document: Mapping[str, Any], own: RuleLike | None) -> HarnessResult:
    criteria: Mapping[str, Mapping[str, Any]] = document["criteria"]
    planned = {criterion["planned"] for criterion in criteria.values()}
    return measure(
        _rows(document["rows"]),
        case_id=document["case_id"],
        judge=document["judge"],
        judge_model=document["judge_model"],
        design=_design(document, own),
        planned=planned.pop() if len(planned) == 1 else None,  # they differ only where the rows alone were counted
        criteria=list(criteria),
        label_counts=_given("label_count", criteria),
        tolerances=_given("tolerance", criteria),
        temperature=document["temperature"],
        rewrites=document["usage"]["rewrites"],
        state=document["state"],
        ended=document.get("ended"),
        remaining=tuple(document.get("unasked", ())),
        fingerprint=document["fingerprint"],
        skipped=dict(document["skipped"]),
        model_families=tuple(document["model_families"]),
        untested=tuple(document.get("untested", ())),
        **_calibration(document),
        **_certificate(document),
    )


def _given(name: str, criteria: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {criterion: part[name] for criterion, part in criteria.items() if part[name] is not None}


def _design(document: Mapping[str, Any], own: RuleLike | None) -> Design:
    design = document["design"]
    return Design(
        perturbations=tuple(design["perturbations"]),
        repetitions=document["repetitions"],
        rule=_passport(document) or _rule(design["rule"], document["aggregation_rule"], own),
        min_valid=design["min_valid"],
        tolerance=design["tolerance"],
        rule_fixed=design["rule_fixed"],
        wordings=tuple(design["wordings"]),
        curtail=design.get("curtail", False),
        stopping_rule=design.get("stopping_rule"),
        retested=design.get("retested", 0.0),
    )


def _rule(name: str | None, shown: str | None, own: RuleLike | None) -> Rule:
    if name is None and own is not None:
        given = named_rule(own)
        return replace(given, name=shown or given.name)
    if name is None:
        which = "its rule" if shown is None else f"rule {shown[:_LONGEST_NAME]!r}"
        raise ConfigError(
            f"{which} is a function of the caller's own, which no document holds: give it as well, rule=function."
        )
    if any(part.partition("(")[0].strip() not in RULE_NAMES for part in name.split("|")):
        raise ConfigError(f"rule {name[:_LONGEST_NAME]!r} is not known here: read the result with a newer version.")
    return named_rule(name)


def _calibration(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the calibration and whether it held; a summary without its report is of no use."""
    data, summary = document["calibration_report"], document["calibration"]
    if data is None and summary is not None:
        raise _damaged("its 'calibration_report' is missing")
    state = None if summary is None else CalibrationState(status=summary["status"], reason=summary["reason"])
    report = None if data is None else CalibrationReport.from_dict(data)
    return {"calibration": report, "calibration_state": state}


def _certificate(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate and whether it held; neither where none was in use."""
    summary, data = document.get("certificate"), document.get("certificate_report")
    if summary is None or data is None:
        if summary is not data:
            raise _damaged("its 'certificate_report' is missing")
        return {}
    state = CalibrationState(status=summary["status"], reason=summary["reason"])
    return {"certificate": Certificate.from_dict(data), "certificate_state": state}


def _passport(document: Mapping[str, Any]) -> Rule | None:
    """Return the rule of the passport that decided, as it held then; None where none did."""
    summary, data = document.get("passport"), document.get("passport_report")
    if summary is None:
        return None
    if data is None:
        raise _damaged("its 'passport_report' is missing")
    from .probability.passport import Passport  # noqa: PLC0415 - few have one

    passport = Passport.from_dict(data)
    if passport.digest != summary.get("digest"):
        raise _damaged("its 'passport_report' is another one than decided")
    return passport.rule(CalibrationState(status=summary["status"], reason=summary["reason"]))


def _rows(records: Sequence[Mapping[str, Any]]) -> list[VerdictRow]:
    read = [{name: value for name, value in record.items() if name in _DECODED} for record in records]
    rows = decode(list(enumerate(read, start=1)), source="rows") if read else []
    return [_as_written(row, record) for row, record in zip(rows, records, strict=True)]


def _as_written(row: VerdictRow, record: Mapping[str, Any]) -> VerdictRow:
    """Return a decoded row with what decoding would drop, or turn into the kind of its criterion's verdicts."""
    empty: dict[str, Any] = {name: "" for name in _TEXTS if record.get(name) == ""}
    attributes = {
        name[:-1] if name.rstrip("_") in COLUMNS else name: value
        for name, value in record.items()
        if name not in COLUMNS
    }
    return replace(row, gold=_gold(record.get("gold")), attributes=attributes, **empty)


def _gold(value: Any) -> Any:
    return frozenset(value) if isinstance(value, list) else value
