"""The journal of batches, in both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.sql.batches import Asked, BatchJournal, BatchRecord

RECORD = BatchRecord(
    batch="jh-1",
    run="nightly \x00",
    judge="strict",
    provider="openai",
    address="https://api.openai.com/v1",
    model="gpt-4o",
    created_at="2026-01-01T00:00:00.000+00:00",
    requests=2,
    input_tokens=900,
)
SLOTS = {"jh-a": "slot 1", "jh-b": "slot 2"}
MINE = {"run": RECORD.run, "judge": RECORD.judge}


@pytest.fixture
def journal(sql_log: SqlLog) -> BatchJournal:
    """An empty journal in either database."""
    return BatchJournal(sql_log.store)


def test_a_batch_that_is_intended_is_there_with_its_requests(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    asked = [Asked("jh-a", "slot 1", "jh-1", answered=False), Asked("jh-b", "slot 2", "jh-1", answered=False)]
    assert (journal.records(), sorted(journal.asked(**MINE))) == (
        [RECORD],
        asked,
    )


def test_intending_a_batch_once_more_changes_nothing(journal: BatchJournal) -> None:
    for _ in range(2):  # its connection was lost after the commit
        journal.intend(RECORD, SLOTS)
    assert (journal.records(), len(journal.asked(**MINE))) == ([RECORD], 2)


def test_what_is_noted_of_a_batch_is_read_again(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    journal.note("jh-1", state="open", provider_id="batch_1", answered=1)
    assert journal.records(**MINE) == [replace(RECORD, state="open", provider_id="batch_1", answered=1)]


def test_a_batch_of_another_run_is_not_among_those_of_a_run(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    assert journal.records(run="another") == []


def test_a_batch_that_is_withdrawn_leaves_nothing(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    journal.withdraw("jh-1")
    assert (journal.records(), journal.asked(**MINE)) == ([], [])


def test_a_collected_batch_keeps_its_answers_and_forgets_what_it_left_out(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    journal.collect("jh-1", {"jh-a": "an \x00 answer \ud800"})
    assert journal.asked(**MINE) == [Asked("jh-a", "slot 1", "jh-1", answered=True)]
    assert journal.answers(["jh-a", "jh-b"]) == {"jh-a": "an \x00 answer \ud800"}


def test_a_batch_may_have_answered_nothing(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    journal.collect("jh-1", {})
    assert journal.records() == [replace(RECORD, state="collected")]


def test_answers_are_forgotten_once_they_are_rows_but_for_batches_that_are_open(journal: BatchJournal) -> None:
    journal.intend(RECORD, SLOTS)
    journal.collect("jh-1", {"jh-a": "an answer"})
    journal.intend(replace(RECORD, batch="jh-2", requests=1), {"jh-c": "slot 3"})
    journal.forget(**MINE)
    assert journal.asked(**MINE) == [Asked("jh-c", "slot 3", "jh-2", answered=False)]


def test_a_batch_is_open_until_it_is_collected() -> None:
    states = ("intended", "open", "collected", "tidied")
    assert [replace(RECORD, state=state).is_open for state in states] == [True, True, False, False]
