"""A process that forks after it used a log: parent and child both go on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.databases import fresh_schema

from judgeharness_integrations.verdictlog import SqlLog, VerdictRow
from judgeharness_integrations.verdictlog.sql import store

PROGRAM = """
import os, sys
from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.verdictlog import SqlLog

log = SqlLog(sys.argv[1])

async def judge(case):
    return "PASS"

def evaluate(name):
    options = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority", "observers": ()}
    result = JudgeHarness(**options, log=log, run=name).evaluate(judge, AnswerCase(case_id=name, output="x"))
    os.write(1, f"{result.verdict}\\n".encode())  # whole, whoever writes beside it

evaluate("before")
child = os.fork()
evaluate("child" if child == 0 else "parent")
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(len(list(log.rows())), flush=True)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "log.sqlite")
        return
    with fresh_schema() as url:
        yield url


@pytest.mark.slow
def test_parent_and_child_write_to_one_log(where: str) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM, where], capture_output=True, text=True, timeout=40, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["PASS", "PASS", "PASS", "9"]), done.stderr


def test_a_child_opens_connections_of_its_own(tmp_path: Path) -> None:
    row = VerdictRow(case_id="c", verdict="PASS")
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append([row])
        before = log._store._writing
        store._renew()  # what the operating system calls in the child
        assert log._store._writing is not before
        log.append([replace(row, repetition=1)])
        assert len(list(log.rows())) == 2
