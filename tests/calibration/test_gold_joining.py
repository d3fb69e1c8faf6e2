"""Labels made after a run, joined to the rows of its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.candidates import joined, read_gold
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow


def gold_file(folder: Path, *lines: str, name: str = "gold.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_case_id_and_gold_are_enough(tmp_path: Path) -> None:
    labels = read_gold(gold_file(tmp_path, "case_id,gold", "c1,PASS", "c2,FAIL", "c3,"), source="executable")
    assert labels.golds() == ({"c1": {"": "PASS"}, "c2": {"": "FAIL"}}, 0)
    assert (labels.name, labels.source) == ("gold", "executable")
    found = joined([VerdictRow(case_id=case, verdict="PASS") for case in ("c1", "c3", "c4")], labels)
    assert [row.gold for row in found.rows] == ["PASS", None, None]
    assert (found.labelled, found.cases, found.unmatched, found.replaced) == (1, 3, ("c2",), False)
    whole = joined([VerdictRow(case_id=case, verdict="PASS") for case in ("c1", "c2")], labels)
    assert whole.notes("g") == ("labels of g: 2 of 2 cases of the log are labelled",)


def test_criteria_stand_in_a_column_or_in_the_label(tmp_path: Path) -> None:
    rows = [VerdictRow(case_id="c1", verdict="PASS", criterion=name) for name in ("tone", "facts")]
    column = gold_file(tmp_path, "case_id,criterion,gold", "c1,tone,PASS", "c1,facts,FAIL")
    nested = gold_file(tmp_path, '{"case_id": "c1", "gold": {"tone": "PASS", "facts": "FAIL"}}', name="gold.jsonl")
    for path in (column, nested):
        assert {row.criterion: row.gold for row in joined(rows, read_gold(path)).rows} == {
            "tone": "PASS",
            "facts": "FAIL",
        }


def test_a_case_that_failed_for_every_criterion_is_labelled_all_the_same(tmp_path: Path) -> None:
    rows = [
        VerdictRow(case_id="c1", verdict="PASS", criterion="tone"),
        VerdictRow(case_id="c2", verdict=None, criterion=EVERY_CRITERION, outcome="error"),
    ]
    found = joined(rows, read_gold(gold_file(tmp_path, "case_id,gold", "c1,PASS", "c2,FAIL")))
    assert [(row.case_id, row.criterion, row.gold) for row in found.rows] == [
        ("c1", "tone", "PASS"),
        ("c2", "tone", "FAIL"),
    ]


def test_ties_are_counted_and_what_is_known_is_said(tmp_path: Path) -> None:
    path = gold_file(
        tmp_path, "case_id,gold,label_count", "c1,PASS,3", "c2,,2", "c3,,1", "c4,,some", 'c5,"[""PASS"", ""FAIL""]",2'
    )
    rows = [VerdictRow(case_id="c1", verdict="PASS", gold="FAIL")]
    assert joined(rows, read_gold(path)).notes("gold.csv") == (
        "labels of gold.csv: 1 of 1 cases of the log are labelled",
        "labelled cases that the log does not hold, and count for nothing: 1 (c5)",
        "evenly split labels that were left out, so that the labelled cases are those people agree on: 2",
        "the gold column of the log was not used",
    )
    many = gold_file(tmp_path, "case_id,gold", *(f"c{n},PASS" for n in range(1, 7)))
    assert "nothing: 5 (c2, c3, c4, ...)" in joined(rows, read_gold(many)).notes("gold.csv")[1]


def test_labels_of_criteria_the_log_does_not_hold_are_counted(tmp_path: Path) -> None:
    lines = [f"c{n},PASS,{name}" for n, name in enumerate(["tone", "tonne", "tonne", "x", "y", "z"])]
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS", criterion="tone") for n in range(6)]
    several = gold_file(tmp_path, "case_id,gold,criterion", *lines)
    assert joined(rows, read_gold(several)).notes("gold.csv") == (
        "labels of gold.csv: 1 of 6 cases of the log are labelled",
        "labels of criteria that the log does not hold, and count for nothing: 5 (tonne, x, y, ...)",
    )
    one = gold_file(tmp_path, "case_id,gold,criterion", *lines[:3])
    assert "nothing: 2 (tonne)" in joined(rows, read_gold(one)).notes("gold.csv")[1]


def test_numbers_are_texts_where_verdicts_are(tmp_path: Path) -> None:
    path = gold_file(tmp_path, "case_id,gold", "c1,1", "c2,0")
    rows = [VerdictRow(case_id=case, verdict="1") for case in ("c1", "c2", "c3")]
    assert [row.gold for row in joined(rows, read_gold(path), texts=True).rows] == ["1", "0", None]
    assert [row.gold for row in joined(rows, read_gold(path)).rows] == [1, 0, None]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("case_id,verdict", "c1,PASS"), "has no column gold: merge the logs of annotators with"),
        (("case_id,gold", ",PASS"), "line 2: column 'case_id' is missing or empty."),
        (("gold", "PASS"), "line 2: column 'case_id' is missing or empty."),
        (("case_id,gold", "c1,PASS", "c1,FAIL"), "line 3: labels case 'c1' twice"),
        (("case_id,gold", "c1,"), "holds no labelled examples"),
    ],
)
def test_a_file_that_holds_no_such_labels_is_refused(tmp_path: Path, lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(CaseError, match=sentence):
        read_gold(gold_file(tmp_path, *lines))


def test_a_label_given_twice_is_refused_where_both_are_the_same(tmp_path: Path) -> None:
    for first, again in (
        ("true", "true"),
        ('"A"', '"A"'),
        ("1", "1"),
        ('{"tone": "A"}', '{"tone": "A", "facts": "B"}'),
    ):
        lines = (f'{{"case_id": "c1", "gold": {gold}}}\n' for gold in (first, again))
        (path := tmp_path / "gold.jsonl").write_text("".join(lines))
        with pytest.raises(CaseError, match="line 2: labels case 'c1' twice: keep one label"):
            read_gold(path)


def test_labels_that_match_nothing_or_could_be_of_any_criterion_are_refused(tmp_path: Path) -> None:
    labels = read_gold(gold_file(tmp_path, "case_id,gold", "c1,PASS"))
    with pytest.raises(UsageError, match="no label of 'gold'"):
        joined([VerdictRow(case_id="x", verdict="PASS")], labels)
    rows = [VerdictRow(case_id="c1", verdict="PASS", criterion=name) for name in ("tone", "facts")]
    with pytest.raises(UsageError, match="names no criterion, and the log holds 2: add a column criterion"):
        joined(rows, labels)


def test_a_column_of_somebodys_own_counts_no_ties(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    lines = ['{"case_id": "c1", "gold": "PASS"}', '{"case_id": "c2", "gold": null, "label_count": [3]}']
    path.write_text("\n".join(lines), encoding="utf-8")
    rows = [VerdictRow(case_id="c1", verdict="PASS")]
    assert joined(rows, read_gold(path)).notes("gold.jsonl") == (
        "labels of gold.jsonl: 1 of 1 cases of the log are labelled",
    )
