"""Commands that read a log, given the folder of a run."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.verdictlog import SqlLog, read_log

Command = Callable[..., Any]

JUDGES = """
def good(case):
    return "A" if "good" in case.output else "B"

def first(case):
    return "A"

def second(case):
    return "B"

def score(case):
    return 4 if "good" in case.output else 3
"""


@pytest.fixture
def ran(command: Command, folder: Path) -> Callable[..., Path]:
    """Run judges twice on each of three pairs in both orders, and return the folder of the run."""
    (folder / "cli_judges.py").write_text(JUDGES)

    def run(*names: str, rule: str = "majority") -> Path:
        config = {
            "judges": [{"name": name, "callable": f"cli_judges:{name}"} for name in names],
            "cases": "cases.csv",
            "harness": {"perturbations": ["none", "position_swap"], "repetitions": 2, "aggregation_rule": rule},
        }
        (folder / "run.json").write_text(json.dumps(config))
        found = command("run", folder / "run.json", "--out", folder / "out", "--yes")
        sys.modules.pop("cli_judges", None)
        assert found.code == 0, found.err
        return folder / "out"

    return run


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "LOG", "--rule", "majority"),
        ("rank", "LOG"),
        ("rank", "LOG", "--against", "LOG", "--rule", "one_order"),
        ("calibrate", "--log", "LOG", "--rule", "majority", "--judge", "good", "--source", "human", "--name", "x"),
        ("corrected-rate", "LOG", "--rule", "majority", "--judge", "first", "--positive", "A"),
        ("plan", "--pilot", "LOG", "--judge", "good"),
        ("check", "--log", "LOG", "--judge", "first"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_is_read_as_the_rows_of_its_run(
    command: Command, ran: Callable[..., Path], arguments: tuple[str, ...]
) -> None:
    out = ran("good", "first", "second")
    with SqlLog(out / "verdicts.sqlite") as log:  # another run in the same log is not this folder's
        log.append([replace(row, run="other", verdict="B") for row in read_log(out / "verdicts.jsonl")])

    def found(place: Path) -> Any:
        given = command(*(place if name == "LOG" else name for name in arguments), "--json")
        assert given.code in {0, 1}, given.err
        given.json.pop("measured_at", None)
        return json.loads(json.dumps(given.json).replace(str(place), "LOG").replace(f'"{place.stem}"', '"LOG"'))

    assert found(out) == found(out / "verdicts.jsonl")


@pytest.mark.slow
def test_the_verdicts_of_a_folder_can_be_read_as_labels(command: Command, ran: Callable[..., Path]) -> None:
    out = ran("score", rule="median")
    places = (out, out / "verdicts.jsonl")
    labels = [command("replay", place, "--rule", "majority", "--labels", "--json").json for place in places]
    assert labels[0] == labels[1]
    assert command("replay", out, "--rule", "median", "--json").json != labels[0]


def test_a_folder_whose_log_is_gone_is_read_from_what_was_exported(command: Command, ran: Callable[..., Path]) -> None:
    out = ran("good")
    before = command("replay", out, "--rule", "majority", "--json").json
    (out / "verdicts.sqlite").unlink()
    assert command("replay", out, "--rule", "majority", "--json").json == before


def test_a_folder_without_rows_says_what_to_give(command: Command, ran: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    none = command("replay", tmp_path / "none", "--rule", "majority")
    assert (none.code, "holds neither verdicts.sqlite nor verdicts.jsonl" in none.err) == (2, True)
    out = ran("good")
    wrong = command("replay", out, "--rule", "majority", "--run", "other")
    assert (wrong.code, "unknown run 'other'" in wrong.err) == (2, True)
    database = sqlite3.connect(out / "verdicts.sqlite")
    with database:
        database.execute("DELETE FROM judgeharness_verdicts")
    database.close()
    empty = command("replay", out, "--rule", "majority")
    assert (empty.code, "holds no answer of its run yet" in empty.err) == (2, True)


@pytest.mark.slow
def test_the_rule_of_the_run_itself_is_not_exploratory(command: Command, ran: Callable[..., Path]) -> None:
    folder = ran("good", "first")
    own, other = ("--rule", "majority"), ("--rule", "strict_majority")
    for log in (folder, folder / "verdicts.jsonl"):
        found = [command("replay", log, *rule, "--json").json["rule_fixed"] for rule in (own, other)]
        assert found == ["before", "after"]
    assert command("replay", folder, *own, "--min-valid", 3, "--json").json["rule_fixed"] == "after"
    assert "exploratory" not in command("replay", folder, *own, "--fail-under", "graded>=0.5").out
    assert "chosen after the samples: exploratory" in command("replay", folder, *other).out
    reported = command("report", folder / "verdicts.jsonl", *own, "--no-step-summary").out
    assert "rule: majority, chosen before the samples" in " ".join(reported.split())
    copied = folder.parent / "copy.jsonl"
    copied.write_bytes((folder / "verdicts.jsonl").read_bytes())
    assert command("replay", copied, *own, "--json").json["rule_fixed"] == "after"


@pytest.mark.slow
def test_labels_beside_decisions_of_the_rule_of_the_run_are_not_exploratory(
    command: Command, ran: Callable[..., Path]
) -> None:
    asked = (ran("good"), "--judge", "good", "--source", "human")
    for rule, expected in (("majority", False), ("strict_majority", True)):
        calibrated = command("calibrate", "--log", *asked, "--rule", rule)
        certified = command("certify", *asked, "--rule", rule)
        rate = command("corrected-rate", *asked[:3], "--rule", rule, "--positive", "A", "--labels-are", "random")
        for one in (calibrated, certified, rate):
            assert ("exploratory" in one.out) is expected, one.err
