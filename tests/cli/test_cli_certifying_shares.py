"""Labels of several annotators: a certificate is of the agreement with one of them, drawn at random."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import CalibrationSet
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying import Wanted, certify
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
NOW = "2026-11-01T00:00:00+00:00"


def said(count: int, passes: int, of: int = 5) -> list[tuple[VerdictRow, list[str]]]:
    """Cases that the judge passes with certainty and `passes` of `of` annotators pass."""
    labels = ["PASS"] * passes + ["FAIL"] * (of - passes)
    share = {"PASS": 0.99, "FAIL": 0.01}
    return [
        (VerdictRow(case_id=f"{passes}-{n}", verdict="PASS", probabilities=share), list(labels)) for n in range(count)
    ]


def written(folder: Path, pairs: list[tuple[VerdictRow, list[str]]], *, rows: bool = False) -> tuple[Path, Path]:
    log, golds = write_log([row for row, _ in pairs], folder / "log.jsonl"), folder / "golds.jsonl"
    lines: list[dict[str, Any]] = [{"case_id": row.case_id, "gold": labels} for row, labels in pairs]
    if rows:
        lines = [
            {"case_id": row.case_id, "judge": f"p{place}", "verdict": label}
            for row, labels in pairs
            for place, label in enumerate(labels)
        ]
    golds.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return log, golds


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [False, True])
def test_cases_that_three_of_five_pass_agree_with_a_pass_at_three_fifths(
    command: Command, tmp_path: Path, *, rows: bool
) -> None:
    log, golds = written(tmp_path, said(400, 3), rows=rows)
    asked = ("certify", log, "--labels", golds, "--source", "human", "--delta", "0.2")
    certified = command(*asked, "--agreement", "0.55", "--json").json
    assert certified["consensus"] == "shares of 5 annotators"
    (selection,) = certified["selections"]
    assert selection["threshold"] == 1.0
    assert selection["steps"][0]["wrong"] / selection["steps"][0]["labelled"] == pytest.approx(0.4, abs=0.05)
    refused = command(*asked, "--agreement", "0.65")
    assert refused.code == 1  # the majority of each case is PASS
    assert "one of the annotators (shares of 5 annotators), drawn at random, at least 65 %" in refused.out


def test_evenly_split_cases_are_half_right_and_not_left_out(command: Command, tmp_path: Path) -> None:
    log, golds = written(tmp_path, [*said(100, 4, of=4), *said(100, 2, of=4)])
    found = command("certify", log, "--labels", golds, "--source", "human", "--json").json
    assert found["excluded_ties"] == 0
    assert found["selections"][0]["labelled"] == 200
    assert found["selections"][0]["threshold"] is None  # agreement is .75 of the time


def test_merged_labels_are_those_of_the_majority_as_before(command: Command, tmp_path: Path) -> None:
    pairs = said(100, 3)
    log, golds = written(tmp_path, pairs)
    golds.write_text("".join(f'{{"case_id": "{row.case_id}", "gold": "PASS"}}\n' for row, _ in pairs))
    found = command("certify", log, "--labels", golds, "--source", "human", "--json").json
    assert (found["consensus"], found["selections"][0]["threshold"]) == ("majority", 1.0)


def test_the_one_drawn_hangs_on_the_names_of_case_and_criterion_alone() -> None:
    cases = [{"case_id": f"c{number}"} for number in range(500)]
    labels = {"correct": ["PASS", "PASS", "FAIL"], "polite": None}
    drawn = CalibrationSet("people", [(case, labels) for case in cases]).drawn()
    other = CalibrationSet("people", [(case, {"correct": ["FAIL", "PASS", "PASS"]}) for case in cases]).drawn()
    assert drawn.golds() == other.golds()
    passed = sum(parts["correct"] == "PASS" for parts in drawn.golds()[0].values())
    assert passed / 500 == pytest.approx(2 / 3, abs=0.06)


def test_maps_are_fitted_on_the_shares() -> None:
    source = random.Random(5)  # noqa: S311 - cases, no secret
    rows: list[VerdictRow] = []
    shares: dict[str, Any] = {}
    for number in range(300):
        told = source.choice((0.05, 0.35, 0.65, 0.95))
        passes = 0.5 + (told - 0.5) / 1.5
        gold = "PASS" if source.random() < passes else "FAIL"
        row = VerdictRow(
            case_id=f"c{number}",
            verdict="PASS" if told > 0.5 else "FAIL",
            probabilities={"PASS": told, "FAIL": 1 - told},
            gold=gold,
        )
        rows.append(row)
        shares[row.case_id] = {"": {"PASS": passes, "FAIL": 1 - passes}}
    asked = Wanted(score="probability", agreement=0.7)
    known: dict[str, Any] = {"rule": rule("mean_probability(0.5)"), "wanted": asked, "measured_at": NOW}
    (soft,) = certify(rows, labels=Labels(name="x"), shares=shares, **known).selections
    (hard,) = certify(rows, labels=Labels(name="x"), **known).selections
    assert soft.map is not None
    assert hard.map is not None
    assert soft.map.apply({"PASS": 0.95, "FAIL": 0.05})["PASS"] == pytest.approx(0.8, abs=0.03)
    assert soft.map != hard.map


@pytest.mark.slow
def test_a_promise_is_broken_in_no_more_studies_than_delta() -> None:
    broken = 0
    for study in range(100):
        source = random.Random(study)  # noqa: S311 - cases, no secret
        examples, rows = [], []
        for number in range(60):
            share = source.choice((0.6, 0.8, 1.0))  # agreement is .8 of the time, as is asked for
            name = f"{study}-{number}"
            votes = ["PASS" if source.random() < share else "FAIL" for _ in range(source.choice((1, 3, 5)))]
            examples.append(({"case_id": name}, votes))
            rows.append(VerdictRow(case_id=name, verdict="PASS"))
        golds, _ = CalibrationSet("people", examples).drawn().golds()
        drawn = [replace(row, gold=golds[row.case_id][""]) for row in rows]
        found = certify(drawn, rule("majority"), Wanted(agreement=0.8), Labels(name="people"), measured_at=NOW)
        broken += found.granted
    assert 1 <= broken <= 10 + 9  # .1 of 100, and three standard errors


def test_a_cascade_takes_them_as_a_certificate_does(command: Command, tmp_path: Path) -> None:
    pairs = said(400, 3)
    rows = [replace(row, judge=judge) for row, _ in pairs for judge in ("cheap", "strong")]
    _, golds = written(tmp_path, pairs)
    log = write_log(rows, tmp_path / "both.jsonl")
    asked = ("certify", log, "--labels", golds, "--source", "human", "--cascade", "cheap,strong")
    refused = command(*asked, "--agreement", "0.75")
    assert refused.code == 1
    assert "of the annotators (shares of 5 annotators), drawn at random" in refused.out


@pytest.mark.parametrize("answer", [
    {"judge": "judge"},
    {"judge": "other", "model": "m"},
    {"judge": "other", "probabilities": {"PASS": 0.9, "FAIL": 0.1}},
])  # fmt: skip
@pytest.mark.parametrize("asked", [("certify",), ("passport", "--log")])
def test_answers_of_a_judge_are_no_labels_of_people(
    command: Command, tmp_path: Path, asked: tuple[str, ...], answer: dict[str, Any]
) -> None:
    """A coin certifies itself otherwise: it always agrees with its own answers."""
    log, _ = written(tmp_path, said(60, 3))
    answers = tmp_path / "answers.jsonl"
    rows = ({"case_id": f"3-{n}", "verdict": "PASS", **answer} for n in range(60))
    answers.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ran = command(*asked, log, "--labels", answers, "--source", "human")
    assert (ran.code, "answers.jsonl holds answers of" in ran.err) == (2, True)


def test_answers_of_another_model_are_labels_where_that_is_said(command: Command, tmp_path: Path) -> None:
    log, _ = written(tmp_path, said(60, 3))
    answers = tmp_path / "answers.jsonl"
    rows = ({"case_id": f"3-{n}", "verdict": "PASS", "judge": "other", "model": "m"} for n in range(60))
    answers.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ran = command("certify", log, "--labels", answers, "--source", "model:m")
    assert (ran.code, "agree with m at least" in ran.out) == (0, True)


def test_labels_that_are_all_evenly_split_are_said_to_be(command: Command, tmp_path: Path) -> None:
    log, golds = written(tmp_path, said(30, 2, of=4))
    ran = command("certify", log, "--labels", golds, "--source", "human", "--agreement", "0.4")
    assert (ran.code, "every label of 'golds' is evenly split among annotators" in ran.err) == (2, True)


def test_answers_of_a_model_are_not_merged_for_labels_of_people_in_silence(command: Command, tmp_path: Path) -> None:
    log, _ = written(tmp_path, said(3, 3))
    cases = tmp_path / "cases.csv"
    cases.write_text("case_id,output\n" + "".join(f"3-{n},text {n}\n" for n in range(3)))
    ran = command("label", "--merge", log, "--cases", cases, "--out", tmp_path / "gold.csv")
    assert (ran.code, "judge: answers of models, and not labels of people" in ran.err) == (0, True)
