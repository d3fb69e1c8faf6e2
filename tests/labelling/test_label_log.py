"""The file of labels: appended to, corrected and mended."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.labelling import LabelLog
from judgeharness_integrations.verdictlog import VerdictRow, read_log


def row(case_id: str, verdict: str = "PASS", judge: str = "anna", criterion: str = "verdict") -> VerdictRow:
    return VerdictRow(case_id=case_id, verdict=verdict, judge=judge, criterion=criterion)


def test_rows_come_back_in_order_and_by_annotator(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "deep" / "labels.jsonl")
    assert log.rows() == []
    log.append([row("x")])
    log.append([row("y", judge="ben"), row("z")])
    assert [one.case_id for one in log.rows()] == ["x", "y", "z"]
    assert [one.case_id for one in LabelLog(log.path).rows("anna")] == ["x", "z"]
    assert read_log(log.path) == log.rows()


def test_an_answer_taken_back_leaves_no_trace_and_nothing_else_changes(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("x", criterion="tone"), row("x", judge="ben")])
    log.path.chmod(0o640)
    before = log.path.read_text().splitlines()
    log.withdraw(row("x"))
    assert log.path.read_text().splitlines() == before[1:]
    assert log.path.stat().st_mode & 0o777 == 0o640
    log.append([row("x", "FAIL")])
    assert [one.verdict for one in log.rows("anna")] == ["PASS", "FAIL"]
    assert [path.name for path in tmp_path.iterdir()] == ["labels.jsonl"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    log = LabelLog(tmp_path / "link.jsonl")
    log.append([row("x"), row("y")])
    log.withdraw(row("x"))
    assert log.path.is_symlink()
    assert [one.case_id for one in read_log(tmp_path / "real.jsonl")] == ["y"]


def test_what_fails_while_an_answer_is_taken_back_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("y")])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        log.withdraw(row("x"))
    assert len(log.rows()) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_leaves_no_half_line_before_the_next_one(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])
    held, (soft, hard) = log.path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(held) + 40, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            log.append([row("y")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert log.path.read_bytes() == held
    log.append([row("z")])
    assert [one.case_id for one in log.rows()] == ["x", "z"]


def test_what_takes_the_place_of_the_file_is_on_the_disk_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    done: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), sync(handle))[1])
    monkeypatch.setattr(Path, "replace", lambda one, other: (done.append("replace"), replace(one, other))[1])
    log.append([row("x")])
    log.replace(row("x", "FAIL"))
    assert done == ["sync", "sync", "replace"]


@pytest.mark.parametrize("cut", [1, 5, 11, 60])
def test_a_line_cut_off_at_the_end_is_taken_off(tmp_path: Path, cut: int) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x"), row("y")])
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + whole[:cut])
    assert LabelLog(log.path).rows() == log.rows()
    assert log.path.read_bytes() == whole


def test_a_whole_line_without_its_end_is_kept(tmp_path: Path) -> None:
    log = LabelLog(tmp_path / "labels.jsonl")
    log.append([row("x")])
    log.path.write_bytes(log.path.read_bytes().rstrip())
    LabelLog(log.path).append([row("y")])
    assert [one.case_id for one in log.rows()] == ["x", "y"]


def test_what_is_no_log_of_labels_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.jsonl"
    other.write_text("my notes")
    with pytest.raises(LogFormatError, match=r"line 1: is not JSON"):
        LabelLog(other).rows()
    assert other.read_text() == "my notes"
    with pytest.raises(LogFormatError, match=r"a log of labels is \.jsonl"):
        LabelLog(tmp_path / "labels.csv")
