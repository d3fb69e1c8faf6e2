"""`judgeharness demo` and `judgeharness adapters`."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.cli.demo import run_demo
from judgeharness_integrations.judging.adapters import Adapter
from judgeharness_integrations.testing import ScriptedJudge

GOLDEN = json.loads((Path(__file__).parent.parent / "data" / "golden" / "llmbar_aggregate.json").read_text())
Command = Callable[..., Any]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the demo went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.usefixtures("offline")
def test_demo_numbers_are_those_of_the_published_log() -> None:
    demo = run_demo()
    assert len(demo.judges) == 5
    assert demo.calls == 5 * 419 * 2
    for judge in demo.judges:
        golden = GOLDEN[judge.judge]
        entry = judge.rules["swap_consensus"]
        assert (entry.decided, entry.correct) == (golden["abs_covered"], golden["abs_correct"])
        assert judge.rules["net_preference"].correct == golden["maj_correct"]
        assert entry.single_call_accuracy["none"] == golden["correct_order1"] / 419
        assert judge.flips <= judge.pairs - golden["abs_covered"]
        assert (judge.gain > 0) == (judge.single_call > 0.5)
    assert {judge.gain > 0 for judge in demo.judges} == {True, False}
    assert demo.example.verdict == "ABSTAIN"


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_demo_opens_with_its_finding(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    started = time.process_time()  # whatever else the machine does
    ran = command("demo")
    assert time.process_time() - started < 10
    assert (ran.code, ran.err) == (0, "")
    words = " ".join(ran.out.split())
    assert words.startswith(
        "GPT-4 changes its verdict in 3.6 % of 419 pairs when the answers change places, Falcon in 87 %. "
        "Recorded by LLMBar (Zeng et al. 2024, MIT License)"
    )
    assert "exactly those above 50 %" in words
    assert "Falcon/CoT 52.0 86.6 93.4 12.6 67.9" in words
    lines = ran.out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("next: judgeharness init") for line in lines[-2:])
    assert "\x1b" not in ran.out


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("width", [80, 120])
def test_demo_shows_every_rule_to_those_who_ask(command: Command, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = command("demo", "--all")
    words = " ".join(ran.out.split())
    for sentence in (
        "net_preference 82.1 100% 56.6 99%",
        "aggregation_rule: swap_consensus",
        "status: abstained (the orders disagree",
        "not measured:",
    ):
        assert sentence in words
    assert max(map(len, ran.out.splitlines())) <= width


class FakePoint:
    """An entry point as importlib.metadata gives it."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self.loaded = name, loaded

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def fake(name: str, **extras: str) -> FakePoint:
    modules = {extra: (module,) for extra, module in extras.items()}
    return FakePoint(name, Adapter(name=name, extras=modules, build_judge=lambda spec: ScriptedJudge([spec.name])))


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        fake("ready", ready="json"),
        fake("partly", first="json", second="no_such_module_here"),
        fake("absent", absent="no_such_module_here"),
        FakePoint("wrong", ImportError("gone")),
    ]
    monkeypatch.setattr("judgeharness_integrations.cli.adapters.entry_points", lambda group: points)


@pytest.mark.usefixtures("frameworks")
def test_adapters_say_what_is_ready_and_the_pip_line_of_what_is_not(command: Command) -> None:
    ran = command("adapters")
    assert ran.code == 0
    assert "pip install '.[absent]'" in ran.out
    assert "ready; not installed: second" in ran.out
    assert "broken: ImportError: gone" in ran.out


@pytest.mark.usefixtures("frameworks")
def test_adapters_as_json(command: Command) -> None:
    document = command("adapters", "--json").json
    assert document["schema"] == "judgeharness.adapters/1"
    assert {one["name"]: one["ready"] for one in document["adapters"]} == {
        "ready": True,
        "partly": True,
        "absent": False,
        "wrong": False,
    }
    assert document["adapters"][0]["missing"] == [
        {
            "extra": "absent",
            "modules": ["no_such_module_here"],
            "pip": "pip install '.[absent]'",
        }
    ]


def test_the_installed_adapters_are_listed(command: Command) -> None:
    names = [one["name"] for one in command("adapters", "--json").json["adapters"]]
    assert "langchain" in names
