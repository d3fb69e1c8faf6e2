from __future__ import annotations

import csv
import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog import JsonlLog, MemoryLog, VerdictRow, read_log, write_log
from judgeharness_integrations.verdictlog.encoding import COLUMNS, to_record

# lone surrogates included: they come from models that were cut off inside an emoji
some_text = st.text(st.characters(), min_size=1, max_size=20)
encodable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def stripped(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return texts.map(str.strip).filter(lambda text: text not in ("", "ABSTAIN"))


def log_rows(
    *, texts: st.SearchStrategy[str], labels: st.SearchStrategy[Any], attributes: st.SearchStrategy[Any]
) -> st.SearchStrategy[list[VerdictRow]]:
    """Rows of any content, one kind of verdict, distinct keys."""
    labels = st.one_of(labels, st.none())

    def build(drawn: list[dict[str, Any]]) -> list[VerdictRow]:
        return [
            VerdictRow(outcome="ok" if fields["verdict"] is not None else "refused", repetition=number, **fields)
            for number, fields in enumerate(drawn)
        ]

    optional = st.one_of(st.none(), texts)
    count = st.one_of(st.none(), st.integers(0, 10**9))
    fields = st.fixed_dictionaries(
        {
            "case_id": texts,
            "run": st.one_of(st.just(""), texts),
            "judge": texts,
            "criterion": st.just("verdict"),
            "perturbation": st.sampled_from(["none", "position_swap", "format_change+position_swap"]),
            "swapped": st.booleans(),
            "verdict": labels,
            "gold": labels,
            "call_id": optional,
            "reasoning": optional,
            "raw": optional,
            "model": optional,
            "error": optional,
            "asked_at": optional,
            "input_tokens": count,
            "output_tokens": count,
            "attempts": count,
            "latency_s": st.one_of(st.none(), st.floats(0, 1e9)),
            "attributes": attributes,
        }
    )
    return st.lists(fields, min_size=1, max_size=5).map(build)


names = st.sampled_from(["subset", "author", "länge", "x,y", 'q"uote'])
numbers = st.one_of(st.integers(-(2**52), 2**52), st.floats(-1e100, 1e100, allow_nan=False))
typed = log_rows(
    texts=some_text,
    labels=st.one_of(stripped(some_text), st.frozensets(some_text, max_size=3)),
    attributes=st.dictionaries(names, st.one_of(some_text, numbers), max_size=3),
)
untyped = log_rows(
    texts=encodable,
    labels=st.one_of(
        stripped(encodable).filter(lambda text: not text.startswith("[")), st.frozensets(encodable, max_size=3)
    ),
    attributes=st.dictionaries(names, encodable, max_size=3),
)
scores = log_rows(texts=encodable, labels=numbers, attributes=st.just({}))


def round_trip(rows: list[VerdictRow], name: str, **options: Any) -> list[VerdictRow]:
    with tempfile.TemporaryDirectory() as folder:
        return read_log(write_log(rows, Path(folder) / name), **options)


@pytest.mark.slow
@given(typed, st.sampled_from(["log.jsonl", "log.jsonl.gz"]))
@example([VerdictRow(case_id="c", verdict="7", raw="\ud83d \r\n\u2028\x00", attributes={"n": 1.5})], "log.jsonl")
@example([VerdictRow(case_id="c", verdict='["a"]', gold="nan")], "log.jsonl")
def test_jsonl_gives_rows_back_as_they_were(rows: list[VerdictRow], name: str) -> None:
    assert round_trip(rows, name) == rows


@pytest.mark.slow
@given(untyped, st.sampled_from(["log.csv", "log.csv.gz"]))
@example([VerdictRow(case_id="a\rb", verdict="A", raw='say "\r\n"', reasoning="\r")], "log.csv")
def test_csv_gives_rows_back_when_read_as_labels(rows: list[VerdictRow], name: str) -> None:
    assert round_trip(rows, name, labels=True) == rows


@given(scores, st.sampled_from(["log.csv", "log.csv.gz", "log.jsonl", "log.jsonl.gz"]))
def test_scores_come_back_as_numbers(rows: list[VerdictRow], name: str) -> None:
    rows = [replace(row, gold=None) if row.verdict is None else row for row in rows]
    if any(row.verdict is not None for row in rows):
        assert round_trip(rows, name) == rows


def test_csv_knows_no_types() -> None:
    digits = [VerdictRow(case_id="c", verdict="1", attributes={"length": 12})]
    back = round_trip(digits, "log.csv")[0]
    assert (back.verdict, back.attributes) == (1, {"length": "12"})
    assert round_trip(digits, "log.csv", labels=True)[0].verdict == "1"
    assert round_trip(digits, "log.jsonl") == digits


def test_half_an_emoji_never_stops_a_run() -> None:
    row = VerdictRow(case_id="c", verdict="A", raw="cut \ud83d")
    assert round_trip([row], "log.jsonl") == [row]
    assert round_trip([row], "log.csv")[0].raw == "cut \\ud83d"
    assert round_trip([row], "log.csv.gz")[0].raw == "cut \\ud83d"


def test_an_attribute_named_like_a_field_does_not_hide_it() -> None:
    row = VerdictRow(case_id="c", verdict="A", attributes={"model": "the author's", "verdict": "old", "schema": "x"})
    expected = replace(row, attributes={"model_": "the author's", "verdict_": "old", "schema_": "x"})
    assert round_trip([row], "log.jsonl") == [expected]
    assert round_trip([row], "log.csv") == [expected]


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.jsonl", "log.jsonl.gz"])
def test_the_same_rows_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    rows = [
        VerdictRow(case_id="c1", verdict=frozenset("ba"), attributes={"b": 1, "a": "x"}),
        VerdictRow(case_id="c2", verdict=frozenset("ab"), swapped=True, attributes={"c": True}),
    ]
    again = [
        VerdictRow(
            case_id="c1",
            verdict=frozenset("ab"),
            attributes=({"a": "x", "b": 1} if "csv" in name else {"b": 1, "a": "x"}),
        ),
        rows[1],
    ]
    first, second = write_log(rows, tmp_path / "x" / name), write_log(again, tmp_path / "y" / name)
    assert first.read_bytes() == second.read_bytes()
    assert (first.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_a_record_leaves_out_what_holds_nothing() -> None:
    assert to_record(VerdictRow(case_id="c", verdict=None, outcome="error", output_tokens=0, attributes={"x": 1})) == {
        "x": 1,
        "case_id": "c",
        "verdict": None,
        "judge": "judge",
        "criterion": "verdict",
        "perturbation": "none",
        "repetition": 0,
        "swapped": False,
        "outcome": "error",
        "output_tokens": 0,
        "schema": "judgeharness.log/1",
    }


def test_every_written_log_carries_a_schema_version(tmp_path: Path) -> None:
    rows = [VerdictRow(case_id="c", verdict="A")]
    with write_log(rows, tmp_path / "a.csv").open(newline="") as file:
        header, cells = csv.reader(file)
    assert tuple(header) == COLUMNS
    assert dict(zip(header, cells, strict=True))["schema"] == "judgeharness.log/1"
    with gzip.open(write_log(rows, tmp_path / "a.jsonl.gz"), "rt") as zipped:
        assert json.loads(zipped.read())["schema"] == "judgeharness.log/1"


def test_a_log_of_another_kind_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match=r".csv or .jsonl"):
        write_log([], tmp_path / "log.xlsx")
    assert list(tmp_path.iterdir()) == []


ROWS = [
    VerdictRow(case_id="c1", verdict="A", judge="x"),
    VerdictRow(case_id="c1", verdict="B", judge="y"),
    VerdictRow(case_id="c2", verdict=None, outcome="error", judge="x"),
]


def test_a_memory_log_keeps_the_first_of_equal_keys() -> None:
    log = MemoryLog(ROWS[:1])
    log.append([replace(ROWS[0], verdict="B"), *ROWS])
    assert list(log.rows()) == ROWS
    assert len(log) == 3
    assert list(log.rows(judge="x", case_id="c2")) == [ROWS[2]]
    assert list(log.rows(judge="z")) == []


def test_a_jsonl_log_keeps_the_first_of_equal_keys(tmp_path: Path) -> None:
    with JsonlLog(tmp_path / "v.jsonl") as log:
        assert list(log.rows()) == []
        log.append([ROWS[0], replace(ROWS[0], verdict="B")])
        log.append([replace(ROWS[0], verdict="B"), *ROWS])
        log.append(iter(ROWS))
        assert list(log.rows()) == ROWS
        assert list(log.rows(judge="x", outcome="error")) == [ROWS[2]]


def test_a_jsonl_log_is_valid_after_every_append(tmp_path: Path) -> None:
    log = JsonlLog(tmp_path / "v.jsonl")
    with log:
        for count, row in enumerate(ROWS, start=1):
            log.append([replace(row, raw="two\nlines \ud83d")])
            assert len(read_log(log.path)) == count  # without closing: an interrupted run leaves this
    assert [row.raw for row in read_log(log.path)] == ["two\nlines \ud83d"] * 3


def test_judges_of_different_kinds_share_a_log(tmp_path: Path) -> None:
    rows = [VerdictRow(case_id="c", judge="pairs", verdict="A"), VerdictRow(case_id="c", judge="scores", verdict=7)]
    with JsonlLog(tmp_path / "v.jsonl") as log:
        log.append(rows)
    assert read_log(log.path) == rows


def test_a_jsonl_log_replaces_an_earlier_one_and_wants_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text("old\n")
    with JsonlLog(path) as log:
        log.append(ROWS)
    assert read_log(path) == ROWS
    with pytest.raises(LogFormatError, match=r"a log that is appended to is .jsonl"):
        JsonlLog(tmp_path / "v.csv")
