"""Probabilities in the log: kept in every store and format, mapped back as verdicts are, checked on the way in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.reporting.frames import rows_frame
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow, read_log, write_log
from judgeharness_integrations.verdictlog.patterns import read_patterns
from judgeharness_integrations.verdictlog.row import expected_level, most_probable, probabilities_from_json

ROWS = [
    VerdictRow(case_id="c1", verdict="A", probabilities={"A": 0.7, "B": 0.3, "TIE": 0.0}),
    VerdictRow(case_id="c2", verdict=None, outcome="ok", probabilities={"A": 0.5, "B": 0.5}),
    VerdictRow(case_id="c3", verdict=None, outcome="refused"),
    VerdictRow(case_id="c4", verdict="B", gold="B"),
]


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.jsonl.gz", "log.parquet"])
def test_every_format_keeps_probabilities(name: str, tmp_path: Path) -> None:
    assert read_log(write_log(ROWS, tmp_path / name)) == ROWS


def test_both_databases_keep_probabilities(sql_log: SqlLog) -> None:
    sql_log.append(ROWS)
    assert list(sql_log.rows()) == ROWS


def test_scores_keep_the_probabilities_of_their_levels(tmp_path: Path) -> None:
    rows = [VerdictRow(case_id="c", verdict=3.5, probabilities={"1": 0.0, "3": 0.5, "4": 0.5})]
    assert read_log(write_log(rows, tmp_path / "log.csv")) == rows


def test_a_frame_holds_them_as_json() -> None:
    frame = rows_frame(ROWS)
    assert json.loads(frame["probabilities"][0]) == {"A": 0.7, "B": 0.3, "TIE": 0.0}
    assert frame["probabilities"].isna()[3]


@pytest.mark.parametrize("ending", ["csv", "sqlite"])
def test_a_log_with_probabilities_is_not_read_by_patterns(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{ending}"
    if ending == "csv":
        write_log(ROWS, path)
    else:
        with SqlLog(path) as log:
            log.append(ROWS)
    assert read_patterns(path, attributes=(), reduced=dict) is None


def test_a_log_without_any_is_read_by_patterns_as_before(tmp_path: Path) -> None:
    patterns = read_patterns(write_log(ROWS[2:], tmp_path / "log.csv"), attributes=(), reduced=dict)
    assert patterns is not None
    assert [row.verdict for row in patterns.rows] == [None, "B"]


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("null", "null is no object of option and probability"),
        ("[1]", "an object of option and probability, not list"),
        ('{"A": 1}', "at least two options"),
        ('{"A": 0.5, "": 0.5}', "at least two options"),
        ('{"A": 1.2, "B": -0.2}', "a number from 0 to 1"),
        ('{"A": true, "B": 0}', "a number from 0 to 1"),
        ('{"A": 0.5, "B": 0.4}', "must sum to 1, not 0.9"),
        ("{A: 1}", "Expecting property name"),
    ],
)
def test_what_are_no_probabilities_is_refused_with_its_line(cell: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('case_id,verdict,probabilities\nc,A,"' + cell.replace('"', '""') + '"\n')
    with pytest.raises(LogFormatError, match=f"line 2.*{problem}"):
        read_log(path)


def test_an_answer_without_a_verdict_needs_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("case_id,verdict,outcome\nc,,ok\n")
    with pytest.raises(LogFormatError, match="outcome is 'ok' but the verdict is empty"):
        read_log(path)


def test_a_refusal_has_no_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('case_id,verdict,outcome,probabilities\nc,,refused,"{""A"": 0.5, ""B"": 0.5}"\n')
    with pytest.raises(LogFormatError, match="outcome is 'refused' but there are probabilities"):
        read_log(path)


def test_rounded_probabilities_need_not_sum_to_one_exactly() -> None:
    assert probabilities_from_json({"a": 0.33, "b": 0.33, "c": 0.33}) == {"a": 0.33, "b": 0.33, "c": 0.33}
    assert probabilities_from_json(None) is None


def test_the_most_probable_label_and_the_expected_level() -> None:
    assert most_probable({"A": 0.4, "B": 0.6}) == "B"
    assert most_probable({"A": 0.4, "B": 0.4, "TIE": 0.2}) == "TIE"
    assert most_probable({"A": 0.5, "B": 0.5}) is None
    assert expected_level({"1": 0.25, "5": 0.75}) == 4.0
