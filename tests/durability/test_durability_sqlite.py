"""SIGKILL, with the log in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import kill_scenes
from support.kill_scenes import Stage
from support.killed_databases import KilledSqlite

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from pathlib import Path

    from support.counting_server import CountingServer
    from support.zygote import Zygote


@pytest.fixture
def stage(tmp_path: Path, server: CountingServer, zygote: Zygote) -> Stage:
    return Stage(KilledSqlite(tmp_path / "log.sqlite"), server, zygote)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_fifty_kills_lose_nothing_and_pay_nothing_twice(stage: Stage) -> None:
    kills = kill_scenes.many_kills(stage, 50)
    assert len(kills) == 50
    assert {"nothing committed", "under way"} <= {kill.phase for kill in kills}


def test_a_kill_before_the_first_answer_leaves_nothing(stage: Stage) -> None:
    kill_scenes.held(stage, 0).finish()


def test_kills_leave_exactly_the_committed_answers_and_a_resumed_run_asks_as_many_at_once(stage: Stage) -> None:
    kill_scenes.held(stage, 40, 380).finish()


def test_a_call_is_in_flight_until_its_rows_are_committed(stage: Stage) -> None:
    run = kill_scenes.committing(stage)
    assert len(run.rows) == 1  # the first call, which goes alone
    run.finish()


def test_a_kill_while_the_log_is_made_leaves_one_that_can_be_used(stage: Stage) -> None:
    kill_scenes.new_log(stage, 6)


def test_a_kill_while_answers_of_another_run_are_taken_costs_nothing(stage: Stage) -> None:
    kill_scenes.copying(stage, 6)


def test_two_runs_in_one_database_are_killed_at_once_and_both_recover(stage: Stage) -> None:
    kill_scenes.two_runs(stage, 4)
