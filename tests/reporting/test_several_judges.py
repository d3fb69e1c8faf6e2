"""A cascade for people: every share with its denominator, and a price that says why it is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgeharness_integrations.analysis.certifying.cascade import CascadeReport, StepCount
from judgeharness_integrations.analysis.usage import Billed
from judgeharness_integrations.reporting.measured import cascade_section

STEP = StepCount(
    judge="cheap", reached=4, decided=3, calls=8, input_tokens=None, output_tokens=None, bill=Billed(0.5, ("at most",))
)
REPORT = CascadeReport(
    criterion="tone",
    promised=0.9,
    delta=0.1,
    cases=4,
    steps=(STEP, replace(STEP, judge="strong", reached=1, decided=0, calls=0, bill=Billed(None))),
    verdicts=dict.fromkeys(("a", "b", "c"), "PASS"),
    left=("d",),
    agreement=None,
)


def told(report: CascadeReport) -> list[str]:
    return [block for block in cascade_section(report.to_dict()).blocks if isinstance(block, str)]


def test_a_price_in_money_has_its_remarks() -> None:
    assert told(REPORT) == [
        "decided: 75.0 of 4; no judge decides 1 case",
        (
            "certified: decided cases agree with their labels at least 90 % of the time, with 90 % confidence, all "
            "steps together"
        ),
        "decided cases that agree with their labels: no decided case has a label",
        (
            "price of a decision: 2.67 calls (8 calls / 3 decisions), 0.167 in money; cost 0.5000 by the prices given "
            "(at most)"
        ),
    ]


@pytest.mark.parametrize(
    ("bill", "why"),
    [
        (Billed(None), "cost not known: no prices were given"),
        (Billed(None, ("gpt has no price",)), "cost not known (gpt has no price)"),
    ],
)
def test_a_price_that_is_not_known_says_why(bill: Billed, why: str) -> None:
    found = told(replace(REPORT, steps=(replace(STEP, bill=bill), REPORT.steps[1])))
    assert found[-1] == f"price of a decision: 2.67 calls (8 calls / 3 decisions); {why}"


def test_where_nothing_is_decided_there_is_no_price() -> None:
    assert told(replace(REPORT, verdicts={}))[-1] == "price of a decision: none was made"
