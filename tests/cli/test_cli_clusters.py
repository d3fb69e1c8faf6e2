"""Cases of one source are one unit of inference, whichever command says how often decisions are right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
SOURCES, SIZE = 12, 5
CALIBRATED = ("--rule", "majority", "--source", "human", "--log")


def rows(column: str | None = "cluster") -> list[VerdictRow]:
    """12 sources of 5 cases; the judge is wrong about all five of two sources and right about all others."""
    found: list[VerdictRow] = []
    for n in range(SOURCES * SIZE):
        source, gold = n // SIZE, "PASS" if (n // SIZE) % 2 else "FAIL"
        said = gold if source > 1 else {"PASS": "FAIL", "FAIL": "PASS"}[gold]
        attributes = {} if column is None else {column: f"page {source}"}
        found += sampled([said] * 3, case_id=f"c{n}", gold=gold, attributes=attributes)
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write_log(rows(), tmp_path / "log.csv")
    return tmp_path / "log.csv"


def interval(command: Command, path: Path, *, by: str) -> tuple[float, float]:
    """The interval of accuracy that a command tells."""
    if by == "calibrate":
        measured = json.loads(command("calibrate", *CALIBRATED, path, "--json").out)
        found = measured["criteria"]["verdict"]["accuracy"]
        return found["low"], found["high"]
    found = json.loads(command("report", path, "--rule", "majority", "--json").out)["judges"][0]["criteria"][0][
        "accuracy"
    ]
    return found["low"], found["high"]


def test_accuracy_has_one_interval_in_every_command(command: Command, log: Path, tmp_path: Path) -> None:
    told = interval(command, log, by="calibrate")
    assert interval(command, log, by="summary") == pytest.approx(told)
    write_log(rows(None), tmp_path / "alone.csv")
    alone = interval(command, tmp_path / "alone.csv", by="calibrate")
    assert told[1] - told[0] > 1.5 * (alone[1] - alone[0])


def test_a_calibration_prints_how_many_clusters_there_are(command: Command, log: Path) -> None:
    assert "verdict, 60 labelled cases in 12 clusters\n" in command("calibrate", *CALIBRATED, log).out


def test_a_replay_prints_how_many_clusters_its_intervals_and_controls_stand_on(
    command: Command, log: Path, tmp_path: Path
) -> None:
    ran = command("replay", log, "--rule", "majority")
    assert "judge: intervals of accuracy and controls: 60 cases in 12 clusters" in ran.out
    [entry] = json.loads(command("replay", log, "--rule", "majority", "--json").out)["judges"]
    write_log(rows(None), tmp_path / "alone.csv")
    [alone] = json.loads(command("replay", tmp_path / "alone.csv", "--rule", "majority", "--json").out)["judges"]
    assert (entry["clusters"], alone["clusters"]) == (12, None)
    ends = [one["controls"]["listed"][0]["advantage"] for one in (entry, alone)]
    assert ends[0]["value"] == ends[1]["value"]
    assert ends[0]["low"] < ends[1]["low"]


@pytest.mark.parametrize(("column", "options"), [("cluster", []), ("page", ["--cluster", "page"])])
def test_a_certificate_of_clusters_says_how_many_and_asks_for_more(
    command: Command, tmp_path: Path, column: str, options: list[str]
) -> None:
    path = tmp_path / "pages.csv"
    write_log([row for row in rows(column) if int(row.case_id[1:]) >= 2 * SIZE], path)
    ran = command("certify", path, "--source", "human", "--agreement", 0.9, *options)
    assert ran.code == 1
    assert "verdict: refused: 10 clusters of labelled decisions, at least 22 are needed" in ran.out
    assert "50 labelled in 10 clusters of 50 cases" in ran.out
    write_log([row for row in rows(None) if int(row.case_id[1:]) >= 2 * SIZE], path)
    alone = command("certify", path, "--source", "human", "--agreement", 0.9)
    assert alone.code == 0
    assert "50 labelled of 50 cases" in alone.out


def test_a_corrected_rate_knows_clusters_without_being_told_of_them(command: Command, log: Path) -> None:
    arguments = ("corrected-rate", log, "--rule", "majority", "--json")
    told = json.loads(command(*arguments, "--cluster", "cluster").out)
    assert json.loads(command(*arguments).out) == told
    assert told["clusters"] == 12


def test_a_number_and_its_text_are_one_cluster(command: Command, tmp_path: Path) -> None:
    lines = [
        json.dumps({"case_id": f"c{n}", "verdict": "PASS", "gold": "PASS", "cluster": n // 2 if n % 2 else f"{n // 2}"})
        for n in range(20)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    ran = command("calibrate", *CALIBRATED, tmp_path / "log.jsonl")
    assert "verdict, 20 labelled cases in 10 clusters\n" in ran.out


@pytest.mark.parametrize(
    ("clusters", "cases", "said"),
    [
        (4, 12, "12 cases in 4 clusters (p cannot be below .125) are too few to find any change"),
        (1, 3, "3 cases in 1 cluster (p cannot be below 1.000) are too few to find any change"),
    ],
)
def test_a_comparison_of_few_clusters_says_that_it_can_find_nothing(
    command: Command, tmp_path: Path, clusters: int, cases: int, said: str
) -> None:
    for name, verdict in (("before", "PASS"), ("after", "FAIL")):
        found = [
            row
            for n in range(cases)
            for row in sampled(
                [verdict if n % 3 else "PASS"] * 2,
                case_id=f"c{n}",
                gold="PASS",
                attributes={"cluster": f"k{n % clusters}"},
            )
        ]
        write_log(found, tmp_path / f"{name}.jsonl")
    ran = command("compare", tmp_path / "before.jsonl", tmp_path / "after.jsonl", "--rule", "majority", "--json")
    assert said in ran.json["criteria"][0]["reason"]
