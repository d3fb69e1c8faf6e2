from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.event import listen

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog, VerdictRow
from judgeharness_integrations.verdictlog.sql.rows import _index_some

ROWS = [
    VerdictRow(case_id="c1", verdict="7", run="r1", judge="x", probe_hash="h1", attributes={"n": 1.5, "s": "1.5"}),
    VerdictRow(case_id="c1", verdict=7, run="r1", judge="y", gold=7.0, latency_s=0.1, swapped=True, attempts=2),
    VerdictRow(case_id="c2", verdict=frozenset("ab"), run="r1", judge="x", gold=frozenset()),
    VerdictRow(case_id="c1", verdict=7.0, run="r2", judge="x", raw="cut \ud83d \x00 \x1a0000 \\ud83d", model="m"),
    VerdictRow(case_id="é\x00", verdict=None, outcome="error", run="r2", judge="\udfff", error="late"),
    VerdictRow(case_id="c1", verdict="8", run="r1", judge="x", repetition=1),
]


def test_rows_come_back_as_they_were_and_once(database: str) -> None:
    with SqlLog(database) as log:
        log.append(ROWS[:2])
        log.append([])
        log.append(iter(ROWS))
        assert log.add([replace(ROWS[0], verdict="B"), replace(ROWS[0], repetition=9)]) == 1
    with SqlLog(database) as log:
        found = list(log.rows())
    assert found == [*ROWS, replace(ROWS[0], repetition=9)]
    assert [type(row.verdict) for row in found[:4]] == [str, int, frozenset, float]


WHERES: list[dict[str, object]] = [
    {"run": "r1"},
    {"run": "r1", "judge": "x"},
    {"judge": "\udfff"},
    {"case_id": "é\x00", "run": "r2"},
    {"verdict": 7},
    {"verdict": "7", "run": "r1"},
    {"verdict": None},
    {"gold": frozenset()},
    {"attributes": {"n": 1.5, "s": "1.5"}},
    {"swapped": True},
    {"attempts": 2},
    {"model": None, "run": "r2"},
    {"probe_hash": "h1"},
    {"run": "none of them"},
]


def test_rows_are_found_by_field_as_in_memory(sql_log: SqlLog) -> None:
    sql_log.append(ROWS)
    for where in WHERES:
        assert list(sql_log.rows(**where)) == list(MemoryLog(ROWS).rows(**where)), where


def test_a_field_that_rows_lack_is_an_error(sql_log: SqlLog) -> None:
    with pytest.raises(UnknownNameError, match="unknown field of a row 'case': did you mean 'case_id'"):
        sql_log.rows(case="c1")


def test_rows_of_cases_come_in_their_order(sql_log: SqlLog) -> None:
    many = [VerdictRow(case_id=f"m{number}", verdict="A", run="r1", judge="x") for number in range(1100)]
    sql_log.append([*ROWS, *many])
    found = sql_log.of_cases(run="r1", judge="x", case_ids=["c2", "c1", "c9", "c1", *(one.case_id for one in many)])
    assert found.pop("c1") == [ROWS[0], ROWS[5]]
    assert found.pop("c2") == [ROWS[2]]
    assert found == {row.case_id: [row] for row in many}
    assert sql_log.of_cases(run="r1", judge="x", case_ids=[]) == {}
    assert sql_log.of_cases(run="r2", judge="\udfff", case_ids=["é\x00"]) == {"é\x00": [ROWS[4]]}


def test_whether_there_are_rows(sql_log: SqlLog) -> None:
    assert not sql_log.has_rows()
    sql_log.append(ROWS)
    assert sql_log.has_rows()
    assert sql_log.has_rows(run="r1", judge="y")
    assert sql_log.has_rows(judge="\udfff")
    assert not sql_log.has_rows(run="r2", judge="y")


def test_cases_come_whole_one_after_the_other(sql_log: SqlLog) -> None:
    sql_log.append(ROWS)
    groups = list(sql_log.case_groups(run="r1"))
    assert sorted(groups, key=lambda rows: (rows[0].judge, rows[0].case_id)) == [
        [ROWS[0], ROWS[5]],
        [ROWS[2]],
        [ROWS[1]],
    ]
    assert list(sql_log.case_groups(run="r1", judge="y")) == [[ROWS[1]]]
    assert list(sql_log.case_groups(run="r3")) == []


def test_the_rows_of_a_case_come_in_the_order_of_answers(sql_log: SqlLog) -> None:
    late = [
        VerdictRow(case_id="c", verdict="A", run="r", perturbation=name, repetition=number)
        for number in (1, 0)
        for name in ("z", "a")
    ]
    sql_log.append(late)
    assert list(sql_log.case_groups(run="r")) == [late]


def answer(run: str, probe: str, **fields: object) -> VerdictRow:
    return VerdictRow(**({"case_id": "c", "verdict": "A", "run": run, "probe_hash": probe} | fields))  # type: ignore[arg-type]


def reused(row: VerdictRow, run: str) -> VerdictRow:
    return replace(row, run=run, attempts=0, attributes={"reused_from": row.run})


def test_answers_are_known_from_every_run_that_paid_for_one(sql_log: SqlLog) -> None:
    old, new, mine = answer("r1", "h", verdict="A"), answer("r2", "h", verdict="B"), answer("mine", "h", verdict="C")
    sql_log.append([old, new, reused(old, "r3"), mine])
    assert sql_log.known(["h", "unknown"], except_run="mine") == {"h": [[old], [new]]}
    assert sql_log.known(["h"], except_run="r2") == {"h": [[old], [mine]]}


def test_a_log_tells_what_a_run_took_over(sql_log: SqlLog) -> None:
    copy = reused(answer("r1", "h"), "mine")
    own = answer("mine", "h", case_id="asked")
    sql_log.append([copy, own, reused(answer("r1", "h2"), "other"), reused(answer("r1", "h2", repetition=1), "mine")])
    assert sql_log.taken_over(["h", "unknown"], run="mine") == [copy]
    assert sql_log.taken_over(["h"], run="other") == []


def test_what_a_run_took_over_is_found_by_an_index(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        asked: list[str] = []
        listen(log._store.engine, "before_cursor_execute", lambda *said: asked.append(said[2]))
        log.taken_over(["h"], run="mine")
        with log._store.engine.connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[-1]}", ("mine", "h")).all()
    assert "USING INDEX judgeharness_verdicts_taken" in str(plan)


def test_a_copy_stands_in_where_the_original_is_missing(sql_log: SqlLog) -> None:
    copy = reused(answer("gone", "h"), "r1")
    sql_log.append([copy, answer("mine", "h2")])
    assert sql_log.known(["h", "h2"], except_run="mine") == {"h": [[copy]]}


def test_a_call_is_known_whole_or_not_at_all(sql_log: SqlLog) -> None:
    call = [answer("r1", "h", criterion=name, call_id="k") for name in ("tone", "facts")]
    failed = [
        answer("r2", "h", criterion="tone", call_id="k"),
        answer("r2", "h", criterion="facts", call_id="k", verdict=None, outcome="error"),
    ]
    twin = [answer("r1", "h", case_id="another case that shows the same", criterion="tone")]
    sql_log.append([*twin, *call, *failed])
    assert sql_log.known(["h"], except_run="mine") == {"h": [twin, call]}
    refusal = answer("r3", "h", verdict=None, outcome="refused")
    sql_log.append([refusal])
    assert sql_log.known(["h"], except_run="mine") == {"h": [twin, call, [refusal]]}


def test_what_a_log_remembers_of_runs_that_looked_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.verdictlog.sql.rows._MOST_RUNS", 3)
    with SqlLog(tmp_path / "log.sqlite") as log:
        for number in range(6):
            log.append([answer(f"r{number}", f"h{number}")])
            assert len(log.known([f"h{number - 1}"], except_run=f"r{number}")) == (number > 0)
        assert list(log._probes._own) == ["r3", "r4", "r5"]


def test_only_failures_are_no_answer(sql_log: SqlLog) -> None:
    sql_log.append([answer("r1", "h", verdict=None, outcome="error")])
    assert sql_log.known(["h"], except_run="mine") == {}


def test_rows_of_other_runs_are_known_whenever_they_came(database: str) -> None:
    with SqlLog(database) as log, SqlLog(database) as other:
        for number in range(6):
            mine = [answer("mine", f"m{number}", repetition=number), answer("mine", "x", repetition=100 + number)]
            log.append(mine)
            assert list(log.known([f"o{number - 1}"], except_run="mine")) == ([f"o{number - 1}"] if number else [])
            other.append([answer("other", f"o{number}", repetition=number)])
            assert set(other.known([f"m{number}", "x"], except_run="other")) == {f"m{number}", "x"}


def test_a_log_indexes_rows_some_at_a_time(sql_log: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.verdictlog.sql.rows._INDEXED_AT_ONCE", 3)
    rows = [answer("r1", f"h{number}", repetition=number) for number in range(8)]
    sql_log.append([*rows, answer("r1", "none", repetition=99, probe_hash=None)])
    assert len(sql_log.known([f"h{number}" for number in range(8)], except_run="mine")) == 8


def test_rows_that_another_process_indexed_are_not_indexed_again(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append([answer("r1", "h")])
        assert len(log.known(["h"], except_run="mine")) == 1
        assert not log._store.write(lambda connection: _index_some(connection, 1))


def test_threads_share_a_log(sql_log: SqlLog) -> None:
    def work(thread: int) -> None:
        for number in range(10):
            sql_log.append([answer(f"r{thread}", f"{thread}-{number}", repetition=number)])
            assert len(list(sql_log.rows(run=f"r{thread}"))) == number + 1

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(sql_log.rows())) == 40


def many_rows(count: int) -> Iterator[VerdictRow]:
    for number in range(count):
        yield VerdictRow(case_id=f"c{number // 8}", verdict="A", run="r", repetition=number % 8, raw=f"{number} " * 60)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("reading", ["rows", "case_groups"])
def test_reading_holds_a_few_rows_at_a_time(sql_log: SqlLog, reading: str) -> None:
    sql_log.append(many_rows(8000))
    for _ in sql_log.rows(case_id="c1"):  # what is loaded once is loaded before
        pass
    tracemalloc.start()
    try:
        assert sum(1 for _ in getattr(sql_log, reading)(run="r")) == (8000 if reading == "rows" else 1000)
        assert tracemalloc.get_traced_memory()[1] < 2_500_000  # as a list they take four times as much
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_reader_that_stops_early_leaves_the_log_usable(sql_log: SqlLog) -> None:
    sql_log.append(many_rows(2000))
    reader = sql_log.rows()
    assert next(reader).repetition == 0
    sql_log.append(many_rows(2010))
    reader.close()  # type: ignore[attr-defined]
    assert sum(1 for _ in sql_log.rows()) == 2010
