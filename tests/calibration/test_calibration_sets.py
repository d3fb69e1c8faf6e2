from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import AmbiguousResultError, CaseError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.calibrating import CalibrationSet, calibration_report
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.verdictlog import VerdictRow

DESIGN = Design(perturbations=("none",), repetitions=1, rule=rule("majority"))


def labelled(*labels: Any, **options: Any) -> CalibrationSet:
    return CalibrationSet("v1", tuple(({"case_id": f"c{n}"}, label) for n, label in enumerate(labels)), **options)


def test_cases_and_labels_keep_their_order() -> None:
    cases = AnswerCase(case_id="c1", output="x"), "a plain text"
    labels = CalibrationSet("v1", ((cases[0], "PASS"), (cases[1], "FAIL")))
    assert labels.cases == list(cases)
    golds, ties = labels.golds()
    assert golds["c1"] == {"": "PASS"}
    assert [*golds.values()][1] == {"": "FAIL"}
    assert ties == 0
    assert (labels.source, labels.consensus, labels.positive) == ("human", "majority", None)


def test_several_labels_become_one_by_majority_and_ties_are_left_out() -> None:
    labels = labelled(
        ["PASS", "PASS", "FAIL"],
        ["PASS", "FAIL"],
        ["A", "B", "TIE"],
        ("PASS", None, "FAIL", "FAIL"),
        [{"toxic", "spam"}, ["spam", "toxic"], ["toxic"]],
        {"toxic", "spam"},
        [True, "PASS", False],
        [["toxic", "spam"]],
    )
    golds, ties = labels.golds()
    both = frozenset({"toxic", "spam"})
    assert golds == {
        "c0": {"": "PASS"},
        "c3": {"": "FAIL"},
        "c4": {"": both},
        "c5": {"": both},
        "c6": {"": "PASS"},
        "c7": {"": both},
    }
    assert ties == 2


def test_a_label_may_name_its_criteria() -> None:
    golds, ties = labelled({"tone": "PASS", "facts": ["PASS", "FAIL"], "score": 7}).golds()
    assert golds == {"c0": {"tone": "PASS", "score": 7}}
    assert ties == 1


@pytest.mark.parametrize("label", [None, "", [], [None, ""], {"tone": None}])
def test_an_empty_label_names_its_case(label: object) -> None:
    with pytest.raises(CaseError, match="case 'c0' has an empty label"):
        labelled(label).golds()


@pytest.mark.parametrize("label", [float("nan"), [[1]], object()])
def test_what_cannot_be_a_label_names_its_case(label: object) -> None:
    with pytest.raises(CaseError, match="case 'c0': "):
        labelled(label).golds()


@pytest.mark.parametrize("source", ["human", "executable", "model:gpt-4o", "model:a:b"])
def test_known_sources(source: str) -> None:
    assert labelled("PASS", source=source).source == source


@pytest.mark.parametrize("source", ["", "people", "model", "model:", "model: ", "human:me"])
def test_a_source_is_human_executable_or_a_named_model(source: str) -> None:
    with pytest.raises(CaseError, match="the source of a label set is human, executable or model:<name>"):
        labelled("PASS", source=source)


def test_sets_that_could_not_calibrate_anything_are_refused() -> None:
    with pytest.raises(
        CaseError, match="calibration set 'v1' holds no labelled examples: label cases, in a file under `gold`"
    ):
        labelled()
    with pytest.raises(CaseError, match="unknown consensus rule 'unanimity': known is majority"):
        labelled("PASS", consensus="unanimity")
    with pytest.raises(CaseError, match="labels case 'c1' twice"):
        CalibrationSet("v1", (({"case_id": "c1"}, "PASS"), (AnswerCase(case_id="c1", output="x"), "FAIL")))


def test_a_file_of_cases_with_gold_is_a_label_set(tmp_path: Path) -> None:
    path = tmp_path / "humans.v1.jsonl"
    golds = ["PASS", None, ["PASS", "FAIL", "FAIL"], {"tone": "PASS"}, [["toxic", "spam"]]]
    path.write_text("".join(json.dumps({"case_id": n, "output": "x", "gold": g}) + "\n" for n, g in enumerate(golds)))
    labels = CalibrationSet.from_file(path, source="executable", positive="PASS")
    assert (labels.name, labels.source, labels.positive) == ("humans", "executable", "PASS")
    assert labels.golds()[0] == {
        "0": {"": "PASS"},
        "2": {"": "FAIL"},
        "3": {"tone": "PASS"},
        "4": {"": frozenset({"toxic", "spam"})},
    }
    assert CalibrationSet.from_file(path, name="mine").name == "mine"
    path.write_text('{"case_id": 1, "output": "x"}\n')
    with pytest.raises(CaseError, match="holds no labelled examples"):
        CalibrationSet.from_file(path)


def test_the_gold_of_a_log_is_a_label_set() -> None:
    rows = [
        VerdictRow(case_id="c1", verdict="A", gold="B"),
        VerdictRow(case_id="c1", verdict="B", gold="B", perturbation="position_swap"),
        VerdictRow(case_id="c1", verdict="A"),
        VerdictRow(case_id="c1", verdict=7, gold=8, criterion="score"),
        VerdictRow(case_id="c2", verdict="A", gold=frozenset("ab")),
    ]
    labels = CalibrationSet.from_rows(rows, name="llmbar", source="executable")
    assert labels.name == "llmbar"
    assert labels.golds() == ({"c1": {"verdict": "B", "score": 8}, "c2": {"verdict": frozenset("ab")}}, 0)
    with pytest.raises(CaseError, match="case 'c1' has two gold labels for 'verdict': 'B', 'A'"):
        CalibrationSet.from_rows([rows[0], VerdictRow(case_id="c1", verdict="A", gold="A")], name="x")
    with pytest.raises(CaseError, match="holds no labelled examples"):
        CalibrationSet.from_rows([], name="x")


def result(case_id: str, **verdicts: str | None) -> HarnessResult:
    rows = [
        VerdictRow(case_id=case_id, criterion=name, verdict=verdict, outcome="ok" if verdict else "error")
        for name, verdict in verdicts.items()
    ]
    return measure(rows, case_id=case_id, judge="j", design=DESIGN)


def report(results: list[HarnessResult], labels: CalibrationSet) -> Any:
    return calibration_report(results, labels, judge="j", parts=None, measured_at="2026-01-01T00:00:00+00:00")


def test_decisions_are_compared_with_the_labels_of_their_case() -> None:
    results = [result("c0", verdict="PASS"), result("c1", verdict=None), result("c9", verdict="FAIL")]
    measured = report(results, labelled("PASS", "PASS", ["PASS", "FAIL"], source="model:o3", positive="PASS"))
    assert (measured.name, measured.judge, measured.source, measured.excluded_ties) == ("v1", "j", "model:o3", 1)
    assert measured.criteria["verdict"].n == 2
    assert measured.criteria["verdict"].confusion == {"PASS": {"PASS": 1, "NOT_GRADED": 1}}


def test_labels_are_matched_by_criterion() -> None:
    measured = report([result("c0", tone="PASS", facts="FAIL")], labelled({"tone": "PASS", "facts": "PASS"}))
    assert {name: c.recall.successes for name, c in measured.criteria.items()} == {"tone": 1, "facts": 0}
    with pytest.raises(CaseError, match="a label names criterion 'length', but judge 'j' answers tone, facts"):
        report([result("c0", tone="PASS", facts="FAIL")], labelled({"length": "PASS"}))
    with pytest.raises(AmbiguousResultError, match="has 2 criteria"):
        report([result("c0", tone="PASS", facts="FAIL")], labelled("PASS"))


def test_labels_that_match_no_result_calibrate_nothing() -> None:
    with pytest.raises(CaseError, match="no label of 'v1' matches a judged case"):
        report([result("elsewhere", verdict="PASS")], labelled("PASS"))
