from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.judging import cases as casefiles
from judgeharness_integrations.judging.cases import AnswerCase, CaseFile, PairwiseCase, read_cases


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


def test_a_case_file_is_read_anew_each_time_and_gives_what_the_list_holds(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("case_id,output,gold,subset\n1,a,7,x\n2,b,,y\n")
    file = CaseFile(path)
    assert list(file) == list(file) == read_cases(path)
    assert len(file) == 2
    assert file.check() is file.check()
    first = iter(file)
    assert (next(first).case_id, next(iter(file)).case_id, next(first).case_id) == ("1", "1", "2")


def test_the_digest_is_of_the_cases_and_their_order(tmp_path: Path) -> None:
    texts = {
        "same.csv": "case_id,output,gold,subset\n1,a,A,x\n2,b,,\n",
        "columns.csv": "gold,subset,case_id,output\nA,x,1,a\n,,2,b\n",
        "lines.jsonl": '{"case_id": 1, "output": "a", "gold": "A", "subset": "x"}\n{"case_id": 2, "output": "b"}\n',
        "order.csv": "case_id,output,gold,subset\n2,b,,\n1,a,A,x\n",
        "other.csv": "case_id,output,gold,subset\n1,a,B,x\n2,b,,\n",
        "pair.csv": "case_id,output,gold,subset,output_b\n1,a,A,x,c\n2,b,,,\n",
        "surrogate.jsonl": '{"case_id": 1, "output": "\\ud83d"}\n',
    }
    digests = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        checked = CaseFile(tmp_path / name).check()
        digests[name] = checked.digest
        assert checked.count == (1 if name == "surrogate.jsonl" else 2)
        assert len(checked.digest) == 32
    assert digests["same.csv"] == digests["columns.csv"] == digests["lines.jsonl"]
    assert len(set(digests.values())) == 5


def test_a_case_file_that_changed_since_it_was_checked_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("case_id,output\n1,a\n")
    file = CaseFile(path)
    file.check()
    path.write_text("case_id,output\n1,a\n2,b\n")
    for use in (lambda: list(file), file.check):
        with pytest.raises(CaseError, match=r"cases.csv: changed while it was in use"):
            use()
    path.unlink()
    with pytest.raises(CaseError, match="changed while"):
        iter(file)


@pytest.mark.parametrize("change", ["appended", "shorter", "rewritten", "garbage"])
def test_a_case_file_that_changes_while_it_is_read_yields_no_case_that_was_not_checked(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "cases.jsonl"
    before = [f'{{"case_id": "{n}", "output": "{"x" * 900}"}}\n' for n in range(100)]  # more than is read at once
    path.write_text("".join(before))
    file = CaseFile(path)
    file.check()
    cases = iter(file)
    assert [next(cases).case_id for _ in range(50)] == [str(n) for n in range(50)]
    after = {
        "appended": [*before, before[0].replace('"0"', '"new"')],
        "shorter": before[:60],
        "rewritten": [line.replace("x", "y") for line in before],
        "garbage": ["{" * 200_000],
    }
    path.write_text("".join(after[change]))
    with pytest.raises(CaseError, match=r"cases.jsonl: changed while it was in use"):
        next(cases)


def test_the_end_of_a_case_file_is_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("case_id,output\n1,a\n")
    file = CaseFile(path)
    file.check()
    cases = iter(file)
    next(cases)
    with path.open("a") as more:
        more.write("2,b\n")
    with pytest.raises(CaseError, match="changed while"):
        next(cases)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("case_id,output\n", "cases.csv: holds no cases"),
        ("case_id,output\n1,x\n2,y\n1,z\n2,q\n", "cases.csv, line 4: repeats the case_id '1' of line 2"),
        ("case_id,output\n1,x\n1,x\n,y\n", "cases.csv, line 4: column 'case_id' is missing or empty"),
    ],
)
def test_a_checked_file_gets_the_sentence_of_the_list(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "cases.csv"
    path.write_text(content)
    for use in (CaseFile(path).check, lambda: read_cases(path)):
        with pytest.raises(CaseError, match=problem):
            use()
    with pytest.raises(CaseError, match="cannot be read"):
        CaseFile(tmp_path / "none.csv").check()


def test_different_ids_with_one_hash_are_not_taken_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(casefiles, "hash", len, raising=False)
    path = tmp_path / "cases.csv"
    path.write_text("case_id,output\na,x\nb,y\ncc,z\n")
    assert CaseFile(path).check().count == 3
    path.write_text("case_id,output\na,x\nb,y\ncc,z\nb,z\n")
    with pytest.raises(CaseError, match="line 5: repeats the case_id 'b' of line 3"):
        CaseFile(path).check()


@pytest.mark.slow
@pytest.mark.untraced
def test_checking_a_case_file_keeps_a_few_bytes_a_case(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("case_id,output\n" + "".join(f"{n},{'x' * 200}\n" for n in range(20_000)))
    file = CaseFile(path)
    next(iter(file))
    tracemalloc.start()
    try:
        assert file.check().count == sum(1 for _ in file) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 * 20_000  # bytes; the list of cases takes about 1,000 each
