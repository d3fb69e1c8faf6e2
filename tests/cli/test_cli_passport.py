"""`judgeharness passport`: asked of a configuration, read off a log, and checked by its canary."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.planted_probabilities_judge import planted_cases

from judgeharness_integrations.analysis.probability.passport import Passport
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
JUDGE = """
from support.planted_probabilities_judge import PlantedJudge

steady = PlantedJudge(noise=0.1)
moved = PlantedJudge(noise=0.1, shift=2.0, seed=5)
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose judge is planted, and 200 labelled cases."""
    (tmp_path / "planted_passports.py").write_text(JUDGE)
    lines = [json.dumps({"case_id": c.case_id, "output": c.output, "gold": c.gold}) for c in planted_cases(200)]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines) + "\n")
    return configured(tmp_path, "steady")


def configured(folder: Path, name: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(
        f"judges: [{{name: planted, callable: 'planted_passports:{name}'}}]\ncases: cases.jsonl\n"
        "harness: {shape: labels}\n"
    )
    return path


def test_a_passport_is_taken_printed_and_saved(command: Command, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "passport.json"
    ran = command("passport", config, "--source", "human", "--out", out)
    assert ran.code == 0, ran.err
    assert "passport of planted: answers to 1 of 1 question are certified" in ran.out
    assert "correct: the same question in other forms" in ran.out
    passport = Passport.load(out)
    assert passport.granted
    assert passport.parts is not None
    (answers,) = tmp_path.glob("passport-*.sqlite")
    assert command("log", "export", "--out", tmp_path / "rows.csv", "--log", answers).code == 0
    told = command("passport", "--log", tmp_path / "rows.csv", "--source", "human", "--json")
    assert told.json["questions"] == passport.to_dict()["questions"]


def test_its_canary_is_quiet_for_the_same_model_and_alarms_for_another(
    command: Command, config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "passport.json"
    assert command("passport", config, "--source", "human", "--out", out).code == 0
    quiet = command("passport", config, "--check", out)
    assert quiet.code == 0, quiet.err
    assert "nothing shows that planted has moved" in quiet.out
    codes = [command("passport", configured(tmp_path, "moved"), "--check", out, "--json") for _ in range(3)]
    assert codes[-1].code == 1
    assert codes[-1].json["correct"]["alarm"] is not None
    canary = Passport.load(out).canary
    assert canary is not None
    assert len(canary.rounds) == 6


def test_labels_need_their_source(command: Command, config: Path) -> None:
    ran = command("passport", config)
    assert ran.code == 2
    assert "--source" in ran.err


def test_a_log_without_probabilities_is_no_passport(command: Command, tmp_path: Path) -> None:
    path = write_log([VerdictRow(case_id="c", verdict="A")], tmp_path / "log.csv")
    ran = command("passport", "--log", path)
    assert ran.code == 2
    assert "no answer holds probabilities" in ran.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give a configuration whose judge is to be asked, or --log"),
        (("CONFIG", "--log", "x.csv"), "give a configuration whose judge is to be asked, or --log"),
        (("--log", "x.csv", "--check", "p.json"), "which no log can"),
        (("CONFIG", "--check", "p.json", "--out", "q.json"), "leave --out away"),
        (("CONFIG", "--agreement", "2"), "agreement must lie between 0 and 1"),
        (("CONFIG", "--judge", "other"), "has no judge 'other': it has planted"),
        (("CONFIG", "--source", "human", "--max-calls", "3"), "more than max_calls=3: nothing was asked"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    command: Command, config: Path, arguments: tuple[str, ...], problem: str
) -> None:
    ran = command("passport", *(config if one == "CONFIG" else one for one in arguments))
    assert ran.code == 2
    assert problem in ran.err


def test_several_judges_have_to_be_chosen_from(command: Command, config: Path) -> None:
    text = config.read_text().replace("judges: [", "judges: [{name: other, callable: 'planted_passports:moved'}, ")
    config.write_text(text)
    ran = command("passport", config)
    assert ran.code == 2
    assert "holds 2 judges: choose one with --judge" in ran.err


def test_answers_of_an_interrupted_passport_are_not_paid_twice(command: Command, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "passport.json"
    config.write_text(config.read_text() + "execution: {budget: {calls: 100}}\n")
    first = command("passport", config, "--source", "human", "--out", out)
    assert first.code == 2
    assert "the same again goes on" in first.err
    assert not out.exists()
    config.write_text(config.read_text().replace("execution: {budget: {calls: 100}}\n", ""))
    again = command("passport", config, "--source", "human", "--out", out)
    assert again.code == 0, again.err
    assert Passport.load(out).granted


def test_a_log_of_the_same_stem_is_not_touched(command: Command, config: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.sqlite"
    mine.write_bytes(b"a log of a run")
    assert command("passport", config, "--source", "human", "--out", tmp_path / "mine.json").code == 0
    assert mine.read_bytes() == b"a log of a run"
    assert command("passport", config, "--source", "human", "--out", tmp_path / "odd.sqlite").code == 0
    assert Passport.load(tmp_path / "odd.sqlite").granted
