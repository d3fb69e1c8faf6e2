"""`judgeharness run` with a judge that cannot answer: exit code 3, a sentence, and the others are measured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.openai_server import OpenAIServer, Reply, Request

from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import SqlLog, read_log

Command = Callable[..., Any]
Serve = Callable[..., OpenAIServer]
HARNESS = {"perturbations": ["none", "position_swap"], "repetitions": 3, "aggregation_rule": "swap_consensus"}
HANDFUL = 5
RIGHT, WRONG = "sk-right-key-of-the-configuration", "sk-wrong-key-of-the-configuration"
SENTENCE = "judge 'dead' is down: no call was answered, and 3 failed with "
FUNCTIONS = """
import pathlib

HERE = pathlib.Path(__file__)

class WrongKeyError(Exception):
    status_code = 401

def asked(name, case):
    with HERE.with_name(name).open("a") as file:
        file.write(case.case_id + "\\n")

def dead(case):
    asked("dead", case)
    if not HERE.with_name("mended").exists():
        raise WrongKeyError("no such key")
    return "A" if "good" in case.output else "B"

def good(case):
    asked("good", case)
    return "A" if "good" in case.output else "B"

def score(case):
    asked("score", case)
    return 4

def nothing():
    return "A"
"""


@pytest.fixture
def judged(folder: Path) -> Callable[..., Path]:
    """Writes a configuration of functions about six pairs, 36 calls a judge."""
    (folder / "cli_judges.py").write_text(FUNCTIONS)
    lines = [
        f"c{n},q,{'good' if n % 2 else 'bad'},{'bad' if n % 2 else 'good'},{'A' if n % 2 else 'B'}" for n in range(6)
    ]
    (folder / "cases.csv").write_text("\n".join(["case_id,input,output,output_b,gold", *lines, ""]))

    def write(*names: str, **changes: Any) -> Path:
        judges = [{"name": name, "callable": f"cli_judges:{name}", "model": name} for name in names]
        path = folder / "run.json"
        path.write_text(json.dumps({"judges": judges, "cases": "cases.csv", "harness": HARNESS} | changes))
        sys.modules.pop("cli_judges", None)
        return path

    return write


def calls(folder: Path, judge: str) -> int:
    path = folder / judge
    return path.read_text().count("\n") if path.exists() else 0


@pytest.mark.slow
def test_a_dead_judge_is_told_and_the_others_are_measured(
    command: Command, folder: Path, judged: Callable[..., Path]
) -> None:
    path, out = judged("dead", "good"), folder / "out"
    ran = command("run", path, "--out", out, "--json")
    assert ran.code == 3
    assert (calls(folder, "dead"), calls(folder, "good")) == (3, 36)
    assert (
        f"6 of 12 cases ended not_graded, 6 of them never asked: {SENTENCE}WrongKeyError: no such key; "
        "check its API key; the same command goes on from there.\n"
    ) in ran.err
    assert "Traceback" not in ran.err
    dead, good = ran.json["judges"]
    assert ran.json["state"] == "judge_down"
    assert (dead["not_graded_cases"], dead["not_asked_cases"]) == (6, 6)
    assert (good["not_graded_cases"], good["criteria"][0]["accuracy"]) == (0, 1.0)
    assert ran.json["attempts_spent"] == 39  # what was tried is counted
    Draft202012Validator(schema("run-1")).validate(ran.json)
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert Counter(one["judge"] for one in results) == {"dead": 6, "good": 6}
    for one in results:
        Draft202012Validator(schema("result-1")).validate(one)
    assert {row.judge for row in read_log(out / "verdicts.jsonl")} == {"good"}
    assert "a judge is down" in command("runs", out).out
    assert [one["state"] for one in command("runs", out, "--json").json["runs"]] == ["judge_down"]


@pytest.mark.slow
def test_with_the_key_mended_the_run_goes_on_and_nothing_is_asked_twice(
    command: Command, folder: Path, judged: Callable[..., Path]
) -> None:
    path, out = judged("dead", "good"), folder / "out"
    first = command("run", path, "--out", out, "--json")
    again = command("run", path, "--out", out)  # nothing mended yet
    assert (first.code, again.code, calls(folder, "dead"), calls(folder, "good")) == (3, 3, 6, 36)
    (folder / "mended").touch()
    last = command("run", path, "--out", out, "--json")
    assert (last.code, last.json["state"], last.json["run"]) == (0, "complete", first.json["run"])
    assert (calls(folder, "dead"), calls(folder, "good")) == (6 + 36, 36)
    assert last.json["not_graded_cases"] == 0
    assert len(read_log(out / "verdicts.jsonl")) == 72
    with SqlLog(out / "verdicts.sqlite") as log:  # what failed stays on record
        run = first.json["run"]
        assert [len(list(log.rows(run=f"{run}/failed/{number}"))) for number in (1, 2)] == [3, 3]


@pytest.mark.slow
def test_gates_are_checked_all_the_same(command: Command, folder: Path, judged: Callable[..., Path]) -> None:
    path = judged("dead", "good", gates={"fail_under": ["accuracy>=0.5"]})
    ran = command("run", path, "--out", folder / "out", "--json")
    assert (ran.code, ran.json["state"]) == (3, "judge_down")
    assert ran.json["gates"] is not None


def test_calibrating_a_dead_judge(command: Command, folder: Path, judged: Callable[..., Path]) -> None:
    ran = command(
        "calibrate",
        "--source",
        "human",
        judged("dead"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "calibration.json",
        "--yes",
    )
    assert (ran.code, calls(folder, "dead")) == (3, 3)
    assert ran.err.splitlines()[-1] == f"error: {SENTENCE}WrongKeyError: no such key; check its API key."
    assert not (folder / "calibration.json").exists()


@pytest.mark.slow
def test_checking_a_dead_judge(command: Command, folder: Path, judged: Callable[..., Path]) -> None:
    path = judged("dead", "good")
    out = folder / "checked"
    line = ("check", path, "--no-probes", "--yes", "--out", out)
    ran = command(*line, "--json")
    assert (ran.code, calls(folder, "dead"), ran.json["state"]) == (3, 3, "judge_down")
    assert [report["judge"] for report in ran.json["judges"]] == ["good"]
    Draft202012Validator(schema("checks-1")).validate(ran.json)
    assert f"{SENTENCE}WrongKeyError: no such key; check its API key: " in ran.err
    assert "the same command goes on from there." in ran.err
    asked = calls(folder, "good")
    (folder / "mended").touch()
    last = command(*line, "--json")
    assert last.json["state"] == "complete"
    assert [report["judge"] for report in last.json["judges"]] == ["dead", "good"]
    assert calls(folder, "good") == asked


def test_a_rule_that_cannot_fold_the_answers_costs_one_call(
    command: Command, folder: Path, judged: Callable[..., Path]
) -> None:
    ran = command("run", judged("score"), "--out", folder / "out")
    assert (ran.code, calls(folder, "score")) == (2, 1)
    assert "rule swap_consensus folds labels, but criterion 'verdict' holds numbers: use median" in ran.err
    assert (folder / "out" / "verdicts.jsonl").read_text().count("\n") == 1


def test_a_function_that_takes_no_case_costs_nothing(
    command: Command, folder: Path, judged: Callable[..., Path]
) -> None:
    ran = command("run", judged("nothing"), "--out", folder / "out")
    assert ran.code == 2
    assert ran.err == (
        "error: judge 'nothing' cannot be called with a case (too many positional arguments): "
        "let it take a case alone.\n"
    )
    assert not (folder / "out").exists()


def of_key(request: Request) -> Reply:
    if request.headers["authorization"] != f"Bearer {RIGHT}":
        return Reply.status(401, message=f"Incorrect API key provided: {request.headers['authorization'][7:]}")
    return Reply.json({"reasoning": "shown first", "verdict": "A"})


@pytest.mark.slow
def test_a_wrong_key_of_a_real_client(
    command: Command, folder: Path, judged: Callable[..., Path], openai_server: Serve
) -> None:
    pytest.importorskip("langchain_openai")
    server = openai_server(of_key)
    options: dict[str, Any] = {"base_url": f"{server.url}/v1", "max_retries": 0, "api_key": WRONG}
    model = {"evaluator": "PairwiseJudge", "model": "openai:gpt-4o", "model_options": options}
    dead = {"name": "dead", "adapter": "langchain", **model}
    judges = [dead, {"name": "good", "callable": "cli_judges:good", "model": "good"}]
    path, out = judged(judges=judges), folder / "out"
    first = command("run", path, "--out", out, "--json")
    assert (first.code, first.json["state"]) == (3, "judge_down")
    assert 0 < server.calls <= HANDFUL
    assert SENTENCE in first.err
    assert "Error code: 401" in first.err
    assert "check its API key; the same command goes on from there." in first.err
    told = first.err + first.out + "".join(path.read_text() for path in out.glob("*.json*"))
    assert WRONG not in told
    tried = server.calls
    options["api_key"] = RIGHT
    judged(judges=judges)
    last = command("run", path, "--out", out, "--json")
    assert (last.code, last.json["state"], last.json["run"]) == (0, "complete", first.json["run"])
    assert (server.calls, calls(folder, "good")) == (tried + 36, 36)
