from __future__ import annotations

import datetime as dt
import decimal
import sys
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgeharness_integrations._errors import LogFormatError, NotInstalledError
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log
from judgeharness_integrations.verdictlog.files import iter_records

ROWS = [
    VerdictRow(case_id="c1", verdict="7", run="r1", gold=None, swapped=True, attributes={"n": 1.5, "s": "1.5"}),
    VerdictRow(case_id="c2", verdict=frozenset("ab"), gold=frozenset(), raw="cut \ud83d \x00", attempts=2**40),
    VerdictRow(case_id="c3", verdict=None, outcome="refused", probe_hash="h", latency_s=0.25),
]


def test_parquet_keeps_every_type(tmp_path: Path) -> None:
    path = write_log(iter(ROWS), tmp_path / "new" / "log.parquet")
    assert read_log(path) == ROWS
    scores = [VerdictRow(case_id=f"c{n}", verdict=v, gold=v) for n, v in enumerate([7, 7.5, -0.0, 10**20])]
    back = read_log(write_log(scores, path))
    assert back == scores
    assert [type(row.verdict) for row in back] == [int, float, float, int]


def test_a_file_of_an_earlier_version_has_fewer_columns(tmp_path: Path) -> None:
    path = write_log(ROWS, tmp_path / "log.parquet")
    newest = pq.read_table(path)
    pq.write_table(newest.drop_columns(["cached_input_tokens", "cache_write_tokens", "service_tier"]), path)
    assert read_log(path) == ROWS


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write_log(ROWS, tmp_path / name) for name in ("a.parquet", "b.PARQUET"))
    assert first.read_bytes() == second.read_bytes()


def test_an_empty_log_is_read_as_one_without_rows(tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match="holds no rows"):
        read_log(write_log([], tmp_path / "log.parquet"))


def test_parquet_of_another_tool_is_read_with_its_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "case_id": ["a", "b", "c"],
            "verdict": [1.0, 2.5, None],
            "when": [dt.date(2026, 1, 2), None, None],
            "price": [decimal.Decimal("0.5"), None, None],
            "repetition": [0, 0, 0],
        }
    )
    path = tmp_path / "theirs.parquet"
    pq.write_table(table, path)
    assert read_log(path) == [
        VerdictRow(case_id="a", verdict=1.0, attributes={"when": "2026-01-02", "price": "0.5"}),
        VerdictRow(case_id="b", verdict=2.5),
        VerdictRow(case_id="c", verdict=None, outcome="unparsed"),
    ]
    pq.write_table(pa.table({"case_id": ["a"], "verdict": [["x", "y"]]}), path)
    assert read_log(path) == [VerdictRow(case_id="a", verdict=frozenset("xy"))]


def test_what_is_no_parquet_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    with pytest.raises(LogFormatError, match=r"log.parquet: cannot be read \(.*\)\.$"):
        read_log(path)
    path.write_text("case_id,verdict\n")
    with pytest.raises(LogFormatError, match=r"log.parquet: cannot be read \(.*\)\.$") as caught:
        read_log(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(LogFormatError, match=r"a verdict log is .csv or .jsonl, each also as .gz, or .parquet"):
        read_log(tmp_path / "log.parquet.gz")


def test_a_number_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    row = VerdictRow(case_id="c", verdict="A", input_tokens=2**70)
    with pytest.raises(LogFormatError, match="a number of a row is too large for Parquet"):
        write_log([row], tmp_path / "log.parquet")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for action in (lambda path: write_log(ROWS, path), read_log):
        with pytest.raises(NotInstalledError, match=r"pyarrow is not installed: pip install .*\[parquet\]"):
            action(tmp_path / "log.parquet")


@pytest.mark.slow
@pytest.mark.untraced
def test_a_large_log_is_written_and_read_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.verdictlog.files._GROUP", 500)
    path = tmp_path / "log.parquet"
    write_log(ROWS, path)
    list(iter_records(path))  # what is loaded once is loaded before
    tracemalloc.start()
    try:
        write_log((VerdictRow(case_id=f"c{n}", verdict="A", raw=f"{n} " * 60) for n in range(6000)), path)
        assert sum(1 for _ in iter_records(path)) == 6000
        assert tracemalloc.get_traced_memory()[1] < 3_000_000  # as a list they take four times as much
    finally:
        tracemalloc.stop()
    assert pq.ParquetFile(path).num_row_groups == 12
