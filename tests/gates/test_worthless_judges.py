"""Judges that read nothing never pass where a judge must be better than that, and each says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from support.gated import case, labelled, scores
from support.measured import TOLD, VALID, calibration

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.calibration.controls import Control, Controls
from judgeharness_integrations.analysis.gates import GateCheck, Gates, check_gates
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.reporting.text import headline

Verdicts = Callable[[str, random.Random], str]


def anchored(pairs: list[tuple[Any, Any]], results: list[Any] | None = None) -> RunReport:
    """A report of a judge with a calibration on these (gold, decision) pairs."""
    facts: dict[str, Any] = {"calibration": calibration(*pairs), "calibration_state": VALID}
    return run_report([replace(one, **facts) for one in results or labelled({"PASS": 30})])


def checks(report: RunReport, *gates: str, **options: Any) -> list[GateCheck]:
    return list(check_gates(report, Gates(fail_under=gates, **options)).checks)


def test_a_constant_judge_with_two_percent_bad_cases_does_not_pass() -> None:
    pairs = [("PASS", "PASS")] * 294 + [("FAIL", "PASS")] * 6
    found = checks(anchored(pairs), "precision>=0.93", "recall>=0.93", require_calibration=True)
    assert [check.status for check in found] == ["passed", "passed", "failed"]
    assert found[2].reason == (
        "the labels cannot tell this judge from a constant one: balanced accuracy 0.500 [0.494, 0.730] (n=300) over "
        "all labelled cases (294 PASS, 6 FAIL), where a constant judge has 0.500"
    )
    beside = (
        "(not better than a judge that always answers PASS: +0.000 [-0.013, +0.013] in the share right on the same "
        "300 decided cases; "
    )
    assert all(beside in check.reason for check in found[:2])
    for gate in ("specificity>=0.1", "balanced_accuracy>0.5", "lift>0", "kappa>0"):
        (check,) = checks(anchored(pairs), gate)
        assert check.status != "passed", gate
    (kappa,) = checks(anchored(pairs), "kappa>=0.1")
    assert kappa.reason.endswith("labels or decisions are all the same, so that chance alone could agree as much")


WORTHLESS: dict[str, Verdicts] = {
    "constant": lambda gold, dice: "PASS",
    "constant with noise": lambda gold, dice: "FAIL" if dice.random() < 0.03 else "PASS",
    "lenient coin": lambda gold, dice: "FAIL" if dice.random() < 0.3 else "PASS",
    "coin": lambda gold, dice: dice.choice(["PASS", "FAIL"]),
    "contrary": lambda gold, dice: "FAIL" if gold == "PASS" else "PASS",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORTHLESS)
@pytest.mark.parametrize("bad", [0.02, 0.11, 0.45])
def test_a_worthless_judge_of_grades_passes_in_at_most_a_fortieth_of_samples(name: str, bad: float) -> None:
    """Of 60 label sets: at a level of .025, 1.5 are expected, and 6 come once in 250 times."""
    passed = 0
    for seed in range(60):
        dice = random.Random(seed)  # noqa: S311 - planted judges
        golds = ["FAIL" if dice.random() < bad else "PASS" for _ in range(90)]
        measured = calibration(*[(gold, WORTHLESS[name](gold, dice)) for gold in golds]).criteria["verdict"]
        passed += not measured.untold
    assert passed <= 5


def test_a_judge_of_the_first_slot_or_of_lengths_does_not_pass() -> None:
    dice = random.Random(5)  # noqa: S311 - a planted judge
    golds = [dice.choice("AB") for _ in range(80)]
    for said in (["A"] * 80, [dice.choice("AB") for _ in range(80)]):
        both = list(zip(golds, said, strict=True))
        cases = [case(f"c{n}", [verdict] * 3, gold=gold) for n, (gold, verdict) in enumerate(both)]
        report = anchored([*both], cases)
        (required,) = checks(report, require_calibration=True)
        assert (required.status, "cannot tell this judge" in required.reason) == ("failed", True)
        for gate in ("balanced_accuracy>0.5", "lift>0"):
            (check,) = checks(report, gate)
            assert check.status == "failed"
        (accuracy,) = checks(report, "accuracy>=0.3")
        assert accuracy.status == "passed"
        assert "not better than a judge that always " in accuracy.reason
        assert not accuracy.reason.count("(better than")


def test_a_judge_that_prefers_the_longer_answer_is_not_better_than_that() -> None:
    """It agrees with gold, since people like long answers, and beats every other control."""
    dice = random.Random(6)  # noqa: S311 - a planted judge
    results = []
    for n in range(100):
        longer = dice.choice("AB")
        gold = longer if dice.random() < 0.8 else {"A": "B", "B": "A"}[longer]
        one = case(f"c{n}", [longer] * 3, gold=gold)
        lengths = {"length_a": 90, "length_b": 40} if longer == "A" else {"length_a": 40, "length_b": 90}
        results.append(replace(one, rows=tuple(replace(row, attributes=lengths) for row in one.rows)))
    (check,) = checks(run_report(results), "accuracy>=0.5")
    assert "(not better than a judge that always prefers the longer answer: +0.000 [" in check.reason
    texts = {f"c{n}": {"output": "x" * 9, "output_b": "y"} for n in range(100)}
    told = run_report(results, case_texts=texts).summaries[0].controls
    assert told is not None
    assert told.control("longest answer").value == told.control("first slot").value  # texts go before columns


def test_a_required_calibration_fails_where_labels_cannot_tell_a_judge_from_the_longer_answer() -> None:
    """Labels tell it from a constant one, which is not enough."""
    dice, items = random.Random(6), []  # noqa: S311 - a planted judge
    for _ in range(100):
        longer = dice.choice("AB")
        gold = longer if dice.random() < 0.8 else {"A": "B", "B": "A"}[longer]
        items.append(Judged(gold=gold, verdict=longer, status="decided", longer=longer))
    facts = {"calibration": calibration(criteria={"verdict": measure_calibration(items)}), "calibration_state": VALID}
    report = run_report([replace(one, **facts) for one in labelled({"A": 30})])
    (required,) = checks(report, require_calibration=True)
    sentence = "the labels do not show that this judge is right more often than one that prefers the longer answer"
    lead = "+0.000 [-0.037, +0.037] in the share right on the same 100 decided cases"
    assert (required.status, required.reason) == ("failed", f"{sentence}: {lead}")
    assert "do not show it to be right more often than the longer answer" in headline(report.results[0], "verdict")
    (better,) = checks(anchored([("A", "A"), ("B", "B")] * 40), require_calibration=True)
    assert "80 labelled cases; not compared with the longer answer; " in better.reason


def test_labels_that_tell_a_judge_from_the_better_longer_answer_are_not_said_to_tell_nothing() -> None:
    """Right about four in five pairs, of which the longer answer is always the better one: shown to be worse."""
    golds = [("AB"[n % 2], "AB"[(n + (n % 10 < 2)) % 2]) for n in range(100)]
    items = [Judged(gold=gold, verdict=said, status="decided", longer=gold) for gold, said in golds]
    sentence = "do not show that this judge is right more often than one that prefers the longer answer: -0.200"
    assert sentence in measure_calibration(items).untold


def test_a_judge_that_is_right_where_the_longer_answer_is_not_passes_a_required_calibration() -> None:
    items = []
    for n in range(100):
        gold = "AB"[n % 2]
        longer = gold if n % 5 else {"A": "B", "B": "A"}[gold]  # the longer answer is right in 80 %, the judge in 96
        verdict = gold if n % 25 else {"A": "B", "B": "A"}[gold]
        items.append(Judged(gold=gold, verdict=verdict, status="decided", longer=longer))
    facts = {"calibration": calibration(criteria={"verdict": measure_calibration(items)}), "calibration_state": VALID}
    report = run_report([replace(one, **facts) for one in labelled({"A": 30})])
    (required,) = checks(report, require_calibration=True)
    assert required.status == "passed"


def test_a_judge_of_scores_must_move_with_gold() -> None:
    golds = [n % 5 + 1 for n in range(40)]
    cases = scores([float(gold) for gold in golds]).results
    (required,) = checks(anchored([(gold, 3) for gold in golds], list(cases)), require_calibration=True)
    assert required.status == "failed"
    assert required.reason.endswith("the decided scores never vary")
    (required,) = checks(anchored([(gold, gold + 1) for gold in golds], list(cases)), require_calibration=True)
    assert required.status == "passed"
    for gate in ("specificity>=0.5", "balanced_accuracy>=0.5", "kappa>=0.5", "lift>=0.1"):
        with pytest.raises(UsageError, match="holds scores"):
            checks(anchored([(gold, gold) for gold in golds], list(cases)), gate)


def test_a_good_judge_passes_all_of_them() -> None:
    pairs = [("PASS", "PASS")] * 90 + [("PASS", "FAIL")] * 5 + [("FAIL", "FAIL")] * 45 + [("FAIL", "PASS")] * 5
    gates = ("specificity>=0.75", "balanced_accuracy>=0.85", "kappa>=0.7", "lift>=15%")
    found = checks(anchored(pairs), *gates, require_calibration=True)
    assert [check.status for check in found] == ["passed"] * 5
    assert "over 145 labelled cases of human_labeled_set_v1" in found[1].reason
    assert "(better than a judge that always answers PASS: +0.276 [" in found[3].reason
    (failed,) = checks(anchored(pairs), "balanced_accuracy>=0.9")
    assert failed.status == "failed"
    assert failed.more_cases is not None
    assert "with this mean and spread, about" not in failed.reason


def test_what_a_shape_does_not_have_is_said() -> None:
    pairs = [("A", "A")] * 10 + [("B", "B")] * 10
    report = anchored(pairs, [case(f"c{n}", ["A"] * 3) for n in range(9)])
    (specific,) = checks(report, "specificity>=0.5")
    assert (specific.status, specific.value) == ("not_measured", None)
    assert "no label is the positive one: gate on balanced_accuracy" in specific.reason
    alone = anchored([("PASS", "PASS")] * 30)
    (balanced,) = checks(alone, "balanced_accuracy>=0.5")
    assert "every label is 'PASS', and of other items they say nothing" in balanced.reason
    (rare,) = checks(anchored([("PASS", "PASS")] * 90 + [("FAIL", "FAIL")] * 4), "kappa>=0.5")
    assert "all but fewer than 5 labels or decisions are the same, too few to hold kappa against a bar" in rare.reason


def test_kappa_and_lift_reach_below_zero() -> None:
    assert parse_expression("kappa>=-0.5").bar == -0.5
    assert parse_expression("lift>=5%").bar == 0.05
    with pytest.raises(UsageError, match=r"kappa lies between -1 and 1\."):
        parse_expression("kappa>=1.5")
    with pytest.raises(UsageError, match="no kappa is above 1"):
        Gates(fail_under=("kappa>1",))
    with pytest.raises(UsageError, match=r"upper end of an interval is above -1; .* as lift<=-0.9,"):
        Gates(fail_under=("lift<=-1",))
    with pytest.raises(UsageError, match=r"as kappa>=0.9,"):
        Gates(fail_under=("kappa>=1",))


def test_where_nobody_calibrated_there_is_no_such_number() -> None:
    (check,) = checks(run_report(labelled({"PASS": 9})), "kappa>=0.5")
    assert (check.status, check.reason) == (
        "not_measured",
        "kappa was not measured: uncalibrated: no labels say how often this rule is right",
    )
    assert checks(anchored(TOLD), require_calibration=True)[0].status == "passed"


@pytest.mark.parametrize("said", [[None] * 3, ["PASS", "FAIL", None]])
@pytest.mark.parametrize("sequential", [False, True])
def test_a_judge_that_decides_nothing_passes_no_rate_on_either_side(said: list[Any], sequential: bool) -> None:  # noqa: FBT001
    report = run_report([case(f"d{n}", said) for n in range(100)] + labelled({"PASS": 1}))
    gates = ("rate(FAIL)<=0.3", "pass_rate<0.5", "rate(FAIL)>=0.1", "pass_rate>=0.1")
    found = checks(report, *gates, sequential=sequential)
    assert [check.status for check in found] == ["failed"] * 4
    assert [check.value for check in found] == pytest.approx([100 / 101, 1.0, 0.0, 1 / 101])
    assert "(100 of 101 are not decided and count as FAIL)" in found[0].reason
    assert "(100 of 101 are not decided and count as not FAIL)" in found[2].reason


@pytest.mark.parametrize("sequential", [False, True])
def test_accuracy_on_labels_of_passed_cases_is_not_measured(sequential: bool) -> None:  # noqa: FBT001
    results = [
        case(f"c{n}", ["PASS" if n % 3 else "FAIL"] * 3, gold=("PASS" if n % 5 else "FAIL") if n % 3 else None)
        for n in range(150)
    ]
    (check,) = checks(run_report(results), "accuracy>=0.7", sequential=sequential)
    assert check.status == "not_measured"
    assert "none of 100 labelled cases and 50 of 50 without a label are judged FAIL" in check.reason
    (part,) = checks(run_report([one for one in results if one.verdict == "PASS"]), "accuracy>=0.7")
    assert part.status == "passed"


AS_GOOD = "passed, but not better than a judge that always answers PASS (94 %)"


def constant_run(**facts: Any) -> RunReport:
    """A judge that always answers PASS, where 94 % of 400 labels say the same."""
    return run_report([case(f"c{n}", ["PASS"] * 3, gold="FAIL" if n % 50 < 3 else "PASS", **facts) for n in range(400)])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("gate", "options"),
    [
        ("accuracy>=0.9", {}),
        ("accuracy>=0.9", {"point_estimates": True}),
        ("accuracy>=0.85", {"sequential": True}),
        ("pass_rate>=0.9", {}),
        ("rate(PASS)>=0.9", {}),
    ],
)
def test_a_gate_that_a_constant_judge_passes_says_so_in_its_sentence(gate: str, options: dict[str, Any]) -> None:
    found = check_gates(constant_run(), Gates(fail_under=(gate,), **options))
    (check,) = found.checks
    assert check.status == "passed"
    assert check.reason.endswith(f"; {AS_GOOD}")
    assert (found.caution, found.answer) == (AS_GOOD, f"every gate {AS_GOOD}")
    assert found.from_dict(found.to_dict()) == found


def test_a_gate_on_labels_says_which_constant_judge_passes_it_too() -> None:
    report = anchored([("PASS", "PASS")] * 282 + [("FAIL", "PASS")] * 18)
    (check,) = checks(report, "precision>=0.9")
    assert check.caution == "not better than a judge that always answers PASS (94 %)"


def test_judges_that_pass_and_are_no_better_are_named_where_others_are() -> None:
    good = [
        case(f"c{n}", [gold] * 3, gold=gold, judge="b") for n in range(100) for gold in ["PASS", "FAIL"][n % 2 :][:1]
    ]
    poor = [case(f"c{n}", ["PASS"] * 3, gold=["PASS", "FAIL"][n % 2], judge="a") for n in range(100)]
    found = check_gates(run_report([*good, *poor]), ["pass_rate>=0.3"])
    said = "a: passed, but not better than a judge that always answers FAIL (50 %)"
    assert (found.caution, found.answer) == (said, f"every gate passed; {said}")


def test_a_gate_that_did_not_pass_or_a_judge_that_reads_has_no_caution() -> None:
    assert [one.caution for one in checks(constant_run(), "accuracy>=0.99", "consistency>=0.9")] == ["", ""]
    found = run_report([case(f"c{n}", [gold] * 3, gold=gold) for n in range(60) for gold in [["PASS", "FAIL"][n % 2]]])
    assert check_gates(found, ["accuracy>=0.9"]).caution == ""


@pytest.mark.parametrize(
    ("name", "says", "words"),
    [
        ("constant", "always A", "not better than a judge that always answers A (50 %)"),
        ("coin", "a coin", "not better than a coin (50 %)"),
        ("longest answer", "the longer answer", "not better than a judge that always prefers the longer answer (50 %)"),
        ("first slot", "the first answer", "not better than a judge that always prefers the first answer (50 %)"),
    ],
)
def test_each_control_has_a_name_in_words(name: str, says: str, words: str) -> None:
    lead = Estimate(value=0.0, low=-0.1, high=0.1, n=20)
    control = Control(name=name, says=says, value=0.5, n=20, advantage=lead)
    assert Controls(value=0.5, n=20, scored=False, listed=(control,)).caution == words
    ahead = replace(control, advantage=replace(lead, value=0.05))
    shown = Controls(value=0.5, n=20, scored=True, listed=(ahead,)).caution
    assert shown == words.replace("not better", "not shown to be better").replace("50 %", "mean error 0.5")
    unmeasured = Controls(value=0.5, n=20, scored=False, listed=(replace(control, advantage=None, value=None),))
    assert unmeasured.caution == ""
    assert unmeasured.standing == ""


def test_every_format_says_it_where_the_answer_stands() -> None:
    report = constant_run()
    gates = check_gates(report, ["accuracy>=0.9"])
    assert f"### gates: every gate {AS_GOOD}" in unescape(report.to_markdown(gates=gates))
    junit = report.to_junit(gates=gates)
    assert f'<property name="caution" value="{AS_GOOD}" />' in junit
    assert '<property name="caution" value="not better than a judge that always answers PASS (94 %)" />' in junit
    assert f"1 of 1 check passed (<bdi>{AS_GOOD}</bdi>)" in report.to_html(gates=gates)
