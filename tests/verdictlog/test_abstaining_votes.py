"""The vote of a panel's member that abstained: an answer for no label, which every store and format keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.replay.votes import panel_votes
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow, read_log, write_log
from judgeharness_integrations.verdictlog.patterns import read_patterns
from judgeharness_integrations.verdictlog.row import Verdict


def _said(judge: str, *verdicts: Verdict) -> list[VerdictRow]:
    return [VerdictRow(case_id="c", judge=judge, verdict=said, repetition=n) for n, said in enumerate(verdicts)]


VOTES = list(panel_votes([*_said("a", "PASS"), *_said("b", "PASS", "FAIL")], ["a", "b"]).rows)
SCORES = list(panel_votes([*_said("a", 3), *_said("b", 1, 9)], ["a", "b"], member_rule="mode").rows)
FORMATS = ["log.csv", "log.jsonl", "log.jsonl.gz", "log.parquet"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("votes", [VOTES, SCORES], ids=["labels", "scores"])
def test_every_format_keeps_a_vote_that_abstains(votes: list[VerdictRow], name: str, tmp_path: Path) -> None:
    assert [(row.verdict is None, row.outcome) for row in votes] == [(False, "ok"), (True, "ok")]
    assert read_log(write_log(votes, tmp_path / name)) == votes


def test_both_databases_keep_it(sql_log: SqlLog) -> None:
    sql_log.append(VOTES)
    assert list(sql_log.rows()) == VOTES


def test_a_row_that_a_spreadsheet_would_run_keeps_it(tmp_path: Path) -> None:
    vote = VerdictRow(case_id="=c", verdict=None, reasoning="=tie")
    assert read_log(write_log([vote], tmp_path / "log.csv")) == [vote]


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.sqlite"])
def test_it_is_read_as_labels_and_by_patterns(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.suffix == ".sqlite":
        with SqlLog(path) as log:
            log.append(VOTES)
    else:
        write_log(VOTES, path)
    assert read_log(path, labels=True) == VOTES
    patterns = read_patterns(path, attributes=(), reduced=dict)
    assert patterns is not None
    assert [(row.verdict, row.outcome) for row in patterns.rows] == [("PASS", "ok"), (None, "ok")]


def test_a_panel_that_was_written_abstains_as_before(tmp_path: Path) -> None:
    written = read_log(write_log(VOTES, tmp_path / "votes.csv"))
    assert replay(written, "strict_majority").judges == replay(VOTES, "strict_majority").judges
    assert replay(written, "strict_majority").judges[0].abstained == 1


def test_jsonl_says_abstain(tmp_path: Path) -> None:
    lines = write_log(VOTES, tmp_path / "votes.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["PASS", "ABSTAIN"]


@pytest.mark.parametrize("line", ["c,ABSTAIN,ok", "c,ABSTAIN,"])
def test_a_judge_of_somebody_elses_log_that_abstains_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"case_id,verdict,outcome\n{line}\n")
    assert [row.outcome for row in read_log(path)] == ["refused"]


def test_a_row_of_ours_without_an_outcome_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("case_id,verdict,schema\nc,ABSTAIN,judgeharness.log/1\n")
    assert [row.outcome for row in read_log(path)] == ["refused"]
