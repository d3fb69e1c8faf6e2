from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import RunBusyError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.spending import UsageSums
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow
from judgeharness_integrations.verdictlog.sql import ModelUsage, RunRecord
from judgeharness_integrations.verdictlog.sql.log import is_claimed, lock_file

RECORD = RunRecord(
    run="r1 \ud83d",
    state="running",
    created_at="2026-01-02T00:00:00+00:00",
    updated_at="2026-01-02T00:00:00+00:00",
    version="0.1.0",
    config={"judges": [{"name": "é\x00"}]},
    parts={"cases": "ab12"},
    planned_cases=10,
    planned_calls=60,
    prices={"m": [2.5, 10]},
    attempts_spent=0,
)


def test_a_record_comes_back_as_it_was(sql_log: SqlLog) -> None:
    early = RunRecord(run="r0", state="complete", created_at="2026-01-01", updated_at="2026-01-01", version="0")
    sql_log.begin(RECORD)
    sql_log.begin(early)
    assert sql_log.record(RECORD.run) == RECORD
    assert sql_log.record("r2") is None
    assert sql_log.records() == [early, RECORD]


def test_how_many_cases_a_judge_was_to_be_asked_about() -> None:
    two = replace(RECORD, config={"judges": [{"name": "cheap"}, {"name": "strong"}]})
    assert two.planned(["cheap", "strong"]) == {"cheap": 5, "strong": 5}
    in_turn = replace(two, config={**two.config, "cascade": ["cheap", "strong", "people"]})
    assert in_turn.planned(["cheap", "strong"]) == {"cheap": 5}
    assert replace(two, planned_cases=None).planned(["cheap"]) == {}


def test_a_run_begins_once(sql_log: SqlLog) -> None:
    sql_log.begin(RECORD)
    sql_log.begin(RECORD)  # as after a connection that was lost after the commit
    with pytest.raises(UsageError, match=r"holds a run .* already: continue it, or name another"):
        sql_log.begin(replace(RECORD, planned_cases=11))
    assert sql_log.records() == [RECORD]


def test_a_record_changes_by_field(sql_log: SqlLog) -> None:
    sql_log.begin(RECORD)
    sql_log.note(RECORD.run, state="complete", attempts_spent=61, config={}, updated_at="2026-01-03")
    changed = replace(RECORD, state="complete", attempts_spent=61, config={}, updated_at="2026-01-03")
    assert sql_log.record(RECORD.run) == changed
    sql_log.note(RECORD.run, prices=None)
    noted = sql_log.record(RECORD.run)
    assert noted is not None
    assert (noted.prices, noted.created_at) == (None, RECORD.created_at)
    assert noted.updated_at > "2026-01-03"


WRONG: list[tuple[dict[str, object], str]] = [
    ({"state": "failed"}, "holds no record of a run 'r9'"),
    ({"stat": "failed"}, "unknown field of a run 'stat': did you mean 'state'"),
    ({"created_at": "now"}, "unknown field of a run 'created_at'"),
    ({"state": "done"}, "unknown run state 'done'"),
]


def test_what_cannot_be_changed_is_an_error(sql_log: SqlLog) -> None:
    for changes, problem in WRONG:
        with pytest.raises(UsageError, match=problem):
            sql_log.note("r9", **changes)


def test_a_record_is_in_a_state_that_exists() -> None:
    with pytest.raises(UnknownNameError, match="unknown run state 'finished'"):
        replace(RECORD, state="finished")  # type: ignore[arg-type]


def test_runs_with_rows_are_listed_with_or_without_a_record(sql_log: SqlLog) -> None:
    assert sql_log.run_ids() == []
    runs = ["", "a\ud83d", "b"]
    sql_log.append([VerdictRow(case_id="c", verdict="A", run=run) for run in runs for _ in range(2)])
    sql_log.begin(RECORD)
    assert sorted(sql_log.run_ids()) == runs


def test_usage_counts_what_a_run_used(sql_log: SqlLog) -> None:
    first = {"attempts": 2, "input_tokens": 2**40, "output_tokens": 5, "latency_s": 0.5}
    call = {"call_id": "k", "case_id": "c1", "model": "m"}
    copy = {"attempts": 0, "attributes": {"reused_from": "r0"}, "case_id": "c2", "model": "m"}
    rows = [
        VerdictRow(verdict="A", criterion="tone", **call, **first),  # type: ignore[arg-type]
        VerdictRow(verdict="A", criterion="facts", **call),  # type: ignore[arg-type]
        VerdictRow(verdict="A", criterion="tone", call_id="k2", **copy),  # type: ignore[arg-type]
        VerdictRow(verdict="A", criterion="facts", call_id="k2", **copy),  # type: ignore[arg-type]
        VerdictRow(verdict="A", repetition=5, **copy),  # type: ignore[arg-type]
        VerdictRow(verdict=None, outcome="error", case_id="c3", model="m", attempts=3, latency_s=0.25),
        VerdictRow(verdict="A", judge="other\x00", case_id="c3"),
    ]
    sql_log.append([replace(row, run="r1") for row in rows])
    sql_log.append([replace(rows[0], run="r2")])
    by_judge = {usage.judge: usage for usage in sql_log.usage("r1")}
    assert by_judge["judge"] == ModelUsage(
        judge="judge",
        model="m",
        rows=6,
        cases=3,
        calls=4,
        reused_calls=2,
        made_calls=2,
        attempts=5,
        input_tokens=2**40,
        output_tokens=5,
        latency_s=0.75,
        errors=1,
        largest_input=2**40,
        largest_output=5,
        least_cached_input=0,  # nothing came from the provider's cache
    )
    unmeasured = by_judge["other\x00"]
    assert (unmeasured.model, unmeasured.calls, unmeasured.reused_calls) == (None, 1, 0)
    assert (unmeasured.attempts, unmeasured.input_tokens, unmeasured.latency_s) == (None, None, None)
    assert sql_log.usage("r3") == ()


CACHED: list[dict[str, object]] = [
    *({"cached": value} for value in ("shared", 1, True, False, 0, 0.0, "")),
    {"a": 1, "cached": "shared"},
    {"Cached": 1},
    {"cached_at": "now", 'x"cached': 1, "note": '"cached": 1, {"cached": 1}'},
    {},
]


def random_call(chance: random.Random, number: int) -> list[VerdictRow]:
    """Return the rows of a call of any kind, about one or two criteria."""

    def tokens() -> int | None:
        return chance.choice([None, 0, chance.randrange(1, 9999)])

    common: dict[str, Any] = {
        "run": "r",
        "judge": chance.choice("jk"),
        "case_id": f"c{chance.randrange(5)}",
        "model": chance.choice([None, "gpt", "gpt-2024-08-06"]),
        "attributes": chance.choice(CACHED) | chance.choice([{}, {}, {"reused_from": "old"}]),
        "repetition": number,
    }
    first = {"attempts": chance.choice([None, 0, 1, 3]), "latency_s": chance.choice([None, 0.25])}
    first |= {"input_tokens": tokens(), "output_tokens": tokens()}
    if chance.random() < 0.5:
        return [random_row(chance, **common, **first)]
    failed = {"outcome": "error"} if chance.random() < 0.5 else {}
    call_id = f"call {number}"
    return [
        random_row(chance, **common, **first, **failed, criterion="tone", call_id=call_id),
        random_row(chance, **common, **failed, criterion="facts", call_id=call_id),
    ]


def random_row(chance: random.Random, **fields: Any) -> VerdictRow:
    outcome = fields.pop("outcome", None) or chance.choice(["ok", "ok", "unparsed", "error"])
    return VerdictRow(verdict="A" if outcome == "ok" else None, outcome=outcome, **fields)


@pytest.mark.slow
def test_the_database_and_the_summary_count_alike(sql_log: SqlLog) -> None:
    chance = random.Random(20261121)  # noqa: S311 - no secret
    rows = [row for number in range(600) for row in random_call(chance, number)]
    sql_log.append(rows)
    sums = UsageSums()
    for case in sorted({row.case_id for row in rows}):
        sums.add([row for row in rows if row.case_id == case])
    assert sorted(sql_log.usage("r"), key=repr) == sorted(sums.usages, key=repr)
    assert len(sums.usages) == 6
    for one in sums.usages:  # each of these kinds occurred
        assert one.reused_calls > 0
        assert 0 < one.unreported_calls < one.unpriced_calls
        assert 0 < one.made_calls < one.calls - one.reused_calls


def test_the_first_rewording_of_a_text_is_kept(sql_log: SqlLog) -> None:
    assert sql_log.rewrite("gpt", "text \ud83d") is None
    assert sql_log.add_rewrite("gpt", "text \ud83d", "other words \x00") == "other words \x00"
    assert sql_log.add_rewrite("gpt", "text \ud83d", "yet others") == "other words \x00"
    assert sql_log.rewrite("gpt", "text \ud83d") == "other words \x00"
    assert sql_log.rewrite("claude", "text \ud83d") is None


def test_a_run_has_one_writer(database: str) -> None:
    with SqlLog(database) as log, SqlLog(database) as other:
        with log.claim("r1"), other.claim("r2"):
            log.append([VerdictRow(case_id="c", verdict="A", run="r1")])
            taken = (
                rf"^run 'r1' of {re.escape(log.name)} is being written by another process "
                rf"\(pid {os.getpid()}, since \d{{4}}-.*\): wait for it, or start a new run\.$"
            )
            with pytest.raises(RunBusyError, match=taken), other.claim("r1"):
                pass
        with other.claim("r1"), pytest.raises(RunBusyError), log.claim("r1"):
            pass
        with pytest.raises(ZeroDivisionError), log.claim("r1"):
            _ = 1 / 0
        with log.claim("r1"):
            pass


@pytest.mark.slow
def test_a_look_at_a_claim_neither_takes_nor_hinders_it(database: str) -> None:
    with SqlLog(database) as log, SqlLog(database) as other:
        store = other._store
        assert is_claimed(store, "r1") is False
        with log.claim("r1"):
            assert (is_claimed(store, "r1"), is_claimed(store, "r2")) == (True, False)
        assert is_claimed(store, "r1") is False
        over = threading.Event()

        def poll() -> None:
            while not over.is_set():
                is_claimed(store, "r1")

        looking = threading.Thread(target=poll)
        looking.start()
        try:
            for _ in range(50):
                with log.claim("r1"):
                    pass
        finally:
            over.set()
            looking.join()


def test_a_look_at_a_log_that_is_read_only_says_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with SqlLog(path) as log, SqlLog(f"sqlite:///{path}?mode=ro") as other:
        assert is_claimed(other._store, "r1") is False  # there is no lock at all
        with log.claim("r1"):
            assert is_claimed(other._store, "r1") is None


def test_a_lock_that_cannot_be_looked_at_says_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with SqlLog(path) as log:
        lock_file(path, "r1").mkdir()
        assert is_claimed(log._store, "r1") is None


def test_the_lock_of_a_process_that_was_killed_is_no_claim(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with SqlLog(path) as log:
        lock_file(path, "r1").touch()
        assert is_claimed(log._store, "r1") is False
        with log.claim("r1"):
            assert is_claimed(log._store, "r1") is True


def test_a_lock_that_is_gone_before_the_look_is_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.sqlite"
    with SqlLog(path) as log:
        file, write = lock_file(path, "r1"), log._store.write

        def later(work: Callable[[Any], bool]) -> bool:
            file.unlink()  # another process released it while the look waited for the database's lock
            return write(work)

        file.touch()
        monkeypatch.setattr(log._store, "write", later)
        assert is_claimed(log._store, "r1") is False
        assert not file.exists()


def test_a_log_closes(sql_log: SqlLog) -> None:
    assert sql_log.durable
    sql_log.append([VerdictRow(case_id="c", verdict="A")])
    sql_log.close()
    sql_log.close()
