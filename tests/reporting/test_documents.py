from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from support.measured import measured, pattern, shapes
from support.rows import sampled, samples

from judgeharness_integrations.analysis.aggregation import Rule
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog.encoding import COLUMNS, to_record
from judgeharness_integrations.verdictlog.row import VerdictRow

RESULT = Draft202012Validator(schema("result-1"))
LOG = Draft202012Validator(schema("log-1"))
SHAPES = shapes()


def as_json(document: dict[str, Any]) -> Any:
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text) == document  # nothing a JSON reader would see otherwise
    return json.loads(text)


@pytest.mark.slow
def test_the_schemas_are_schemas() -> None:
    Draft202012Validator.check_schema(RESULT.schema)
    Draft202012Validator.check_schema(LOG.schema)
    assert set(LOG.schema["properties"]) == set(COLUMNS)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_of_every_shape_follows_the_schema(shape: str) -> None:
    result = SHAPES[shape]
    RESULT.validate(as_json(result.to_dict()))
    with_rows = as_json(result.to_dict(rows=True))
    RESULT.validate(with_rows)
    assert len(with_rows["rows"]) == len(result.rows)
    assert "rows" not in result.to_dict()
    for row in result.rows:
        LOG.validate(as_json(to_record(row)))


def test_every_shape_is_a_shape_of_its_own() -> None:
    documents = [json.dumps(result.to_dict(rows=True), sort_keys=True) for result in SHAPES.values()]
    assert len(set(documents)) == len(documents)


any_verdict = st.one_of(st.sampled_from(["PASS", "FAIL"]), st.frozensets(st.sampled_from("ab"), max_size=2))


@given(samples(any_verdict, least=0))
def test_whatever_was_measured_follows_the_schema(rows: list[VerdictRow]) -> None:
    RESULT.validate(as_json(measured(rows).to_dict(rows=True)))


def test_the_document_of_the_pattern() -> None:
    document = pattern().to_dict()
    criterion = document["criteria"]["verdict"]
    assert document["schema"] == "judgeharness.result/1"
    assert document["aggregation_rule"] == "majority"
    assert (criterion["verdict"], criterion["status"], criterion["kind"]) == ("PASS", "decided", "labels")
    assert criterion["sample_distribution"] == [{"verdict": "PASS", "count": 5}, {"verdict": "FAIL", "count": 3}]
    assert criterion["consistency_rate"] == 0.625
    assert [p["name"] for p in criterion["perturbations"]] == ["paraphrase", "format_change"]
    calibration = document["calibration"]
    assert (calibration["source"], calibration["labels"], calibration["status"]) == (
        "human_labeled_set_v1",
        "human",
        "valid",
    )
    precision = calibration["criteria"]["verdict"]["precision"]
    assert (precision["value"], precision["n"], precision["high"]) == (1.0, 1, 1.0)
    assert 0 < precision["low"] < 0.5


def test_numbers_stay_numbers_and_sets_become_sorted_lists() -> None:
    scores = SHAPES["numbers"].to_dict()["criteria"]["verdict"]
    assert scores["sample_distribution"][0] == {"verdict": 7, "count": 2}
    assert scores["kind"] == "numbers"
    assert SHAPES["sets"].to_dict()["criteria"]["verdict"]["verdict"] == ["spam", "toxic"]
    assert SHAPES["numbers"].to_dict()["calibration"]["criteria"]["verdict"]["precision"] is None


@pytest.mark.parametrize("shape", ["expired", "unverifiable"])
def test_numbers_of_a_calibration_that_does_not_hold_are_null(shape: str) -> None:
    calibration = SHAPES[shape].to_dict()["calibration"]
    assert calibration["status"] == shape
    assert calibration["reason"]
    rates = calibration["criteria"]["verdict"]
    assert (rates["precision"], rates["recall"], rates["coverage"]) == (None, None, None)


def test_a_result_without_calibration_says_null() -> None:
    assert SHAPES["sets"].to_dict()["calibration"] is None
    assert SHAPES["unfinished"].to_dict()["criteria"]["verdict"]["verdict"] is None


def broken() -> dict[str, Any]:
    valid = as_json(SHAPES["pattern"].to_dict(rows=True))
    changes: dict[str, Any] = {}

    def change(name: str, path: list[str | int], value: Any) -> None:
        document = copy.deepcopy(valid)
        place = document
        for step in path[:-1]:
            place = place[step]  # type: ignore[index]
        place[path[-1]] = value  # type: ignore[index]
        changes[name] = document

    criterion: list[str | int] = ["criteria", "verdict"]
    change("another schema", ["schema"], "judgeharness.result/2")
    change("an unknown key", ["surprise"], 1)
    change("an unknown key of a criterion", [*criterion, "surprise"], 1)
    change("a rate above 1", [*criterion, "consistency_rate"], 1.5)
    change("a decided null", [*criterion, "verdict"], None)
    change("an abstention with a verdict", [*criterion, "status"], "abstained")
    change("not graded with a verdict", [*criterion, "status"], "not_graded")
    change("an unknown status", [*criterion, "status"], "tied")
    change("a distribution as an object", [*criterion, "sample_distribution"], {"PASS": 5})
    change("a chance level of scores", [*criterion, "kind"], "numbers")
    change("no criteria", ["criteria"], {})
    change("an expired calibration with numbers", ["calibration", "status"], "expired")
    change("a row that failed with a verdict", ["rows", 0, "outcome"], "error")
    change("a verdict of null that is ok", ["rows", 0, "verdict"], None)
    change("an attribute that is an object", ["rows", 0, "meta"], {"a": 1})
    change("an unknown key of the design", ["design", "surprise"], 1)
    change("a quorum of nothing", ["design", "min_valid"], 0)
    change("a family that is a number", ["model_families"], [1])
    change("a temperature that is a text", ["temperature"], "0")
    change("a summary as a report", ["calibration_report"], valid["calibration"])
    change("a rate of no trials", ["calibration_report", "criteria", "verdict", "recall", "trials"], 0)
    return changes


BROKEN = broken()


@pytest.mark.parametrize("change", BROKEN)
def test_the_schema_refuses_what_a_result_cannot_be(change: str) -> None:
    with pytest.raises(ValidationError):
        RESULT.validate(BROKEN[change])


@pytest.mark.parametrize("rows", [False, True])
def test_every_part_of_a_document_is_required(rows: bool) -> None:  # noqa: FBT001 - a parameter
    valid = as_json(SHAPES["pattern"].to_dict(rows=rows))
    assert ("calibration_report" in valid) is ("rows" in valid) is rows
    for name in valid.keys() - {"rows"}:
        with pytest.raises(ValidationError):
            RESULT.validate(without(valid, name))
    if rows:  # what belongs to them goes with them
        with pytest.raises(ValidationError):
            RESULT.validate(without(valid, "rows"))


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


@pytest.mark.parametrize("shape", SHAPES)
def test_documents_from_before_there_was_a_design_stay_valid(shape: str) -> None:
    for rows in (False, True):
        document = as_json(SHAPES[shape].to_dict(rows=rows))
        RESULT.validate(without(document, "design", "temperature", "model_families", "calibration_report"))


def test_the_design_is_complete_where_nothing_was_folded_or_asked() -> None:
    informal = SHAPES["informal"].to_dict()
    assert (informal["aggregation_rule"], informal["rule_fixed"]) == (None, None)
    assert informal["design"] == {
        "perturbations": ["none"],
        "rule": "majority",
        "rule_fixed": "before",
        "min_valid": None,
        "tolerance": 1.0,
        "wordings": [],
        "curtail": False,
        "stopping_rule": None,
    }
    skipped = SHAPES["skipped"].to_dict()
    assert skipped["perturbations"] == ["none"]
    assert skipped["design"]["perturbations"] == ["none", "format_change"]


def test_a_rule_of_the_callers_own_has_no_name_that_brings_it_back() -> None:
    design = SHAPES["rubric"].to_dict()["design"]
    assert design["rule"] is None
    disguised = measured(sampled(["PASS"] * 2), rule_name=Rule("majority", len)).to_dict()
    assert (disguised["design"]["rule"], disguised["aggregation_rule"]) == (None, "majority")


def test_a_temperature_that_is_no_number_is_left_out() -> None:
    assert measured(sampled(["PASS"]), temperature=0).to_dict()["temperature"] == 0
    assert measured(sampled(["PASS"]), temperature="default").to_dict()["temperature"] is None


def test_rows_keep_what_a_log_would_lose() -> None:
    (row,) = sampled(["PASS"], raw="", attributes={"model": "m", "model_": "n", "subset": ""})
    (record,) = measured([row]).to_dict(rows=True)["rows"]
    assert record == to_record(replace(row, attributes={})) | {"raw": "", "model_": "m", "model__": "n", "subset": ""}
