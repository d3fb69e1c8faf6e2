from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.gated import case, labelled
from support.measured import EXPIRED, VALID, calibration, measured, shapes
from support.report_scenes import all_failed, hostile, informal, pairs, scored, several_criteria, typical
from support.rows import sampled

from judgeharness_integrations.analysis.gates import check_gates
from judgeharness_integrations.analysis.runs import RunReport, run_report

# element -> attributes it may have, and elements inside it: what Jenkins' and Surefire's schemas have in common
SHAPE: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"properties", "testcase"}),
    "testcase": (
        {"name", "classname", "time"},
        {"properties", "failure", "error", "skipped", "system-out"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}
REPORTS = {
    "typical": lambda: typical(cases=12),
    "scores": scored,
    "informal": informal,
    "criteria": several_criteria,
    "pairs": pairs,
    "failed": all_failed,
    "hostile": lambda: hostile()[0],
    "shapes": lambda: run_report(shapes().values()),
    "nothing": lambda: run_report([]),
}


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own document


def parsed(report: RunReport, **options: Any) -> ET.Element:
    """The document, checked element by element."""
    root = read(report.to_junit(**options))
    for element in root.iter():
        attributes, children = SHAPE[element.tag]
        assert set(element.keys()) <= attributes
        assert {child.tag for child in element} <= children
    for suite in [*root.iter("testsuite")]:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(name, "")) == sum(one.find(tag) is not None for one in cases)
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(name, "")) == sum(int(suite.get(name, "")) for suite in root)
    return root


def facts(testcase: ET.Element) -> dict[str, str]:
    return {one.get("name", ""): one.get("value", "") for one in testcase.iter("property")}


def problems(root: ET.Element) -> list[str | None]:
    """What became of each case: its tag, None where it passed."""
    tags = ("failure", "error", "skipped")
    return [next((tag for tag in tags if one.find(tag) is not None), None) for one in root.iter("testcase")]


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_of_the_shape_that_ci_servers_read(name: str) -> None:
    report = REPORTS[name]()
    root = parsed(report, gates=check_gates(report, ["coverage>=0.5"]))
    graded = sum(len(result.criteria) for result in report.results)
    unasked = sum(section.not_asked > 0 for section in report.judges)
    assert len(problems(root)) == graded + unasked + max(len(report.summaries), 1)


def test_pass_passes_fail_fails_and_what_was_not_graded_is_an_error() -> None:
    report = run_report([*labelled({"PASS": 1, "FAIL": 1}), case("n", [None, None, "PASS"])])
    root = parsed(report)
    assert problems(root) == [None, "failure", "error"]
    failure, error = root.find(".//failure"), root.find(".//error")
    assert failure is not None
    assert error is not None
    assert (failure.get("message"), failure.get("type")) == ("verdict FAIL", "verdict")
    assert (failure.text or "").startswith("FAIL · 3 FAIL of 3 · majority")
    assert str(error.get("message")).startswith("not graded: ")


@pytest.mark.parametrize(("on_abstain", "tag"), [("failure", "failure"), ("skipped", "skipped"), ("passed", None)])
def test_an_abstention_is_what_was_asked_for(on_abstain: Any, tag: str | None) -> None:
    report = run_report([case("t", ["PASS", "FAIL", None])])
    root = parsed(report, on_abstain=on_abstain)
    assert problems(root) == [tag]
    assert "ABSTAIN" in str(root.findtext(".//system-out"))
    assert facts(root)["verdict"] == "ABSTAIN"
    if on_abstain == "failure":
        assert problems(parsed(report)) == [tag]


def test_other_labels_are_right_or_wrong_against_gold_and_pass_without() -> None:
    cases = [case("r", ["A"] * 3, gold="A"), case("w", ["A"] * 3, gold="B"), case("u", ["A"] * 3)]
    root = parsed(run_report(cases))
    assert problems(root) == [None, "failure", None]
    right, wrong, unknown = map(facts, root.iter("testcase"))
    assert "verdict A, people say B" in {one.get("message") for one in root.iter("failure")}
    assert (right["gold"], wrong["gold"]) == ("A", "B")
    assert "ungraded" not in right
    assert unknown["ungraded"] == "A is no pass or fail without a gold label"
    graded = run_report([case("c", ["FAIL"] * 3, gold="FAIL")])
    assert problems(parsed(graded)) == ["failure"]  # FAIL is the judge's verdict on the case, right or not


def test_a_score_passes_and_says_that_it_is_none_unless_there_is_a_mark_to_reach() -> None:
    plain = run_report([case("s", [4, 4, 5], rule_name="median")])
    assert problems(parsed(plain)) == [None]
    found = facts(parsed(plain))
    assert (found["score"], found["ungraded"]) == ("4", "a score is no pass or fail without pass_at")
    marked = run_report([case("s", [4, 4, 5], rule_name="median(pass_at=7)")])
    assert problems(parsed(marked)) == ["failure"]
    assert "score" not in facts(parsed(marked))


def test_properties_hold_the_measurement() -> None:
    anchored = calibration(*[("PASS", "PASS")] * 3, ("FAIL", "PASS"))
    result = case("c", ["PASS", "PASS", "FAIL"], calibration=anchored, calibration_state=VALID)
    root = parsed(run_report([result], source="here", run="r1"))
    suite, found = facts(root), facts(next(root.iter("testcase")))
    assert (suite["source"], suite["run"], suite["rule_fixed"]) == ("here", "r1", "before")
    assert found["sample_distribution"] == '[{"verdict": "PASS", "count": 2}, {"verdict": "FAIL", "count": 1}]'
    assert (found["consistency_rate"], found["valid_samples"]) == ("0.667", "3 of 3")
    assert (found["calibration"], found["calibrated_precision"]) == (
        "valid",
        str(anchored.criteria["verdict"].precision),
    )
    single = facts(parsed(informal()))
    assert single["informal"].startswith("one sample")
    assert "consistency_rate" not in single
    assert "aggregation_rule" not in single
    undefined = case("c", ["PASS"] * 3, calibration=calibration(("FAIL", "FAIL")), calibration_state=VALID)
    assert facts(parsed(run_report([undefined])))["calibrated_precision"] == "none"


def test_time_is_what_the_judge_took_and_is_left_out_where_nobody_knows() -> None:
    timed = measured(sampled(["PASS"] * 3, latency_s=0.25), perturbations=("none",), repetitions=3)
    root = parsed(run_report([timed, case("c2", ["PASS"] * 3)]))
    assert [one.get("time") for one in root.iter("testcase")] == ["0.750", None]
    assert (root.get("time"), root[0].get("time")) == ("0.750", "0.750")
    assert parsed(run_report(labelled({"PASS": 1}))).get("time") is None


def test_reasons_and_errors_stand_in_the_output() -> None:
    rows = [
        *sampled(["PASS", "PASS"], reasoning="kind words"),
        *sampled(["FAIL"], perturbation="format_change", reasoning="too short"),
        *sampled([None], perturbation="whitespace", error="RateLimitError"),
    ]
    text = parsed(run_report([measured(rows)])).findtext(".//system-out") or ""
    assert "rationale, PASS: kind words" in text
    assert "strongest dissent, FAIL: too short" in text
    assert "failed sample: RateLimitError" in text


def test_cases_that_were_never_asked_are_an_error() -> None:
    root = parsed(run_report(labelled({"PASS": 2}), planned={"judge": 5}))
    assert problems(root) == [None, None, "error"]
    assert "3 of 5 cases were never asked" in {one.get("message") for one in root.iter("error")}


def test_gates_are_a_suite() -> None:
    report = run_report(labelled({"PASS": 40}))
    root = parsed(report, gates=check_gates(report, ["pass_rate>=0.5", "pass_rate>=0.99", "accuracy>=0.5"]))
    suite = root[-1]
    assert suite.get("name") == "gates"
    assert problems(suite) == [None, "failure", "error"]
    assert next(one.get("name") for one in suite.iter("testcase")) == "pass_rate>=0.5 judge verdict"


def test_what_xml_cannot_hold_is_replaced_and_long_texts_are_cut() -> None:
    forbidden = "".join(map(chr, [0, 8, 11, 12, 31, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF]))
    result = case(f"a{forbidden}b\t<&\"'>", ["PASS"] * 3)
    rows = sampled(["PASS"] * 3, reasoning="x" * 100_000)
    text = run_report([result, measured(rows)]).to_junit()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", text)
    assert len(text) < 20_000
    text.encode("utf-8")
    name = next(read(text).iter("testcase")).get("name")
    assert name == "a" + "\ufffd" * 9 + "b\t<&\"'>"


def test_suites_are_of_one_design_each() -> None:
    strict = [case(f"s{n}", ["PASS"] * 3, rule_name="strict_majority", repetitions=3) for n in range(2)]
    late = [replace(case("late", ["FAIL", None, None]), state="interrupted", judge_model="m2")]
    root = parsed(run_report([*labelled({"PASS": 2}), *strict, *late], state="interrupted"))
    names = [suite.get("name") for suite in root]
    assert names == ["judge.verdict (majority, none x 3)", "judge.verdict (strict_majority, none x 3)"]
    assert [facts(suite)["aggregation_rule"] for suite in root] == ["majority", "strict_majority"]
    assert [facts(suite)["model"] for suite in root] == ["unknown, m2", "unknown"]
    assert {one.get("classname") for one in root[1].iter("testcase")} == {names[1]}
    by_name = {one.get("name"): facts(one) for one in root.iter("testcase")}
    assert by_name["late"]["state"] == "interrupted"
    assert "state" not in by_name["s0"]


def test_a_suite_of_single_and_repeated_samples_names_its_rule() -> None:
    single = measured(sampled(["PASS"]), planned=1)
    assert "aggregation_rule" not in facts(parsed(run_report([single])))
    assert facts(parsed(run_report([single, measured(sampled(["PASS"] * 4))])))["aggregation_rule"] == "majority"


def test_a_calibration_is_valid_only_of_what_people_labelled() -> None:
    def said(**changes: Any) -> str:
        anchored = {"calibration": calibration(**changes), "calibration_state": VALID}
        return facts(next(parsed(run_report([case("c", ["PASS"] * 3, **anchored)])).iter("testcase")))["calibration"]

    assert said() == "valid"
    assert said(source="model:gpt-9") == "agreement with gpt-9"
    assert said(criteria={}) == "none"
    expired = case("c", ["PASS"] * 3, calibration=calibration(), calibration_state=EXPIRED)
    assert facts(next(parsed(run_report([expired])).iter("testcase")))["calibration"] == "expired: rule changed"


def test_a_score_as_gold_makes_no_label_a_failure() -> None:
    root = parsed(run_report([case("c", ["A"] * 3, gold=8)]))
    assert problems(root) == [None]
    assert facts(next(root.iter("testcase")))["ungraded"] == "A is no pass or fail without a gold label"


def test_gates_of_the_run_are_shown_where_none_are_given() -> None:
    report = run_report(labelled({"PASS": 10}))
    own = replace(report, gates=check_gates(report, ["pass_rate>=0.9"]))
    assert [suite.get("name") for suite in parsed(own)] == ["judge.verdict", "gates of the run"]
    assert problems(parsed(own))[-1] == "failure"
    other = check_gates(report, ["pass_rate>=0.5"])
    assert [suite.get("name") for suite in parsed(own, gates=other)] == ["judge.verdict", "gates"]
