"""The sheet of one annotator, and the rows a filled one becomes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.labelling import LabelLog, parse_answers, questions
from judgeharness_integrations.labelling.resultsheets import calibration_set_from_sheet, item_of, read_labelling_sheet
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
    columns = ["item", "criterion", "context", "input", "output", "output_b", "reference"]
    assert list(lines[0]) == [*columns, "allowed", "label", "comment", "annotator", "swapped"]
    assert [line["item"] for line in lines] == [item_of(one.case_id) for one in questions(PAIRS, annotator="anna")]
    assert {line["annotator"] for line in lines} == {"anna"}
    assert {line["label"] for line in lines} == {""}
    assert {line["swapped"] for line in lines} == {"no", "yes"}
    assert "gpt" not in (tmp_path / "anna.csv").read_text(encoding="utf-8-sig")


def test_a_sheet_shows_no_case_id_and_no_spreadsheet_takes_what_stands_for_it_for_a_number(tmp_path: Path) -> None:
    cases = [AnswerCase(case_id=f"gpt-{place}", output="text") for place in range(300)]
    sheet = written(tmp_path, cases)
    assert "gpt" not in sheet.read_text(encoding="utf-8-sig")
    assert all(line["item"].startswith("item-") for line in lines_of(sheet))
    rows = rows_of_sheet(filled(sheet, lambda _: {"label": "PASS"}), cases=cases)
    assert {row.case_id for row in rows} == {case.case_id for case in cases}
    with pytest.raises(CaseError, match="names items and no cases: give the cases it was written for"):
        rows_of_sheet(sheet)
    with pytest.raises(CaseError, match="names items and no cases"):
        read_labelling_sheet(sheet)
    assert len(read_labelling_sheet(sheet, cases=cases)) == 300


def test_a_sheet_with_the_columns_of_before_is_still_taken(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    header = "case_id,criterion,output,output_b,answer,gold,annotator,swapped"
    path.write_text(f"{header}\nc0,verdict,no,long answer,A / B / TIE,b,anna,yes\n")
    for cases in (None, PAIRS):
        [row] = rows_of_sheet(path, cases=cases)
        assert (row.case_id, row.verdict, row.judge, row.swapped) == ("c0", "A", "anna", True)


def test_columns_that_nothing_fills_are_left_out(tmp_path: Path) -> None:
    assert not {"output_b", "swapped", "rubric"} & set(lines_of(written(tmp_path))[0])
    lines = lines_of(written(tmp_path, annotator="ben", criteria=[Criterion(name="tone", description="Polite?")]))
    assert {line["rubric"] for line in lines} == {"Polite?"}


def test_what_was_said_about_swapped_answers_is_turned_back(tmp_path: Path) -> None:
    def longer(line: dict[str, str]) -> dict[str, str]:
        return {"label": "A" if line["output"] == "long answer" else "b", "comment": "longer"}

    sheet = filled(written(tmp_path, PAIRS), longer)
    rows = rows_of_sheet(sheet, cases=PAIRS)
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
    said = {"text 0": "toxic; SPAM", "text 1": ";", "text 2": "spam", "text 3": "", "text 4": ""}
    sheet = filled(written(tmp_path, answers=answers), lambda line: {"label": said[line["output"]]})
    found = {row.case_id: row.verdict for row in rows_of_sheet(sheet, cases=CASES)}
    assert found == {"c0": frozenset({"toxic", "spam"}), "c1": frozenset(), "c2": frozenset({"spam"})}


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"label": "maybe"}, {}, "label 'maybe' is not allowed: write PASS / FAIL"),
        ({"label": "PASS", "annotator": ""}, {}, "does not say who filled it: give --annotator NAME"),
        ({"label": "PASS"}, {"annotator": "ben"}, "is the sheet of 'anna', not of 'ben'"),
        ({"label": "PASS", "item": item_of("c1")}, {}, "'anna' labels 'verdict' of case 'c1' twice"),
        ({"label": "PASS"}, {"cases": [AnswerCase(case_id="other", output="x")]}, "is not among the cases"),
        ({"label": ""}, {}, "no label is filled in: write what its column allowed allows into its column label"),
        ({"label": "PASS", "comment": ""}, {"annotator": "anna"}, None),
        ({"label": "PASS", "annotator": ""}, {"annotator": "ben"}, None),
    ],
)
def test_sheets_that_cannot_be_used(
    tmp_path: Path, change: dict[str, str], options: dict[str, Any], sentence: str | None
) -> None:
    sheet = filled(written(tmp_path), lambda _: change)
    options = {"cases": CASES} | options
    if sentence is None:
        assert {row.judge for row in rows_of_sheet(sheet, **options)} == {options["annotator"]}
        return
    with pytest.raises((CaseError, UsageError), match=sentence):
        rows_of_sheet(sheet, **options)


def test_a_cell_that_says_neither_swapped_nor_not_is_refused(tmp_path: Path) -> None:
    sheet = filled(written(tmp_path, PAIRS), lambda _: {"label": "A", "swapped": "perhaps"})
    with pytest.raises(CaseError, match="swapped 'perhaps' is not yes or no"):
        rows_of_sheet(sheet, cases=PAIRS)


SILENT = (
    r"line \d+: its column swapped does not say how the two answers stand: take that column from the sheet as it was"
)


@pytest.mark.parametrize("emptied", [("swapped",), ("swapped", "output_b")])
@pytest.mark.parametrize("deleted", [True, False])
def test_a_pair_whose_places_are_not_told_is_refused(
    tmp_path: Path,
    emptied: tuple[str, ...],
    deleted: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    sheet = filled(written(tmp_path, PAIRS), lambda _: {"label": "A", **dict.fromkeys(emptied, "")})
    if deleted:
        lines = [{name: line[name] for name in line if name not in emptied} for line in lines_of(sheet)]
        with sheet.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    with pytest.raises(CaseError, match=SILENT):
        rows_of_sheet(sheet, cases=PAIRS)
    with pytest.raises(CaseError, match=SILENT):
        calibration_set_from_sheet(sheet, PAIRS)


def test_places_that_are_not_those_of_the_texts_shown_are_refused(tmp_path: Path) -> None:
    sheet = filled(written(tmp_path, PAIRS), lambda _: {"label": "A"})
    turned = {"yes": "no", "no": "yes"}
    other = filled(sheet, lambda line: {"swapped": turned[line["swapped"]]})
    with pytest.raises(CaseError, match=SILENT):
        rows_of_sheet(other, cases=PAIRS)
    with pytest.raises(CaseError, match=SILENT):  # sorted by itself, the column stands beside other lines
        rows_of_sheet(filled(other, lambda _: {"swapped": "no"}), cases=PAIRS)
    spaced = filled(other, lambda line: {"swapped": turned[line["swapped"]], "output": f" {line['output']} "})
    with pytest.raises(CaseError, match=SILENT):
        rows_of_sheet(spaced, cases=PAIRS)


def test_two_equal_answers_stand_in_any_order(tmp_path: Path) -> None:
    cases = [PairwiseCase(case_id=f"c{place}", output="same", output_b="same") for place in range(9)]
    assert len(rows_of_sheet(filled(written(tmp_path, cases), lambda _: {"label": "TIE"}), cases=cases)) == 9


def test_rows_are_added_once_and_never_against_what_was_said_before(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    rows = rows_of_sheet(filled(written(tmp_path), lambda _: {"label": "PASS"}), cases=CASES)
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
