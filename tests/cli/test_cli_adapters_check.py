"""`judgeharness adapters --check`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from support.toy_adapter import Toy, toy_bench

from judgeharness_integrations import HarnessResult
from judgeharness_integrations.judging.adapterkit import Bench
from judgeharness_integrations.judging.adapters import Adapter
from judgeharness_integrations.testing import CHECKS, ScriptedJudge

Command = Callable[..., Any]


class Undecided(Toy):
    """Takes an abstention for an A, and has much to say about it."""

    def verdict(self, result: HarnessResult) -> str | None:
        if result.status == "decided":
            return super().verdict(result)
        warnings.warn("the samples disagree", stacklevel=1)
        logging.getLogger("toy").warning("the samples disagree")
        return "A"


class Point:
    """An entry point of an installed distribution."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self.loaded = name, loaded

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def point(name: str, benches: Callable[[], list[Bench]] | None = None, module: str = "json") -> Point:
    adapter = Adapter(
        name=name,
        extras={name: (module,)},
        build_judge=lambda spec: ScriptedJudge(["A"], name=spec.name),
        benches=benches,
    )
    return Point(name, adapter)


def unbuilt() -> list[Bench]:
    raise RuntimeError("no bench today")


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*points: Point) -> None:
        monkeypatch.setattr("judgeharness_integrations.cli.adapters.entry_points", lambda group: points)

    return install


GOOD = point("good", lambda: [toy_bench(), toy_bench(name="graded", pairwise=False)])
FAULTY = point("faulty", lambda: [toy_bench(Undecided)])
IDLE = point("idle", lambda: [toy_bench(opted_out=dict.fromkeys(CHECKS, "no time"))])
BARE, ABSENT, UNBUILT = point("bare"), point("absent", module="no_such_module_here"), point("unbuilt", unbuilt)
WRONG = Point("wrong", ImportError("gone"))


@pytest.mark.slow
def test_adapters_that_conform(command: Command, frameworks: Callable[..., None]) -> None:
    frameworks(GOOD, BARE, ABSENT)
    ran = command("adapters", "--check")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["good", "toy", str(len(CHECKS)), "0", "0"] in rows
    assert ["good", "graded", str(len(CHECKS) - 1), "0", "1"] in rows
    assert "opted out: good · graded · original_frame: one answer has no order" in ran.out
    assert "bare: not checked, no benches" in ran.out
    assert "absent: not checked, not ready" in ran.out
    assert "absent: pip install '.[absent]'" in ran.out


@pytest.mark.slow
def test_one_that_does_not_is_the_exit_code(command: Command, frameworks: Callable[..., None]) -> None:
    frameworks(GOOD, FAULTY)
    ran = command("adapters", "--check", "faulty")
    assert (ran.code, ran.err) == (1, "")  # what the toy warns of stays off the screen
    assert "fail: faulty · toy · tie_is_no_abstention: an abstention was reported as A" in ran.out
    assert "good" not in ran.out
    assert command("adapters", "--check", "good").code == 0
    assert command("adapters", "--check").code == 1
    assert command("adapters", "faulty").code == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "why"), [("idle", "every check opted out"), ("bare", "no benches"), ("absent", "not ready")]
)
def test_one_asked_for_by_name_must_have_been_checked(
    command: Command, frameworks: Callable[..., None], name: str, why: str
) -> None:
    frameworks(GOOD, IDLE, BARE, ABSENT)
    ran = command("adapters", "--check", name)
    assert ran.code == 1
    assert f"{name}: not checked, {why}" in ran.out
    assert command("adapters", "--check").code == 0


def test_benches_that_cannot_be_built_and_adapters_that_cannot_be_loaded(
    command: Command, frameworks: Callable[..., None]
) -> None:
    frameworks(UNBUILT)
    ran = command("adapters", "--check")
    assert ran.code == 1
    assert "fail: unbuilt · benches: RuntimeError: no bench today" in ran.out
    frameworks(WRONG)
    ran = command("adapters", "--check")
    assert ran.code == 1
    assert "broken: ImportError: gone" in ran.out


@pytest.mark.slow
def test_checks_as_json(command: Command, frameworks: Callable[..., None]) -> None:
    frameworks(GOOD, FAULTY, BARE, WRONG)
    ran = command("adapters", "--check", "--json")
    assert ran.code == 1
    assert ran.json["schema"] == "judgeharness.adapters/1"
    found = {one["name"]: one for one in ran.json["adapters"]}
    assert {name: one["passed"] for name, one in found.items()} == {
        "bare": None,
        "faulty": False,
        "good": True,
        "wrong": None,
    }
    assert found["bare"]["checks"] == found["wrong"]["checks"] == []
    assert found["good"]["checks"][0] == {
        "bench": "toy",
        "check": "original_frame",
        "outcome": "pass",
        "detail": "",
    }
    assert {check["outcome"] for check in found["good"]["checks"]} == {"pass", "opted out"}
    assert "checks" not in command("adapters", "--json").json["adapters"][0]


def test_an_unknown_adapter(command: Command, frameworks: Callable[..., None]) -> None:
    frameworks(GOOD)
    ran = command("adapters", "--check", "god")
    assert (ran.code, ran.err) == (2, "error: unknown adapter 'god': did you mean 'good'?\n")


@pytest.mark.slow
@pytest.mark.untraced
def test_the_installed_adapters_conform(command: Command) -> None:
    ran = command("adapters", "langchain", "--check")
    assert (ran.code, ran.err) == (0, "")
    assert "PairwiseStringEvalChain" in ran.out
