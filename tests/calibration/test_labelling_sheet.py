"""The labelling sheet of any measurements, and the calibration set a filled one becomes."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import first, measured
from support.rows import both_orders, sampled

from judgeharness_integrations import AnswerCase, Criterion, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.labelling.resultsheets import (
    Answers,
    SheetLabel,
    calibration_set_from_sheet,
    read_labelling_sheet,
    write_labelling_sheet,
)

COLUMNS = ["case_id", "criterion", "context", "input", "output", "reference", "answer", "gold"]
CASES = [
    AnswerCase(case_id=city, input=f"Weather in {city}?", output=f"Fine in {city}.", reference="Sun.", gold="PASS")
    for city in ("Oslo", "Rome", "Lima", "Cairo")
]
SAID = {"Oslo": "PASS", "Rome": "PASS", "Lima": "FAIL", "Cairo": None}
GOLD = {"Oslo": "PASS", "Rome": "FAIL", "Lima": "fail", "Cairo": ""}


def judged(case_id: str, verdicts: Sequence[Any], **design: Any) -> HarnessResult:
    scores = any(isinstance(verdict, (int, float)) for verdict in verdicts)
    design = {"rule_name": "median" if scores else "majority", "perturbations": ("none",)} | design
    return measured(sampled(verdicts, case_id=case_id), case_id=case_id, **design)


@pytest.fixture(scope="module")
def results() -> list[HarnessResult]:
    return [judged(city, [said] * 4) for city, said in SAID.items()]


def lines_of(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(sheet: Path, gold: Callable[[dict[str, str]], str]) -> Path:
    """Label a sheet as a person with a spreadsheet does."""
    lines = lines_of(sheet)
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {"gold": gold(line)} for line in lines)
    return sheet


def answers_on(tmp_path: Path, result: HarnessResult, **options: Any) -> list[str]:
    sheet = write_labelling_sheet([result], tmp_path / "answers.csv", seed=None, **options)
    return [line["answer"] for line in lines_of(sheet)]


# Writing


def test_a_sheet_shows_the_case_and_nothing_the_judge_said(results: list[HarnessResult], tmp_path: Path) -> None:
    path = write_labelling_sheet(results, tmp_path / "deep" / "sheet.csv", cases=CASES)
    lines = lines_of(path)
    assert list(lines[0]) == COLUMNS
    assert {line["case_id"] for line in lines} == set(SAID)
    oslo = next(line for line in lines if line["case_id"] == "Oslo")
    assert oslo == {
        "case_id": "Oslo",
        "criterion": "verdict",
        "context": "",
        "input": "Weather in Oslo?",
        "output": "Fine in Oslo.",
        "reference": "Sun.",
        "answer": "PASS / FAIL",
        "gold": "",
    }
    assert len({tuple(line[name] for name in ("answer", "gold")) for line in lines}) == 1


def test_without_cases_a_sheet_names_them_only(results: list[HarnessResult], tmp_path: Path) -> None:
    lines = lines_of(write_labelling_sheet(results, tmp_path / "sheet.csv"))
    assert {line["case_id"] for line in lines} == set(SAID)
    assert {line["output"] for line in lines} == {""}


def test_a_seed_shuffles_and_repeats(results: list[HarnessResult], tmp_path: Path) -> None:
    first_, again, other, plain = (
        [line["case_id"] for line in lines_of(write_labelling_sheet(results, tmp_path / "s.csv", seed=seed))]
        for seed in (1, 1, 2, None)
    )
    assert first_ == again
    assert plain == list(SAID)
    assert len({tuple(order) for order in (first_, other, plain)}) == 3
    assert sorted(first_) == sorted(plain)


def test_what_came_to_no_decision_may_be_chosen(tmp_path: Path) -> None:
    tied = judged("tie", ["PASS", "PASS", "FAIL", "FAIL"])
    failed = judged("failed", [None, None, None, "PASS"])
    several = [judged("clear", ["PASS"] * 4), tied, failed, tied]
    named = {
        only: [line["case_id"] for line in lines_of(write_labelling_sheet(several, tmp_path / "s.csv", only=only))]
        for only in ("all", "undecided", "abstained")
    }
    assert {only: sorted(cases) for only, cases in named.items()} == {
        "all": ["clear", "failed", "tie"],
        "undecided": ["failed", "tie"],
        "abstained": ["tie"],
    }


def test_lines_of_json_hold_texts_as_they_are(tmp_path: Path) -> None:
    path = write_labelling_sheet([judged("=1", ["PASS"])], tmp_path / "sheet.jsonl")
    assert [json.loads(line)["case_id"] for line in path.read_text(encoding="utf-8").splitlines()] == ["=1"]


def test_pairs_have_a_second_output(tmp_path: Path) -> None:
    case = PairwiseCase(case_id="c1", output="one", output_b="two")
    [line] = lines_of(write_labelling_sheet([measured(both_orders("AA", "AA"))], tmp_path / "s.csv", cases=[case]))
    assert (line["output"], line["output_b"], line["answer"]) == ("one", "two", "A / B / TIE")


@pytest.mark.parametrize(
    ("case", "texts"),
    [
        ("a text", {"output": "a text"}),
        ({"case_id": "c1", "output": "a", "context": ["b"]}, {"output": "a", "context": '["b"]'}),
        (SimpleNamespace(case_id="c1", input="q"), {"input": "q"}),
        ({"case_id": "c1", "question": "q"}, {"output": '{"case_id": "c1", "question": "q"}'}),
        (structured_case(case_id="c1", outputs={"answer": "a"}), {"output": "a"}),
    ],
)
def test_a_case_may_be_of_any_kind(case: Any, texts: dict[str, str], tmp_path: Path) -> None:
    result = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority").evaluate(
        lambda _: "PASS", case
    )
    [line] = lines_of(write_labelling_sheet([result], tmp_path / "s.csv", cases=[case]))
    shown = {name: line[name] for name in ("context", "input", "output", "reference") if line[name]}
    assert shown == texts


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (judged("c", ["PASS", "FAIL"]), "PASS / FAIL"),
        (judged("c", ["A", "B"]), "a label"),
        (measured(both_orders(["A", "TIE"], "AB")), "A / B / TIE"),
        (measured(both_orders(["C", "A"], "AB")), "a label"),
        (judged("c", ["toxic", "PASS"]), "a label"),
        (judged("c", [7, 8.5]), "a number"),
        (judged("c", [7, 8.5], rule_name="median(pass_at=8)"), "PASS / FAIL"),
        (judged("c", [7, 8.5], rule_name="median(pass_at=7.75)"), "PASS / FAIL"),
        (judged("c", [frozenset({"toxic"}), frozenset()]), "labels, separated by semicolons"),
        (judged("c", [None, None]), "a label or a number"),
        (measured(both_orders([None], [None])), "A / B / TIE"),
    ],
)
def test_what_may_be_written_follows_from_the_verdicts(result: HarnessResult, answer: str, tmp_path: Path) -> None:
    assert answers_on(tmp_path, result) == [answer]


@pytest.mark.parametrize(
    ("verdicts", "declared", "answer"),
    [
        (["good", "bad"], {"labels": ("good", "bad", "awful")}, "good / bad / awful"),
        (["PASS"], {"labels": ("PASS", "FAIL", "PARTLY")}, "PASS / FAIL / PARTLY"),
        ([None], {"labels": ("good", "bad")}, "good / bad"),
        (["yes / no", "b"], {"labels": ("yes / no", "b")}, "a label"),
        ([3, 4], {"scale": (1, 10)}, "a number from 1 to 10"),
        ([None], {"scale": (0, 1.5)}, "a number from 0 to 1.5"),
        ([3, 4], {"labels": ("3", "4")}, "a number"),
        (["good"], {"scale": (1, 10)}, "a label"),
        (["PASS"], {}, "PASS / FAIL"),
    ],
)
def test_what_the_judge_declares_narrows_it(
    verdicts: list[Any], declared: dict[str, Any], answer: str, tmp_path: Path
) -> None:
    criterion = Criterion(name="verdict", description="Is it good?", **declared)
    result = judged("c", verdicts)
    assert answers_on(tmp_path, result, criteria=[criterion]) == [answer]
    assert lines_of(tmp_path / "answers.csv")[0]["rubric"] == "Is it good?"
    case = AnswerCase(case_id="c", output="x", criteria=(criterion,))
    assert answers_on(tmp_path, result, cases=[case]) == [answer]


def test_every_criterion_has_a_line(tmp_path: Path) -> None:
    rows = [*sampled(["PASS", "PASS"], criterion="tone"), *sampled([7, 9], criterion="score")]
    result = measured(rows, rule_name=first)
    sheet = write_labelling_sheet([result], tmp_path / "s.csv", only="all", seed=None)
    assert [(line["criterion"], line["answer"]) for line in lines_of(sheet)] == [
        ("tone", "PASS / FAIL"),
        ("score", "a number"),
    ]


def test_what_cannot_be_written_is_said(results: list[HarnessResult], tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    with pytest.raises(UsageError, match=r"s\.xlsx: a labelling sheet is \.csv or \.jsonl\.$"):
        write_labelling_sheet(results, tmp_path / "s.xlsx")
    with pytest.raises(UsageError, match=r"nothing to label: no result is given\.$"):
        write_labelling_sheet([], sheet)
    with pytest.raises(UsageError, match=r"none of 1 results is abstained; only='all' writes every one\.$"):
        write_labelling_sheet(results[:1], sheet, only="abstained")
    with pytest.raises(UsageError, match="only is one of all, undecided, abstained, not 'some'"):
        write_labelling_sheet(results, sheet, only="some")  # type: ignore[arg-type]
    with pytest.raises(CaseError, match="case 'Rome' is not among the cases given: give the case of every result"):
        write_labelling_sheet(results, sheet, cases=CASES[:1])
    assert not sheet.exists()


FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
HOSTILE = st.text(st.sampled_from([*FORMULA, *"'\"ab,;\u202e\ud800é"]), min_size=1, max_size=6).filter(str.strip)


@given(case_id=HOSTILE, said=HOSTILE)
def test_no_cell_is_a_formula_and_ids_come_back(
    case_id: str, said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile-sheet.csv"
    case = AnswerCase(case_id=case_id, output=said, input=said)
    [line] = lines_of(write_labelling_sheet([judged(case_id, ["PASS"])], path, cases=[case]))
    assert not any(cell.startswith(FORMULA) for cell in line.values() if cell)
    if "\ud800" not in case_id:
        path.write_bytes(path.read_bytes().removesuffix(b"\r\n") + b"yes\r\n")
        assert read_labelling_sheet(path) == [(case_id, "verdict", "PASS")]


# Reading


@pytest.mark.parametrize(
    ("answer", "said", "gold"),
    [
        ("PASS / FAIL", "pass", "PASS"),
        ("PASS / FAIL", " no ", "FAIL"),
        ("PASS / FAIL", "1", "PASS"),
        ("A / B / TIE", "tie", "TIE"),
        ("A / B / TIE", "b", "B"),
        ("good / bad", "Good", "good"),
        ("a number", "-7", -7),
        ("a number", "7.50", 7.5),
        ("a number from 1 to 10", "10", 10),
        ("a label", "7", "7"),
        ("a label", "so so", "so so"),
        ("labels, separated by semicolons", "toxic; spam;", frozenset({"toxic", "spam"})),
        ("a label or a number", "7", 7),
        ("", "fine", "fine"),
        ("edited by somebody", "7", 7),
    ],
)
def test_what_people_write(answer: str, said: str, gold: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"case_id": "c", "criterion": "verdict", "answer": answer, "gold": said}))
    [label] = read_labelling_sheet(path)
    assert label == SheetLabel("c", "verdict", gold)
    assert type(label.gold) is type(gold)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("PASS / FAIL", "maybe"),
        ("PASS / FAIL", "A"),
        ("A / B / TIE", "PASS"),
        ("A / B / TIE", "yes"),
        ("a number", "seven"),
        ("a number", "nan"),
        ("a number", "7,5"),
        ("a number from 1 to 10", "10.5"),
        ("a number from 1 to 10", "0"),
        ("a label", "abstain"),
        ("a label or a number", "ABSTAIN"),
    ],
)
def test_other_words_are_refused_with_their_line(answer: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f'case_id,criterion,answer,gold\nc,verdict,{answer},\nd,verdict,{answer},"{said}"\n')
    with pytest.raises(CaseError) as refused:
        read_labelling_sheet(path)
    assert str(refused.value) == f"{path}, line 3: gold {said!r} is not allowed: write {answer}, or nothing."


def test_json_may_hold_bools_numbers_and_lists(tmp_path: Path) -> None:
    path = tmp_path / "sheet.jsonl"
    golds = [True, 0, ["yes", False, None], None, "", []]
    line = {"case_id": 7, "criterion": "'c", "answer": "PASS / FAIL"}
    path.write_text("".join(json.dumps(line | {"gold": gold}) + "\n" for gold in golds))
    assert read_labelling_sheet(path) == [("7", "'c", gold) for gold in ("PASS", "FAIL", "PASS", "FAIL")]


def test_a_sheet_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("case_id,gold\nc,yes\n")
    with pytest.raises(CaseError, match=r"line 2: column 'criterion' is missing; save the sheet as comma-separated"):
        read_labelling_sheet(path)
    path.write_text("case_id,criterion,gold\nc,verdict,\n")
    with pytest.raises(CaseError, match=r"people\.csv: no gold is filled in"):
        read_labelling_sheet(path)
    with pytest.raises(CaseError, match=r"a labelling sheet is \.csv or \.jsonl.*; save the sheet as"):
        read_labelling_sheet(tmp_path / "sheet.xlsx")


# Calibration


def test_a_filled_sheet_calibrates(results: list[HarnessResult], tmp_path: Path) -> None:
    sheet = fill(write_labelling_sheet(results, tmp_path / "people.csv", cases=CASES), lambda x: GOLD[x["case_id"]])
    labels = calibration_set_from_sheet(sheet, CASES)
    assert (labels.name, labels.source, [case.case_id for case in labels.cases]) == (
        "people",
        "human",
        ["Oslo", "Rome", "Lima"],
    )
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    report = harness.calibrate(lambda case: SAID[case.case_id], labels)
    assert report.criteria["verdict"].precision == Rate.of(1, 2)
    assert report.criteria["verdict"].recall == Rate.of(1, 1)


def test_pairs_are_labelled_in_letters(tmp_path: Path) -> None:
    case = PairwiseCase(case_id="c1", output="one", output_b="two")
    sheet = write_labelling_sheet([measured(both_orders("AA", "AA"))], tmp_path / "s.csv", cases=[case])
    labels = calibration_set_from_sheet(fill(sheet, lambda _: "b"), [case], name="pairs", source="executable")
    assert (labels.name, labels.source) == ("pairs", "executable")
    assert labels.golds() == ({"c1": {"verdict": "B"}}, 0)


def test_lines_of_one_case_are_several_annotators(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    golds = {"Oslo": ["PASS", "PASS", "FAIL"], "Rome": ["PASS", "FAIL"]}
    line = {"criterion": "verdict", "answer": "PASS / FAIL"}
    path.write_text(
        "".join(json.dumps(line | {"case_id": c, "gold": gold}) + "\n" for c, said in golds.items() for gold in said)
    )
    labels = calibration_set_from_sheet(path, CASES)
    assert [label for _, label in labels.labeled_examples] == [{"verdict": said} for said in golds.values()]
    assert labels.golds() == ({"Oslo": {"verdict": "PASS"}}, 1)


def test_labels_of_no_case_given_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "s.csv"
    path.write_text("case_id,criterion,gold\nOslo,verdict,PASS\nParis,verdict,PASS\n")
    with caplog.at_level(logging.WARNING, "judgeharness_integrations"):
        assert len(calibration_set_from_sheet(path, CASES).cases) == 1
    assert "1 of 2 labels are of no case given" in caplog.text
    with pytest.raises(CaseError, match="none of its 2 labels is of a case given: give the cases it was written for"):
        calibration_set_from_sheet(path, CASES[2:])


@given(st.sampled_from(["label", "labels", "any", "number"]))
def test_texts_for_people_are_read_back(kind: Any) -> None:
    assert Answers.parse(str(Answers(kind=kind))) == Answers(kind=kind)
