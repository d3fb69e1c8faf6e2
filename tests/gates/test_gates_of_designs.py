"""Gates on judges and designs side by side, and gates read back."""

from __future__ import annotations

from typing import Any

import pytest
from support.gated import case, labelled, passes
from support.measured import TOLD, VALID, calibration, measured
from support.rows import both_orders

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.gates import GateReport, Gates, check_gates
from judgeharness_integrations.analysis.gates.checking import judged
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.gates.metrics import Measured
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import run_report


def test_a_judge_that_never_says_pass_is_checked_as_the_others_are() -> None:
    other = [case(f"c{n}", ["FAIL"] * 3 if n % 2 else ["UNSURE"] * 3, judge="j2") for n in range(20)]
    report = run_report([*labelled({"PASS": 40}, judge="j1"), *other])
    checks = check_gates(report, ["pass_rate>=0.9"]).checks
    assert [(check.judge, check.status, check.value) for check in checks] == [
        ("j1", "passed", 1.0),
        ("j2", "failed", 0.0),
    ]


def test_single_answers_that_agree_with_themselves_are_no_consistency() -> None:
    lonely = [case(f"c{n}", ["PASS", None, None], min_valid=1) for n in range(30)]
    (check,) = check_gates(run_report(lonely), Gates(min_consistency=0.5)).checks
    assert (check.status, check.value) == ("not_measured", None)
    assert "no case holds two valid samples" in check.reason
    assert run_report(lonely).summaries[0].consistency_rate is None


def test_accuracy_is_not_measured_against_gold_of_another_kind() -> None:
    report = run_report([case(f"c{n}", ["PASS"] * 3, gold=3) for n in range(30)])
    (check,) = check_gates(report, ["accuracy>=0.5"]).checks
    assert (check.status, check.n) == ("not_measured", 0)


def test_a_check_names_the_design_where_a_judge_has_several() -> None:
    (alone,) = check_gates(passes(9, 1), ["pass_rate>=0.5"]).checks
    assert (alone.design, alone.about) == ("", "judge · verdict")
    anchored: dict[str, Any] = {"calibration": calibration(*TOLD), "calibration_state": VALID}
    report = run_report([*labelled({"PASS": 30}, **anchored), *labelled({"FAIL": 20}, min_valid=1, **anchored)])
    found = check_gates(report, Gates(fail_under=("pass_rate>=0.5",), require_calibration=True))
    quorums = [check.design.split(", ")[3] for check in found.checks]
    assert quorums == ["half of the samples", "at least 1 valid"] * 2
    assert [(check.value, check.n) for check in found.checks[:2]] == [(1.0, 30), (0.0, 20)]
    assert all(check.about.startswith("judge · verdict · majority, none x 3, ") for check in found.checks)
    assert [check.status for check in found.checks[2:]] == ["passed", "passed"]


def test_one_more_case_is_one() -> None:
    found = Measured(value=0.9, low=0.79996, high=0.95, n=1000, of="cases")
    check = judged(parse_expression("pass_rate>=0.8"), found, judge="j", criterion="c")
    assert check.more_cases == 1
    assert check.reason.endswith("about 1 more case would settle it")
    labels = Measured(value=0.9, low=0.79996, high=0.95, n=1000, of="labelled cases of my cases")
    check = judged(parse_expression("precision>=0.8"), labels, judge="j", criterion="c")
    assert check.reason.endswith("about 1 more labelled case of my cases would settle it")


def test_what_gates_said_is_read_back() -> None:
    found = check_gates(passes(93, 7), Gates(fail_under=("pass_rate>=0.9", "accuracy>=0.1"), point_estimates=True))
    assert GateReport.from_dict(found.to_dict()) == found
    older = found.to_dict()
    for check in older["checks"]:
        del check["design"]
        check["later"] = "a key of a newer version"
    assert GateReport.from_dict(older) == found


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"schema": "judgeharness.gates/2"}, "not a document of schema judgeharness.gates/1"),
        ({"checks": [{"gate": "x"}]}, "is damaged .*: check them again"),
        ({"checks": None}, "is damaged"),
        ({"checks": ["x"]}, "is damaged"),
    ],
)
def test_damaged_gates_are_one_sentence(changes: dict[str, Any], problem: str) -> None:
    document = check_gates(passes(9, 1), ["pass_rate>=0.5"]).to_dict() | changes
    with pytest.raises(ConfigError, match=problem):
        GateReport.from_dict(document)
    with pytest.raises(ConfigError, match="is damaged"):
        GateReport.from_dict({})


def test_a_gate_on_flips_has_the_interval_of_the_report_also_where_cases_depend() -> None:
    def pair(number: int) -> HarnessResult:
        rows = both_orders(
            "AA", "AB" if number % 3 else "BB", case_id=f"c{number}", attributes={"cluster": number // 4}
        )
        facts: dict[str, Any] = {"perturbations": ("none", "position_swap"), "repetitions": 2}
        return measured(rows, case_id=f"c{number}", rule_name="swap_consensus", **facts)

    report = run_report([pair(number) for number in range(24)])
    (check,), (flip,) = check_gates(report, ["position_flip<=0.5"]).checks, report.summaries[0].flips
    assert (check.value, check.low, check.high) == (flip.value, flip.low, flip.high)
