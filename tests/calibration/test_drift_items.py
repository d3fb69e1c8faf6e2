"""The labelled items of a calibration: kept, saved and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.measured import calibration

from judgeharness_integrations import CalibrationSet, JudgeHarness
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.calibration import CalibrationReport, LabelledItem

ITEMS = (
    LabelledItem(case_id="c1", criterion="verdict", gold="PASS", verdict="PASS", status="decided"),
    LabelledItem(case_id="c2", criterion="verdict", gold=7, verdict=7.5, status="decided"),
    LabelledItem(case_id="c3", criterion="tags", gold=frozenset({"b", "a"}), verdict=frozenset(), status="decided"),
    LabelledItem(case_id="c4", criterion="verdict", gold="FAIL", verdict="ABSTAIN", status="abstained"),
    LabelledItem(case_id="\ud83d", criterion="verdict", gold="FAIL", verdict=None, status="not_graded"),
)


def test_items_come_back_from_a_file(tmp_path: Path) -> None:
    report = calibration(items=ITEMS)
    path = report.save(tmp_path / "cal.json")
    assert CalibrationReport.load(path) == report
    assert json.loads(path.read_text())["items"][2]["gold"] == ["a", "b"]


def test_a_calibration_of_before_there_were_items_is_read() -> None:
    old = {name: value for name, value in calibration().to_dict().items() if name != "items"}
    assert CalibrationReport.from_dict(old).items == ()


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        7,
        [7],
        [{}],
        [ITEMS[0].to_dict() | {"status": "sure"}],
        [ITEMS[0].to_dict() | {"gold": None}],
        [ITEMS[0].to_dict() | {"verdict": [1]}],
        [ITEMS[0].to_dict() | {"verdict": True}],
        [ITEMS[0].to_dict() | {"case_id": 1}],
    ],
)
def test_damaged_items_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="incomplete or damaged"):
        CalibrationReport.from_dict(calibration().to_dict() | {"items": wrong})


def test_a_harness_keeps_the_items_in_the_order_of_the_labels() -> None:
    cases = [{"case_id": f"c{n}", "output": "yes" if n % 3 else "no"} for n in range(7)]
    labels = CalibrationSet("people", tuple((case, "PASS") for case in cases))
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    report = harness.calibrate(lambda case: "PASS" if case["output"] == "yes" else "FAIL", labels)
    assert [one.case_id for one in report.items] == [f"c{n}" for n in range(7)]
    assert [one.verdict for one in report.items][:3] == ["FAIL", "PASS", "PASS"]
    assert {(one.criterion, one.gold, one.status) for one in report.items} == {("verdict", "PASS", "decided")}
    assert CalibrationReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
