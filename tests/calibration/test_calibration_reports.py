from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, CalibrationSet, Criterion, JudgeHarness, JudgeIdentity
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.calibration import (
    CalibrationReport,
    CalibrationState,
    Judged,
    measure_calibration,
)
from judgeharness_integrations.analysis.fingerprint import Fingerprint
from judgeharness_integrations.judging.judge import FunctionJudge

THEN = datetime(2026, 1, 1, tzinfo=UTC)
PARTS: dict[str, Any] = {
    "judge": "grader",
    "model": "gpt-4o",
    "parameters": {"temperature": 0.7},
    "prompt": "abc",
    "labels": {"verdict": [["PASS", "FAIL"], None]},
    "perturbations": ["none", "format_change"],
    "repetitions": 3,
    "rule": "supermajority(2/3)",
    "failure policy": "failures count in shares; quorum half of the planned samples",
}


def judged(gold: Any, verdict: Any) -> Judged:
    return Judged(gold=gold, verdict=verdict, status="decided")


def report(**changes: Any) -> CalibrationReport:
    fields: dict[str, Any] = {
        "name": "human_labeled_set_v1",
        "judge": "grader",
        "source": "human",
        "consensus": "majority",
        "excluded_ties": 2,
        "criteria": {
            "verdict": measure_calibration([judged("PASS", "PASS"), judged("FAIL", "PASS"), judged("FAIL", "FAIL")]),
            "score": measure_calibration([judged(7, 8)], criterion="score"),
            "empty": measure_calibration([], criterion="empty"),
        },
        "measured_at": THEN.isoformat(),
        "parts": PARTS,
    }
    return CalibrationReport(**fields | changes)


def test_a_saved_report_is_the_same_when_loaded(tmp_path: Path) -> None:
    path = report().save(tmp_path / "new" / "cal.json")
    assert CalibrationReport.load(path) == report()
    assert CalibrationReport.load(str(path)).fingerprint == report().fingerprint
    saved = json.loads(path.read_text())
    assert saved["schema"] == "judgeharness.calibration/1"
    assert saved["fingerprint"] == Fingerprint(PARTS).digest
    unidentified = report(parts=None)
    assert CalibrationReport.load(unidentified.save(path)) == unidentified
    assert json.loads(path.read_text())["fingerprint"] is None


def damaged(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (report().to_dict() | changes).items() if value is not ...}


@pytest.mark.parametrize(
    "data",
    [
        damaged(name=...),
        damaged(criteria=...),
        damaged(criteria=[1]),
        damaged(criteria={"verdict": {"n": 1}}),
        damaged(criteria={"verdict": {"unknown": 1}}),
        damaged(criteria={"verdict": 7}),
        damaged(measured_at="yesterday"),
        damaged(measured_at=7),
        damaged(measured_at="2026-01-01T00:00:00"),
    ],
)
def test_a_damaged_report_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="incomplete or damaged"):
        CalibrationReport.from_dict(data)


def test_a_calibration_keeps_its_design_and_one_without_any_that_of_its_fingerprint() -> None:
    design = {"rule": "majority", "perturbations": ["none"], "repetitions": 3}
    kept = CalibrationReport.from_dict(json.loads(json.dumps(report(parts=None, design=design).to_dict())))
    assert (kept.design, kept.known_design) == (design, design)
    before = json.loads(json.dumps(report(parts={"rule": "median", "model": "m"}).to_dict()))
    del before["design"]
    assert CalibrationReport.from_dict(before).known_design == {"rule": "median"}
    assert report(parts=None).known_design == {}


def test_the_calibration_of_a_judge_without_identity_says_its_design() -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="supermajority(2/3)", observers=())
    labels = CalibrationSet("people", [({"case_id": f"c{n}", "output": "text"}, "PASS") for n in range(3)])
    found = harness.calibrate(lambda _: "PASS", labels)
    assert (found.parts, found.fingerprint) == (None, None)
    assert found.design == dict(harness.design.parts())
    assert (found.known_design["rule"], found.known_design["repetitions"]) == ("supermajority(2/3)", 3)


NEW = (
    *("sensitivity", "specificity", "ac1", "per_class", "macro_f1", "spearman", "kendall", "quadratic_kappa"),
    *("risk_coverage", "undefined", "clusters"),
)


def test_a_calibration_saved_before_there_were_more_measures_still_loads() -> None:
    document = json.loads(json.dumps(report().to_dict()))
    for measured in document["criteria"].values():
        for name in NEW:
            del measured[name]
        if measured["errors"] is not None:
            del measured["errors"]["bias_interval"]
            del measured["errors"]["mean_absolute_error_interval"]
    loaded = CalibrationReport.from_dict(document).criteria["verdict"]
    now = report().criteria["verdict"]
    assert (loaded.precision, loaded.kappa, loaded.confusion) == (now.precision, now.kappa, now.confusion)
    assert [getattr(loaded, name) or None for name in NEW] == [None] * len(NEW)


def measures(**changes: Any) -> dict[str, Any]:
    items = [
        Judged(gold="PASS", verdict=verdict, status="decided", confidence=0.75, cluster=cluster)
        for verdict, cluster in (("PASS", "a"), ("FAIL", "a"), ("PASS", "b"))
    ]
    document = json.loads(json.dumps(report(criteria={"verdict": measure_calibration(items)}).to_dict()))
    document["criteria"]["verdict"] |= changes
    return dict(document)


def test_every_measure_comes_back_from_a_file() -> None:
    scores = [
        Judged(gold=gold, verdict=said, status="decided", cluster=str(gold % 3)) for gold, said in enumerate((2, 1, 3))
    ]
    for document in (measures(), report(criteria={"score": measure_calibration(scores)}).to_dict()):
        loaded = CalibrationReport.from_dict(document)
        assert json.loads(json.dumps(loaded.to_dict())) == json.loads(json.dumps(document))
    assert CalibrationReport.from_dict(measures()).criteria["verdict"].risk_coverage is not None
    assert CalibrationReport.from_dict(measures(kappa={"value": 0.5, "se": None, "n": 3})).criteria["verdict"].kappa


@pytest.mark.parametrize(
    "changes",
    [
        {"sensitivity": {"successes": 3, "trials": 2, "low": 0.1, "high": 0.9}},
        {"ac1": 0.5},
        {"ac1": {"value": "0.5", "low": None, "high": None, "n": 3}},
        {"per_class": {"PASS": {"precision": None, "recall": None}}},
        {"per_class": {"PASS": {"precision": None, "recall": None, "support": 1, "extra": 2}}},
        {"risk_coverage": {"points": [{"threshold": 1.0}], "aurc": 0.0, "n": 1, "unordered": 0}},
        {"risk_coverage": {"points": 7, "aurc": 0.0, "n": 1, "unordered": 0}},
        {"undefined": {"kendall": 7}},
        {"clusters": 0},
        {
            "errors": {
                "n": 1,
                "mean_absolute_error": 1.0,
                "root_mean_squared_error": 1.0,
                "bias": 1.0,
                "bias_interval": [1.0],
            }
        },
        {"unheard_of": 1},
    ],
)
def test_a_damaged_measure_is_refused_in_one_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="incomplete or damaged") as refused:
        CalibrationReport.from_dict(measures(**changes))
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("schema", [..., "judgeharness.calibration/2", None])
def test_a_report_of_another_schema_is_refused(schema: object) -> None:
    with pytest.raises(ConfigError, match=r"not a calibration of schema judgeharness.calibration/1"):
        CalibrationReport.from_dict(damaged(schema=schema))


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    with pytest.raises(ConfigError, match="cannot be read"):
        CalibrationReport.load(path)
    for content, problem in ((b"{", "cannot be read"), (b"\xff", "cannot be read"), (b"[]", "is not a JSON object")):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=problem):
            CalibrationReport.load(path)


def test_the_same_configuration_is_valid() -> None:
    state = report().state(dict(reversed(PARTS.items())), now=THEN)
    assert state == CalibrationState(status="valid")
    assert state.valid
    assert str(state) == "valid"
    tuples = PARTS | {"perturbations": ("none", "format_change"), "labels": {"verdict": (("PASS", "FAIL"), None)}}
    assert report().state(tuples, now=THEN).valid


CHANGES = {
    "judge": "other",
    "model": "gpt-4o-mini",
    "parameters": {"temperature": 0.0},
    "prompt": "def",
    "labels": {"verdict": [["PASS", "FAIL", "UNSURE"], None]},
    "perturbations": ["none"],
    "repetitions": 4,
    "rule": "supermajority(0.6667)",
    "failure policy": "failures count in shares; quorum 2 samples",
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_changed_part_expires_it_and_is_named(part: str) -> None:
    state = report().state(PARTS | {part: CHANGES[part]}, now=THEN)
    assert state == CalibrationState(status="expired", reason=f"{part} changed")
    assert not state.valid


def test_a_part_that_came_or_went_is_a_change() -> None:
    less = {name: value for name, value in PARTS.items() if name != "prompt"}
    assert report().state(less, now=THEN).reason == "prompt changed"
    assert report(parts=less).state(PARTS | {"prompt": None}, now=THEN).reason == "prompt changed"
    assert report().state(PARTS | {"rule": "mean", "model": "x"}, now=THEN).reason == "model, rule changed"


@pytest.mark.parametrize(
    ("age", "max_age", "expected"),
    [
        (timedelta(days=30), timedelta(days=30), "valid"),
        (timedelta(days=30, seconds=1), timedelta(days=30), "expired: 30 days old, allowed 30 days"),
        (timedelta(days=400), timedelta(days=90), "expired: 400 days old, allowed 90 days"),
        (timedelta(hours=13), timedelta(hours=12), "expired: 13 hours old, allowed 12 hours"),
        (timedelta(days=-1), timedelta(days=30), "valid"),
    ],
)
def test_age_expires_it(age: timedelta, max_age: timedelta, expected: str) -> None:
    assert str(report().state(PARTS, now=THEN + age, max_age=max_age)) == expected


def test_age_is_thirty_days_by_default_and_knows_time_zones() -> None:
    elsewhere = timezone(timedelta(hours=9))
    assert report().state(PARTS, now=(THEN + timedelta(days=30)).astimezone(elsewhere)).valid
    assert not report().state(PARTS, now=(THEN + timedelta(days=30, minutes=1)).astimezone(elsewhere)).valid


def test_without_an_identity_it_cannot_be_verified() -> None:
    for measured_on, used_on in ((None, PARTS), (PARTS, None), (None, None)):
        state = report(parts=measured_on).state(used_on, now=THEN)
        why = "the judge declares no identity" if used_on is None else "it was measured on a log, or on a judge without"
        assert str(state).startswith(f"unverifiable: {why}")
        assert not state.valid
    assert report(parts=None).fingerprint is None


def test_labels_of_a_model_are_agreement() -> None:
    assert (report().calibrated, report().word) == (True, "calibrated")
    assert report(source="executable").calibrated
    model = replace(report(), source="model:gpt-4o")
    assert (model.calibrated, model.word) == (False, "agreement with gpt-4o")


def test_a_report_is_the_same_before_and_after_a_file(tmp_path: Path) -> None:
    declared = Criterion(name="verdict", labels=("PASS", "FAIL"))
    judge = FunctionJudge(
        function=lambda case: "PASS", identity=JudgeIdentity(name="judge", model="m"), criteria=(declared,)
    )
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
    case = AnswerCase(case_id="1", output="text")
    measured = harness.calibrate(judge, CalibrationSet("labels", ((case, "PASS"),)))
    assert CalibrationReport.load(measured.save(tmp_path / "calibration.json")) == measured
