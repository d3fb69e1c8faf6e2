"""What a calibration opens with: a sentence a criterion, with interval, denominator and what was left undecided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.measured import calibration

from judgeharness_integrations.reporting.calibrationtext import calibration_finding

REPORT = calibration(("PASS", "PASS"), ("FAIL", "PASS"))
((NAME, MEASURED),) = REPORT.criteria.items()


def answer(**changed: Any) -> str:
    found = calibration_finding(replace(REPORT, criteria={NAME: replace(MEASURED, **changed)}))
    assert not found.reasons
    return found.answer


def test_right_is_told_with_its_interval_and_what_is_undecided() -> None:
    assert MEASURED.accuracy is not None
    of = MEASURED.accuracy.trials
    told = answer(n=of + 2)
    assert told.startswith(f"{REPORT.judge}: right in ")
    assert f" % of {of} decided labelled cases (95 % [" in told
    assert told.endswith(", 2 more cases undecided; not better than a judge that always answers FAIL (50 %)")
    assert "undecided" not in answer(n=of)
    assert answer(controls=None, n=of + 2).endswith(", 2 more cases undecided")


def test_of_a_models_labels_it_is_said_how_like_them_the_judge_is() -> None:
    assert calibration_finding(replace(REPORT, source="model:gpt")).answer.startswith(
        f"{REPORT.judge}: like its labels in "
    )


def test_what_was_not_measured_is_said() -> None:
    assert "how often it is right is not measured, by " in answer(accuracy=None, errors=None)


def test_several_criteria_are_named_up_to_four() -> None:
    many = replace(REPORT, criteria={f"c{place}": MEASURED for place in range(6)})
    found = calibration_finding(many, before=("put it there",), following="judgeharness run")
    assert [line.partition(":")[0] for line in (found.answer, *found.reasons[:-1])] == [
        f"{REPORT.judge}, c{place}" for place in range(4)
    ]
    assert (found.reasons[-1], found.next) == ("put it there", "judgeharness run")
    assert calibration_finding(replace(REPORT, criteria={})).answer == "nothing was measured"
