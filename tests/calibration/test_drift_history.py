"""The history of checks is only ever appended to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.measured import calibration

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.calibration import LabelledItem
from judgeharness_integrations.calibration.drift import drift
from judgeharness_integrations.calibration.history import append_history, history_line, read_history


def line(**changes: Any) -> dict[str, Any]:
    one = LabelledItem(case_id="c", criterion="verdict", gold="A", verdict="A", status="decided")
    report = drift(calibration(items=(one,), parts={"model": "m"}), [one], parts={"model": "n"})
    return history_line(report, judge="j", checked_at="2026-01-02T00:00:00+00:00") | changes


def test_a_check_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cal.history.jsonl"
    append_history(path, line())
    append_history(path, line(answer="drifted"))
    history = read_history(path)
    assert [check["answer"] for check in history.checks] == ["inconclusive", "drifted"]
    assert history.unreadable == 0
    first = history.checks[0]
    assert (first["checked_at"], first["judge"], first["changes"]) == ("2026-01-02T00:00:00+00:00", "j", ["model"])
    assert first["criteria"][0] | {} == {
        "criterion": "verdict",
        "answer": "inconclusive",
        "n": 1,
        "difference": 0.0,
        "low": pytest.approx(-0.793, abs=0.001),
        "high": pytest.approx(0.793, abs=0.001),
        "p_adjusted": 1.0,
        "minimum_detectable": None,
        "not_graded_now": 0,
    }


def test_without_a_file_there_were_no_checks(tmp_path: Path) -> None:
    assert read_history(tmp_path / "none.jsonl").checks == ()


def test_lines_that_cannot_be_read_stay_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    damaged = b'{"half": \n[]\n{"schema": "other/1"}\n\n\xff\xfe\n' + b"[" * 100_000 + b'\n{"criteria": 1, "sch'
    path.write_bytes(damaged)
    append_history(path, line())
    assert path.read_bytes().startswith(damaged + b"\n{")  # half a line is ended first
    append_history(path, line(criteria=7))
    history = read_history(path)
    assert (len(history.checks), history.unreadable) == (1, 7)


def test_half_an_emoji_is_kept(tmp_path: Path) -> None:
    append_history(tmp_path / "h.jsonl", line(judge="\ud83d"))
    assert read_history(tmp_path / "h.jsonl").checks[0]["judge"] == "\ud83d"


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written .*: give another --history"):
        append_history(tmp_path, line())
    path = tmp_path / "h.jsonl"
    path.write_text(json.dumps(line()))

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ConfigError, match=r"cannot be read \(Permission denied\): give another --history"):
        read_history(path)
