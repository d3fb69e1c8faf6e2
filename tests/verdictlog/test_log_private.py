"""Files of a log are their owner's alone, and their cells run in no spreadsheet."""

from __future__ import annotations

import csv
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import JudgeHarness, VerdictRow, read_log, write_log
from judgeharness_integrations.judging.recording import recording, to_file
from judgeharness_integrations.verdictlog import JsonlLog, SqlLog

ROW = VerdictRow(case_id="c", verdict="PASS", reasoning="fine", attributes={"topic": "law"})
_RUN_BY_SPREADSHEETS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"


@pytest.fixture(autouse=True)
def _usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_database_and_what_lies_beside_it_are_its_owners_alone(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append([ROW])
        assert {path.name: mode(path) for path in tmp_path.iterdir()} == {
            "log.sqlite": 0o600,
            "log.sqlite-wal": 0o600,
            "log.sqlite-shm": 0o600,
        }


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.csv.gz", "a.parquet"])
def test_a_new_export_is_its_owners_alone_and_an_old_file_keeps_its_mode(tmp_path: Path, name: str) -> None:
    path = write_log([ROW], tmp_path / name)
    assert mode(path) == 0o600
    path.chmod(0o640)
    assert mode(write_log([ROW], path)) == 0o640
    assert read_log(path) == [ROW]


def test_rows_and_results_that_are_written_as_they_come_are_their_owners_alone(tmp_path: Path) -> None:
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    with JsonlLog(tmp_path / "log.jsonl") as log, recording(to_file(tmp_path / "results.jsonl")):
        JudgeHarness(**design, log=log).evaluate(lambda case: "PASS", "case")
    assert [mode(tmp_path / name) for name in ("log.jsonl", "results.jsonl")] == [0o600, 0o600]


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)
_ANY = st.one_of(_TEXT, st.builds(str.__add__, st.sampled_from(["'", "''", "=", "'=", "-1", "@", "\r"]), _TEXT))


@given(st.lists(st.tuples(_ANY, _ANY, _ANY, _ANY), min_size=1, max_size=4))
def test_every_text_of_an_export_comes_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, ...]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "texts.csv"
    rows = [
        replace(ROW, case_id=f"{number}", reasoning=reasoning, raw=raw, error=error, attributes={"note": f"x{note}"})
        for number, (reasoning, raw, error, note) in enumerate(texts)
    ]
    assert read_log(write_log(rows, path)) == rows


@given(_ANY)
def test_no_text_of_an_export_is_a_formula(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "formulas.csv"
    write_log([replace(ROW, reasoning=text, attributes={"=name": "a", "plain": text})], path)
    with path.open(encoding="utf-8", newline="") as file:
        for cells in csv.reader(file):
            for cell in cells:
                assert not cell.startswith(tuple(_RUN_BY_SPREADSHEETS)) or math.isfinite(
                    float(cell)
                )  # a number is none


def test_numbers_stay_numbers_and_only_rows_with_formulas_say_so(tmp_path: Path) -> None:
    rows = [
        replace(ROW, verdict=-1.5, attributes={"delta": -2.0, "'quoted": "'tis"}),
        replace(ROW, verdict=-2.0, repetition=1, reasoning="=1+1", attributes={"delta": -3.5, "'quoted": "'tis"}),
    ]
    path = write_log(rows, tmp_path / "log.csv")
    with path.open(newline="", encoding="utf-8") as file:
        header, first, second = csv.reader(file)
    assert (first[header.index("verdict")], second[header.index("verdict")]) == ("-1.5", "-2.0")
    assert (first[header.index("delta")], second[header.index("delta")]) == ("-2.0", "-3.5")
    assert second[header.index("reasoning")] == "'=1+1"
    read = read_log(path)
    assert [(row.verdict, row.reasoning) for row in read] == [(-1.5, "fine"), (-2.0, "=1+1")]
    assert read[1].attributes == {"delta": "-3.5", "'quoted": "'tis"}  # a column of attributes is one of texts


def test_a_file_of_somebody_elses_keeps_its_quotes(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("case_id,verdict,reasoning\nc,PASS,'-p' sets the port\n")
    assert [row.reasoning for row in read_log(path)] == ["'-p' sets the port"]
