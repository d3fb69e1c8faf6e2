from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.casefiles import read_cases
from judgeharness_integrations.cases import AnswerCase, PairwiseCase


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(content: str | bytes | list[dict[str, Any]], name: str | None = None) -> list[AnswerCase]:
        if isinstance(content, list):
            name, content = name or "cases.jsonl", "".join(json.dumps(record) + "\n" for record in content)
        path = tmp_path / (name or "cases.csv")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_cases(path)

    return reading


def test_csv_and_jsonl_give_the_same_cases(read: Any) -> None:
    expected = [
        PairwiseCase(case_id="1", output="a", output_b="b", input="q", gold="A", attributes={"subset": "x"}),
        AnswerCase(case_id="2", output="", input="q"),
    ]
    text = "case_id,input,output,output_b,gold,subset\n1,q,a,b,A,x\n2,q,,,,\n"
    assert read(text) == expected
    assert read(gzip.compress(text.encode()), "cases.csv.gz") == expected
    assert (
        read(
            [
                {"case_id": 1, "input": "q", "output": "a", "output_b": "b", "gold": "A", "subset": "x"},
                {"case_id": 2, "input": "q", "output": ""},
            ]
        )
        == expected
    )


@pytest.mark.parametrize(
    ("cell", "gold"),
    [
        ("PASS", "PASS"),
        (" PASS ", "PASS"),
        ("  ", None),
        ("7", 7),
        ("-7.5", -7.5),
        ("1e2", 100.0),
        ('"[""PASS"",""FAIL""]"', ["PASS", "FAIL"]),
        ('"{""tone"": ""PASS""}"', {"tone": "PASS"}),
        ("[[A]]", "[[A]]"),
        ("-", "-"),
        ("{", "{"),
        ("007", "007"),
        ("+7", "+7"),
        ("nan", "nan"),
        ("true", "true"),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_gold_cell_is_a_label_a_number_a_list_or_an_object(read: Any, cell: str, gold: object) -> None:
    assert read(f"case_id,output,gold\n1,x,{cell}\n")[0].gold == gold


@pytest.mark.parametrize("gold", [7, 0, False, ["PASS", "FAIL"], {"tone": "PASS"}])
def test_a_json_gold_stays_what_it_is(read: Any, gold: object) -> None:
    assert read([{"case_id": 1, "output": "x", "gold": gold}])[0].gold == gold


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "cases.csv: holds no cases"),
        ("case_id,output\n", "cases.csv: holds no cases"),
        ("id,output\n1,x\n", "cases.csv, line 2: column 'case_id' is missing or empty"),
        ("case_id,output\n1,x\n,y\n", "cases.csv, line 3: column 'case_id' is missing or empty"),
        ("case_id,answer\n1,x\n", "cases.csv, line 2: column 'output' is missing or empty"),
        ("case_id,output\n1,x\n2,y\n1,z\n", "cases.csv, line 4: repeats the case_id '1' of line 2"),
        ("case_id,output\n1\n", "cases.csv, line 2: 1 cells where the header has 2"),
        (b"\xff\xfe\x00", "cases.csv: is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_sentence(read: Any, content: str | bytes, problem: str) -> None:
    with pytest.raises(CaseError, match=problem):
        read(content)


def test_names_of_another_kind_are_named_with_their_line(read: Any) -> None:
    with pytest.raises(CaseError, match=r"cases.jsonl, line 2: names must be a list"):
        read([{"case_id": 1, "output": "x"}, {"case_id": 2, "output": "x", "names": {"a": 1}}])


def test_other_kinds_of_files_are_refused_as_case_files(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"a case file is .csv or .jsonl"):
        read_cases(tmp_path / "cases.xlsx")
    with pytest.raises(CaseError, match="cannot be read"):
        read_cases(tmp_path / "cases.csv")
