"""Adapters are found by entry point; frameworks that are missing are named with the pip line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness, Perturbation
from judgeharness_integrations._errors import CaseError, NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.judging import adapters as registry
from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec, adapters, find_adapter
from judgeharness_integrations.judging.config import Config, build_cases, build_harness_options, load_config
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.recording import watchers
from judgeharness_integrations.testing import ScriptedJudge


def build_judge(spec: JudgeSpec) -> Judge:
    return ScriptedJudge(["PASS"], name=spec.name)


READY = Adapter(name="ready", extras={"core": ("json",)}, build_judge=build_judge)
PARTLY = Adapter(name="partly", extras={"core": ("json",), "more": ("json", "no_such_module")}, build_judge=build_judge)
MISSING = Adapter(name="missing", extras={"gone": ("no_such_module", "json.no.such")}, build_judge=build_judge)


class Point:
    """An entry point of an installed distribution."""

    def __init__(self, name: str, load: Callable[[], Adapter]) -> None:
        self.name = name
        self.load = load


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [Point(adapter.name, lambda adapter=adapter: adapter) for adapter in (READY, PARTLY, MISSING)]

    def entry_points(*, group: str) -> list[Point]:
        assert group == "judgeharness.adapters"
        return points

    monkeypatch.setattr(registry, "entry_points", entry_points)


def test_what_is_missing_is_named_by_extra() -> None:
    assert READY.missing() == {}
    assert PARTLY.missing() == {"more": ("no_such_module",)}
    assert MISSING.missing() == {"gone": ("no_such_module", "json.no.such")}


def test_the_first_extra_is_what_an_adapter_needs() -> None:
    READY.require()
    PARTLY.require()
    with pytest.raises(NotInstalledError) as caught:
        MISSING.require()
    assert str(caught.value) == (
        "missing (no_such_module, json.no.such) is not installed: "
        "pip install '.[gone]' in the source folder of judgeharness"
    )


@pytest.mark.usefixtures("installed")
def test_adapters_come_sorted_and_by_name() -> None:
    assert list(adapters()) == ["missing", "partly", "ready"]
    assert find_adapter("ready") is READY
    with pytest.raises(UnknownNameError, match="unknown adapter 'redy': did you mean 'ready'"):
        find_adapter("redy")
    with pytest.raises(NotInstalledError):
        find_adapter("missing")


@pytest.mark.usefixtures("installed")
def test_an_adapter_builds_judges() -> None:
    spec = JudgeSpec(name="mine", evaluator="pairwise_string", model_options={}, evaluator_options={})
    assert find_adapter("ready").build_judge(spec).name == "mine"


def refuse() -> Any:
    raise ImportError("gone")


@pytest.mark.parametrize(
    ("load", "reason"),
    [(refuse, "ImportError: gone"), (lambda: "text", "TypeError: its entry point is no Adapter but a str")],
)
def test_a_broken_adapter_breaks_no_other(
    monkeypatch: pytest.MonkeyPatch, load: Callable[[], Any], reason: str
) -> None:
    points = [Point("broken", load), Point("ready", lambda: READY)]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    sentence = f"adapter 'broken' cannot be loaded ({reason}): update or uninstall the package it is from."
    with pytest.warns(RuntimeWarning) as warned:
        assert adapters() == {"ready": READY}
    assert [str(one.message) for one in warned] == [sentence]
    assert find_adapter("ready") is READY  # without a warning
    with pytest.raises(UsageError) as caught:
        find_adapter("broken")
    assert str(caught.value) == sentence


class Watcher:
    """Watches, and may keep what is judged."""

    private = False

    def begin(self, span: Any) -> None:
        pass

    def end(self, span: Any) -> None:
        pass


def offering(name: str, observer: Callable[[], Any]) -> Point:
    made = Adapter(name=name, extras={"core": ("json",)}, build_judge=build_judge, observer=observer)
    return Point(name, lambda: made)


def test_adapters_offer_observers_and_one_that_fails_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Theirs(Watcher):
        pass

    points = [
        offering("a", refuse),
        Point("b", refuse),
        offering("c", lambda: None),
        offering("d", Theirs),
        Point("e", lambda: READY),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    monkeypatch.setenv("THEIR_TRACING", "on")
    mine, private = Watcher(), Watcher()
    private.private = True
    for given, classes in (
        (None, [Theirs]),
        ([mine], [Watcher, Theirs]),
        ([Theirs()], [Theirs]),
        ([private], [Watcher]),
        ([], []),  # but for private ones
    ):
        assert [type(one) for one in watchers(given)] == classes
    assert [type(one) for one in watchers(None, [mine])] == [Watcher, Theirs]
    monkeypatch.setattr(Theirs, "private", True)
    assert [type(one) for one in watchers([])] == [Theirs]
    result = JudgeHarness.quick("labels").evaluate(lambda case: True, AnswerCase(case_id="c", output="a"))
    assert result.verdict == "PASS"
    assert capsys.readouterr().err.count("a measurement is not traced (ImportError('gone'))") == 1


def test_paths_in_options_start_at_a_folder_which_is_here_by_default() -> None:
    spec = JudgeSpec(name="mine", evaluator="e", model_options={}, evaluator_options={})
    assert spec.folder == Path()


def test_a_module_whose_parent_is_broken_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(registry, "find_spec", broken)
    assert READY.missing() == {"core": ("json",)}


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], Config]:
    """A configuration whose adapter reads `.json` cases and has a perturbation of its own."""

    def shout() -> Perturbation:
        return Perturbation("shout", lambda case: case)

    def read_cases(path: Path) -> list[AnswerCase]:
        return [AnswerCase(case_id=path.stem, output="text")]

    own = Adapter(
        name="own",
        extras={"core": ("json",)},
        build_judge=build_judge,
        read_cases=read_cases,
        perturbations={"shout": shout},
    )
    points = [Point("own", lambda: own), Point("ready", lambda: READY)]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points)

    def load(changes: dict[str, Any]) -> Config:
        judge = {"name": "j", "adapter": "own", "evaluator": "any"}
        harness = {"perturbations": ["none", "shout"], "repetitions": 1, "aggregation_rule": "majority"}
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"judges": [judge], "cases": "turns.json", "harness": harness} | changes))
        return load_config(path)

    return load


def test_an_adapter_reads_cases_of_its_own_kind(reading: Callable[[dict[str, Any]], Config]) -> None:
    assert [case.case_id for case in build_cases(reading({}))] == ["turns"]
    judge = {"name": "j", "adapter": "ready", "evaluator": "any"}
    with pytest.raises(CaseError, match=r"turns\.json: a case file is \.csv"):
        build_cases(reading({"judges": [judge]}))


def test_an_adapter_has_perturbations_of_its_own(reading: Callable[[dict[str, Any]], Config]) -> None:
    made = build_harness_options(reading({}))["perturbations"]
    assert [perturbation.name for perturbation in made] == ["none", "shout"]
    harness = {"perturbations": ["shuot"], "repetitions": 1, "aggregation_rule": "majority"}
    with pytest.raises(UnknownNameError, match="did you mean 'shout'"):
        build_harness_options(reading({"harness": harness}))
