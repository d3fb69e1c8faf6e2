"""The sheet of one annotator, and the rows a filled one becomes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.calibration import calibration_set_from_sheet
from judgeharness_integrations.labelling import LabelLog, parse_answers, questions
from judgeharness_integrations.labelling.sheets import add_rows, rows_of_sheet, write_annotator_sheet

PAIRS = [
    PairwiseCase(case_id=f"c{place}", input="=q", output="long answer", output_b="no", author="gpt", gold="B")
    for place in range(20)
]
CASES = [AnswerCase(case_id=f"c{place}", output=f"text {place}") for place in range(5)]


def lines_of(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def filled(sheet: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> Path:
    """Fill a sheet as a person with a spreadsheet does."""
    lines = [line | change(line) for line in lines_of(sheet)]
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return sheet


def written(tmp_path: Path, cases: Any = CASES, annotator: str = "anna", **options: Any) -> Path:
    asked = questions(cases, annotator=annotator, **options)
    return write_annotator_sheet(asked, tmp_path / f"{annotator}.csv", annotator=annotator)


def test_a_sheet_holds_the_questions_in_their_order_and_nothing_of_author_or_gold(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path, PAIRS))
    columns = ["case_id", "criterion", "context", "input", "output", "output_b", "reference"]
    assert list(lines[0]) == [*columns, "answer", "gold", "comment", "annotator", "swapped"]
    assert [line["case_id"] for line in lines] == [one.case_id for one in questions(PAIRS, annotator="anna")]
    assert {line["annotator"] for line in lines} == {"anna"}
    assert {line["gold"] for line in lines} == {""}
    assert {line["swapped"] for line in lines} == {"", "yes"}
    assert "gpt" not in (tmp_path / "anna.csv").read_text(encoding="utf-8-sig")


def test_columns_that_nothing_fills_are_left_out(tmp_path: Path) -> None:
    assert not {"output_b", "swapped", "rubric"} & set(lines_of(written(tmp_path))[0])
    lines = lines_of(written(tmp_path, annotator="ben", criteria=[Criterion(name="tone", description="Polite?")]))
    assert {line["rubric"] for line in lines} == {"Polite?"}


def test_what_was_said_about_swapped_answers_is_turned_back(tmp_path: Path) -> None:
    def longer(line: dict[str, str]) -> dict[str, str]:
        return {"gold": "A" if line["output"] == "long answer" else "b", "comment": "longer"}

    sheet = filled(written(tmp_path, PAIRS), longer)
    rows = rows_of_sheet(sheet)
    assert {row.verdict for row in rows} == {"A"}
    assert {(row.judge, row.reasoning) for row in rows} == {("anna", "longer")}
    assert {(row.swapped, row.perturbation) for row in rows} == {(False, "none"), (True, "position_swap")}
    golds, _ = calibration_set_from_sheet(sheet, PAIRS).golds()
    assert {gold["verdict"] for gold in golds.values()} == {"A"}


def test_a_sheet_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(UsageError, match="exists and may hold labels"):
        written(tmp_path)


def test_lines_without_gold_are_left_out_and_sets_are_read(tmp_path: Path) -> None:
    answers = parse_answers("toxic;spam")
    said = {"c0": "toxic; SPAM", "c1": ";", "c2": "spam", "c3": "", "c4": ""}
    sheet = filled(written(tmp_path, answers=answers), lambda line: {"gold": said[line["case_id"]]})
    found = {row.case_id: row.verdict for row in rows_of_sheet(sheet, known=said)}
    assert found == {"c0": frozenset({"toxic", "spam"}), "c1": frozenset(), "c2": frozenset({"spam"})}


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"gold": "maybe"}, {}, "'maybe' is not allowed: write PASS / FAIL"),
        ({"gold": "PASS", "annotator": ""}, {}, "does not say who filled it: give --annotator NAME"),
        ({"gold": "PASS"}, {"annotator": "ben"}, "is the sheet of 'anna', not of 'ben'"),
        ({"gold": "PASS", "case_id": "c1"}, {}, "'anna' labels 'verdict' of case 'c1' twice"),
        ({"gold": "PASS"}, {"known": {"other"}}, "is not among the cases"),
        ({"gold": ""}, {}, "no gold is filled in"),
        ({"gold": "PASS", "comment": ""}, {"annotator": "anna"}, None),
        ({"gold": "PASS", "annotator": ""}, {"annotator": "ben"}, None),
    ],
)
def test_sheets_that_cannot_be_used(
    tmp_path: Path, change: dict[str, str], options: dict[str, Any], sentence: str | None
) -> None:
    sheet = filled(written(tmp_path), lambda _: change)
    if sentence is None:
        assert {row.judge for row in rows_of_sheet(sheet, **options)} == {options["annotator"]}
        return
    with pytest.raises((CaseError, UsageError), match=sentence):
        rows_of_sheet(sheet, **options)


def test_a_cell_that_says_neither_swapped_nor_not_is_refused(tmp_path: Path) -> None:
    sheet = filled(written(tmp_path, PAIRS), lambda _: {"gold": "A", "swapped": "perhaps"})
    with pytest.raises(CaseError, match="swapped 'perhaps' is not yes or no"):
        rows_of_sheet(sheet)


def test_rows_are_added_once_and_never_against_what_was_said_before(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    rows = rows_of_sheet(filled(written(tmp_path), lambda _: {"gold": "PASS"}))
    assert (add_rows(rows[:2], log), add_rows(rows, log), add_rows(rows, log)) == (2, 3, 0)
    before = log.path.read_bytes()
    other = [rows[0].__class__(case_id=rows[0].case_id, verdict="FAIL", judge="anna")]
    with pytest.raises(CaseError, match=r"'anna' said PASS about 'verdict' of case 'c\d', the sheet says FAIL"):
        add_rows(other, log)
    scores = [rows[0].__class__(case_id="new", verdict=3, judge="anna")]
    with pytest.raises(CaseError, match="'anna' says labels and numbers about 'verdict': use one kind"):
        add_rows(scores, log)
    assert log.path.read_bytes() == before
    log.append([rows[0].__class__(case_id="new", verdict=None, outcome="refused", judge="anna")])
    assert add_rows(rows, log) == 0
