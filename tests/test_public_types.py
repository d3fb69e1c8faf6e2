"""Public types say what their fields are, and results are fields of pydantic models."""

from __future__ import annotations

import pkgutil
from dataclasses import is_dataclass
from importlib import import_module
from typing import get_type_hints

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import judgeharness_integrations
from judgeharness_integrations import AnswerCase, CalibrationReport, CalibrationSet, HarnessResult, JudgeHarness

ROOMS = [
    "judgeharness_integrations",
    *(room.name for room in pkgutil.walk_packages(judgeharness_integrations.__path__, "judgeharness_integrations.")),
]
ADAPTERS = ["judgeharness_adk", "judgeharness_langchain", "judgeharness_langsmith", "judgeharness_openevals"]
TOP = [
    *("analysis.design", "analysis.fingerprint", "analysis.measure", "analysis.result", "analysis.usage"),
    *("judging.cases", "judging.judge", "judging.plan", "judging.running", "judging.structured"),
]


def public_dataclasses() -> list[type]:
    rooms = [name for name in ROOMS if hasattr(import_module(name), "__path__")]
    rooms += [f"judgeharness_integrations.{name}" for name in TOP] + ADAPTERS
    found = {}
    for room in map(import_module, rooms):
        for value in (getattr(room, name) for name in getattr(room, "__all__", ())):
            if isinstance(value, type) and is_dataclass(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return [found[name] for name in sorted(found)]


def test_type_hints_of_every_public_dataclass_are_known() -> None:
    kinds = public_dataclasses()
    assert len(kinds) > 120
    unknown = {}
    for kind in kinds:
        try:
            get_type_hints(kind)
        except (NameError, TypeError) as error:
            unknown[kind.__qualname__] = str(error)
    assert unknown == {}


@pytest.mark.slow
def test_every_result_is_a_field_of_a_pydantic_model() -> None:
    results = [
        kind for kind in public_dataclasses() if kind.__name__.endswith(("Result", "Report", "Summary", "Usage"))
    ]
    assert {"HarnessResult", "CalibrationReport", "ComparisonReport", "CheckReport", "RankReport"} <= {
        kind.__name__ for kind in results
    }
    refused = {}
    for kind in results:
        if kind.__name__ == "ScanReport":  # holds the errors of files that cannot be read
            continue
        try:
            TypeAdapter(kind).validator.title  # noqa: B018 - builds what was put off
        except Exception as error:  # noqa: BLE001
            refused[kind.__qualname__] = str(error)
    assert refused == {}


class Held(BaseModel):
    result: HarnessResult
    calibration: CalibrationReport | None = None


def test_results_in_a_pydantic_model_stay_what_they_are_and_come_back_from_json() -> None:
    def judge(case: AnswerCase) -> frozenset[str]:
        return frozenset({"polite", "brief"}) if case.output else frozenset({"empty"})

    case = AnswerCase(case_id="a", output="Yes.")
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    labels = CalibrationSet("people", ((case, frozenset({"polite", "brief"})),))
    held = Held(result=harness.evaluate(judge, case), calibration=harness.calibrate(judge, labels))
    assert held.result.status == "decided"
    assert Held(result=held.result).result is held.result
    assert Held.model_validate_json(held.model_dump_json()) == held
    assert Held.model_validate(held.model_dump()) == held
    assert Held.model_json_schema()["required"] == ["result"]
    with pytest.raises(ValidationError, match="not a result of schema"):
        Held.model_validate({"result": {"verdict": "PASS"}})
    with pytest.raises(ValidationError, match="instance of HarnessResult"):
        Held.model_validate({"result": "PASS"})


def test_what_is_loaded_late_is_listed() -> None:
    import judgeharness_integrations.analysis.calibration as room

    assert set(room.__all__) <= set(dir(room))
