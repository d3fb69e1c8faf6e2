from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from judgeharness_integrations._errors import LogFormatError, UsageError
from judgeharness_integrations.analysis.agreement import Columns, Panel, read_panel

DATA = Path(__file__).parents[1] / "data"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def sets_of(panel: Panel) -> list[list[str]]:
    return [[label for label, marked in zip(panel.labels, row, strict=True) if marked] for row in panel.values]


def test_a_verdict_log_is_read_with_its_judges_as_raters() -> None:
    panel = read_panel(DATA / "panel.csv.gz")
    assert (panel.kind, len(panel.items), len(panel.labels), len(panel.rater)) == ("sets", 50, 6, 425)
    assert len(panel.select(["annotator_*"])) == 6


def test_unparsed_rows_of_a_log_are_counted() -> None:
    panel = read_panel(DATA / "pandalm.csv.gz")
    assert panel.failed == {"gpt-3.5-turbo": 25}
    assert len(range(*panel.cells_of("gpt-3.5-turbo").indices(10**6))) == 974


def test_the_annotation_json_is_read_humans_and_candidates_in_two_files(tmp_path: Path) -> None:
    humans = written(tmp_path, "human_annotations.json", json.dumps({"h1": {"a": "x", "b": "y"}, "h2": {"a": "y"}}))
    models = written(tmp_path, "llm_annotations.json", json.dumps({"gpt": {"a": "x", "b": None}}))
    panel = read_panel(humans, models)
    assert panel.raters == ("h1", "h2", "gpt")
    assert panel.grid(["gpt"]).tolist() == [[0, -1]]


def test_a_flat_json_is_of_one_rater_named_as_the_file(tmp_path: Path) -> None:
    assert read_panel(written(tmp_path, "gpt-4o.json", '{"a": 3, "b": 4.5}')).raters == ("gpt-4o",)


def test_a_zipped_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.json.gz"
    path.write_bytes(gzip.compress(b'{"h1": {"a": ["x"]}}'))
    assert read_panel(path).kind == "sets"


def test_an_item_that_stands_twice_in_json_is_folded_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path, "labels.json", '{"h1": {"a": "x", "a": "y", "a": "y"}, "h2": {"a": "x"}}')
    panel = read_panel(path)
    assert panel.grid(["h1", "h2"]).tolist() == [[1], [0]]
    assert panel.folded == {"h1": 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[1]", "is neither"),
        ("3", "is neither"),
        ('{"h1": {"a": "x"}, "h2": "y"}', "'h2' holds no {item: label}, as the other annotators do"),
        ('{"h1": {"a": {"b": 3}}}', "label 'b' is neither 0 nor 1: write a label or a list of labels"),
        ('{"h1": {"a": [["b"]]}}', "item 'a' of 'h1': a set of labels must hold non-empty texts only"),
        ("[]", "holds no rows"),
        ("{}", "no row holds a verdict"),
    ],
)
def test_a_json_that_holds_no_annotations_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_panel(written(tmp_path, "labels.json", text))
    assert told in str(caught.value)


def test_a_json_list_of_rows_is_a_table(tmp_path: Path) -> None:
    rows = [{"case_id": "1", "judge": "h1", "verdict": "A"}, {"case_id": "1", "judge": "h2", "verdict": "B"}]
    assert read_panel(written(tmp_path, "rows.json", json.dumps(rows))).raters == ("h1", "h2")


TABLE = 'text_id,annotator,labels,group\n1,h1,"[\'b\', \'a\']",g\n1,h2,"[""a""]",g\n2,h1,[],g2\n2,h2,,g2\n'


def test_a_table_with_label_lists_is_read_by_the_usual_names_of_its_columns(tmp_path: Path) -> None:
    panel = read_panel(written(tmp_path, "table.csv", TABLE), cluster="group")
    assert (panel.items, panel.raters, panel.labels) == (("1", "2"), ("h1", "h2"), ("a", "b"))
    assert sets_of(panel) == [["a", "b"], [], ["a"]]
    assert panel.clusters is not None
    assert panel.clusters.tolist() == [0, 1]


def test_a_table_with_columns_of_0_and_1_keeps_labels_nobody_marked(tmp_path: Path) -> None:
    table = "item,rater,hate,spam,never,note\n1,h1,1,0,0,x\n1,h2,true,1.0,0,y\n2,h1,0,0,0,\n2,h2,,,,\n"
    panel = read_panel(written(tmp_path, "table.csv", table))
    assert panel.labels == ("hate", "never", "spam")
    assert sets_of(panel) == [["hate"], [], ["hate", "spam"]]


def test_the_columns_of_a_table_can_be_named(tmp_path: Path) -> None:
    table = "doc,who,l_a,l_b,verdict,case_id\n1,h1,1,0,z,9\n1,h2,0,1,z,9\n"
    columns = Columns(item="doc", rater="who", labels=("l_*",))
    panel = read_panel(written(tmp_path, "table.csv", table), columns=columns)
    assert (panel.items, panel.labels) == (("1",), ("l_a", "l_b"))
    plain = read_panel(tmp_path / "table.csv", columns=Columns(item="doc", rater="who", labels=("verdict",)))
    assert (plain.kind, plain.labels) == ("labels", ("z",))


def test_a_named_column_of_0_and_1_holds_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", "id,rater,toxic\n1,h1,1\n1,h2,0\n")
    assert read_panel(path).kind == "sets"
    assert read_panel(path, columns=Columns(labels=("toxic",))).kind == "numbers"


def test_a_log_whose_raters_stand_in_another_column_is_a_table(tmp_path: Path) -> None:
    path = written(tmp_path, "log.csv", "case_id,annotator,verdict\n1,h1,3\n1,h2,4\n1,h2,5\n")
    panel = read_panel(path)
    assert panel.numbers_grid(["h1", "h2"]).tolist() == [[3], [4.5]]
    assert read_panel(path, labels=True).kind == "labels"


def test_a_text_that_looks_like_a_list_is_a_label(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", 'id,rater,label\n1,h1,[sic]\n1,h2,"[1+1]"\n1,h3,{}\n')
    assert read_panel(path).labels == ("[1+1]", "[sic]", "{}")


@pytest.mark.parametrize(
    ("table", "columns", "told"),
    [
        ("id,who,label\n1,h1,a\n", Columns(), "which column names the annotator? Name it with --rater, or, where each"),
        ("id,rater,x\n1,h1,a\n", Columns(), "which columns hold the labels? Name them with --columns: id, rater, x."),
        ("id,rater,x\n1,h1,a\n", Columns(item="idd"), "there is no column 'idd': --item is one of id, rater, x."),
        ("id,rater,x\n1,h1,a\n", Columns(labels=("y*",)), "no column is named 'y*': --columns is of id, rater, x."),
        ("id,rater,x,y\n1,h1,1,2\n", Columns(labels=("x", "y")), "line 2: column 'y' holds '2', where 0 or 1 is"),
        ("id,rater,x\n", Columns(), "holds no rows."),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_a_sentence(
    tmp_path: Path, table: str, columns: Columns, told: str
) -> None:
    with pytest.raises(LogFormatError) as caught:
        read_panel(written(tmp_path, "table.csv", table), columns=columns)
    assert told in str(caught.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_as_spreadsheets_of_other_countries_write_them(tmp_path: Path, separator: str) -> None:
    table = "Item ID,Annotator-ID,Label\n1,h1,a b\n1,h2,b\n".replace(",", separator)
    panel = read_panel(written(tmp_path, "table.csv", table))
    assert (panel.items, panel.raters, panel.labels) == (("1",), ("h1", "h2"), ("a b", "b"))


WIDE = "id,text,h1,h2,model\n1,x,yes,no,yes\n2,y,none,,no\n"


@pytest.mark.parametrize("named", [("h*", "model"), ("h1", "h2", "model")])
def test_a_table_with_a_column_for_each_annotator_is_read(tmp_path: Path, named: tuple[str, ...]) -> None:
    panel = read_panel(written(tmp_path, "wide.csv", WIDE), columns=Columns(labels=named), cluster="text")
    assert panel.raters == ("h1", "h2", "model")
    assert panel.labels == ("no", "none", "yes")  # `none` is a label: none of these
    assert panel.grid(panel.raters).tolist() == [[2, 1], [0, -1], [2, 0]]


def test_without_a_rater_column_marks_are_numbers_of_raters(tmp_path: Path) -> None:
    path = written(tmp_path, "wide.csv", "id,a,b\n1,1,0\n2,0,0\n")
    panel = read_panel(path, columns=Columns(labels=("a", "b")))
    assert (panel.kind, panel.raters) == ("numbers", ("a", "b"))


def test_a_row_of_marks_with_a_missing_one_is_a_missing_answer(tmp_path: Path) -> None:
    panel = read_panel(written(tmp_path, "table.csv", "id,rater,x,y\n1,h1,1,\n1,h2,0,1\n2,h1,nan,1\n2,h2,1,1\n"))
    assert panel.rater.tolist() == [0, 0]
    assert panel.raters == ("h2",)


def test_numbers_with_a_decimal_comma_are_not_compared_as_texts(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", 'id,rater,score\n1,h1,"3,25"\n1,h2,"4,5"\n')
    with pytest.raises(LogFormatError, match=r"labels such as '3,25' are numbers with a decimal comma: write a point"):
        read_panel(path)
    assert read_panel(path, labels=True).labels == ("3,25", "4,5")


def test_a_table_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match="no label is filled in"):
        read_panel(written(tmp_path, "table.csv", "id,rater,label\n1,h1,\n"))


def test_a_named_column_that_is_missing_for_the_item_or_nowhere(tmp_path: Path) -> None:
    path = written(tmp_path, "table.csv", "who,rater,label\n1,h1,a\n")
    with pytest.raises(LogFormatError, match=r"which column names the item\? Name it with --item: who, rater, label"):
        read_panel(path)
    assert read_panel(path, columns=Columns(item="who")).items == ("1",)


def test_json_rows_may_hold_lists_and_marks(tmp_path: Path) -> None:
    rows = [{"id": "1", "rater": "h1", "label": ["a"]}, {"id": "1", "rater": "h2", "label": []}]
    assert sets_of(read_panel(written(tmp_path, "rows.json", json.dumps(rows)))) == [["a"], []]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", 'id,rater,labels\n1,h1,"[0, 1, 1]"\n1,h2,"[1,0,0]"\n2,h1,"[0,0,0]"\n'),
        (
            "t.jsonl",
            '{"id": "1", "rater": "h1", "labels": [0, 1, 1]}\n{"id": "1", "rater": "h2", "labels": [1, 0, 0]}\n',
        ),
        ("t.json", '{"h1": {"1": [false, true, true]}, "h2": {"1": [true, false, false]}}'),
    ],
)
def test_vectors_of_0_and_1_are_positions(tmp_path: Path, name: str, text: str) -> None:
    panel = read_panel(written(tmp_path, name, text))
    assert panel.labels == ("1", "2", "3")
    assert panel.values[panel.cells_of("h1")][0].tolist() == [False, True, True]
    assert panel.values[panel.cells_of("h2")].tolist() == [[True, False, False]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", 'id,rater,labels\n1,h1,"[1, 3]"\n1,h2,[3]\n'),
        ("t.jsonl", '{"id": "1", "rater": "h1", "labels": [1, 3]}\n{"id": "1", "rater": "h2", "labels": [3]}\n'),
        ("t.json", '{"h1": {"1": [1, 3]}, "h2": {"1": [3]}}'),
    ],
)
def test_lists_of_numbers_are_labels(tmp_path: Path, name: str, text: str) -> None:
    assert sets_of(read_panel(written(tmp_path, name, text))) == [["1", "3"], ["3"]]


def test_marks_by_name_are_sets_and_keep_labels_nobody_marked(tmp_path: Path) -> None:
    text = '{"h1": {"1": {"a": 1, "b": 0, "never": 0}}, "h2": {"1": {"a": true, "b": 1, "never": 0}}}'
    panel = read_panel(written(tmp_path, "t.json", text))
    assert (panel.labels, sets_of(panel)) == (("a", "b", "never"), [["a"], ["a", "b"]])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", '{"h1": {"1": NaN, "2": 3}, "h2": {"1": 4}}'),
        ("t.jsonl", '{"id": "1", "rater": "h1", "score": NaN}\n{"id": "2", "rater": "h1", "score": 3}\n'),
    ],
)
def test_what_is_not_a_number_is_missing(tmp_path: Path, name: str, text: str) -> None:
    panel = read_panel(written(tmp_path, name, text))
    assert panel.values[panel.cells_of("h1")].tolist() == [3.0]


def test_a_column_of_ones_is_not_taken_for_a_label(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "id,rater,hate,is_train\n1,h1,1,1\n1,h2,0,1\n")
    with pytest.raises(LogFormatError, match="is 'is_train', 1 in every row, a label"):
        read_panel(path)
    assert read_panel(path, columns=Columns(labels=("hate", "is_train"))).labels == ("hate", "is_train")


def test_a_label_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match="line 3: column 'rater' is empty: say who gave the label"):
        read_panel(written(tmp_path, "t.csv", "id,rater,label\n1,h1,a\n1,,b\n"))


def test_whole_numbers_read_as_labels_are_the_same_label(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "id,rater,score\n1,h1,1\n1,h2,1.0\n2,h1,1.5\n")
    assert read_panel(path, labels=True).labels == ("1", "1.5")
