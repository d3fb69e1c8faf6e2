from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.verdictlog import SqlLog, read_log

COUNTING = """
import pathlib

def good(case):
    with pathlib.Path(__file__).with_name("asked").open("a") as asked:
        asked.write(f"{case.case_id}\\n")
    if case.case_id == "c2" and pathlib.Path(__file__).with_name("down").exists():
        raise ValueError("nobody home")
    return "A" if "good" in case.output else "B"
"""
JUDGES = [{"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"}]

Command = Callable[..., Any]


def settings(folder: Path, **changes: Any) -> Path:
    harness = {"perturbations": ["none", "position_swap"], "repetitions": 2, "aggregation_rule": "swap_consensus"}
    config = {"judges": JUDGES, "cases": "cases.csv", "harness": harness} | changes
    path = folder / "run.json"
    path.write_text(json.dumps(config))
    sys.modules.pop("cli_judges", None)
    return path


def comparable(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    own = ("run", "asked_at", "latency_s", "usage", "rows")
    kept = [{k: v for k, v in row.items() if k not in own} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.slow
def test_a_run_whose_budget_ended_goes_on_with_a_larger_one(
    command: Command, folder: Path, asked: Callable[[], int]
) -> None:
    path, out = settings(folder, execution={"max_concurrency": 1}), folder / "out"
    first = command("run", path, "--out", out, "--budget-calls", 5)
    assert (first.code, asked()) == (3, 5)
    assert "2 of 3 cases ended not_graded, 1 of them never asked: --budget-calls=5 reached; with a larger" in first.err
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["state"], summary["attempts_spent"]) == ("budget_exhausted", 5)
    results = {one["case_id"]: one for one in map(json.loads, (out / "results.jsonl").read_text().splitlines())}
    assert results["c3"]["criteria"]["verdict"]["status"] == "not_graded"
    assert results["c3"]["criteria"]["verdict"]["reason"].startswith("budget exhausted")

    again = command("run", path, "--out", out, "--budget-calls", 5)
    assert (again.code, asked()) == (3, 5)  # a budget is of the whole run

    last = command("run", path, "--out", out, "--budget-calls", 20)
    assert (last.code, asked()) == (0, 12)
    assert f"goes on with run {summary['run']}, begun" in last.out
    assert "5 of 12 calls are answered" in last.out
    finished = json.loads((out / "summary.json").read_text())
    assert (finished["state"], finished["run"], finished["attempts_spent"]) == ("complete", summary["run"], 12)

    whole = command("run", path, "--out", folder / "whole", "--log", folder / "whole" / "verdicts.sqlite")
    assert whole.code == 0
    for name in ("verdicts.jsonl", "results.jsonl"):
        assert comparable(out / name) == comparable(folder / "whole" / name)


@pytest.mark.slow
def test_a_complete_run_costs_nothing_and_is_written_down_again(
    command: Command, folder: Path, asked: Callable[[], int]
) -> None:
    path, out = settings(folder), folder / "out"
    before = command("run", path, "--out", out, "--json")
    (out / "results.jsonl").unlink()
    (out / "run.json").unlink()  # the log alone says which run it holds
    after = command("run", path, "--out", out, "--json")
    assert (before.code, after.code, asked()) == (0, 0, 12)
    assert before.json == after.json
    assert (out / "results.jsonl").read_text().count("\n") == 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"harness": {"shape": "pairwise", "repetitions": 4}}, "harness.repetitions was 2, is 4"),
        ({"judges": [JUDGES[0] | {"model": "gpt-5"}]}, 'judges.good.model was "gpt-4o", is "gpt-5"'),
        ({"keep": "hash"}, 'keep was "text", is "hash"'),
        ({"cases": "more.csv"}, "cases.count was 3, is 4"),
        ({"calibration": {"labels": "cases.csv", "source": "human"}}, 'calibration.labels was nothing, is "cases.csv"'),
    ],
)
def test_a_run_is_not_continued_with_another_question(
    command: Command, folder: Path, asked: Callable[[], int], changes: dict[str, Any], sentence: str
) -> None:
    (folder / "more.csv").write_text((folder / "cases.csv").read_text() + "c4,q4,good,bad,A\n")
    out = folder / "out"
    assert command("run", settings(folder), "--out", out).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    ran = command("run", settings(folder, **changes), "--out", out)
    assert (ran.code, asked()) == (2, 12)
    assert sentence in ran.err
    assert "start a new run with --new-run, which takes over every answer that still fits; nothing was asked" in ran.err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.slow
def test_a_changed_source_of_a_judge_without_model_is_another_judge(command: Command, folder: Path) -> None:
    judges = [{"name": "good", "callable": "cli_judges:good"}]
    assert command("run", settings(folder, judges=judges), "--out", folder / "out").code == 0
    with (folder / "cli_judges.py").open("a") as source:
        source.write("# changed\n")
    ran = command("run", settings(folder, judges=judges), "--out", folder / "out")
    assert ran.code == 2
    assert "judges.good.source was" in ran.err


@pytest.mark.slow
def test_a_new_run_takes_over_what_fits_and_says_so(command: Command, folder: Path, asked: Callable[[], int]) -> None:
    (folder / "down").touch()
    path, out = settings(folder, execution={"max_attempts": 1}), folder / "out"
    first = command("run", path, "--out", out)
    assert (first.code, asked()) == (3, 12)
    assert "--new-run asks failed calls again and takes over the other answers" in first.err
    run = json.loads((out / "run.json").read_text())["run"]
    (folder / "down").unlink()
    second = command("run", path, "--out", out, "--new-run")
    assert (second.code, asked()) == (0, 16)
    assert f"re-used: 8 calls that run {run} paid for" in second.out
    summary = json.loads((out / "summary.json").read_text())
    assert summary["run"] != run
    assert summary["reused_from"] == {run: 8}
    assert (summary["usage"]["calls"], summary["usage"]["reused"], summary["attempts_spent"]) == (4, 8, 4)
    rows = read_log(out / "verdicts.jsonl")
    assert Counter(row.attributes.get("reused_from") for row in rows) == {run: 8, None: 4}
    third = command("run", settings(folder, reuse=False), "--out", out, "--new-run")
    assert (third.code, asked()) == (0, 28)


@pytest.mark.slow
def test_runs_shows_how_far_each_is_and_what_it_cost(command: Command, folder: Path, asked: Callable[[], int]) -> None:
    path, out = settings(folder, execution={"max_concurrency": 1}), folder / "out"
    command("run", path, "--out", out, "--run", "monday", "--budget-calls", 3)
    command("run", path, "--out", out, "--run", "tuesday")
    with SqlLog(out / "verdicts.sqlite") as log:
        log.note("monday", state="running")  # as a kill leaves it
    shown = command("runs", out)
    assert shown.code == 0
    lines = [line.split() for line in shown.out.partition("\nruns\n")[2].splitlines() if "day" in line]
    assert [line[0] for line in lines] == ["monday", "tuesday"]
    assert lines[0][3:] == ["stopped", "25.0", "of", "12", "0"]
    assert lines[1][3:] == ["complete", "100.0", "of", "12", "3"]
    document = command("runs", out / "verdicts.sqlite", "--json").json
    assert document["schema"] == "judgeharness.runs/1"
    assert [(one["run"], one["attempts"], one["reused"]) for one in document["runs"]] == [
        ("monday", 3, 0),
        ("tuesday", 9, 3),
    ]
    assert command("run", path, "--out", out, "--run", "monday").code == 0
    assert asked() == 12  # each takes over what the other paid for


def test_where_there_is_no_log_one_sentence_says_so(command: Command, folder: Path) -> None:
    ran = command("runs", folder / "nowhere")
    assert ran.code == 2
    assert ran.err.endswith("there is no log; give the folder of a run, a .sqlite file or the URL of a log.\n")


def test_of_a_folder_of_runs_they_are_named(command: Command, folder: Path) -> None:
    for name in ("first", "second"):
        assert command("run", settings(folder), "--out", folder / "runs" / name).code == 0
    ran = command("runs", folder / "runs")
    assert (ran.code, "runs stand in first, second: name one of these, or give the folder of" in ran.err) == (2, True)


@pytest.mark.slow
def test_the_files_of_a_run_that_another_log_holds_are_not_taken_for_it(command: Command, folder: Path) -> None:
    path, out = settings(folder), folder / "out"
    (folder / "cli_judges.py").write_text(COUNTING)
    assert command("run", path, "--out", out, "--log", folder / "shared.sqlite").code == 0
    assert not (out / "verdicts.sqlite").exists()
    assert json.loads((out / "run.json").read_text())["log"] == str(folder / "shared.sqlite")
    ran = command("run", path, "--out", out, "--log", folder / "other.sqlite")
    assert ran.code == 2
    assert "which" in ran.err
    assert "does not know: give its --log, another --out, another --run, or --new-run" in ran.err
    (out / "run.json").write_text("{")
    ran = command("run", path, "--out", out, "--log", folder / "shared.sqlite")
    assert ran.code == 2
    assert "run.json cannot be read" in ran.err


def test_a_budget_of_money_needs_prices(command: Command, folder: Path, asked: Callable[[], int]) -> None:
    ran = command("run", settings(folder, execution={"budget": {"cost": 1}}), "--out", folder / "out")
    assert (ran.code, asked()) == (2, 0)
    assert "a budget of cost needs prices" in ran.err
