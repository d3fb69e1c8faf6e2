"""What is killed, and when: scenes that the kill tests play with each database."""

from __future__ import annotations

import os
import random
import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING

from support.killing import Kill, KilledRun, Moment

if TYPE_CHECKING:
    from support.counting_server import CountingServer
    from support.killed_databases import KilledDatabase
    from support.zygote import Zygote

__all__ = ["Stage", "chance", "committing", "copying", "counted", "held", "many_kills", "new_log", "two_runs"]

_FEW_LEFT = 20
_CASES_OF_MANY = 64
_SEED = "JUDGEHARNESS_KILL_SEED"


def chance() -> random.Random:
    """Return a source of chance whose seed is shown when the test fails; the variable repeats it."""
    seed = os.environ.get(_SEED) or str(secrets.randbelow(1_000_000))
    print(f"{_SEED}={seed}")  # noqa: T201 - pytest keeps it until the test fails
    return random.Random(seed)  # noqa: S311


class Stage:
    """A database, a server, a zygote, and a source of chance."""

    def __init__(self, database: KilledDatabase, server: CountingServer, zygote: Zygote) -> None:
        self.database, self.server, self.zygote = database, server, zygote
        self.random = chance()

    def run(self, name: str, *, cases: str = "", count: int = 120) -> KilledRun:
        """Return a run that has not begun."""
        return KilledRun(name, self.database, self.server, self.zygote, cases=cases, count=count)


def many_kills(stage: Stage, count: int) -> list[Kill]:
    """Kill runs, one after the other, until there were so many kills; each is finished when little of it is left.

    The first kill of each is before any answer.
    """
    kills: list[Kill] = []
    number = 0
    while len(kills) < count:
        run = stage.run(f"run-{number}", count=_CASES_OF_MANY)
        number += 1
        first = run.kill(Moment(requests=stage.random.randint(0, 1)), answers=0)  # the first call goes alone
        kills += [] if first is None else [first]
        while run.left > _FEW_LEFT and len(kills) < count:
            kill = run.kill(_random_moment(stage.random, run.left))
            if kill is not None:
                kills.append(kill)
        decisions = run.finish()
        assert {status for status, _ in decisions} == {"decided", "abstained"}
        assert {verdict for _, verdict in decisions} == {"A", "B", "TIE", "ABSTAIN"}
    print(counted(kills))  # noqa: T201 - shown with -s
    return kills


def counted(kills: list[Kill]) -> str:
    """Return how many kills met which phase."""
    phases = Counter(kill.phase for kill in kills)
    in_flight = Counter(kill.in_flight for kill in kills)
    return f"{len(kills)} kills: {dict(phases)}; calls in flight: {dict(sorted(in_flight.items()))}"


def _random_moment(source: random.Random, left: int) -> Moment:
    """Return a moment of a process that has `left` probes to ask: as it starts, while it asks, at its end."""
    kind = source.random()
    if kind < 0.3:
        return Moment(delay_s=source.uniform(0, 0.08))
    if kind < 0.9:
        return Moment(requests=source.randint(1, max(1, left // 3)), delay_s=source.uniform(0, 0.004))
    return Moment(requests=left, delay_s=source.uniform(0, 0.02))


def held(stage: Stage, *answers: int) -> KilledRun:
    """Kill a run when so many further calls are answered and committed, and as many others as may be are asked."""
    run = stage.run("held", count=80)
    for further in answers:
        known = len(run.rows)
        in_flight = run.concurrency if known + further else 1  # the first call goes alone
        kill = run.kill(Moment(requests=further + in_flight), answers=further)
        assert kill is not None
        assert (kill.after, kill.in_flight) == (known + further, in_flight)
    return run


def committing(stage: Stage) -> KilledRun:
    """Kill a run whose answers cannot be committed: no further call may have been made in their place."""
    run = stage.run("committing", count=20)
    stage.server.hold_after(1)  # the first call, which goes alone
    child = run.start()
    stage.server.await_requests(1 + run.concurrency)
    with stage.database.locked():
        stage.server.hold_after(None)
        time.sleep(0.3)  # every answer is there by now
        assert stage.server.total == 1 + run.concurrency
        assert child.kill()
    run.check()
    return run


def new_log(stage: Stage, count: int) -> None:
    """Kill processes that make the tables; what they leave is finished by the next one."""
    for number in range(count):
        stage.database.empty()
        run = stage.run(f"new-{number}", count=10)
        run.kill(Moment(delay_s=stage.random.uniform(0.005, 0.05)))
        run.finish()


def copying(stage: Stage, count: int) -> KilledRun:
    """Kill a run that takes its answers from another one."""
    stage.run("paid").finish()
    asked = stage.server.total
    run = stage.run("copy", cases="paid")
    moments = [Moment(rows=1), *(Moment(delay_s=stage.random.uniform(0.01, 0.1)) for _ in range(count - 1))]
    kills = [kill for moment in moments if (kill := run.kill(moment)) is not None]
    assert any(kill.phase == "under way" for kill in kills), counted(kills)
    run.finish()
    assert stage.server.total == asked
    assert {row.attributes.get("reused_from") for row in run.rows} == {"paid"}
    return run


def two_runs(stage: Stage, kills: int) -> None:
    """Kill two processes that write different runs to one database at the same time."""
    runs = [stage.run("left", count=70), stage.run("right", count=70)]
    for _ in range(kills):
        asked = stage.server.total
        children = [run.start() for run in runs]
        stage.server.await_requests(asked + stage.random.randint(1, 120))
        for child in children:
            child.kill()
        for run in runs:
            run.check()
    for run in runs:
        run.finish()
