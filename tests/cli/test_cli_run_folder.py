"""The folder of a run and what stands in it: one writer, a log elsewhere, cases that change."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import ConfigError, RunBusyError
from judgeharness_integrations.cli.run_place import RunPlace
from judgeharness_integrations.verdictlog import SqlLog, read_log

COUNTING = """
import pathlib

def good(case):
    here = pathlib.Path(__file__)
    with here.with_name("asked").open("a") as asked:
        asked.write(f"{case.case_id}\\n")
    if case.case_id == "c40" and here.with_name("change").exists():
        here.with_name("change").unlink()
        with here.with_name("many.jsonl").open("a") as cases:
            cases.write('{"case_id": "new", "input": "q", "output": "o"}\\n')
    return "PASS"
"""

Command = Callable[..., Any]


@pytest.fixture
def config(folder: Path) -> Callable[..., Path]:
    (folder / "cli_judges.py").write_text(COUNTING)
    cases = [{"case_id": f"c{n}", "input": "q" * 900, "output": "o"} for n in range(300)]
    (folder / "many.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))

    def write(**changes: Any) -> Path:
        sys.modules.pop("cli_judges", None)
        design = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
        document = {
            "judges": [{"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"}],
            "cases": "many.jsonl",
            "harness": design,
            "execution": {"max_concurrency": 4},
        }
        path = folder / "config.json"
        path.write_text(json.dumps(document | changes))
        return path

    return write


def asked(folder: Path) -> list[str]:
    path = folder / "asked"
    return path.read_text().split() if path.exists() else []


@pytest.mark.slow
def test_a_folder_has_one_writer(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    out = folder / "deep" / "out"
    with RunPlace(folder=out, log=None).held():
        ran = command("run", config(), "--out", out)
        assert (ran.code, asked(folder)) == (2, [])
        assert f"{out} is being written by another process: wait for it, or give another --out" in ran.err
    assert not out.parent.exists()  # nothing was in it
    (folder / "cli_judges.py").write_text("def good(case):\n    return 'PASS'\n")
    out.mkdir(parents=True)
    (out / "run.lock").touch()  # as a kill leaves it
    assert command("run", config(), "--out", out).code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "results.jsonl",
        "run.json",
        "summary.json",
        "verdicts.jsonl",
        "verdicts.sqlite",
    ]


def test_a_lock_that_its_holder_removed_is_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = RunPlace(folder=tmp_path, log=None)
    opened = Path.open
    removed: list[Path] = []

    def removing(path: Path, *arguments: Any, **options: Any) -> Any:
        found = opened(path, *arguments, **options)
        if path.name == "run.lock" and not removed:
            removed.append(path)
            path.unlink()
        return found

    monkeypatch.setattr(Path, "open", removing)
    with place.held():
        assert removed
        with pytest.raises(RunBusyError), place.held():
            pass
    assert not list(tmp_path.iterdir())


def test_a_lock_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "run.lock").mkdir()
    with pytest.raises(ConfigError, match=r"run.lock cannot be locked \(Is a directory\)"):
        RunPlace(folder=tmp_path, log=None).held().__enter__()


@pytest.mark.slow
def test_cases_that_change_during_a_run_end_it_and_what_was_answered_stays(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    out, before = folder / "out", (folder / "many.jsonl").read_text()
    (folder / "change").touch()
    ran = command("run", config(), "--out", out, "--run", "r")
    calls = asked(folder)
    assert ran.code == 2
    assert "many.jsonl: changed while it was in use" in ran.err
    assert f"What was answered is kept: {len(calls)} rows in {out / 'verdicts.sqlite'}." in ran.err
    assert "--new-run asks about those that stand there now" in ran.err
    assert 40 < len(calls) < 300
    assert "new" not in calls
    assert len(read_log(out / "verdicts.jsonl")) == len(calls)
    (listed,) = command("runs", out, "--json").json["runs"]
    assert (listed["state"], listed["answered_calls"]) == ("failed", len(calls))
    (folder / "many.jsonl").write_text(before)
    assert command("run", config(), "--out", out).code == 0
    assert len(asked(folder)) == 300


@pytest.mark.slow
@pytest.mark.untraced
def test_a_run_stopped_early_says_what_that_saved(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    design = {"perturbations": ["none"], "repetitions": 5, "aggregation_rule": "majority", "curtail": True}
    ran = command("run", config(harness=design), "--out", folder / "out")
    assert ran.code == 0
    assert "good: 600 calls saved by stopping early" in ran.out
    assert "good: 300 of 300 cases hold fewer samples than were planned for them" in ran.out
    summary = json.loads((folder / "out" / "summary.json").read_text())
    (judge,) = summary["judges"]
    (entry,) = judge["criteria"]
    assert (entry["planned_samples"], entry["taken_samples"], entry["censored"]) == (1500, 900, 300)
    assert judge["saved_calls"] == 600
    listed = command("runs", folder / "out")
    assert "60.0 of 1500 (600 saved)" in " ".join(listed.out.split())


@pytest.mark.slow
@pytest.mark.untraced
def test_the_folder_of_a_run_may_have_a_dot_and_its_log_stand_elsewhere(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    out = folder / "v1.2"
    assert command("run", config(), "--out", out).code == 0
    assert command("runs", out).code == 0
    elsewhere = folder / "other"
    shared = folder / "shared.sqlite"
    assert command("run", config(), "--out", elsewhere, "--log", shared, "--run", "mine").code == 0
    assert [run["run"] for run in command("runs", elsewhere, "--json").json["runs"]] == ["mine"]
    mark = {"run": "mine", "log": "postgresql://[redacted]@host/db"}
    (elsewhere / "run.json").write_text(json.dumps(mark))
    ran = command("runs", elsewhere)
    assert ran.code == 2
    assert "give its URL, whose password is not kept here" in ran.err


@pytest.mark.parametrize("text", ["postgresql+psycopg:/u:s3cret99@h/db", "sqlite:s3cret99"])
def test_a_mistyped_url_is_not_repeated(command: Command, folder: Path, config: Callable[..., Path], text: str) -> None:
    commands: list[tuple[object, ...]] = [
        ("run", config(), "--out", folder / "out", "--log", text),
        ("run", config(log=text), "--out", folder / "out"),
        ("runs", text),
    ]
    for arguments in commands:
        ran = command(*arguments)
        assert ran.code == 2
        assert "what is given as a log: " in ran.err
        assert "s3cret99" not in ran.out + ran.err
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_look_at_a_read_only_log_does_not_fail(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    out = folder / "out"
    log = out / "verdicts.sqlite"
    assert command("run", config(), "--out", out, "--run", "r").code == 0
    with SqlLog(log) as other, other.claim("r"):
        other.note("r", state="running")
        assert command("runs", log, "--json").json["runs"][0]["state"] == "running"
        assert command("runs", f"sqlite:///{log}?mode=ro", "--json").json["runs"][0]["state"] == "running?"
    assert command("runs", log, "--json").json["runs"][0]["state"] == "stopped"


@pytest.mark.slow
@pytest.mark.untraced
def test_a_run_under_way_may_be_moved_to_another_log(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    out, moved = folder / "out", folder / "moved.sqlite"
    assert command("run", config(), "--out", out, "--run", "r", "--budget-calls", 100).code == 3
    assert command("log", "import", out / "verdicts.sqlite", "--log", moved).code == 0
    ran = command("run", config(), "--out", out, "--log", moved, "--budget-calls", 100)
    assert (ran.code, len(asked(folder))) == (3, 100)  # its budget is that of the rows
    assert "goes on with run r, imported: 100 of 300 calls are answered" in ran.out
    assert command("run", config(), "--out", folder / "third", "--log", moved, "--run", "r").code == 0
    assert len(asked(folder)) == 300
