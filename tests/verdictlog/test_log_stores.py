"""Whatever rows: every store gives them back as they were, each once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import fresh_schema

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog, VerdictRow, read_log, write_log
from judgeharness_integrations.verdictlog.encoding import restored, stored
from judgeharness_integrations.verdictlog.files import iter_log, iter_records

texts = st.text(st.characters(), max_size=8)  # lone surrogates and NUL among them
optional = st.one_of(st.none(), texts.filter(bool))
labels = texts.map(str.strip).filter(lambda text: text not in ("", "ABSTAIN"))
numbers = st.one_of(st.integers(-(2**52), 2**52), st.floats(-1e100, 1e100, allow_nan=False))
sets = st.frozensets(texts.filter(bool), max_size=3)
counts = st.one_of(st.none(), st.integers(0, 2**62))


def rows_with(verdicts: st.SearchStrategy[Any], criterion: str) -> st.SearchStrategy[VerdictRow]:
    def build(verdict: Any, **fields: Any) -> VerdictRow:
        outcome = "ok" if verdict is not None else "error"
        return VerdictRow(verdict=verdict, outcome=outcome, criterion=criterion, **fields)

    return st.builds(
        build,
        st.one_of(st.none(), verdicts),
        case_id=st.sampled_from(["c1", "c2", "é\x00\ud83d"]),
        run=st.sampled_from(["", "r1", "\x1a"]),
        repetition=st.integers(0, 3),
        swapped=st.booleans(),
        gold=st.one_of(st.none(), verdicts),
        call_id=optional,
        reasoning=optional,
        raw=optional,
        model=optional,
        error=optional,
        asked_at=optional,
        probe_hash=optional,
        input_tokens=counts,
        output_tokens=counts,
        attempts=counts,
        latency_s=st.one_of(st.none(), st.floats(0, 1e9)),
        attributes=st.dictionaries(
            st.sampled_from(["subset", "länge", "\ud83d"]), st.one_of(texts.filter(bool), numbers), max_size=2
        ),
    )


# in databases anything stands beside anything; files know one kind of verdict per criterion
anything = st.lists(rows_with(st.one_of(labels, numbers, sets), "any"), max_size=8)
of_one_kind = st.lists(st.one_of(rows_with(labels, "labels"), rows_with(sets, "sets")), min_size=1, max_size=8)
cuts = st.lists(st.integers(0, 8), max_size=3)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLog]:
    if request.param == "sqlite":
        with SqlLog(tmp_path_factory.mktemp("log") / "log.sqlite") as log:
            yield log
        return
    with fresh_schema() as url, SqlLog(url) as log:
        yield log


def batches(rows: list[VerdictRow], cuts: list[int]) -> Iterator[list[VerdictRow]]:
    for start, end in pairwise(sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})):
        yield rows[start:end]


@pytest.mark.untraced
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(anything, cuts, cuts)
def test_a_database_gives_rows_back_whatever_their_batches(
    shared_log: SqlLog, rows: list[VerdictRow], once: list[int], again: list[int]
) -> None:
    with shared_log._store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM judgeharness_verdicts")
        connection.commit()
    for batch in [*batches(rows, once), *batches(rows, again)]:
        shared_log.append(batch)
    expected = list(MemoryLog(rows).rows())
    found = list(shared_log.rows())
    assert found == expected
    assert [type(row.verdict) for row in found] == [type(row.verdict) for row in expected]


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=25)
@given(of_one_kind, st.sampled_from(["log.parquet", "log.jsonl", "log.sqlite"]))
def test_a_file_gives_rows_back_at_once_and_one_by_one(rows: list[VerdictRow], name: str) -> None:
    once = list(MemoryLog(rows).rows())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if path.suffix == ".sqlite":
            with SqlLog(path) as log:
                log.append(once)
        else:
            write_log(once, path)
        assert read_log(path) == once
        assert list(iter_log(path)) == once


@given(texts)
def test_a_stored_text_is_restored(text: str) -> None:
    kept = stored(text)
    assert restored(kept) == text
    assert "\x00" not in kept
    kept.encode()


@pytest.mark.parametrize("text", ["", "plain", "é \U0001f600", "back\\slash \\u0000"])
def test_ordinary_texts_are_kept_as_they_are(text: str) -> None:
    assert stored(text) is text
    assert restored(text) is text


def test_a_database_is_read_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    rows = [VerdictRow(case_id="c", verdict=7, run="r1"), VerdictRow(case_id="c", verdict=8, run="r2")]
    with SqlLog(path) as log:
        log.append(rows)
    assert read_log(path) == rows
    assert [row.verdict for row in read_log(path, labels=True)] == ["7", "8"]
    assert [number for number, _ in iter_records(path)] == [1, 2]
    with pytest.raises(LogFormatError, match="rows get into a database by SqlLog"):
        write_log(rows, path)


def test_reading_row_by_row_finds_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("case_id,repetition,verdict\nc,0,A\nc,1,B\nc,0,C\n")
    with pytest.raises(LogFormatError, match="line 4: repeats the key of line 2: 'c'"):
        list(iter_log(path))
    path.write_text("case_id,verdict\nc,7\nd,A\n")
    with pytest.raises(LogFormatError, match="holds a label here and a number in line 2"):
        list(iter_log(path))
    assert [row.verdict for row in iter_log(path, labels=True)] == ["7", "A"]
    path.write_text("case_id,verdict\n")
    with pytest.raises(LogFormatError, match="holds no rows"):
        list(iter_log(path))


def test_csv_is_written_from_rows_that_come_once_or_anew(tmp_path: Path) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", attributes={f"a{n}": "x"}) for n in range(2)]
    first, second = write_log(iter(rows), tmp_path / "a.csv"), write_log(MemoryLog(rows).rows(), tmp_path / "b.csv")
    assert first.read_bytes() == second.read_bytes() == write_log(tuple(rows), tmp_path / "c.csv").read_bytes()
    assert read_log(first) == rows
