from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog import VerdictRow, read_log
from judgeharness_integrations.verdictlog.files import read_records

OURS = {"schema": "judgeharness.log/1"}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(
        content: str | bytes | list[dict[str, Any]], name: str | None = None, **options: Any
    ) -> list[VerdictRow]:
        if isinstance(content, list):
            name, content = name or "log.jsonl", "".join(json.dumps(record) + "\n" for record in content)
        path = tmp_path / (name or "log.csv")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_log(path, **options)

    return reading


def test_a_log_from_elsewhere_takes_the_defaults(read: Any) -> None:
    assert read("case_id,verdict\nc1,A\n") == [VerdictRow(case_id="c1", verdict="A")]
    assert read([{"case_id": 1, "verdict": "A"}]) == [VerdictRow(case_id="1", verdict="A")]


def test_every_column_is_read(read: Any) -> None:
    header = (
        "run,case_id,judge,criterion,perturbation,repetition,swapped,outcome,verdict,gold,call_id,reasoning,raw,model,"
        "input_tokens,output_tokens,latency_s,attempts,error,asked_at,length"
    )
    cells = 'r,c,j,k,format_change,2,no,ok,A,B,k1,because,"[[A]]",m,10,2,0.5,3,late,2026-01-01T00:00:00+00:00,long'
    assert read(f"{header}\n{cells}\n") == [
        VerdictRow(
            run="r",
            case_id="c",
            judge="j",
            criterion="k",
            perturbation="format_change",
            repetition=2,
            verdict="A",
            gold="B",
            call_id="k1",
            reasoning="because",
            raw="[[A]]",
            model="m",
            input_tokens=10,
            output_tokens=2,
            latency_s=0.5,
            attempts=3,
            error="late",
            asked_at="2026-01-01T00:00:00+00:00",
            attributes={"length": "long"},
        )
    ]


def test_repetition_is_the_place_among_otherwise_equal_rows(read: Any) -> None:
    rows = read(
        "case_id,judge,perturbation,verdict\nc1,j,none,A\nc1,k,none,A\nc1,j,none,B\nc1,j,position_swap,A\nc2,j,,A\nc1,j,none,A\n"
    )
    assert [row.repetition for row in rows] == [0, 0, 1, 0, 0, 2]


@pytest.mark.parametrize(
    ("perturbation", "cell", "swapped"),
    [
        ("none", "", False),
        ("position_swap", "", True),
        ("format_change+position_swap", "", True),
        ("position_swap+position_swap", "", False),
        ("position_swapped", "", False),
        ("mirror", "true", True),
        ("mirror", "1", True),
        ("mirror", "YES", True),
        ("position_swap", "False", False),
        ("position_swap", "0", False),
    ],
)
def test_swapped_is_declared_or_follows_from_the_perturbation(
    read: Any,
    perturbation: str,
    cell: str,
    swapped: bool,  # noqa: FBT001
) -> None:
    assert read(f"case_id,verdict,perturbation,swapped\nc1,A,{perturbation},{cell}\n")[0].swapped is swapped


def test_swapped_may_be_a_json_boolean(read: Any) -> None:
    assert read([{"case_id": "c", "verdict": "A", "swapped": True}])[0].swapped is True


@pytest.mark.parametrize(
    ("verdict", "outcome", "expected"),
    [
        ("A", "", ("A", "ok")),
        ("", "", (None, "unparsed")),
        ("  ", "", (None, "unparsed")),
        ("", "error", (None, "error")),
        ("", "refused", (None, "refused")),
        ("ABSTAIN", "", (None, "refused")),
        ("ABSTAIN", "ok", (None, "refused")),
    ],
)
def test_a_row_without_a_verdict_is_a_failure(read: Any, verdict: str, outcome: str, expected: tuple) -> None:
    row = read(f"case_id,verdict,outcome\nc1,{verdict},{outcome}\n")[0]
    assert (row.verdict, row.outcome) == expected


@pytest.mark.parametrize(
    ("cells", "verdicts"),
    [
        (["7", "8.5", "-1", "+2", ".5", "3.", "1e2", "-2.5E-1"], [7, 8.5, -1, 2, 0.5, 3.0, 100, -0.25]),
        (["7", "", "ABSTAIN", " "], [7, None, None, None]),
        (["7 ", " 8"], [7, 8]),
        (["A", "B"], ["A", "B"]),
        (["1.2.3", "1_0"], ["1.2.3", "1_0"]),
        (["0x1f", "1e", "e5"], ["0x1f", "1e", "e5"]),
        (
            ['"[""b"",""a""]"', "plain", "[]", "[[A]]", "[unclosed"],
            [frozenset("ab"), "plain", frozenset(), "[[A]]", "[unclosed"],
        ),
        (["True", "False"], ["True", "False"]),
    ],
)
def test_a_criterion_is_numeric_iff_every_verdict_is_a_plain_decimal(read: Any, cells: list, verdicts: list) -> None:
    rows = read("case_id,verdict\n" + "".join(f"c{n},{cell}\n" for n, cell in enumerate(cells)))
    assert [row.verdict for row in rows] == verdicts
    assert [type(row.verdict) for row in rows] == [type(verdict) for verdict in verdicts]


def test_labels_forces_text(read: Any) -> None:
    rows = read("case_id,verdict,gold\n1,1,2\n2,nan,1\n", labels=True)
    assert [(row.verdict, row.gold) for row in rows] == [("1", "2"), ("nan", "1")]
    assert read([{"case_id": "c", "verdict": 1}], labels=True)[0].verdict == "1"


def test_gold_is_of_the_kind_of_the_verdicts(read: Any) -> None:
    assert read("case_id,verdict,gold\n1,7,8\n2,8,\n")[0].gold == 8
    assert read("case_id,verdict,gold\n1,A,1\n")[0].gold == "1"
    assert read("case_id,verdict,gold\n1,7,PASS\n2,3,FAIL\n")[1].gold == "FAIL"
    for gold in ("pass", "nan", "1e999", "1_0"):
        with pytest.raises(LogFormatError, match=f"line 2: gold '{gold}' is neither a number"):
            read(f"case_id,verdict,gold\n1,7,{gold}\n")
    with pytest.raises(LogFormatError, match="gold: a verdict is a label, a number or a list"):
        read([{"case_id": "1", "verdict": "A", "gold": {"x": 1}}])


def test_kinds_are_decided_for_each_criterion(read: Any) -> None:
    rows = read("case_id,criterion,verdict\n1,score,7\n1,label,good\n1,,PASS\n")
    assert [row.verdict for row in rows] == [7, "good", "PASS"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [("7", "A", "a label here and a number in line 2"), ("A", "7", "a number here and a label in line 2")],
)
def test_labels_and_numbers_do_not_mix_in_a_criterion(read: Any, first: str, second: str, words: str) -> None:
    with pytest.raises(LogFormatError, match=f"line 3: criterion 'verdict' holds {words}"):
        read(f"case_id,verdict\n1,{first}\n2,{second}\n")


def test_a_criterion_called_none_is_another_one_than_none_named(read: Any) -> None:
    with pytest.raises(LogFormatError, match="line 3: criterion 'None' holds a number here and a label in line 2"):
        read(
            [
                {"case_id": "1", "criterion": None, "verdict": "PASS"},
                {"case_id": "2", "criterion": "None", "verdict": "PASS"},
                {"case_id": "3", "criterion": "None", "verdict": "5"},
            ]
        )


def test_in_a_jsonl_of_ours_types_are_as_written(read: Any) -> None:
    rows = read(
        [
            {"case_id": "1", "judge": "grader", "repetition": 0, "verdict": "1", **OURS},
            {"case_id": "1", "judge": "scorer", "repetition": 0, "verdict": 1, **OURS},
            {"case_id": "2", "judge": "grader", "repetition": 0, "verdict": "nan", **OURS},
            {"case_id": "3", "judge": "grader", "repetition": 0, "verdict": '["a"]', "gold": "[1]", **OURS},
            {"case_id": "4", "judge": "grader", "repetition": 0, "verdict": ["a"], **OURS},
        ]
    )
    assert [row.verdict for row in rows] == ["1", 1, "nan", '["a"]', frozenset("a")]
    assert rows[3].gold == "[1]"
    with pytest.raises(LogFormatError, match="holds a number here and a label in line 1"):
        read(
            [
                {"case_id": "1", "repetition": 0, "verdict": "1", **OURS},
                {"case_id": "2", "repetition": 0, "verdict": 1, **OURS},
            ]
        )


@pytest.mark.parametrize("cell", ["nan", "NaN", "inf", "-Infinity", "+inf", "1e999", "9" * 400, "1e101"])
def test_scores_are_finite(read: Any, cell: str) -> None:
    with pytest.raises(LogFormatError, match=r"line 3: verdict .* is not finite"):
        read(f"case_id,verdict\n1,7\n2,{cell}\n")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
@pytest.mark.parametrize("labels", [False, True])
def test_json_scores_are_finite(read: Any, value: str, labels: bool) -> None:  # noqa: FBT001
    with pytest.raises(LogFormatError, match=r"line 1: verdict.* finite"):
        read(f'{{"case_id": "1", "verdict": {value}}}\n', "log.jsonl", labels=labels)


@pytest.mark.parametrize(
    ("verdict", "problem"),
    [
        ({"a": 1}, "a verdict is a label, a number or a list"),
        ([1], "non-empty texts only"),
        ([["a"]], "non-empty texts"),
    ],
)
def test_a_json_value_that_is_no_verdict_names_its_line(read: Any, verdict: object, problem: str) -> None:
    with pytest.raises(LogFormatError, match=f"line 1: verdict: .*{problem}"):
        read([{"case_id": "1", "verdict": verdict}])


def test_a_json_boolean_is_pass_or_fail(read: Any) -> None:
    rows = read([{"case_id": "1", "verdict": True}, {"case_id": "2", "verdict": False}])
    assert [row.verdict for row in rows] == ["PASS", "FAIL"]


def test_a_deeply_nested_cell_is_a_label(read: Any) -> None:
    assert read("case_id,verdict\n1," + "[" * 200_000 + "\n")[0].verdict == "[" * 200_000


def test_duplicate_keys_name_both_lines(read: Any) -> None:
    with pytest.raises(
        LogFormatError, match=r"log.csv, line 4: repeats the key of line 2: 'c1', 'j', 'verdict', 'none', repetition 0"
    ):
        read("case_id,judge,repetition,verdict\nc1,j,0,A\nc2,j,0,A\nc1,j,0,B\n")
    with pytest.raises(LogFormatError, match="line 3: repeats the key of line 2"):
        read("case_id,repetition,verdict\nc1,0,A\nc1,,B\n")


@pytest.mark.parametrize("column", ["repetition", "input_tokens", "output_tokens", "attempts"])
@pytest.mark.parametrize("cell", ["-1", "1.5", "two", "nan", "1e3", "9" * 400])
def test_whole_numbers_are_whole(read: Any, column: str, cell: str) -> None:
    with pytest.raises(LogFormatError, match=f"line 2: {column} '{cell[:3]}.*' is not a whole number of at least 0"):
        read(f"case_id,verdict,{column}\n1,A,{cell}\n")


@pytest.mark.parametrize("value", [-1, 1.5, [1], {"a": 1}, 10**400])
def test_json_whole_numbers_are_whole(read: Any, value: object) -> None:
    with pytest.raises(LogFormatError, match=r"line 1: repetition .* is not a whole number"):
        read([{"case_id": "1", "verdict": "A", "repetition": value}])


def test_a_whole_float_is_a_whole_number(read: Any) -> None:
    row = read([{"case_id": "1", "verdict": "A", "repetition": 3.0, "attempts": None, "input_tokens": ""}])[0]
    assert (row.repetition, row.attempts, row.input_tokens) == (3, None, None)


@pytest.mark.parametrize("cell", ["fast", "nan", "inf"])
def test_latency_is_a_finite_number(read: Any, cell: str) -> None:
    with pytest.raises(LogFormatError, match=f"line 2: latency_s '{cell}' is not a finite number"):
        read(f"case_id,verdict,latency_s\n1,A,{cell}\n")


def test_latency_beyond_floats_is_refused(read: Any) -> None:
    with pytest.raises(LogFormatError, match="is not a finite number"):
        read([{"case_id": "1", "verdict": "A", "latency_s": 10**400}])
    assert read([{"case_id": "1", "verdict": "A", "latency_s": ""}])[0].latency_s is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no rows"),
        ("case_id,verdict\n", "holds no rows"),
        ("case,verdict\n1,A\n", "line 2: column 'case_id' is missing: a log needs case_id and verdict"),
        ("case_id,label\n1,A\n", "line 2: column 'verdict' is missing"),
        ("case_id,verdict\n,A\n", "line 2: case_id is empty"),
        ("case_id,verdict\n1,A\n2\n", "line 3: 1 cells where the header has 2"),
        ("case_id,verdict\n1,A,B\n", "line 2: 3 cells where the header has 2"),
        ("case_id,verdict,verdict\n1,A,B\n", "line 1: column 'verdict' stands twice"),
        ('case_id,verdict\n1,"A"B\n', "line 2: is not CSV"),
        ('case_id,verdict\n1,"A\n', "is not CSV"),
        ("case_id,verdict,outcome\n1,A,fine\n", "line 2: outcome 'fine' is not one of ok, unparsed, refused, error"),
        ("case_id,verdict,outcome\n1,A,error\n", "line 2: outcome is 'error' but the verdict is 'A'"),
        ("case_id,verdict,outcome\n1,,ok\n", "line 2: outcome is 'ok' but the verdict is empty"),
        ("case_id,verdict,swapped\n1,A,maybe\n", "line 2: swapped 'maybe' is not true or false"),
        ("case_id,verdict,schema\n1,A,judgeharness.log/2\n", "line 2: schema 'judgeharness.log/2' is not known here"),
        (
            "case_id,verdict,schema\n1,A,judgeharness.log/1\n2,A,judgeharness.log/9\n",
            "line 3: schema 'judgeharness.log/9' is not known here",
        ),
        (b"case_id,verdict\n1,\xff\xfe\n", "is not UTF-8 text"),
        (b"\x00\x01\x02\x03", "is missing|holds no rows"),
        (b"\x1f\x8bnot gzip at all", "cannot be read"),
        (gzip.compress(b"case_id,verdict\n1,A\n", mtime=0)[:-9], "cannot be read"),
        (gzip.compress(b"case_id,verdict\n" + bytes(range(99)) * 50, mtime=0)[:40] + b"\xff" * 60, "cannot be read"),
    ],
)  # fmt: skip
def test_a_malformed_csv_gets_one_sentence(read: Any, content: str | bytes, problem: str) -> None:
    with pytest.raises(LogFormatError, match=problem) as raised:
        read(content)
    assert "log.csv" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no rows"),
        ("\n \n", "holds no rows"),
        ("[1]\n", "line 1: a row is a JSON object, not list"),
        ('{"case_id": 1, "verdict": "A"}\n{"case', "line 2: is not JSON"),
        ("[" * 100_000, "line 1: is not JSON"),
        ('{"case_id": 1}\n', "line 1: column 'verdict' is missing"),
        ('{"case_id": 1, "verdict": "A"}\n\n{"verdict": "A"}\n', "line 3: case_id is empty"),
    ],
)
def test_a_malformed_jsonl_gets_one_sentence(read: Any, content: str, problem: str) -> None:
    with pytest.raises(LogFormatError, match=problem):
        read(content, "log.jsonl")


@pytest.mark.slow
def test_a_cell_beyond_the_limit_is_refused(read: Any) -> None:
    with pytest.raises(LogFormatError, match=r"line 2: is not CSV .*field larger than field limit"):
        read("case_id,verdict\n1," + "A" * (16 * 1024 * 1024 + 1) + "\n")


def test_long_cells_are_read(read: Any) -> None:
    assert len(read("case_id,verdict,raw\n1,A," + "x" * 1_000_000 + "\n")[0].raw) == 1_000_000


@pytest.mark.parametrize("name", ["log.txt", "log", "log.csv.bak", "log.gz", "log.json"])
def test_other_kinds_of_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(LogFormatError, match=r"a verdict log is .csv or .jsonl"):
        read_log(tmp_path / name)


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r"cannot be read: there is no such file"):
        read_log(tmp_path / "no.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(LogFormatError, match=r"cannot be read .Is a directory"):
        read_log(tmp_path / "folder.csv")


@pytest.mark.parametrize("name", ["my.v1.verdicts.CSV", "log.csv.gz", "log.gz.csv"])
def test_gzip_is_known_by_its_first_bytes(read: Any, name: str) -> None:
    plain = b"case_id,verdict\r\nc1,A\r\n"
    assert read(plain, name) == read(gzip.compress(plain), name) == [VerdictRow(case_id="c1", verdict="A")]


def test_a_byte_order_mark_spaces_in_the_header_and_blank_lines_do_no_harm(read: Any) -> None:
    rows = read(b"\xef\xbb\xbfcase_id , verdict\n\nc1,A\n\n")
    assert rows == [VerdictRow(case_id="c1", verdict="A")]


def test_other_columns_are_attributes(read: Any) -> None:
    row = read("case_id,verdict,subset,length,note\nc1,A,Natural,12,\n")[0]
    assert row.attributes == {"subset": "Natural", "length": "12"}
    row = read([{"case_id": "c", "verdict": "A", "price": 0.5, "tags": ["x"], "meta": {"a": 1}, "none": None}])[0]
    assert row.attributes == {"price": 0.5, "tags": '["x"]', "meta": '{"a": 1}'}


def test_a_schema_column_of_another_tool_is_not_ours(read: Any) -> None:
    assert read("case_id,verdict,schema\n1,A,other/3\n")[0].verdict == "A"


def test_a_line_break_inside_a_cell_counts_as_a_line(read: Any) -> None:
    with pytest.raises(LogFormatError, match="line 4: case_id is empty"):
        read('case_id,verdict,raw\n1,A,"two\nlines"\n,B,x\n')


def test_records_carry_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n\n2\n")
    assert read_records(path) == [(2, {"a": "1"}), (4, {"a": "2"})]


def test_a_swapped_row_without_a_perturbation_is_a_position_swap(read: Any) -> None:
    rows = read("case_id,verdict,swapped\n1,A,false\n1,B,true\n")
    assert [(row.perturbation, row.repetition) for row in rows] == [("none", 0), ("position_swap", 0)]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_columns_may_be_separated_as_spreadsheets_do(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text("case_id,verdict,gold\n1,A,B\n2,B,B\n".replace(",", separator), encoding="utf-8-sig")
    assert [(row.case_id, row.verdict, row.gold) for row in read_log(path)] == [("1", "A", "B"), ("2", "B", "B")]


def test_more_answers_than_are_remembered_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgeharness_integrations.verdictlog.decoding._MOST_ANSWERS", 1)
    (tmp_path / "log.csv").write_text("case_id,verdict\na,1.5\nb,2.5\nc,1.5\nd,2.5\n")
    assert [row.verdict for row in read_log(tmp_path / "log.csv")] == [1.5, 2.5, 1.5, 2.5]


@pytest.mark.parametrize("name", ["log", "log.csv", "log.jsonl"])
def test_a_file_or_folder_that_is_missing_is_said_to_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(LogFormatError, match=f"{name}: cannot be read: there is no such file or folder; give the name"):
        read_log(tmp_path / name)
